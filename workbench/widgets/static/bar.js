// The cost bar: one axis in modelled µs, with the time, the resource that is busy longest, and
// what else stands on it.

import { h } from "./dom.js";

export const percent = (share) => `${100 * share}%`;

/** The bar, a button that opens what its time goes to; it `grows` where it was guessed. */
export function costBar(shown, opened, grows) {
  const { us, end, longest, before, beyond, marks, said, kind } = shown;
  const span = (name, share, more = {}) =>
    h("span.wb-span", { "data-of": name, ...more, style: `width:${percent(share)}` });
  const axis = h(
    "span.wb-axis",
    {},
    before === null ? null : span("before", before, beyond ? { "data-beyond": "" } : {}),
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

/** Words stand above the bar where there is room, beside their line, which reaches up there. */
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
  for (const tick of ticks) tick.firstChild.hidden = false;
  // where all words would stand on either side, so that the page is laid out twice, however many
  const sides = [false, true].map((leftward) => {
    for (const tick of ticks) tick.classList.toggle("wb-tick-left", leftward);
    return ticks.map((tick) => tick.firstChild.getBoundingClientRect());
  });
  for (const [k, tick] of ticks.entries()) {
    const side = sides.findIndex((boxes) => free(boxes[k]));
    const told = side >= 0;
    tick.firstChild.hidden = !told; // the line stays, and its row tells it
    tick.classList.toggle("wb-tick-told", told);
    tick.classList.toggle("wb-tick-left", side === 1);
    if (told) taken.push(sides[side][k]);
  }
}
