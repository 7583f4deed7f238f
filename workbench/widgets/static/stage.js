// The stage: the program beside its picture, one of the two where the lab is narrow, or what a
// comparison shows in their place. Of a broken kernel, what is found stands where the picture does.

import { h, moreOf } from "./dom.js";

const SIDES = [
  ["program", "Program"],
  ["machine", "Picture"],
];

export function stagePane(program, machine, compare, found) {
  const buttons = SIDES.map(([side, name]) =>
    h("button.wb-tab", { onclick: () => turn(side) }, name),
  );
  const sides = h("div.wb-sides", { role: "group", "aria-label": "show" }, buttons);
  const stage = h("div.wb-stage", {}, sides, program, machine, compare, found);
  turn("program");
  return stage;

  function turn(side) {
    stage.dataset.side = side;
    SIDES.forEach(([name], k) => buttons[k].setAttribute("aria-pressed", String(name === side)));
  }
}

const BOXES =
  ".wb-top, .wb-told, .wb-body, .wb-notes, .wb-compare, .wb-compared, .wb-drawn, .wb-table";

/**
 * What scrolls can be reached by the keyboard, which then scrolls it; what does not is no stop.
 * Panes and lines say where they go on out of sight.
 */
export function reachable(root) {
  const watched = new WeakSet();
  const sizes = new ResizeObserver(() => look());
  const look = () => {
    for (const box of root.querySelectorAll(BOXES)) {
      for (const part of [box, ...box.children]) {
        if (watched.has(part)) continue;
        watched.add(part);
        sizes.observe(part); // a picture takes its size later than its pane
      }
      if (!root.offsetHeight) continue; // JupyterLab takes a cell out for a moment, and back
      if (box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1)
        box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
    ends();
  };
  const ends = () => {
    for (const box of root.querySelectorAll(".wb-body, .wb-compare, .wb-compared")) moreOf(box);
    for (const listing of root.querySelectorAll(".wb-listing")) lineEnds(listing);
  };
  const soon = () => requestAnimationFrame(look);
  sizes.observe(root);
  root.addEventListener("click", soon); // which may open what is folded
  root.addEventListener("scroll", () => requestAnimationFrame(ends), true);
  return soon;
}

/** Each line of a program whose end is out of sight has a mark there. */
function lineEnds(listing) {
  const edge = listing.parentElement.getBoundingClientRect().right;
  const lines = [...listing.querySelectorAll(".wb-line")];
  const words = document.createRange();
  const cut = lines.map((line) => {
    words.selectNodeContents(line.lastElementChild);
    return words.getBoundingClientRect().right > edge + 1;
  });
  lines.forEach((line, k) => line.toggleAttribute("data-more", cut[k]));
}
