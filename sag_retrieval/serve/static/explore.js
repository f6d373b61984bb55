/** What the release holds: topics, a timeline, and corrections. */
import { ask } from "./api.js";
import { h, s } from "./dom.js";
import { topicMap } from "./map.js";
import { link, place } from "./state.js";
import { number, t } from "./words.js";

const HEIGHT = 120, MONTHS = 12, YEAR = 16, ROOMY = 700;

function head(main, title, hint) {
  main.append(h("h1", {}, title), h("p", { class: "soft" }, hint));
  const wait = h("p", { class: "waiting", role: "status" }, t.loading);
  main.append(wait);
  return wait;
}

/** A statement with its date and the document that it is from. */
function statement(each) {
  return h("li", {}, each.date && h("time", {}, each.date), " ", each.content, " ",
    h("a", { class: "from", href: place(each) }, each.title || each.document_id),
    each.is_revised && h("span", { class: "badge" }, t.isRevised));
}

export async function showTopics(main, at, signal) {
  const wait = head(main, t.topics, t.topicsHint);
  const found = await ask("/v1/topics", null, signal);
  wait.remove();
  if (!found.rows.length) main.append(h("p", {}, t.noTopics));
  const map = topicMap(found.rows, main.clientWidth), usual = main.clientWidth > ROOMY ? "map" : "list";
  const toggled = ({ target }) => {
    const now = target.open ? "map" : "list";
    history.replaceState(null, "", link({ way: now === usual ? null : now }));
  };
  if (map) main.append(h("details", { class: "map", open: (at.get("way") ?? usual) === "map", ontoggle: toggled }, h("summary", {}, t.map), h("p", { class: "soft" }, t.mapHint), map));
  main.append(h("div", { class: "cards" }, found.rows.map((topic) => h("article", { class: "card" },
    h("h2", {}, h("a", { href: link({ view: null, q: topic.title }) }, topic.title)),
    h("p", { class: "meta" }, h("span", {}, t.statements(number(topic.size))), topic.since && h("span", {}, period(topic.since, topic.until))),
    h("p", { class: "first" }, topic.statements[0]?.content),
    h("details", {}, h("summary", {}, t.typical), h("ul", { class: "statements" }, topic.statements.map(statement)))))));
  if (found.cut) main.append(h("p", { class: "soft" }, found.cut));
}

const period = (since, until) => (since.slice(0, 7) === until.slice(0, 7) ? since.slice(0, 7) : `${since.slice(0, 7)} – ${until.slice(0, 7)}`);

export async function showTimeline(main, at, signal) {
  const wait = head(main, t.timeline, t.timelineHint);
  const chosen = at.get("period") ?? "", year = chosen.slice(0, 4);
  const { months } = await ask("/v1/filters", null, signal);
  const counts = chosen ? monthsOf(year, months) : years(months);
  const found = await ask(`/v1/timeline?period=${encodeURIComponent(chosen)}`, null, signal);
  wait.remove();
  if (!Object.keys(counts).length) return main.append(h("p", {}, t.noDates));
  main.append(
    bars(counts, chosen, main.clientWidth),
    chosen ? h("p", {}, h("a", { href: link({ period: null }) }, `← ${t.all}`), ` · ${chosen}`) : "",
    h("ol", { class: "statements" }, found.rows.map(statement)));
  if (found.cut) main.append(h("p", { class: "soft" }, found.cut));
}

/** Statements of each year from the first to the last that has any, those between with 0. */
function years(months) {
  const counts = {};
  const all = Object.keys(months).map((month) => Number(month.slice(0, 4)));
  for (let year = Math.min(...all); year <= Math.max(...all); year++) counts[String(year).padStart(4, "0")] = 0;
  for (const [month, count] of Object.entries(months)) counts[month.slice(0, 4)] += count;
  return counts;
}

const monthsOf = (year, months) => Object.fromEntries(
  Array.from({ length: MONTHS }, (_, i) => `${year}-${String(i + 1).padStart(2, "0")}`).map((month) => [month, months[month] ?? 0]));

/** Bars that lead to their period. */
function bars(counts, chosen, width) {
  const entries = Object.entries(counts), most = Math.max(...Object.values(counts), 1), step = width / entries.length;
  const each = Math.ceil(36 / step);
  return s("svg", { class: "bars", viewBox: `0 0 ${width} ${HEIGHT + 24}`, width, height: HEIGHT + 24, role: "group", "aria-label": t.timeline },
    entries.map(([name, count], i) => {
      const tall = count ? Math.max(2, (HEIGHT - 18) * count / most) : 0, x = i * step;
      return s("a", { href: link({ period: name }), "aria-label": `${name}: ${t.statements(number(count))}`, "aria-current": String(name === chosen) },
        s("rect", { class: "room", x, y: 0, width: step, height: HEIGHT + 24 }),
        s("rect", { class: "bar", x: x + step * 0.12, y: HEIGHT - tall, width: step * 0.76, height: tall, rx: Math.min(3, step / 4) }),
        step > 30 && count > 0 && s("text", { x: x + step / 2, y: HEIGHT - tall - 5 }, number(count)),
        i % each === 0 && s("text", { x: Math.max(YEAR, x + step / 2), y: HEIGHT + 17 }, name.slice(5) || name));
    }));
}

export async function showChanges(main, at, signal) {
  const wait = head(main, t.changes, t.changesHint);
  const found = await ask("/v1/corrections", null, signal);
  wait.remove();
  if (!found.rows.length) main.append(h("p", {}, t.noChanges));
  const side = (each, said) => statement({ ...each, date: said, is_revised: false });
  main.append(h("div", { class: "cards" }, found.rows.map((row) => h("article", { class: "card" },
    h("p", {}, h("span", { class: "badge" }, t.revised[row.kind] ?? row.kind),
      row.earlier_value && row.later_value && [" ", h("s", {}, row.earlier_value), " → ", h("b", {}, row.later_value)]),
    h("ul", { class: "statements" }, side(row.earlier, row.earlier_said), side(row.later, row.later_said))))));
  if (found.cut) main.append(h("p", { class: "soft" }, found.cut));
}
