// The history: every program reached, one button each, in the order that Python gives.

import { h, oneStop, spoken } from "./dom.js";

export function historyPane(lab) {
  const list = h("ol.wb-steps", { "aria-label": "steps, in the order they build on each other" });
  const undo = h("button", { onclick: () => lab.goto(parentOf(lab.at)) }, "↶ undo");
  const redo = h("button", { onclick: () => lab.goto(lab.redoTo(lab.at)) }, "redo ↷");
  const compare = h("button", {
    onclick: () => lab.setCompare(lab.against === null ? parentOf(lab.at) : null),
  });
  const pane = h(
    "section.wb-pane.wb-history",
    { "aria-label": "History" },
    h("h3", {}, "History"),
    list,
    h("div.wb-row", {}, undo, redo, compare),
  );
  const settle = oneStop(pane);
  // also when it is laid out at last: a notebook makes what is out of sight later
  if (globalThis.ResizeObserver) new ResizeObserver(follow).observe(list);

  function parentOf(id) {
    return lab.node(id)?.parent ?? null;
  }

  function stepButton(node) {
    const here = node.id === lab.at;
    const versus = node.id === lab.against;
    const sign = here ? "▶" : versus ? "⇄" : node.branch ? "↳" : "";
    const button = h(
      "button.wb-step",
      {
        onclick: () => lab.goto(node.id),
        disabled: !lab.shows(node.id),
        "data-f": node.id,
        "aria-current": here ? "step" : null,
        title: node.said ? spoken(node.said) : null,
      },
      h("span.wb-here", { "aria-hidden": "true" }, sign),
      h("span.wb-step-no", {}, String(node.id)),
      h(
        "span.wb-step-text",
        {},
        node.label,
        node.branch ? h("span.wb-from", {}, ` from ${node.parent}`) : null,
      ),
      node.mark && node.mark !== node.label ? h("span.wb-tag", {}, node.mark) : null,
      versus ? h("span.wb-unseen", {}, " (compared with)") : null,
    );
    const style = `--depth:${Math.min(node.indent, 4)}`;
    return h("li", { style }, button, here ? null : compareButton(node, versus));
  }

  function compareButton(node, versus) {
    const words = `compare with ${node.id}`;
    return h(
      "button.wb-versus",
      {
        onclick: () => lab.setCompare(versus ? null : node.id),
        disabled: !versus && !lab.compares(node.id),
        "data-f": `compare ${node.id}`,
        "aria-pressed": String(versus),
        "aria-label": words,
        title: words,
      },
      "⇄",
    );
  }

  /** Scroll the list, and nothing else, to the step that is shown. */
  function follow() {
    const here = list.querySelector("[aria-current]")?.getBoundingClientRect();
    if (!here?.height) return;
    const around = list.getBoundingClientRect();
    if (here.top < around.top) list.scrollTop -= around.top - here.top;
    else if (here.bottom > around.bottom) list.scrollTop += here.bottom - around.bottom;
  }

  function draw() {
    list.replaceChildren(...lab.tree.map(stepButton));
    requestAnimationFrame(follow); // where it stands is known once it is laid out
    undo.disabled = !lab.shows(parentOf(lab.at));
    redo.disabled = !lab.shows(lab.redoTo(lab.at));
    compare.hidden = lab.tree.length < 2;
    compare.disabled = lab.against === null && parentOf(lab.at) === null;
    compare.textContent = lab.against === null ? "compare with the step before" : "stop comparing";
    settle();
  }

  return { pane, draw, inputs: () => [lab.tree, lab.against] };
}
