// The places at which a step can be taken, those that matter first: the keyboard's way to the menu.

import { h, onceDrawn, oneStop } from "./dom.js";
import { gripRow } from "./grip.js";

export function actionsPane(lab, menu, trying) {
  const title = h("span.wb-hint");
  const list = h("div.wb-places", { role: "group", "aria-label": "places" });
  const next = h("button.wb-next-places", { title: "more places", onclick: turn }, "▾");
  next.ariaLabel = "more places";
  next.tabIndex = -1; // arrows lead to every place
  const tries = h("div.wb-tries", { role: "group", "aria-label": "numbers to try" });
  const inside = [title, list, next, tries];
  const pane = h("section.wb-pane.wb-actions", { "aria-label": "Next step" }, ...inside);
  let held = null; // of a saved page: { at, rows }, the numbers of a program that can be tried
  const settle = oneStop(list);
  new ResizeObserver(() => more()).observe(list);

  /** Of places one row is seen at a time: the button leads to the next, and from the last on. */
  function turn() {
    const { bottom } = list.getBoundingClientRect();
    const below = [...list.children].find((chip) => chip.getBoundingClientRect().top > bottom - 4);
    (below ?? list.firstChild)?.scrollIntoView({ block: "nearest" });
  }

  const more = () => onceDrawn(ends);
  function ends() {
    const idle = list.scrollHeight <= list.clientHeight + 1;
    return () => next.toggleAttribute("data-idle", idle);
  }

  const chip = (key) => list.querySelector(`[data-k="${key}"]`);

  function placeButton({ key, label }) {
    return h(
      "button.wb-place",
      {
        "data-k": key,
        "aria-haspopup": "dialog",
        "aria-current": key === lab.place ? "true" : null, // where one goes on
        title: label,
        onclick: () => menu.open(key, (now) => chip(now) ?? chip(lab.place)),
      },
      label,
    );
  }

  function draw() {
    title.textContent = words();
    list.replaceChildren(...(lab.offline ? [] : (lab.page?.places ?? [])).map(placeButton));
    settle();
    more();
    holds();
  }

  /** In a saved page, a slider for each number of which some values were tried. */
  function holds() {
    if (held?.at !== lab.at) {
      const keys = lab.setup.offline ? Object.keys(lab.grips) : [];
      const rows = keys.map((key) => [key, gripRow(lab, trying, key, () => {})]);
      held = { at: lab.at, rows };
      tries.replaceChildren(...rows.map(([, row]) => row));
    }
    for (const [key, row] of held.rows) if (lab.tried?.step.place !== key) row.rest();
  }

  function words() {
    if (lab.gone) return "Steps can be taken again when the cell has run.";
    if (Object.keys(lab.grips).length && lab.offline)
      return "This page has no Python behind it: choose steps in the history, or try a number:";
    if (lab.offline) return "This page has no Python behind it: choose steps in the history.";
    return "click a place:";
  }

  return { pane, draw, inputs: () => [lab.page?.places, lab.place, lab.offline && lab.tried?.seq] };
}
