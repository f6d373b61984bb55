/** Elements from a name, attributes and children; a text is a text node always, so that none becomes markup. */
export function h(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function s(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((each) => each != null && each !== false && each !== ""));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** What is kept in this browser; without storage, for as long as the page is open. */
const memory = {};
export function keep(name, value, storage = localStorage) {
  memory[name] = value;
  try { storage.setItem(`sag.${name}`, value); } catch { /* switched off */ }
}
export function kept(name, storage = localStorage) {
  try { return memory[name] ?? storage.getItem(`sag.${name}`); } catch { return null; }
}
