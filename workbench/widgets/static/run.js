// Running the program, with progress and a way to stop, and what came out.

import { refusalView } from "./code.js";
import { h, markup, oneStop, prose, spoken } from "./dom.js";
import { popup } from "./popup.js";

export function runPane(lab) {
  const { devices } = lab.setup;
  const choices = devices.map(({ key, label }) => h("option", { value: key }, `on ${label}`));
  const stays = h("option", {}, "on the emulator"); // what is broken on purpose
  let chosen = devices[0];
  const on = h("select.wb-on", {
    "data-f": "device",
    "aria-label": "runs on",
    onchange: () => {
      chosen = devices[on.selectedIndex];
      draw();
    },
  });
  const run = h(
    "button.wb-go",
    { onclick: () => lab.send(lab.broken ? { do: "find" } : { do: "run", on: chosen.key }) },
    "▶ run",
  );
  const stop = h("button", { onclick: () => lab.send({ do: "stop" }) }, "■ stop");
  const bar = h("progress", { max: 1, "aria-label": "progress of the run" });
  const result = h("button.wb-result", {
    "data-f": "result",
    title: "what the run came to",
    "aria-haspopup": "dialog",
    onclick: () => whole.open(() => result),
  });
  const inside = h("div");
  const out = h("div.wb-out", {}, inside);
  const pane = h(
    "section.wb-pane.wb-run",
    { "aria-label": "Run" },
    stop,
    bar,
    result,
    run, // where it is, whatever stands before it
    on,
    out,
  );
  const whole = popup(out);
  const settle = oneStop(pane);

  function draw() {
    const running = lab.status.kind === "running";
    const broken = lab.broken; // no device but the emulator runs it
    run.disabled = running;
    on.disabled = running || Boolean(broken);
    run.hidden = on.hidden = lab.offline;
    run.title = on.title = broken?.stays ?? spoken(chosen.said);
    const options = broken ? [stays] : choices;
    if (options[0].parentElement !== on) on.replaceChildren(...options);
    on.selectedIndex = broken ? 0 : devices.indexOf(chosen);
    stop.hidden = bar.hidden = !running;
    if (running && lab.status.of) bar.value = lab.status.done / lab.status.of;
    else bar.removeAttribute("value");
    const came = running || broken ? null : lab.page?.run;
    result.hidden = !came;
    result.textContent = `${came?.brief}: details ▴`;
    result.classList.toggle("wb-stop", came?.ok === false);
    inside.replaceChildren(...(came ? shown(came) : []));
    settle();
  }

  function shown(came) {
    if (came.refusal) return [refusalView(came.refusal)];
    const table = h("div.wb-table", { role: "group", "aria-label": "what the run counted" });
    if (came.table) table.append(markup(came.table));
    const verdict = h("b", {}, prose(came.text));
    return [
      h(`p.wb-verdict${came.ok === false ? ".wb-bad" : ""}`, {}, verdict, ` ${came.time ?? ""}`),
      came.times
        ? folded("how long it takes", timesTable(came.times, "how long it takes"))
        : null,
      ...(came.notes ?? []).map((note) => h("p.wb-note", {}, ...prose(note))),
      came.table ? folded("what the run counted", table) : null,
      came.device ? h("p.wb-device", {}, ...prose(came.device)) : null,
    ].filter(Boolean);
  }

  return { pane, draw, inputs: () => [lab.status, lab.page?.run, lab.broken] };
}

function folded(title, inside) {
  return h("details", {}, h("summary", {}, title), inside);
}

export function timesTable(html, label) {
  const table = h("div.wb-table.wb-times", { role: "group", "aria-label": label });
  table.append(markup(html));
  return table;
}
