/** How a text is shown: what the answer cites is marked, words of the question and headings are bold. */
import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu, HAN = /\p{Script=Han}+/gu;
const COMMENTED = /\.(py|sh|r|rb|ya?ml|toml|ini|cfg|conf)$/i, EMPHASIS = /(?<![\w*])(\*{1,2})(?=\S)([^*\n]+)(?<=\S)\1(?![\w*])/g;
const CITED = 1, ASKED = 2, HEADING = 4;

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

/** A flag for each character of a text: headings, unless `#` begins a comment of the file, and places that are cited. */
export function flagged(text, documentId, cited) {
  const flags = new Uint8Array(text.length);
  if (!COMMENTED.test(documentId)) for (const line of text.matchAll(/^#{1,6} .*$/gm)) flags.fill(HEADING, line.index, line.index + line[0].length);
  for (const place of cited) {
    const [from, to] = place.map((each) => index(text, Math.max(0, each)));
    for (let i = from; i < to; i++) flags[i] |= CITED;
  }
  return flags;
}

function flagsOf(hit, citations, { words, han }) {
  const own = citations.filter((each) => each.document_id === hit.document_id && each.start < hit.end && each.end > hit.start);
  const flags = flagged(hit.text, hit.document_id, own.map((each) => [each.start - hit.start, each.end - hit.start]));
  const inflected = words.map((word) => (/\p{N}/u.test(word) ? word : `${word}\\p{L}{0,2}`));  // sensor, sensors
  const patterns = [...(inflected.length ? [`(?<![\\p{L}\\p{N}])(?:${inflected.join("|")})(?![\\p{L}\\p{N}])`] : []), ...pieces(han, hit.text)];
  if (patterns.length) {
    for (const match of hit.text.matchAll(new RegExp(patterns.join("|"), "giu"))) for (let i = match.index; i < match.index + match[0].length; i++) flags[i] |= ASKED;
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
  const nodes = written(hit.text, flags, start, end, (piece) => piece.replace(/\n\s*\n/g, "\n"));
  const isCutBehind = end < hit.text.length;
  return { nodes: [start ? "… " : "", ...nodes, isCutBehind ? " …" : ""], isCut: start > 0 || isCutBehind };
}

/** The nodes of a part of a text; signs of Markdown that only mark up are left out. */
export function written(text, flags, start, end, change = (piece) => piece) {
  return runs(flags, start, end, CITED).flatMap(([from, to, isCited]) => {
    const words = runs(flags, from, to, ASKED | HEADING).map(([first, last, kind]) => {
      const piece = change(text.slice(first, last));
      const shown = kind & HEADING ? piece.replace(/^#{1,6} /, "") : piece.replace(EMPHASIS, "$2");
      return kind ? h("b", { class: kind & HEADING ? "heading" : null }, shown) : shown;
    });
    return isCited ? [h("mark", { tabindex: -1 }, words)] : words;
  });
}

/** The stretches from `start` to `end` that have the same of some flags: first, end, which of it they have. */
function runs(flags, start, end, flag) {
  const found = [];
  for (let from = start; from < end;) {
    let to = from + 1;
    while (to < end && (flags[to] & flag) === (flags[from] & flag)) to++;
    found.push([from, to, flags[from] & flag]);
    from = to;
  }
  return found;
}

function startOfWords(text, from) {
  const space = text.slice(from, from + BEFORE).search(/[\s。！？]/u);
  return space < 0 ? from : from + space + 1;
}
