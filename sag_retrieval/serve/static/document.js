/** A document, opened at a cited place. */
import { ask } from "./api.js";
import { byId, h } from "./dom.js";
import { flagged, written } from "./marks.js";
import { link, state } from "./state.js";
import { trouble } from "./trouble.js";
import { number, t } from "./words.js";

const AROUND = 40_000;

/** Open, change or close the document as the address says. */
export async function showDocument(at) {
  const box = byId("document"), id = at.get("doc");
  if (!id) return box.open && box.close();
  const [start, end] = ["start", "end"].map((name) => Number(at.get(name) ?? 0));
  const name = `${id} ${start} ${end} ${document.documentElement.lang}`;
  if (box.open && box.dataset.shown === name) return;
  box.dataset.shown = name;
  const close = h("button", { type: "button", onclick: () => box.close() }, t.close);
  box.replaceChildren(h("header", {}, h("h2", { id: "document-title" }, id), close), h("p", { class: "waiting" }, t.loading));
  box.onclose = () => state().get("doc") && (location.hash = link({ doc: null, start: null, end: null }));
  box.onclick = (event) => event.target === box && box.close();
  if (!box.open) box.showModal();
  try {
    const span = end > start ? `start=${start}&end=${end}&` : "";
    const found = await ask(`/v1/documents/${encodeURIComponent(id)}?${span}around=${AROUND}`);
    if (box.dataset.shown === name) fill(box, found, start, end, close);
  } catch (error) {
    box.lastChild.replaceWith(trouble(error));
  }
}

function fill(box, found, start, end, close) {
  const flags = flagged(found.text, found.document_id, end > start ? [[start - found.start, end - found.start]] : []);
  const known = Object.entries(found.metadata).filter(([, value]) => ["string", "number"].includes(typeof value));
  const isPart = found.start > 0 || found.end < found.characters;
  box.replaceChildren(
    h("header", {}, h("h2", { id: "document-title" }, found.title || found.document_id), close),
    h("p", { class: "meta" }, h("span", { class: "name" }, found.document_id), h("span", {}, found.language), h("span", {}, t.opened(number(found.characters))),
      known.slice(0, 4).map(([name, value]) => h("span", {}, `${name}: ${value}`)), isPart && h("span", {}, t.part)),
    h("p", {}, h("a", { href: link({ document: found.document_id, doc: null, start: null, end: null, view: null }) }, t.within)),
    h("div", { class: "paper", tabindex: 0, role: "region", "aria-label": t.text }, written(found.text, flags, 0, found.text.length)));
  box.querySelector("mark")?.scrollIntoView({ block: "center" });
}
