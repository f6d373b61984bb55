/** The drawing of how passages were found: question → key → statement → key → passage. */
import { s } from "./dom.js";
import { keyText, t } from "./words.js";

const LINE = 16, PAD = 7, GAP = 9, LINES = 3, NARROW = 520, FEW = 3;

/** The steps of a way, each in its column. */
function chain(way, question) {
  const same = (one, other) => one && other && one.type === other.type && one.value === other.value;
  const last = way.over ?? (same(way.key, way.seed_key) ? null : way.key);
  const key = (one) => one && { kind: "key", label: keyText(one), type: one.type };
  return [
    { kind: "question", label: question },
    key(way.seed_key),
    way.event && { kind: "statement", label: way.event },
    key(last),
    { kind: "passage", label: `${way.rank} · ${way.title}` },
  ].map((step, column) => step && { ...step, column }).filter(Boolean);
}

/** A label in so many lines of some width; the last one ends with … where something is left out. */
export function lines(label, width, most) {
  const brush = document.createElement("canvas").getContext("2d");
  brush.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
  const fits = (text) => brush.measureText(text.trimEnd()).width <= width;
  const found = [""];
  for (const piece of label.match(/\p{Script=Han}|[^\s\p{Script=Han}]+\s*/gu) ?? []) {
    if (fits(found.at(-1) + piece)) found[found.length - 1] += piece;
    else if (found.length < most && fits(piece) && found.at(-1)) found.push(piece);
    else return [...found.slice(0, -1), shortened(found.at(-1) + piece, fits)];
  }
  return found;
}

function shortened(text, fits) {
  let letters = [...text];
  while (letters.length && !fits(`${letters.join("")}…`)) letters = letters.slice(0, -1);
  return `${letters.join("").trimEnd()}…`;
}

/** The nodes of all ways, each once in its column, and the pairs of nodes that are linked. */
function graph(ways, question) {
  const nodes = new Map(), edges = new Map();
  for (const way of ways) {
    const steps = chain(way, question).map((step) => {
      const name = `${step.column} ${step.type ?? ""} ${step.label}`;
      if (!nodes.has(name)) nodes.set(name, step);
      return nodes.get(name);
    });
    steps.slice(1).forEach((step, i) => edges.set(`${steps[i].column} ${steps[i].label} → ${step.column} ${step.label}`, [steps[i], step]));
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

/** Give each node its box: columns from left to right, or on a narrow screen from top to bottom. */
function laidOut(nodes, width, most) {
  const columns = [...new Set(nodes.map((node) => node.column))].sort();
  const isNarrow = width < NARROW, space = isNarrow ? 0 : 30;
  const wide = isNarrow ? width - 2 : (width - 2 - space * (columns.length - 1)) / columns.length;
  const stacks = columns.map((column) => nodes.filter((node) => node.column === column));
  for (const node of nodes) {
    node.lines = lines(node.label, wide - 2 * PAD, node.kind === "passage" ? most : LINES);
    Object.assign(node, { width: wide, height: (node.lines.length + (node.type ? 1 : 0)) * LINE + 2 * PAD });
  }
  const tall = (stack) => stack.reduce((sum, node) => sum + node.height + GAP, -GAP);
  const height = isNarrow ? 0 : Math.max(...stacks.map(tall));
  let down = 1;
  stacks.forEach((stack, i) => {
    let y = isNarrow ? down : 1 + (height - tall(stack)) / 2;
    for (const node of stack) {
      Object.assign(node, { x: 1 + (isNarrow ? 0 : i * (wide + space)), y });
      y += node.height + GAP;
    }
    down = y + GAP;
  });
  return { isNarrow, height: isNarrow ? down - 2 * GAP + 2 : height + 2 };
}

function edge([from, to], isNarrow) {
  if (isNarrow) return s("path", { class: "edge", d: `M${from.x + 24} ${from.y + from.height} V${to.y}` });
  const [x, y, X, Y] = [from.x + from.width, from.y + from.height / 2, to.x, to.y + to.height / 2];
  return s("path", { class: "edge", d: `M${x} ${y} C${(x + X) / 2} ${y} ${(x + X) / 2} ${Y} ${X} ${Y}` });
}

function box(node) {
  const texts = [...(node.type ? [[node.type, "soft"]] : []), ...node.lines.map((line) => [line, ""])];
  return s("g", { class: `node ${node.kind}` },
    s("title", {}, node.label),
    s("rect", { x: node.x, y: node.y, width: node.width, height: node.height, rx: 6 }),
    texts.map(([text, kind], i) => s("text", { class: kind, x: node.x + PAD, y: node.y + PAD + LINE * (i + 0.78) }, text)));
}

/** The drawing of ways for a place of some width. */
export function drawing(ways, question, width) {
  const { nodes, edges } = graph(ways, question);
  const { isNarrow, height } = laidOut(nodes, width, ways.length > FEW ? LINES - 1 : LINES);
  return s("svg", { class: "paths", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": ways.map((way) => way.why).join("; ") || t.how },
    edges.map((each) => edge(each, isNarrow)), nodes.map(box));
}
