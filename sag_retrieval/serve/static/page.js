/** The page of `sag serve`: the address says what is shown, and everything else follows from it. */
import { ask, forget } from "./api.js";
import { showDocument } from "./document.js";
import { byId, h, keep, kept } from "./dom.js";
import { showChanges, showTimeline, showTopics } from "./explore.js";
import { showKeys } from "./keys.js";
import { showSearch } from "./search.js";
import { FILTERS, link, parts, state, withKey } from "./state.js";
import { trouble } from "./trouble.js";
import { language, number, questionOn, switchLanguage, t } from "./words.js";

const VIEWS = { topics: showTopics, timeline: showTimeline, changes: showChanges, keys: showKeys };
const OFTEN = 4;
const BESIDE = { doc: null, start: null, end: null, way: null };
let shown = "", running = new AbortController();

/** Show what the address says; what is shown already stays. */
async function show() {
  const at = state(), view = at.get("view");
  frame(at, view);
  showDocument(at);
  const wanted = link(BESIDE, state()) + language;
  if (wanted === shown) return;
  shown = wanted;
  running.abort();
  running = new AbortController();
  const main = h("div"), signal = running.signal;
  byId("main").replaceChildren(main);
  byId("status").textContent = "";
  try {
    await Promise.all([fields(at), (VIEWS[view] ?? (at.get("q") ? showSearch : welcome))(main, at, signal)]);
  } catch (error) {
    if (!signal.aborted) main.replaceChildren(trouble(error));
  }
}

/** What stands around the view: words of the language, the form, and the filters that are set. */
function frame(at, view) {
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const each of document.querySelectorAll("[data-word]")) each.textContent = t[each.dataset.word];
  const question = at.get("q") ?? "";
  document.body.classList.toggle("start", !question && !view);
  document.title = [question || t[view], "sag"].filter(Boolean).join(" – ");
  if (byId("query").dataset.asked !== question) byId("query").value = byId("query").dataset.asked = question;
  byId("query").placeholder = t.placeholder;
  byId("mode").replaceChildren(...Object.entries(t.modes).map(([name, word]) => h("option", { value: name, selected: name === (at.get("mode") ?? "fast") }, word)));
  byId("views").setAttribute("aria-label", t.views);
  byId("views").replaceChildren(...[null, ...Object.keys(VIEWS)].map((name) =>
    h("a", { href: link({ ...BESIDE, view: name, period: null, find: null }), "aria-current": name === (view || null) && "page" }, t[name ?? "search"])));
  byId("language").textContent = t.language;
  byId("language").setAttribute("aria-label", t.languageLabel);
  byId("theme").textContent = isDark() ? t.light : t.dark;
  const chosen = [...at].filter(([name, value]) => FILTERS.includes(name) && value);
  byId("chosen").replaceChildren(...chosen.map(([name, value]) => chip(name, value, at)),
    ...(chosen.length > 1 ? [h("li", {}, h("a", { href: link(Object.fromEntries(FILTERS.map((each) => [each, null]))) }, t.clear))] : []));
}

function chip(name, value, at) {
  const words = { key: parts(value).join(": "), language: `${t.tongue}: ${value}` }[name] ?? `${t[name]}: ${value}`;
  const rest = at.getAll(name).filter((each) => each !== value);
  return h("li", {}, h("a", { href: link({ [name]: rest }), "aria-label": t.remove(words) }, `${words} ×`));
}

/** The fields of the filters, made once for a language so that the one in use keeps the keyboard, and their values. */
async function fields(at) {
  const [{ languages }, found] = await Promise.all([ask("/v1/status"), ask("/v1/filters")]);
  if (byId("fields").dataset.made !== `${language} ${found.release}`) {
    byId("fields").dataset.made = `${language} ${found.release}`;
    makeFields(languages, found);
  }
  for (const each of byId("fields").querySelectorAll("[name]")) each.value = at.get(each.name) ?? "";
}

function makeFields(languages, found) {
  const months = Object.keys(found.months), types = Object.keys(found.keys);
  const field = (name, word, control) => h("label", {}, h("span", {}, word), control);
  const set = (name) => (event) => { location.hash = link({ [name]: event.target.value }); };
  const choice = (name, word, options) => field(name, word, h("select", { name, onchange: set(name) },
    h("option", { value: "" }, t.any), options.map(([value, text]) => h("option", { value }, text))));
  const day = (name, word) => field(name, word, h("input", { type: "date", name, min: first(months[0]), onchange: set(name) }));
  const values = h("datalist", { id: "values" });
  const type = h("select", { onchange: () => values.replaceChildren(...(found.keys[type.value] ?? []).map((value) => h("option", { value }))) }, types.map((each) => h("option", {}, each)));
  const value = h("input", { type: "text", list: "values", onkeydown: (event) => event.key === "Enter" && add(event) });
  const add = (event) => {
    event.preventDefault();
    if (value.value.trim()) location.hash = withKey(type.value, value.value.trim());
    value.value = "";
  };
  type.onchange();
  byId("fields").replaceChildren(
    choice("language", t.tongue, Object.entries(languages).map(([name, count]) => [name, `${name} (${number(count)})`])),
    choice("folder", t.folder, Object.entries(found.folders).map(([name, count]) => [`${name}/`, `${name}/ (${number(count)})`])),
    day("from", t.from), day("until", t.until), day("as_of", t.as_of),
    field("type", t.keyType, type), field("value", t.keyValue, value), values, h("button", { type: "button", onclick: add }, t.add));
}

const first = (month) => month && (month.length === 7 ? `${month}-01` : `${month.slice(0, 4)}-01-01`);

/** Nothing was asked yet: what the release is about. */
async function welcome(main) {
  const [{ counts, created_at: made }, { keys }] = await Promise.all([ask("/v1/status"), ask("/v1/filters")]);
  const often = Object.entries(keys).map(([type, values]) => [type, values.filter((value) => /\p{L}/u.test(value))])
    .filter(([type, values]) => type !== "title" && values.length);
  const begin = often.flatMap(([type, values]) => values.slice(0, 2).map((value) => questionOn(type, value))).filter(Boolean);
  main.append(h("div", { class: "welcome" },
    h("h1", {}, t.welcome),
    h("p", { class: "soft" }, `${t.counts(...["documents", "events", "keys"].map((name) => number(counts[name])))} · ${made.slice(0, 10)}`),
    begin.length > 0 && [h("h2", {}, t.begin), h("ul", { class: "begin" }, begin.map((each) => h("li", {}, h("a", { href: link({ q: each }) }, each))))],
    often.length > 0 && h("h2", {}, t.often),
    h("dl", { class: "often" }, often.map(([type, values]) => [h("dt", {}, type),
      h("dd", {}, h("ul", { class: "chips" }, values.slice(0, OFTEN).map((value) => h("li", {}, h("a", { href: link({ q: value }) }, value)))))]).flat())));
  byId("query").focus();
}

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

byId("form").onsubmit = (event) => {
  event.preventDefault();
  const q = byId("query").value.trim();
  location.hash = link({ ...BESIDE, q, mode: byId("mode").value === "fast" ? null : byId("mode").value, view: null, find: null });
  if (!q) byId("query").focus();
};
byId("language").onclick = () => { switchLanguage(); show(); };
byId("theme").onclick = () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  keep("theme", document.documentElement.dataset.theme);
  frame(state(), state().get("view"));
};
addEventListener("hashchange", show);
addEventListener("again", () => { shown = ""; forget(); show(); });
show();
