/** Which characters of a passage are marked: those that the answer cites, and the words of the question. */
import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu, HAN = /\p{Script=Han}+/gu;
const CITED = 1, ASKED = 2;

/** A place that the server counts in characters, as JavaScript counts it: in halves of rare ones. */
export const index = (text, characters) => [...text].slice(0, characters).join("").length;

/** The words of a question that tell passages apart: parts of names and numbers, and what few passages hold. */
export function telling(question, hits) {
  const words = hits.flatMap((hit) => hit.keys.flatMap((key) => String(key.value).match(WORD) ?? []));
  const named = new Set(words.filter((word) => !/^\p{Ll}/u.test(word)).map((word) => word.toLowerCase()));  // of "Bank of England" not "of"
  const texts = hits.map((hit) => new Set(hit.text.toLowerCase().match(WORD)));
  const rare = (word) => word.length > 4 && texts.filter((text) => text.has(word)).length <= hits.length / 4;
  const telling = (question.toLowerCase().replace(HAN, " ").match(WORD) ?? [])
    .filter((word) => /\p{N}/u.test(word) || (word.length > 2 && named.has(word)) || rare(word));
  return { words: telling, han: question.match(HAN) ?? [] };
}

/** The pieces of two or more Chinese characters of a question that a text holds, the longest at each place. */
function pieces(han, text) {
  const found = [];
  for (const run of han) {
    for (let start = 0; start < run.length - 1; start++) {
      let end = run.length;
      while (end > start + 1 && !text.includes(run.slice(start, end))) end--;
      if (end > start + 1) {
        found.push(run.slice(start, end));
        start = end - 1;
      }
    }
  }
  return found;
}

function flagsOf(hit, citations, { words, han }) {
  const flags = new Uint8Array(hit.text.length);
  const set = (start, end, flag) => { for (let i = Math.max(0, start); i < Math.min(end, flags.length); i++) flags[i] |= flag; };
  for (const each of citations) {
    if (each.document_id === hit.document_id && each.start < hit.end && each.end > hit.start) {
      set(index(hit.text, Math.max(0, each.start - hit.start)), index(hit.text, each.end - hit.start), CITED);
    }
  }
  const inflected = words.map((word) => (/\p{N}/u.test(word) ? word : `${word}\\p{L}{0,2}`));  // sensor, sensors
  const patterns = [...(inflected.length ? [`(?<![\\p{L}\\p{N}])(?:${inflected.join("|")})(?![\\p{L}\\p{N}])`] : []), ...pieces(han, hit.text)];
  if (patterns.length) {
    for (const match of hit.text.matchAll(new RegExp(patterns.join("|"), "giu"))) set(match.index, match.index + match[0].length, ASKED);
  }
  return flags;
}

const LONG = 700, BEFORE = 160;

/** The text of a hit with its marks; of a long one the part around the first mark, unless `isWhole`. */
export function marked(hit, citations, asked, isWhole) {
  const flags = flagsOf(hit, citations, asked);
  const cited = flags.findIndex((flag) => flag & CITED);
  const first = cited < 0 ? Math.max(0, flags.indexOf(ASKED)) : cited;
  const isCut = !isWhole && hit.text.length > LONG + BEFORE;
  const start = isCut && first > BEFORE * 2 ? startOfWords(hit.text, first - BEFORE) : 0;
  const end = isCut ? Math.min(hit.text.length, start + LONG) : hit.text.length;
  const nodes = runs(flags, start, end, CITED).map(([from, to, isCited]) => {
    const words = runs(flags, from, to, ASKED).map(([first, last, isAsked]) => {
      const piece = hit.text.slice(first, last).replace(/\n\s*\n/g, "\n").replace(/(^|\n)#{1,6} /g, "$1");
      return isAsked ? h("b", {}, piece) : piece;
    });
    return isCited ? h("mark", {}, words) : words;
  });
  const isCutBehind = end < hit.text.length;
  return { nodes: [start ? "… " : "", ...nodes.flat(), isCutBehind ? " …" : ""], isCut: start > 0 || isCutBehind };
}

/** The stretches from `start` to `end` that have a flag or have it not: first, end, whether they have it. */
function runs(flags, start, end, flag) {
  const found = [];
  for (let from = start; from < end;) {
    let to = from + 1;
    while (to < end && (flags[to] & flag) === (flags[from] & flag)) to++;
    found.push([from, to, Boolean(flags[from] & flag)]);
    from = to;
  }
  return found;
}

function startOfWords(text, from) {
  const space = text.slice(from, from + BEFORE).search(/[\s。！？]/u);
  return space < 0 ? from : from + space + 1;
}
