// The places at which a step can be taken, those that matter first: the keyboard's way to the menu.

import { h, oneStop, tellMore } from "./dom.js";

export function actionsPane(lab, menu) {
  const title = h("span.wb-hint");
  const list = h("div.wb-places", { role: "group", "aria-label": "places" });
  const pane = h("section.wb-pane.wb-actions", { "aria-label": "Next step" }, title, list);
  const settle = oneStop(pane);
  const more = tellMore(list);

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
  }

  function words() {
    if (lab.gone) return "Steps can be taken again when the cell has run.";
    if (lab.offline) return "This page has no Python behind it: choose steps in the history.";
    return "click a place:";
  }

  return { pane, draw, inputs: () => [lab.page?.places, lab.place] };
}
