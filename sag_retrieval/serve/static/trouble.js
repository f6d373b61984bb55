/** What is shown where something went wrong, and what to do. */
import { forget } from "./api.js";
import { h, keep } from "./dom.js";
import { t } from "./words.js";

const NOT_YET = 503, NO_KEY = 401;

/** Ask everything again. */
function again() {
  forget();
  dispatchEvent(new Event("again"));
}

export function trouble(error) {
  if (error.status === NO_KEY) return keyForm();
  const isEmpty = error.status === NOT_YET && /no release/.test(error.message);
  return h("div", { class: "trouble", role: "alert" },
    isEmpty && h("h2", {}, t.noRelease),
    h("p", {}, isEmpty ? t.noReleaseHint : error.status === undefined ? t.unreached : error.message),
    isEmpty && h("pre", {}, "sag ingest my-documents"),
    h("button", { type: "button", onclick: again }, t.again));
}

function keyForm() {
  const input = h("input", { id: "key", type: "password", autocomplete: "off", required: true });
  return h("form", { class: "trouble", onsubmit: (event) => {
    event.preventDefault();
    keep("key", input.value.trim(), sessionStorage);
    again();
  } }, h("h2", {}, t.needsKey), h("label", { for: "key" }, t.key), h("div", { class: "box" }, input, h("button", { class: "main" }, t.enter)));
}
