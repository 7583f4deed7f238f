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

  function count() {
    lab.send({ do: "count" });
  }

  function draw() {
    clearTimeout(asking);
    const shown = strip();
    pane.hidden = !shown || !(shown.rows.length || shown.text || shown.waits);
    if (pane.hidden) return;
    if (shown.waits === "soon" && !lab.offline) asking = setTimeout(count, PAUSE);
    const button = h("button.wb-count", { onclick: count, "data-f": "count" }, "count");
    pane.replaceChildren(
      ...(shown.rows.length ? [h("ul.wb-cost-list", {}, shown.rows.map(cost))] : []),
      h("p.wb-cost-note", {}, ...prose(shown.waits === "soon" ? "…" : shown.text)),
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
      before ? h("span.wb-cost-was", {}, `${before} → `) : null,
      h("b.wb-cost-now", {}, after),
      sign ? h("span.wb-cost-sign", {}, ` ${sign}`) : null,
    ),
  );
}
