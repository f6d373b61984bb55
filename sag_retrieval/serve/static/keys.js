/** Keys: found by name, and merged or kept apart by who may. */
import { ask, change } from "./api.js";
import { byId, h } from "./dom.js";
import { link } from "./state.js";
import { trouble } from "./trouble.js";
import { number, t } from "./words.js";

const DECISIONS = "/v1/decisions";

export async function showKeys(main, at, signal) {
  const text = at.get("find") ?? "";
  main.append(h("h1", {}, t.keys), h("p", { class: "soft" }, t.keysHint));
  const found = await ask(`/v1/keys?text=${encodeURIComponent(text)}`, undefined, signal);
  const input = h("input", { type: "search", "aria-label": t.findKey, placeholder: t.findKey, maxlength: 500, value: text });
  const find = h("form", { class: "box find", onsubmit: (event) => {
    event.preventDefault();
    location.hash = link({ find: input.value.trim() });
  } }, input, h("button", {}, t.find));
  const room = found.decides && h("section", { class: "decisions" });
  const pair = room && decideForm(room);
  main.append(h("div", { class: room ? "columns" : "" },
    h("section", { "aria-label": t.keys }, find, found.rows.length ? h("ul", { class: "keys" }, found.rows.map((row) => key(row, pair))) : h("p", {}, t.noKeys)),
    room || ""));
  if (room) draw(room, pair, await ask(DECISIONS, undefined, signal));
}

function key(row, pair) {
  const others = row.aliases.filter((each) => each !== row.value);
  return h("li", {},
    h("a", { href: link({ view: null, find: null, q: row.value }) }, row.value), h("span", { class: "soft" }, ` ${row.type} · ${t.statements(number(row.events))}`),
    pair && h("button", { type: "button", class: "quiet", "aria-label": t.choose(row.value), onclick: () => pair.take(row.value) }, "+"),
    others.length > 0 && h("div", { class: "soft" }, `${t.others} ${others.join(" · ")}`));
}

/** Two names, and what to decide of them. */
function decideForm(room) {
  const [name, other] = [t.name, t.other].map((word) => h("input", { type: "text", required: true, maxlength: 500, "aria-label": word, placeholder: word }));
  const form = h("form", { class: "pair", onsubmit: (event) => {
    event.preventDefault();
    decide(room, pair, event.submitter.value, name.value.trim(), other.value.trim());
  } }, name, other, h("button", { class: "main", value: "merge" }, t.merge), h("button", { value: "split" }, t.split));
  const pair = { form, take: (value) => {
    const empty = name.value && !other.value ? other : name;
    if (empty === name) other.value = "";
    empty.value = value;
    empty.focus();
  } };
  return pair;
}

const decide = (room, pair, decision, name, other) => changed(room, pair, () => change(DECISIONS, "POST", { decision, name, other }, DECISIONS));

async function changed(room, pair, work) {
  try {
    draw(room, pair, await work());
    room.querySelector("h2").focus();
  } catch (error) {
    room.querySelector(".trouble")?.remove();
    pair.form.after(trouble(error));
  }
}

function draw(room, pair, { decided, close }) {
  const both = (one) => [one.name, one.other];
  room.replaceChildren(
    h("h2", { tabindex: -1 }, t.decide), pair.form,
    decided.length ? h("h2", {}, t.decided) : "",
    h("ul", { class: "keys" }, decided.map((one) => h("li", {}, h("b", {}, one.name), ` ${t.verbs[one.decision]} `, h("b", {}, one.other), " ",
      h("button", { type: "button", "aria-label": t.undoBoth(...both(one)), onclick: () => changed(room, pair, () => change(`${DECISIONS}/${one.line}`, "DELETE", undefined, DECISIONS)) }, t.undo)))),
    close.length ? h("h2", {}, t.closeNames) : "", close.length ? h("p", { class: "soft" }, t.closeHint) : "",
    h("ul", { class: "keys" }, close.map(({ name, other }) => {
      const names = [name.name, other.name];
      return h("li", { class: "close" }, h("span", {}, h("b", {}, name.name), h("span", { class: "soft" }, ` ${name.type} · ${number(name.events)}`), h("br"),
        h("b", {}, other.name), h("span", { class: "soft" }, ` ${other.type} · ${number(other.events)}`)),
      h("button", { type: "button", "aria-label": t.mergeBoth(...names), onclick: () => decide(room, pair, "merge", ...names) }, t.merge),
      h("button", { type: "button", "aria-label": t.splitBoth(...names), onclick: () => decide(room, pair, "split", ...names) }, t.split));
    })));
  byId("status").textContent = t.decided;
}
