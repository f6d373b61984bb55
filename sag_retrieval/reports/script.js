"use strict";
(() => {
  const $ = (query, root = document) => root.querySelector(query);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  all(".tools").forEach((each) => { each.hidden = false; });

  // Follow a link into what is closed.
  const reveal = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let each = target; each; each = each.parentElement) {
      if (each.tagName === "DETAILS") each.open = true;
    }
    const folded = $(":scope > details.fold", target);
    if (folded) folded.open = true;
    target.scrollIntoView({ block: "nearest" });
    target.scrollIntoView({ block: target.matches("article, section") ? "start" : "center" });
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();
  });
  reveal();

  // Light and dark.
  $("#theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // On paper: the sources where they are asked for.
  const everything = $("#print-all");
  if (everything) {
    let opened = [];
    everything.addEventListener("change", () => document.documentElement.classList.toggle("print-all", everything.checked));
    addEventListener("beforeprint", () => {
      opened = everything.checked ? all("details:not([open])") : [];
      opened.forEach((each) => { each.open = true; });
    });
    addEventListener("afterprint", () => opened.forEach((each) => { each.open = false; }));
  }

  // Find: mark what holds the words, go to the first, with Enter to the next.
  const filter = $("#filter");
  const found = $("#found");
  let hits = [];
  let place = -1;
  const go = (step) => {
    if (!hits.length) return;
    place = (place + step + hits.length) % hits.length;
    for (let each = hits[place]; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    hits[place].scrollIntoView({ block: "center" });
  };
  const find = () => {
    const wanted = filter.value.trim().toLocaleLowerCase();
    all(".found-here").forEach((each) => each.classList.remove("found-here"));
    const places = all("main p, main li, main tr, main .name");
    hits = wanted ? places.filter((each) => each.textContent.toLocaleLowerCase().includes(wanted)) : [];
    hits = hits.filter((each) => !hits.some((other) => other !== each && each.contains(other)));
    hits.forEach((each) => each.classList.add("found-here"));
    found.textContent = wanted ? found.dataset.text.replace("{count}", hits.length) : "";
    place = -1;
    go(1);
  };
  if (filter) {
    let waiting;
    filter.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(find, 120); });
    filter.addEventListener("keydown", (event) => { if (event.key === "Enter") go(event.shiftKey ? -1 : 1); });
  }

  // Tips: the cited sentence with its document.
  const tip = $("#tip");
  const citedBy = (link) => {
    const target = document.getElementById(link.getAttribute("href").slice(1));
    if (!target) return [];
    const name = $(".name", target.closest(".source")).cloneNode(true);
    all(".n, .meta", name).forEach((each) => each.remove());
    return [name.textContent.trim(), (target.closest("mark") || target).textContent.trim()];
  };
  const hide = () => {
    tip.hidden = true;
    all("[aria-describedby='tip']").forEach((each) => each.removeAttribute("aria-describedby"));
  };
  const show = (link, note = "") => {
    hide();
    if (!link) return;
    const [head, ...lines] = citedBy(link);
    const texts = [["b", head], ...lines.map((line) => ["span", line]), ["i", note]].filter(([, text]) => text);
    tip.replaceChildren(...texts.map(([name, text]) => Object.assign(document.createElement(name), { textContent: text })));
    tip.hidden = !texts.length;
    link.setAttribute("aria-describedby", "tip");
    const box = link.getBoundingClientRect();
    const left = Math.min(Math.max(box.left, 8), innerWidth - tip.offsetWidth - 8);
    const under = box.bottom + 8 + tip.offsetHeight < innerHeight;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(under ? box.bottom + 8 : box.top - tip.offsetHeight - 8) + scrollY}px`;
  };
  const linkOf = (event) => event.target.closest && event.target.closest(".cite");
  ["pointerover", "focusin"].forEach((name) => document.addEventListener(name, (event) => show(linkOf(event))));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // A finger cannot point: its first tap on a citation shows the sentence, the second goes there.
  let byTouch = false;
  let tapped = null;
  document.addEventListener("pointerdown", (event) => { byTouch = event.pointerType === "touch"; });
  document.addEventListener("keydown", () => { byTouch = false; });
  document.addEventListener("click", (event) => {
    const cite = event.target.closest && event.target.closest(".cite");
    const isFirst = Boolean(cite) && byTouch && cite !== tapped;
    tapped = isFirst ? cite : null;
    if (isFirst) {
      event.preventDefault();
      show(cite, tip.dataset.again);
    } else if (byTouch || cite) hide();
  });
})();
