// The costs: at most four counts of the program, each beside what it was before.

import { h, prose } from "./dom.js";

const PAUSE = 200; // ms in which another click may come: it would wait until all is counted

export function costStrip(lab) {
  const pane = h("section.wb-costs", { "aria-label": "Costs" });
  let asking = null;
  return { pane, draw, inputs: () => [lab.against, strip()] };

  function strip() {
    return (lab.against === null ? lab.page : lab.comparison())?.costs;
  }

  /** Nobody asked for it: where no Python is left, as in a notebook made a page, none is told. */
  function ask() {
    try {
      lab.model.send({ do: "count" });
    } catch {
      // the strip goes without
    }
  }

  function draw() {
    clearTimeout(asking);
    const shown = strip();
    pane.hidden = !shown || !(shown.rows.length || shown.text || shown.waits);
    if (pane.hidden) return;
    const waits = shown.waits === "soon";
    if (waits && !lab.offline) asking = setTimeout(ask, PAUSE);
    const button = h(
      "button.wb-count",
      { onclick: () => lab.send({ do: "count" }), "data-f": "count" },
      "count",
    );
    const note = waits ? "Costs …" : shown.text;
    pane.replaceChildren(
      ...(shown.rows.length ? [h("ul.wb-cost-list", {}, shown.rows.map(cost))] : []),
      ...(shown.kind ? [h("span.wb-kind", { title: note }, shown.kind)] : []),
      ...(note && !shown.kind ? [h("p.wb-cost-note", {}, ...prose(note))] : []),
      ...(shown.waits === "asked" && !lab.offline ? [button] : []),
    );
  }
}

function cost({ name, before, after, sign, said }) {
  return h(
    "li.wb-cost",
    {},
    h("span.wb-unseen", {}, said),
    h(
      "span",
      { "aria-hidden": "true" },
      h("span.wb-cost-name", {}, name),
      " ",
      before && sign !== "=" ? h("span.wb-cost-was", {}, `${before} → `) : null,
      h("b.wb-cost-now", {}, after),
      sign ? h("span.wb-cost-sign", {}, ` ${sign}`) : null,
    ),
  );
}
