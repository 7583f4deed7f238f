// Making elements, moving focus with arrows inside a pane, and keeping keys from the notebook.

/** An element: h("button.wb-go", {onclick, "aria-label": ...}, child, ...). */
export function h(kind, attrs = {}, ...kids) {
  const [name, ...classes] = kind.split(".");
  const el = document.createElement(name);
  if (classes.length) el.className = classes.join(" ");
  for (const [key, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
    else el.setAttribute(key, value === true ? "" : value);
  }
  el.append(...kids.flat().filter((kid) => kid !== null && kid !== undefined && kid !== false));
  return el;
}

/** Pictures and tables come as markup that Python made and escaped. */
export function markup(html) {
  const box = document.createElement("template");
  box.innerHTML = html;
  return box.content;
}

const UNIT = /(?<=\d) (?=(?:[KMGT]?i?B(?:\/s)?|bytes?|[nµm]?s|[MG]Hz|[GT]FLOP\/s)\b)/g;

/** A sentence in which `code` stands between backticks, as nodes; units stay by their numbers. */
export function prose(text) {
  return String(text)
    .replace(UNIT, "\u00a0")
    .split("`")
    .map((part, k) => (k % 2 ? h("code.wb-word", {}, part) : part));
}

/** The same sentence where there can be no elements: in what is read out, in a tooltip. */
export function spoken(text) {
  return String(text).replaceAll("`", "");
}

// Each lab on a page evaluates the modules anew: without a part of its own, its ids would be those
// of another lab, and a label would press that one's button.
const own = Math.random().toString(36).slice(2, 10);
let counter = 0;
export function freshId(word) {
  counter += 1;
  return `wb-${word}-${own}-${counter}`;
}

const WRITTEN = "input:not([type=range]):not([type=radio]):not([type=checkbox]), textarea";

// With Ctrl or Meta, what JupyterLab does to cells: selects all, undoes, merges, moves, folds.
const ON_CELLS = /^([amzy]|Backspace|Arrow.*)$/i;

/**
 * JupyterLab binds bare keys on any focused element that is not a text field: arrows leave
 * the cell, D D deletes it; Shift and a click select cells. What is meant for our controls stops
 * here; Escape, and chords of Ctrl and Meta that do nothing to cells, pass. Shift+Enter goes on to
 * the next cell: this one is not run again, which would begin anew.
 */
export function guard(root) {
  const onKey = (event) => {
    const chord = event.ctrlKey || event.metaKey;
    const leaves = event.key === "Escape" || (chord && !ON_CELLS.test(event.key));
    const enter = event.shiftKey && event.key === "Enter";
    const next = enter && nextCell(root);
    if (next) {
      event.preventDefault();
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    }
    if (next || !(leaves || enter)) event.stopPropagation();
    // nor is all the text of the page selected
    if (chord && event.key.toLowerCase() === "a" && !event.target.closest(WRITTEN))
      event.preventDefault();
  };
  const onPress = (event) => {
    if (event.shiftKey) event.stopPropagation();
  };
  root.tabIndex = -1; // it has the focus where what had it is gone
  root.addEventListener("keydown", onKey);
  root.addEventListener("mousedown", onPress);
}

/** The notebook's cell behind that of `root`; undefined where there is none. */
function nextCell(root) {
  let next = root.closest(".jp-Cell")?.nextElementSibling;
  while (next && !next.classList.contains("jp-Cell")) next = next.nextElementSibling;
  return next ?? undefined;
}

const STOPS =
  "button, [role=button], [role=tab], summary, input[type=range], input[type=radio], .wb-on";
const TYPES = "input:not([type=range]):not([type=radio]), select:not(.wb-on), textarea";

/** One tab stop for `pane`; arrows, Home and End move between the things in it. */
export function oneStop(pane) {
  const items = () =>
    [...pane.querySelectorAll(STOPS)].filter(
      (item) =>
        !item.disabled &&
        item.getClientRects().length &&
        !item.closest("form.wb-form") &&
        (item.closest(".wb-tray") ?? pane) === pane, // which is a stop of its own
    );
  const settle = (chosen) => {
    const all = items();
    const stop = all.includes(chosen)
      ? chosen
      : (all.find((item) => item.tabIndex === 0 && "stop" in item.dataset) ?? preferred(all));
    return () => {
      for (const item of all) {
        const index = item === stop ? 0 : -1;
        if (item.getAttribute("tabindex") !== `${index}`) item.tabIndex = index;
        item.toggleAttribute("data-stop", item === stop);
      }
    };
  };
  const preferred = (all) =>
    all.find((item) => item.ariaCurrent || item.ariaSelected === "true") ??
    all.find((item) => item.ariaPressed === "true") ??
    all[0];
  pane.addEventListener("focusin", (event) => {
    const item = event.target.closest(STOPS);
    if (item) settle(item)();
  });
  pane.addEventListener("keydown", (event) => {
    const from = event.target.closest(STOPS);
    const chord = event.ctrlKey || event.metaKey || event.altKey;
    if (!from || event.target.closest(TYPES) || chord || event.shiftKey) return;
    const sideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (from.type === "range" && (sideways || event.key === "Home" || event.key === "End")) return;
    if (from.getAttribute("role") === "button" && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      from.click();
      return;
    }
    const upright = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (from.matches(".wb-on") && upright) return; // they choose in it
    const group = upright && from.type === "radio" ? from.name : null; // it stays one among choices
    const among = items().filter((item) => group === null || item.name === group);
    const next = neighbour(among, from, event.key);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  // what can be reached is known once it is laid out: a notebook draws a lab before it shows it
  const soon = () => onceDrawn(anew);
  const anew = () => settle(null);
  if (globalThis.ResizeObserver) new ResizeObserver(soon).observe(pane);
  return soon;
}

let reads = new Set();

/**
 * Once all that is being drawn is there, `read` what the layout says; what it returns is done after
 * all others have read, so that one layout serves them all.
 */
export function onceDrawn(read) {
  if (!reads.size)
    queueMicrotask(() => {
      const all = [...reads];
      reads = new Set();
      for (const act of all.map((one) => one())) act?.();
    });
  reads.add(read);
}

/** Draw a pane anew and put the focus back on the thing that had it, if that is still there. */
export function keepFocus(pane, draw) {
  const page = pane.getRootNode();
  const old = pane.contains(page.activeElement) ? page.activeElement : null;
  const who = (item) => item.dataset.f ?? [item.textContent, item.ariaLabel, item.value].join();
  const same = (item) => item.tagName === old.tagName && who(item) === who(old);
  const order = old ? [...pane.querySelectorAll(old.tagName)].filter(same).indexOf(old) : 0;
  draw();
  if (!old || old.isConnected) return;
  const found = [...pane.querySelectorAll(old.tagName)].filter(same);
  (found[order] ?? found[0])?.focus({ preventScroll: true });
}

/** Where an arrow leads: sideways in reading order, up and down to the nearest in the next row. */
export function neighbour(all, from, key) {
  const at = all.indexOf(from);
  if (key === "ArrowRight") return all[at + 1];
  if (key === "ArrowLeft") return all[at - 1];
  if (key === "Home") return all[0];
  if (key === "End") return all[all.length - 1];
  if (key !== "ArrowUp" && key !== "ArrowDown") return null;
  const down = key === "ArrowDown" ? 1 : -1;
  const here = from.getBoundingClientRect();
  const distance = (item) => {
    const there = item.getBoundingClientRect();
    const rows = (there.top + there.bottom - here.top - here.bottom) * 0.5 * down;
    if (rows < Math.min(here.height, there.height) * 0.6) return Infinity;
    return rows * 10 + Math.abs(there.left - here.left);
  };
  const best = all.reduce((a, b) => (distance(b) < distance(a) ? b : a), from);
  return distance(best) < Infinity && best !== from ? best : null;
}

/** Towards which ends a box can be scrolled, for its `data-more`. */
export function moreOf(box) {
  const ends = {
    left: box.scrollLeft > 1,
    right: box.scrollLeft + box.clientWidth < box.scrollWidth - 1,
    below: box.scrollTop + box.clientHeight < box.scrollHeight - 1,
  };
  return Object.keys(ends)
    .filter((end) => ends[end])
    .join(" ");
}
