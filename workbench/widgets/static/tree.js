// Every program reached, as rows in the order they build on each other: found by their words, of
// many the runs of one verb folded, and those with a name told ahead of the others.

import { h } from "./dom.js";

const MANY_STEPS = 24; // programs: of more, runs are folded, and one can be looked for
const STEPS = 3; // steps of one verb, each on the one before, that are folded
const BRANCH = "↳";

/** The tree of `lab`: `go` says what a press on a program's row does, `close` shuts the tree. */
export function stepTree(lab, go, close) {
  const search = h("input", {
    type: "search",
    placeholder: "find: split i_0",
    "aria-label": "find steps by their words",
    autofocus: true,
    oninput: sift,
    onkeydown: fromSearch,
  });
  const count = h("span", { role: "status" });
  const finding = h("div.wb-finding", {}, search, count);
  const names = h("div.wb-named", { role: "group", "aria-label": "programs with a name" });
  const list = h("ol.wb-steps", { "aria-label": "steps, in the order they build on each other" });
  const box = h("div.wb-tree", {}, finding, names, list);
  const unfolded = new Set(); // the runs, by their first program, that were unfolded by hand

  function stepRow(node) {
    const here = node.id === lab.at;
    const versus = node.id === lab.against;
    const sign = here ? "▶" : versus ? "⇄" : node.branch ? BRANCH : "";
    const button = h(
      "button.wb-step",
      { ...go(node), "data-f": node.id },
      h("span.wb-here", { "aria-hidden": "true" }, sign),
      h("span.wb-step-no", {}, String(node.id)),
      h(
        "span.wb-step-text",
        {},
        node.label,
        branchedFrom(node),
      ),
      isNamed(node) ? h("span.wb-tag", {}, node.mark) : null,
      versus ? h("span.wb-unseen", {}, " (compared with)") : null,
    );
    const style = `--depth:${Math.min(node.indent, 4)}`;
    return h("li", { style }, button, here ? null : compareButton(node, versus));
  }

  function nameLink(node) {
    return h("button.wb-program-name", { ...go(node), "data-f": `name ${node.id}` }, node.mark);
  }

  function compareButton(node, versus) {
    const words = `compare with ${node.id}`;
    return h(
      "button.wb-versus",
      {
        onclick: () => {
          close();
          lab.setCompare(versus ? null : node.id);
        },
        disabled: !versus && !lab.compares(node.id),
        "data-f": `compare ${node.id}`,
        "aria-pressed": String(versus),
        "aria-label": words,
        title: words,
      },
      "⇄",
    );
  }

  /** A row for each program; for a run of one verb a row that unfolds to them. */
  function row(run) {
    if (lab.tree.length <= MANY_STEPS || run.length < STEPS) return run.map(stepRow);
    const [first, last] = [run[0], run[run.length - 1]];
    const head = h(
      "summary",
      {
        "data-f": `run ${first.id}`,
        onclick: () => unfolded.delete(first.id) || unfolded.add(first.id),
      },
      h("span.wb-step-no", {}, `${first.branch ? `${BRANCH} ` : ""}${first.id}–${last.id} `),
      h("span.wb-step-text", {}, `${verbOf(first)} × ${run.length}`, branchedFrom(first)),
    );
    const style = `--depth:${Math.min(first.indent, 4)}`;
    const rows = h("ol.wb-steps", {}, run.map(stepRow));
    return h("li.wb-run", { style, "data-run": first.id }, h("details", {}, head, rows));
  }

  const found = () =>
    [...list.querySelectorAll(".wb-step")].filter((step) => !step.parentElement.hidden);

  /** Leave the rows that have every word that is looked for; what holds one of them is unfolded. */
  function sift() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...list.querySelectorAll("li:not(.wb-run)")];
    for (const each of rows) {
      const text = each.firstElementChild.textContent.toLowerCase();
      each.hidden = !words.every((word) => text.includes(word));
    }
    for (const run of list.querySelectorAll(".wb-run")) {
      run.hidden = !run.querySelector("li:not([hidden])");
      const shown = run.querySelector("[aria-current], [aria-pressed='true']");
      run.firstElementChild.open =
        words.length > 0 || Boolean(shown) || unfolded.has(Number(run.dataset.run));
    }
    count.textContent = words.length ? `${found().length} of ${rows.length}` : "";
  }

  function fromSearch(event) {
    const [first] = found();
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault();
    if (event.key === "Enter") first?.click();
    else first?.focus();
  }

  function draw() {
    finding.hidden = lab.tree.length <= MANY_STEPS;
    if (finding.hidden) search.value = "";
    names.replaceChildren(...(finding.hidden ? [] : lab.tree.filter(isNamed).map(nameLink)));
    list.replaceChildren(...stepRuns(lab.tree).flatMap(row));
    sift();
  }

  return { box, list, draw };
}

const branchedFrom = (node) => node.branch && h("span.wb-from", {}, ` from ${node.parent}`);

const verbOf = (node) => /^\w*/.exec(node.label)[0] || node.label;

const isNamed = (node) => Boolean(node.mark) && node.mark !== node.label;

/** The programs of a tree in runs: of one verb, each made of the one before, none named. */
function stepRuns(tree) {
  const found = [];
  for (const node of tree) {
    const last = found[found.length - 1]?.at(-1);
    const goes = last && node.parent === last.id && node.indent === last.indent && !isNamed(last);
    if (goes && !isNamed(node) && verbOf(node) === verbOf(last)) found[found.length - 1].push(node);
    else found.push([node]);
  }
  return found;
}
