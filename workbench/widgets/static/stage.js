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
 * Panes and lines say where they go on out of sight, the latter by a mark there.
 */
export function reachable(root) {
  const watched = new WeakSet();
  const sizes = new ResizeObserver(() => look());
  const look = () => {
    const boxes = [...root.querySelectorAll(BOXES)];
    for (const part of boxes.flatMap((box) => [box, ...box.children])) {
      if (watched.has(part)) continue;
      watched.add(part);
      sizes.observe(part); // a picture takes its size later than its pane
    }
    const laid = root.offsetHeight; // JupyterLab takes a cell out for a moment, and back
    const turns = (box) => isTooSmall(box) !== box.hasAttribute("tabindex");
    for (const box of laid ? boxes.filter(turns) : []) {
      if (box.hasAttribute("tabindex")) box.removeAttribute("tabindex");
      else box.tabIndex = 0;
    }
    ends();
  };
  // all is read before anything is written, so that the page is laid out once
  const ends = () => {
    const boxes = [...root.querySelectorAll(".wb-body, .wb-compare, .wb-compared")];
    const ways = boxes.map(moreOf);
    const lines = [...root.querySelectorAll(".wb-listing")].flatMap(lineEnds);
    for (const [k, box] of boxes.entries()) box.dataset.more = ways[k];
    for (const [line, cut] of lines) line.toggleAttribute("data-more", cut);
  };
  const soon = () => requestAnimationFrame(look);
  sizes.observe(root);
  root.addEventListener("click", soon); // which may open what is folded
  root.addEventListener("scroll", () => requestAnimationFrame(ends), true);
  return soon;
}

function isTooSmall(box) {
  return box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1;
}

/** Each line of a program, and whether its end is out of sight. */
function lineEnds(listing) {
  const edge = listing.parentElement.getBoundingClientRect().right;
  const words = document.createRange();
  return [...listing.querySelectorAll(".wb-line")].map((line) => {
    words.selectNodeContents(line.lastElementChild);
    return [line, words.getBoundingClientRect().right > edge + 1];
  });
}
