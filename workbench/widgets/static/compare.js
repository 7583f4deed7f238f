// Two nodes side by side: left what differs and the diff of the programs, right, below the tabs of
// pictures, both pictures at one scale, or one where they are the same.

import { codeView } from "./code.js";
import { h, markup, oneStop, prose } from "./dom.js";
import { fillBeside } from "./fill.js";
import { pictureView, sayingView } from "./picture.js";
import { timesTable } from "./run.js";

export function comparePane(lab) {
  const pane = h("section.wb-pane.wb-compare", { "aria-label": "Comparison" });
  const settle = oneStop(pane);
  const pictures = h("div.wb-compared");
  new ResizeObserver(() => fillBeside(pictures)).observe(pictures);
  return { pane, draw, inputs: () => [lab.against, lab.comparison(), lab.offline, running()] };

  function running() {
    return lab.status.kind === "running";
  }

  /** Times of both: where a device measures, a ratio on request, else why there is none. */
  function times({ times: known, measured }) {
    const go = h(
      "button",
      { disabled: running(), onclick: () => lab.send({ do: "time" }) },
      measured ? "time both again" : "time both",
    );
    return [
      known?.offer && !lab.offline ? go : null,
      known?.text ? h("p.wb-note", {}, prose(known.text)) : null,
      measured ? h("p.wb-verdict", {}, h("b", {}, prose(measured.text))) : null,
      measured?.table ? timesTable(measured.table, "measured times") : null,
    ];
  }

  function beside({ title, picture }) {
    const drawn = h("div.wb-drawn", {}, pictureView(picture, title));
    return h("div", {}, h("h4", { title }, title), drawn, sayingView(picture, title));
  }

  /** What differs, and, folded, what else, and what is the same. */
  function differences({ table, folded }) {
    const tableOf = (text, label) => {
      const box = h("div.wb-table", { role: "group", "aria-label": label });
      box.append(markup(text));
      return box;
    };
    return [
      table
        ? tableOf(table, "differences")
        : h("p.wb-note", {}, "Nothing that is counted differs."),
      ...folded.map((rows) =>
        h("details", {}, h("summary", {}, rows.label), tableOf(rows.table, rows.label)),
      ),
    ];
  }

  function draw() {
    const compared = lab.comparison();
    pane.hidden = lab.against === null;
    if (pane.hidden) return pane.replaceChildren();
    pane.toggleAttribute("data-fixed", lab.offline); // no Python compares another picture
    const a = lab.node(lab.against);
    const title = h("h3", {}, `Compared with ${a.id} ${a.label}`);
    const told = h("div.wb-compared", {}, compared ? text(compared) : h("p.wb-hint", {}, none()));
    const shown = compared?.pictures ?? [];
    pane.toggleAttribute("data-two", shown.length > 1);
    pictures.replaceChildren(h("div.wb-beside", {}, shown.map(beside)));
    pane.replaceChildren(
      h("div.wb-versus-side", {}, title, told),
      h("div.wb-versus-side", {}, pictures),
    );
    fillBeside(pictures);
    settle();
  }

  function none() {
    return lab.offline ? "These two were not compared before the page was saved." : "Comparing…";
  }

  function text(compared) {
    return [
      ...differences(compared),
      ...times(compared).filter(Boolean),
      ...codeView(compared.text, { names: compared.names }, lab.lines),
    ];
  }
}
