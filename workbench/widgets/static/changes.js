// Where a program changed: the first change comes into view, and a button leads on to the next.

import { h } from "./dom.js";

const MARGIN = 24; // px around what is brought into view
const BEGINNING = 80; // px of changed words that tell what they are
const CHANGED = ".wb-come, .wb-edit, .wb-gone, .wb-was";

/** Follow the changes among the lines in `body`, which scrolls, unless a `hand` is on a line. */
export function changesIn(body, hand) {
  const button = h("button.wb-next", { onclick: () => show(below()[0]), "data-f": "changes" });
  let waiting = false; // the first change has not been brought into view yet
  let placed = null; // how far it was scrolled for that
  const look = () => {
    if (!body.clientHeight) return;
    if (waiting) first();
    const count = below().length;
    button.hidden = !count;
    button.textContent = `${count} more change${count === 1 ? "" : "s"} ↓`;
  };
  body.addEventListener("scroll", look);
  body.addEventListener("click", () => requestAnimationFrame(look)); // which may open a fold
  const stays = () => body.scrollTop === placed; // nobody has scrolled since
  const resized = () => {
    waiting ||= stays() && !hand(); // what comes late takes room
    look();
  };
  new ResizeObserver(resized).observe(body);
  return { button, drawn };

  function drawn(anew) {
    waiting ||= anew || stays(); // in other room other lines are folded
    requestAnimationFrame(look);
  }

  /** Changed lines that stand together, as lists of rows. */
  function groups() {
    const found = [];
    for (const row of body.querySelectorAll(CHANGED)) {
      const last = found[found.length - 1];
      if (last && last[last.length - 1] === row.previousElementSibling) last.push(row);
      else found.push([row]);
    }
    return found;
  }

  function below() {
    const edge = body.scrollTop + body.clientHeight;
    return groups().filter(([row]) => row.offsetTop + row.offsetHeight / 2 > edge);
  }

  function first() {
    waiting = false;
    body.scrollTo(0, 0);
    const group = groups()[0];
    if (group) show(group);
    placed = group ? body.scrollTop : null;
  }

  /** Scroll no further than it takes to see the lines of `group`, and their changed words. */
  function show(group) {
    const [row, last] = [group[0], group[group.length - 1]];
    const bottom = last.offsetTop + last.offsetHeight;
    if (row.offsetTop < body.scrollTop || bottom > body.scrollTop + body.clientHeight)
      body.scrollTop = Math.max(0, row.offsetTop - MARGIN);
    const words = [...group].reverse().map((line) => line.querySelector(".wb-changed"));
    const word = words.find(Boolean); // the new line is below
    const right = word ? word.offsetLeft + Math.min(word.offsetWidth, BEGINNING) + MARGIN : 0;
    const gutter = row.querySelector(".wb-text").offsetLeft;
    const over = Math.max(0, right - body.clientWidth); // the margin is worth more than their end
    body.scrollLeft = word ? Math.min(over, word.offsetLeft - gutter - 4) : 0;
  }
}
