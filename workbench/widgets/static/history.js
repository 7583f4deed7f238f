// The history: the branch that is stood on as a line, and every program reached as a tree.

import { h, oneStop, spoken } from "./dom.js";
import { popup } from "./popup.js";
import { stepTree } from "./tree.js";

export function historyPane(lab) {
  const line = h("ol.wb-chain", { "aria-label": "this branch" });
  const undone = new Map(); // node where a number was dragged -> what that made, which was undone
  const undo = arrow("undo", "↶", () => {
    if (lab.page.back) undone.set(lab.page.back, lab.at);
    else undone.delete(before());
    lab.goto(before());
  });
  const redo = arrow("redo", "↷", () => lab.goto(after()));
  const all = h("button.wb-all", {
    "aria-haspopup": "dialog",
    onclick: () => whole.open(() => all),
  });
  const steps = stepTree(lab, go, () => whole.close());
  const tree = steps.box;
  const compare = h("button", {
    onclick: () => lab.setCompare(lab.against === null ? before() : null),
  });
  const pane = h(
    "section.wb-pane.wb-history",
    { "aria-label": "History" },
    undo,
    redo,
    line,
    compare,
    all,
    tree,
  );
  const whole = popup(tree);
  const settle = oneStop(pane);
  // also when it is laid out at last: a notebook makes what is out of sight later
  new ResizeObserver(follow).observe(line);
  tree.addEventListener("toggle", follow);

  function parentOf(id) {
    return lab.node(id)?.parent ?? null;
  }

  /** Where undo leads: ahead of the step, or, where a number was dragged, back to that. */
  const before = () => lab.page?.back ?? parentOf(lab.at);
  const after = () => undone.get(lab.at) ?? lab.redoTo(lab.at);

  /** From the start to where the lab is, and on along what was done last. */
  function branch() {
    const before = [];
    for (let id = lab.at; id !== null; id = parentOf(id)) before.unshift(id);
    const seen = new Set(before);
    for (let id = lab.redoTo(lab.at); id !== null && !seen.has(id); id = lab.redoTo(id)) {
      seen.add(id);
      before.push(id);
    }
    return before.map((id) => lab.node(id)).filter(Boolean);
  }

  function go(node) {
    return {
      onclick: () => {
        whole.close();
        lab.goto(node.id);
      },
      disabled: !lab.shows(node.id),
      "aria-current": node.id === lab.at ? "step" : null,
      title: node.said ? spoken(node.said) : null,
    };
  }

  /** A step of the branch: its verb, or the name it was given; where the lab is, all of it. */
  function chip(node) {
    const verb = /^\w*/.exec(node.label)[0] || node.label;
    const others = lab.tree.filter(({ parent }) => parent === node.id).length - 1;
    return h(
      "li",
      {},
      h(
        "button.wb-link",
        { ...go(node), "data-f": `chip ${node.id}`, "aria-label": `${node.id} ${node.label}` },
        h("span.wb-step-no", {}, `${node.id} `),
        node.id === lab.at ? node.label : node.mark || verb,
        others > 0 ? h("span.wb-from", {}, ` +${others} branch${others > 1 ? "es" : ""}`) : null,
      ),
    );
  }

  /** Scroll the line and the tree, and nothing else, to the step that is shown, what is ahead of it
   * and what comes behind it in view, too. */
  function follow() {
    for (const box of [line, steps.list]) {
      const here = box.querySelector("[aria-current]")?.getBoundingClientRect();
      if (!here?.height) continue;
      const around = box.getBoundingClientRect();
      if (here.left < around.left) box.scrollLeft -= around.left - here.left;
      else if (here.right > around.right) box.scrollLeft += here.right - around.right;
      const middle = (here.top + here.bottom - around.top - around.bottom) / 2;
      if (here.top < around.top || here.bottom > around.bottom) box.scrollTop += middle;
    }
  }

  function draw() {
    line.replaceChildren(...branch().map(chip));
    steps.draw();
    requestAnimationFrame(follow); // where it stands is known once it is laid out
    undo.disabled = !lab.shows(before());
    redo.disabled = !lab.shows(after());
    all.textContent = `all ${lab.tree.length} ▴`;
    all.ariaLabel = `all ${lab.tree.length} programs`;
    all.hidden = compare.hidden = lab.tree.length < 2;
    compare.disabled = lab.against === null && before() === null;
    compare.ariaLabel = lab.against === null ? "compare with the step before" : "stop comparing";
    compare.title = compare.ariaLabel;
    compare.textContent = lab.against === null ? "⇄ compare" : "⇄ stop";
    settle();
  }

  return { pane, draw, inputs: () => [lab.tree, lab.against, lab.page?.back] };
}

function arrow(name, sign_, onclick) {
  return h("button", { "aria-label": name, title: name, onclick }, sign_);
}
