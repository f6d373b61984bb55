"use strict";
(() => {
  const $ = (query, root = document) => root.querySelector(query);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  all(".tools, .map-tools").forEach((each) => { each.hidden = false; });

  // Follow a link into what is closed or filtered away.
  const reveal = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let each = target; each; each = each.parentElement) {
      if (each.tagName === "DETAILS") each.open = true;
      each.classList.remove("filtered");
    }
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

  // Print every event.
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

  // Filter events and communities.
  const filter = $("#filter");
  const found = $("#found");
  const filterBy = () => {
    const wanted = filter.value.trim().toLocaleLowerCase();
    let count = 0;
    all("article").forEach((article) => {
      const named = all("h4, .chips", article).some((each) => each.textContent.toLocaleLowerCase().includes(wanted));
      let hits = 0;
      all(".event", article).forEach((event) => {
        const hit = event.textContent.toLocaleLowerCase().includes(wanted);
        hits += hit;
        event.classList.toggle("filtered", wanted !== "" && !hit && !named);
      });
      const rest = $("details", article);
      if (rest && wanted) rest.open = !!$(".event:not(.filtered)", rest) && hits > 0;
      else if (rest) rest.open = false;
      article.classList.toggle("filtered", wanted !== "" && !hits && !named);
      count += hits;
    });
    found.textContent = wanted ? found.dataset.text.replace("{count}", count) : "";
  };
  if (filter) {
    let waiting;
    filter.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filterBy, 120); });
  }

  // Sort tables.
  all("table.sortable th[data-sort]").forEach((head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") !== "descending";
      const body = $("tbody", head.closest("table"));
      const value = (row) => row.cells[head.cellIndex].textContent.trim();
      const number = (row) => Number(value(row).replace(/[^\d.-]/g, "")) || 0;
      const compare = head.dataset.sort === "n" ? (a, b) => number(a) - number(b) : (a, b) => value(a).localeCompare(value(b));
      body.append(...[...body.rows].sort((a, b) => (falling ? -1 : 1) * compare(a, b)));
      all("th", head.parentElement).forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    });
  });

  // Tips: the cited sentence, the event behind a dot, the community behind a circle.
  const tip = $("#tip");
  const tipOf = (link) => {
    const target = document.getElementById(link.getAttribute("href").slice(1));
    if (link.matches(".cite")) return target && target.textContent;
    if (link.matches(".dots a")) return target && target.matches(".event") ? target.textContent : link.getAttribute("aria-label");
    return link.getAttribute("aria-label");
  };
  const show = (event) => {
    const link = event.target.closest && event.target.closest(".cite, .map a, .timeline a[aria-label]");
    all(".lit").forEach((each) => each.classList.remove("lit"));
    const text = link && tipOf(link);
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text.replace(/\[\d+\]/g, "").trim();
    const box = link.getBoundingClientRect();
    const left = Math.min(Math.max(box.left, 8), innerWidth - tip.offsetWidth - 8);
    const under = box.bottom + 8 + tip.offsetHeight < innerHeight;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(under ? box.bottom + 8 : box.top - tip.offsetHeight - 8) + scrollY}px`;
    const group = link.closest(".group");
    if (!group) return;
    group.classList.add("lit");
    all(`.tie[data-one="${group.dataset.number}"], .tie[data-other="${group.dataset.number}"]`).forEach((tie) => tie.classList.add("lit"));
  };
  ["pointerover", "focusin"].forEach((name) => document.addEventListener(name, show));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

  // Zoom and drag the map.
  const map = $("#map-svg");
  if (!map) return;
  const whole = map.getAttribute("viewBox").split(" ").map(Number);
  let view = [...whole];
  const draw = () => {
    map.setAttribute("viewBox", view.join(" "));
    map.classList.toggle("zoomed", view[2] < whole[2] * 0.8);
  };
  const zoom = (factor, x = view[0] + view[2] / 2, y = view[1] + view[3] / 2) => {
    const width = Math.min(Math.max(view[2] * factor, whole[2] / 12), whole[2]);
    const scale = width / view[2];
    view = [x - (x - view[0]) * scale, y - (y - view[1]) * scale, width, view[3] * scale];
    if (width === whole[2]) view = [...whole];
    draw();
  };
  const move = (x, y) => { view[0] += x; view[1] += y; draw(); };
  const point = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
  all("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    zoom({ in: 1 / 1.5, out: 1.5, fit: 1000 }[button.dataset.zoom]);
  }));
  map.addEventListener("dblclick", (event) => { event.preventDefault(); const { x, y } = point(event); zoom(1 / 1.8, x, y); });
  map.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { x, y } = point(event);
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, x, y);
  }, { passive: false });
  map.addEventListener("keydown", (event) => {
    const step = view[2] / 10;
    const act = {
      "+": () => zoom(1 / 1.5), "=": () => zoom(1 / 1.5), "-": () => zoom(1.5), 0: () => zoom(1000),
      ArrowLeft: () => move(-step, 0), ArrowRight: () => move(step, 0), ArrowUp: () => move(0, -step), ArrowDown: () => move(0, step),
    }[event.key];
    if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
  });
  let held = null;
  let dragged = false;
  map.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.button === 0 && event.pointerType !== "touch") held = [event.clientX, event.clientY];
  });
  addEventListener("pointermove", (event) => {
    if (!held) return;
    const [x, y] = [event.clientX - held[0], event.clientY - held[1]];
    if (!dragged && Math.hypot(x, y) < 5) return;
    dragged = true;
    const scale = view[2] / map.getBoundingClientRect().width;
    held = [event.clientX, event.clientY];
    move(-x * scale, -y * scale);
  });
  addEventListener("pointerup", () => { held = null; });
  map.addEventListener("dragstart", (event) => event.preventDefault());
  map.addEventListener("click", (event) => { if (dragged) event.preventDefault(); }, true);
})();
