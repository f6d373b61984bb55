/** Search and answer side by side. */
import { ask, stream } from "./api.js";
import { byId, h } from "./dom.js";
import { marked, telling } from "./marks.js";
import { drawing } from "./paths.js";
import { link, place, restriction, state, withKey } from "./state.js";
import { trouble } from "./trouble.js";
import { keyText, number, t } from "./words.js";

const SHOWN_KEYS = 6, TOP = 12;

/** The view of a question: the answer, and the passages that were found. */
export async function showSearch(main, at, signal) {
  const answer = section("answer", t.answer), passages = section("passages", t.passages);
  main.append(h("h1", { class: "unseen" }, at.getAll("q").at(-1)), h("div", { class: "columns" }, answer, passages));
  const page = { hits: [], citations: [], redraw: [] };
  const questions = at.getAll("q");
  const search = async (question) => within(passages, () => showPassages(passages, page, question, signal));
  const talk = within(answer, () => showTurns(answer, page, questions, at, signal));
  if (questions.length === 1) await Promise.all([talk, search(questions[0])]);
  else await search((await talk) ?? questions.at(-1));
}

function section(name, title) {
  return h("section", { class: name, "aria-labelledby": `${name}-title` }, h("h2", { id: `${name}-title` }, title));
}

/** Do something whose failure is told in its own section, so that the other one stays. */
async function within(box, work) {
  try {
    return await work();
  } catch (error) {
    if (error.name === "AbortError" || [401, 503].includes(error.status)) throw error;
    box.querySelector(".waiting")?.remove();
    box.append(trouble(error));
  }
}

const waiting = (text) => h("p", { class: "waiting" }, text);

// ---- the answer

async function showTurns(box, page, questions, at, signal) {
  const turns = [];
  let told;
  for (const content of questions) {
    const asked = turns.length ? { messages: [...turns, { role: "user", content }] } : { query: content };
    const turn = h("div", { class: "turn" });
    if (questions.length > 1) box.append(h("h3", {}, content));
    box.append(turn);
    told = await showTurn(turn, page, { ...asked, mode: at.get("mode") ?? "fast", ...restriction(at) }, signal);
    turns.push({ role: "user", content }, { role: "assistant", content: told.answer });
  }
  const input = h("input", { type: "text", "aria-label": t.followUp, placeholder: t.followUp, maxlength: 4000 });
  box.append(h("form", { class: "box follow", onsubmit: (event) => {
    event.preventDefault();
    if (input.value.trim()) location.hash = link({ q: [...questions, input.value.trim()], way: null });
  } }, input, h("button", {}, t.go)));
  return told.question;
}

/** One question: its steps, sentences and citations as they come. */
async function showTurn(box, page, asked, signal) {
  const shown = { steps: [], sentences: [], citations: [], done: null };
  const draw = () => box.replaceChildren(...answerParts(shown, page));
  draw();
  page.redraw.push(draw);
  for await (const { name, data } of stream("/v1/ask?stream=true", asked, signal)) {
    if (signal.aborted) throw new DOMException("", "AbortError");
    if (name === "step") shown.steps.push(data.text);
    else if (name === "sentence") shown.sentences.push(data.text);
    else if (name === "citation") shown.citations.push(data);
    else shown.done = data;
    draw();
  }
  page.citations = shown.citations;
  page.redraw.forEach((each) => each());
  return shown.done;
}

function answerParts({ steps, sentences, citations, done }, page) {
  const last = sentences.length - 1;
  const parts = [
    h("p", { class: `text ${done && !done.is_found ? "unsure" : ""}`, "aria-busy": String(!done) },
      sentences.map((text, i) => h("span", { class: i === last && !done ? "new" : "" }, linked(text, citations)))),
    !done && waiting((!sentences.length && steps.at(-1)?.trim()) || t.working),
    citations.length > 0 && h("h3", {}, t.sources),
    citations.length > 0 && h("ol", { class: "sources" }, citations.map((each) => source(each, page))),
    done && h("details", { class: "made" },
      h("summary", {}, [t.seconds(number(done.seconds.toFixed(1))), done.calls && t.calls(done.calls), steps.length && t.steps(steps.length)].filter(Boolean).join(" · ")),
      h("ul", {}, [...steps, ...done.notes].map((each) => h("li", {}, each))),
      done.sql && h("pre", {}, done.sql)),
  ];
  return parts.filter(Boolean);
}

/** A sentence whose marks `[1]` lead to the cited place, once its citation has come. */
function linked(text, citations) {
  return text.split(/\s?\[(\d+)\]/).map((part, i) => {
    if (i % 2 === 0) return part;
    const cited = citations.find((each) => each.marker === Number(part));
    return cited ? ["\u2060", h("a", { class: "cite", href: place(cited), "aria-label": t.source(part, cited.title) }, part)] : h("span", { class: "cite" }, part);
  }).flat();
}

function source(cited, page) {
  const hit = page.hits.find((each) => each.document_id === cited.document_id && each.start < cited.end && cited.start < each.end);
  const revised = (hit?.revised_by ?? []).filter((each) => cited.quote.includes(each.own_value));
  return h("li", { value: cited.marker },
    h("a", { href: place(cited), "data-place": `${cited.document_id}, ${cited.start}–${cited.end}` }, cited.title || cited.document_id),
    cited.place && h("span", { class: "soft" }, ` · ${cited.place}`),
    h("blockquote", {}, cited.quote),
    revised.map(revision));
}

/** What a later statement says instead. */
function revision(each) {
  const values = each.own_value && each.other_value && [h("s", {}, each.own_value), " → ", h("b", {}, each.other_value), " · "];
  return h("p", { class: "revised" }, h("strong", {}, t.revised[each.kind] ?? t.revised.updates), ": ", values || "",
    each.said && `${each.said} · `, h("a", { href: place(each) }, each.title || each.document_id), h("q", {}, each.quote));
}

// ---- the passages

async function showPassages(box, page, question, signal) {
  const wait = waiting(t.loading);
  box.append(wait);
  const body = { query: question, top_k: TOP, ...restriction() };
  const found = await ask("/v1/search", body, signal);
  wait.remove();
  byId("status").textContent = t.found(found.hits.length);
  if (!found.hits.length) return box.append(h("p", {}, t.nothing), h("p", { class: "soft" }, t.nothingHint));
  page.hits = found.hits;
  const ways = async () => (await ask("/v1/explain", body, signal)).ways;
  if (!found.fits) box.append(h("p", { class: "note" }, t.unlikely));
  box.append(fold("howall", t.howAll, async (room) => drawing(await ways(), question, room)));
  const asked = telling(question, found.hits);
  box.append(h("ol", { class: "hits" }, found.hits.map((hit) => passage(hit, page, asked, async (room) =>
    [await ways()].map((all) => all.find((way) => way.rank === hit.rank)).filter(Boolean)
      .flatMap((way) => [h("p", { class: "soft" }, way.why), drawing([way], question, room)])))));
  if (found.cut) box.append(h("p", { class: "soft" }, found.cut));
  page.redraw.forEach((each) => each());
}

function passage(hit, page, asked, how) {
  const text = h("p", { class: "text" });
  const whole = h("button", { class: "quiet", type: "button", onclick: () => mark(true) }, t.whole);
  const mark = (isWhole) => {
    const { nodes, isCut } = marked(hit, page.citations, asked, isWhole);
    text.replaceChildren(...nodes);
    whole.hidden = !isCut;
  };
  mark(false);
  page.redraw.push(() => mark(whole.hidden));
  return h("li", { class: "hit" }, h("article", {},
    h("h3", {}, h("a", { href: place(hit) }, hit.title || hit.document_id)),
    h("p", { class: "meta" }, h("span", { class: "name" }, hit.document_id), hit.place && h("span", {}, hit.place), h("span", {}, t.likely(Math.round(hit.score * 100)))),
    text, whole, hit.revised_by.map(revision), keys(hit),
    fold(`w${hit.rank}`, t.how, how)));
}

/** The names of a passage; each restricts the search to it. */
function keys(hit) {
  const named = hit.keys.filter((key) => typeof key.value === "string" && key.type !== "title" && key.value !== hit.title);
  if (!named.length) return null;
  return h("ul", { class: "chips" }, named.slice(0, SHOWN_KEYS).map((key) =>
    h("li", {}, h("a", { href: withKey(key.type, key.value) }, h("span", { class: "soft" }, key.type), ` ${keyText(key)}`))));
}

/** What is filled when it is opened; that it is open stands in the address. */
function fold(name, title, fill) {
  const room = h("div", { class: "room" });
  const details = h("details", { class: `how ${name}`, open: state().getAll("way").includes(name), ontoggle: async () => {
    const open = new Set(state().getAll("way"));
    open[details.open ? "add" : "delete"](name);
    history.replaceState(null, "", link({ way: [...open] }));
    if (details.open && room.clientWidth && !room.hasChildNodes()) room.append(...[await within(room, () => fill(room.clientWidth))].flat().filter(Boolean));
  } }, h("summary", {}, title), room);
  return details;
}
