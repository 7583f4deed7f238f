// Pointing at a cell: what goes with it lights up in the picture and in the program.

import { h } from "./dom.js";
import { boxOf, putNumbers } from "./scene.js";

/** Lights up, in `root`, words of the program: those of a statement and of the loops around it. */
export function lightWords(root, names, { statement = "", loops = [] }) {
  const stages = statement.split(", ");
  const keys = new Set(
    Object.entries(names)
      .filter(
        ([, { kind, name }]) =>
          (kind === "block" && stages.includes(name)) || (kind === "loop" && loops.includes(name)),
      )
      .map(([key]) => key),
  );
  for (const word of root.querySelectorAll(".wb-mark[data-k]")) {
    const own = word.dataset.k.split(" ");
    word.classList.toggle(
      "wb-pointed",
      own.some((key) => keys.has(key)),
    );
  }
}

/** Marks boxes, edges each, over a strip: `marks` as what was pointed at, `boxes` around it. */
export function markStrip(strip, marks, boxes) {
  clearMarks(strip.parentElement);
  const over = document.createElementNS(strip.namespaceURI, "g");
  over.setAttribute("class", "wb-pointing");
  for (const [role, all] of [
    ["wb-asked", boxes],
    ["wb-new", marks],
  ]) {
    for (const edges of all) {
      const box = document.createElementNS(strip.namespaceURI, "rect");
      putNumbers(box, boxOf(edges));
      box.setAttribute("class", role);
      over.append(box);
    }
  }
  strip.append(over);
}

export function clearMarks(strips) {
  for (const over of strips.querySelectorAll(".wb-pointing")) over.remove();
}

const KIN = ["block", "thread", "iteration", "lanes", "row", "column"];
export const LANE = "[data-lanes][data-thread]"; // one lane, of a thread
export const CELLS = "[data-cell], [data-iteration], [data-lanes]"; // what has kin

/** Lights up the cells of a picture that share a block, a thread, a row or a column with `cell`, or
 * an iteration of a pipeline, or a lane of a warp. */
export function lightKin(strips, cell) {
  for (const other of strips.querySelectorAll(CELLS)) {
    const same = cell ? KIN.filter((what) => shares(what, cell, other)) : [];
    if (same.length) other.dataset.with = same.join(" ");
    else delete other.dataset.with;
  }
}

function shares(what, a, b) {
  if (what === "row" || what === "column") {
    const [one, other] = [a, b].map((cell) => indices(cell).at(what === "row" ? -2 : -1));
    return indices(a).length > 1 && one === other;
  }
  if (what === "lanes") {
    const [one, other] = [a, b].map((cell) => cell.dataset.lanes?.split(" ") ?? []);
    return one.some((lane) => other.includes(lane));
  }
  if (what === "thread" && a.dataset.block !== b.dataset.block) return false;
  return a.dataset[what] !== undefined && a.dataset[what] === b.dataset[what];
}

function indices(cell) {
  return cell.dataset.cells?.split(", ") ?? [];
}

/** Where the words of what is pointed at stand, on what is said of the picture. */
export function pointedLine() {
  return h("p.wb-told-cell", { "aria-hidden": "true" });
}
