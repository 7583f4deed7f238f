// A loop, a block or a buffer is the same thing in every pane.

import { LANE } from "./point.js";

/**
 * Hovering or focusing a loop, buffer or block marks it in every pane, and so does what tells of it
 * alone, `data-lights`; a click opens its menu, also one on the rest of the line that is its head,
 * and on what stands for it in a picture. While that is open, it is ringed.
 */
export function linkMarks(root, lab, menu) {
  let lit = "";
  const light = (keys) => {
    if (keys === lit) return;
    lit = keys;
    redraw();
  };
  const redraw = () => {
    const hot = new Set(lit.split(" ").filter(Boolean));
    const names = lab.page?.names ?? {};
    const words = new Set([...hot].map((key) => names[key]?.name).filter(Boolean));
    for (const el of root.querySelectorAll("[data-k]")) {
      const keys = el.dataset.k.split(" ");
      el.classList.toggle(
        "wb-lit",
        keys.some((key) => hot.has(key)),
      );
      el.classList.toggle("wb-pinned", keys.includes(menu.openAt()));
      if (el.classList.contains("wb-mark"))
        el.ariaCurrent = keys.includes(lab.place) ? "true" : null;
    }
    for (const el of root.querySelectorAll("[data-name]")) {
      el.classList.toggle("wb-lit", words.has(el.dataset.name));
    }
  };
  const from = (event) => {
    const mark = event.target.closest?.("[data-k], [data-lights]");
    if (mark) return mark.dataset.k ?? mark.dataset.lights;
    const head = event.target.closest?.("[data-head]");
    if (head) return head.dataset.head;
    const drawn = event.target.closest?.("[data-name]")?.dataset.name;
    const found = Object.entries(lab.page?.names ?? {}).find(
      ([, about]) => about.kind === "buffer" && about.name === drawn,
    );
    return found?.[0] ?? "";
  };
  // of a shape: the block of a cell, or of a pipeline's turn, where steps start at blocks, the
  // innermost loop of a turn, else the buffer
  const placeOf = (drawn) => {
    const { name, cell, iteration, statement, loops } = drawn.dataset;
    const block = (cell || iteration) && statement && lab.setup.starts.includes("block");
    const place = block
      ? ["block", statement.split(", ").at(-1)]
      : loops
        ? ["loop", loops.split(" ").at(-1)]
        : ["buffer", name];
    const found = Object.entries(lab.page.names).find(
      ([, about]) => about.kind === place[0] && about.name === place[1],
    );
    return found?.[0] ?? from({ target: drawn });
  };
  menu.pane.addEventListener("toggle", redraw);
  root.addEventListener("mouseover", (event) => light(from(event)));
  root.addEventListener("mouseleave", () => light(""));
  root.addEventListener("focusin", (event) => light(from(event)));
  root.addEventListener("click", (event) => {
    const thing = openedAt(event.target);
    const drawn = thing && !thing.matches(".wb-mark");
    const key = thing && (drawn ? placeOf(thing) : from(event).split(" ")[0]);
    const find = (now) => (now === key && thing.isConnected ? thing : menu.markOf(now));
    if (key) menu.open(key, find);
  });
  return redraw;
}

/** What a click on `target` opens the menu of, if of anything. */
function openedAt(target) {
  if (target.closest(LANE)) return null; // which is chosen by it
  const named = target.closest(".wb-mark, .wb-machine [data-name]");
  const head = target.closest("[data-head]");
  const chosen = target.closest("button") || !getSelection().isCollapsed;
  return named || !head || chosen ? named : head.querySelector(`[data-k="${head.dataset.head}"]`);
}
