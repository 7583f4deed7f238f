// The cost bar: one axis in modelled µs, with the time, the resource that is busy longest, and
// what else stands on it.

import { h } from "./dom.js";

export const percent = (share) => `${100 * share}%`;

/** The bar, a button that opens what its time goes to; it `grows` where it was guessed. */
export function costBar({ us, end, longest, before, marks, said, kind }, opened, grows) {
  const span = (name, share) =>
    h("span.wb-span", { "data-of": name, style: `width:${percent(share)}` });
  const axis = h(
    "span.wb-axis",
    {},
    before === null ? null : span("before", before),
    span("time", end),
    span("longest", longest),
    marks.map(markOn),
  );
  const now = h("b.wb-bar-now", {}, us); // beside the picture's pane: the program stays in view
  const bar = h(
    `button.wb-bar-of-time${grows ? ".wb-grows" : ""}`,
    {
      "data-f": "time",
      "aria-label": said,
      "aria-haspopup": "dialog",
      title: said,
      onclick: () => opened.open(() => now),
    },
    axis,
    now,
    h("span.wb-kind", {}, kind),
  );
  fitted.observe(axis);
  return bar;
}

function markOn({ role, at, words }) {
  return h(
    "span.wb-tick",
    { "data-role": role, style: `left:${percent(at)}` },
    h("span.wb-tick-words", {}, words),
  );
}

const GAP = 4; // px between words

/** Words stand on the side of their line where there is room beside those that matter more. */
const fitted = new ResizeObserver((axes) => {
  for (const { target } of axes) fit(target);
});

function fit(axis) {
  const { left, right } = axis.getBoundingClientRect();
  const taken = [];
  const free = (box) =>
    box.left >= left &&
    box.right <= right &&
    taken.every((one) => box.left >= one.right + GAP || one.left >= box.right + GAP);
  const ticks = [...axis.querySelectorAll(".wb-tick")];
  const ends = [...axis.querySelectorAll(".wb-span")].map((el) => el.getBoundingClientRect().right);
  const lines = [...ticks.map((tick) => tick.getBoundingClientRect().left), ...ends];
  for (const tick of ticks) {
    const words = tick.firstChild;
    words.hidden = false;
    const inside = tick.dataset.role === "longest"; // on what is shaded up to its line
    const boxOf = (leftward) => {
      tick.classList.toggle("wb-tick-left", leftward);
      return words.getBoundingClientRect();
    };
    const sides = [inside, !inside].filter((leftward) => free(boxOf(leftward)));
    const crossed = (box) => lines.filter((x) => x > box.left && x < box.right).length;
    const side = sides.sort((a, b) => crossed(boxOf(a)) - crossed(boxOf(b)))[0];
    const struck = tick.dataset.role === "term" && side !== undefined && crossed(boxOf(side));
    words.hidden = side === undefined || struck; // the line stays, and its row tells it
    if (!words.hidden) taken.push(boxOf(side));
  }
}
