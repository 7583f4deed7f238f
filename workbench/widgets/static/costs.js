// The costs: what the program takes by the model, as a bar, and at most four counts of it, each
// beside what it was before.

import { costBar } from "./bar.js";
import { h, prose } from "./dom.js";
import { guessRow } from "./guess.js";

const PAUSE = 200; // ms in which another click may come: it would wait until all is counted

/** The strip; `opened` is what the bar opens. */
export function costStrip(lab, opened) {
  const pane = h("section.wb-costs", { "aria-label": "Costs" });
  const guesses = guessRow(lab);
  let asking = null;
  let open = null; // the guess that was open when this was drawn last
  const inputs = () => [lab.against, strip(), bar(), guess(), lab.veiled, late()];
  return { pane, draw, inputs };

  function shown() {
    return lab.against === null ? lab.page : lab.comparison();
  }
  function strip() {
    return lab.tried?.costs ?? shown()?.costs;
  }
  /** Whether what is tried is shown, and what it costs is not known yet. */
  function late() {
    return Boolean(lab.tried?.text && !lab.tried.costs);
  }
  function bar() {
    return lab.tried?.bar ?? shown()?.bar;
  }

  function guess() {
    return lab.against === null && !lab.veiled ? lab.page?.guess : null;
  }

  /** Nobody asked for it: where no Python is left, as in a notebook made a page, none is told. */
  function ask(what) {
    try {
      lab.model.send({ do: what });
    } catch {
      hold(0); // the strip goes without
    }
  }

  function draw() {
    clearTimeout(asking);
    const [counts, time, asked] = [strip(), bar(), guess()];
    const grows = Boolean(asked && !asked.open && asked.name === open);
    open = asked?.open ? asked.name : null;
    const parts =
      counts && time
        ? [...guesses.parts(asked), ...barParts(time, grows), ...countParts(counts)]
        : [];
    // one after the other: a click that comes meanwhile waits for one of them at most
    const waiting = [
      ["count", counts?.waits],
      ["model", time?.waits],
      [asked?.unit === "µs" ? "model" : "count", asked?.open && asked.start === null && "soon"],
    ];
    const next = waiting.find(([, waits]) => waits === "soon");
    const asks = next && !lab.offline && !lab.tried;
    hold(asks || !shown() ? pane.offsetHeight : 0);
    pane.hidden = !parts.length && !pane.style.minHeight;
    pane.classList.toggle("wb-would", Boolean(lab.tried?.costs));
    pane.classList.toggle("wb-late", late());
    if (asks) asking = setTimeout(() => ask(next[0]), PAUSE);
    pane.replaceChildren(...parts);
  }

  /** So high at least, until what was asked for comes: pictures beside it keep their place. */
  function hold(high) {
    pane.style.minHeight = high ? `${high}px` : "";
  }

  function barParts({ waits, text, marks }, grows) {
    if (marks) return [costBar(bar(), opened, grows)];
    const note = text ? h("p.wb-cost-note", {}, ...prose(text)) : null;
    return row(note, waits === "asked" && button("model"));
  }

  function countParts({ rows, text, waits, kind }) {
    const note = waits === "soon" ? "Costs …" : text;
    return row(
      rows.length > 0 && h("ul.wb-cost-list", {}, rows.map(cost)),
      kind && h("span.wb-kind", { title: note }, kind),
      note && !kind && h("p.wb-cost-note", {}, ...prose(note)),
      waits === "asked" && button("count"),
    );
  }

  function button(what) {
    if (lab.offline || lab.tried) return null;
    return h("button.wb-count", { onclick: () => lab.send({ do: what }), "data-f": what }, what);
  }
}

/** A row of the strip; none of nothing. */
function row(...parts) {
  const there = parts.filter(Boolean);
  return there.length ? [h("div.wb-cost-row", {}, there)] : [];
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
