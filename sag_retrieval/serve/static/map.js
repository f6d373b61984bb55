/** The map of topics: circles as large as the topics, near those that share names with them; the same for the same topics. */
import { s } from "./dom.js";
import { lines } from "./paths.js";
import { link } from "./state.js";
import { t } from "./words.js";

const STEPS = 300, MARGIN = 3, TURN = Math.PI * (3 - Math.sqrt(5)), LABELS = 34, LETTERS = 15;

/** The drawing; null where no topic is tied to another. */
export function topicMap(topics, width) {
  const ties = topics.flatMap((topic, i) => topic.ties.map((tie) => ({ ...tie, from: i })));
  if (!ties.length) return null;
  const area = width * Math.min(width, 560), whole = topics.reduce((sum, topic) => sum + topic.size, 0);
  const nodes = topics.map((topic, i) => {
    const radius = Math.max(9, Math.min(width / 7, Math.sqrt(0.3 * area * topic.size / whole / Math.PI)));
    const far = Math.sqrt(i) * width / 14;
    return { topic, radius, x: far * Math.cos(i * TURN), y: far * Math.sin(i * TURN) };
  });
  const most = Math.max(...ties.map((tie) => tie.weight));
  for (let step = 0; step < STEPS; step++) settle(nodes, ties, most, 1 - step / STEPS, width);
  return drawn(nodes, ties, most, width);
}

/** Draw tied circles together and all to the middle, then push apart those that touch. */
function settle(nodes, ties, most, heat, width) {
  for (const { from, topic, weight } of ties) {
    const [one, other] = [nodes[from], nodes[topic]], pull = 0.06 * heat * weight / most;
    const [x, y] = [(other.x - one.x) * pull, (other.y - one.y) * pull];
    one.x += x; one.y += y; other.x -= x; other.y -= y;
  }
  for (const node of nodes) { node.x *= 1 - 0.01 * heat; node.y *= 1 - 0.03 * heat; }
  for (const [i, one] of nodes.entries()) {
    for (const other of nodes.slice(i + 1)) {
      const [x, y] = [other.x - one.x, other.y - one.y], far = Math.hypot(x, y) || 1, near = one.radius + other.radius + MARGIN - far;
      if (near <= 0) continue;
      const push = near / far / 2;
      one.x -= x * push; one.y -= y * push; other.x += x * push; other.y += y * push;
    }
  }
  for (const node of nodes) node.x = Math.max(node.radius - width / 2, Math.min(width / 2 - node.radius, node.x));
}

function drawn(nodes, ties, most, width) {
  const top = Math.min(...nodes.map((node) => node.y - node.radius)) - 2;
  const height = Math.max(...nodes.map((node) => node.y + node.radius)) + 2 - top;
  for (const node of nodes) { node.x += width / 2; node.y -= top; }
  return s("svg", { class: "topics", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": t.map },
    ties.map(({ from, topic, weight, keys }) => {
      const [one, other] = [nodes[from], nodes[topic]];
      return s("line", { x1: one.x, y1: one.y, x2: other.x, y2: other.y, "stroke-width": 0.6 + 4 * weight / most },
        s("title", {}, t.shares(one.topic.title, other.topic.title, keys.join(" · "))));
    }),
    nodes.map((node) => s("a", { href: link({ view: null, way: null, q: node.topic.title }), "aria-label": `${node.topic.title}: ${t.statements(node.topic.size)}` },
      s("title", {}, `${node.topic.title}: ${t.statements(node.topic.size)}`),
      s("circle", { cx: node.x, cy: node.y, r: node.radius }), node.radius >= LABELS && label(node))));
}

function label(node) {
  const found = lines(node.topic.title, node.radius * 1.6, Math.max(1, Math.floor(node.radius * 1.3 / LETTERS)));
  return s("text", {}, found.map((line, i) => s("tspan", { x: node.x, y: node.y + 4 + (i - (found.length - 1) / 2) * LETTERS }, line.trimEnd())));
}
