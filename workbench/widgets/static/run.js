// Running the program, with progress and a way to stop, and what came out.

import { refusalView } from "./code.js";
import { h, markup, oneStop, prose } from "./dom.js";

export function runPane(lab) {
  const run = h("button.wb-go", { onclick: () => lab.send({ do: "run" }) }, "▶ run");
  const stop = h("button", { onclick: () => lab.send({ do: "stop" }) }, "■ stop");
  const bar = h("progress", { max: 1, "aria-label": "progress of the run" });
  const device = h("span.wb-device");
  const out = h("div.wb-out");
  const pane = h(
    "section.wb-pane.wb-run",
    { "aria-label": "Run" },
    h("h3", {}, "Run"),
    h("div.wb-row", {}, run, stop, bar, device),
    out,
  );
  const settle = oneStop(pane);

  function draw() {
    const running = lab.status.kind === "running";
    run.disabled = running;
    run.hidden = device.hidden = lab.offline;
    stop.hidden = bar.hidden = !running;
    if (running && lab.status.of) bar.value = lab.status.done / lab.status.of;
    else bar.removeAttribute("value");
    device.replaceChildren(...prose(running ? lab.status.text : lab.setup.device));
    const result = lab.page?.run;
    out.replaceChildren(...(result && !running ? shown(result) : []));
    settle();
  }

  function shown(result) {
    if (result.refusal) return [refusalView(result.refusal)];
    const sign = result.ok === false ? "✕ " : result.ok ? "✓ " : "";
    const table = h("div.wb-table", { role: "group", "aria-label": "what the run counted" });
    if (result.table) table.append(markup(result.table));
    const verdict = h("b", {}, prose(sign + result.text));
    return [
      h(`p.wb-verdict${result.ok === false ? ".wb-bad" : ""}`, {}, verdict),
      result.times
        ? folded("how long it takes on a GPU", timesTable(result.times, "how long it takes"))
        : null,
      ...(result.notes ?? []).map((note) => h("p.wb-note", {}, ...prose(note))),
      result.table ? folded("what the run counted", table) : null,
    ].filter(Boolean);
  }

  return { pane, draw, inputs: () => [lab.status, lab.page?.run] };
}

function folded(title, inside) {
  return h("details", {}, h("summary", {}, title), inside);
}

export function timesTable(html, label) {
  const table = h("div.wb-table.wb-times", { role: "group", "aria-label": label });
  table.append(markup(html));
  return table;
}
