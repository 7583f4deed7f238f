// What the cost bar opens: a row for each resource, with the statements that ask for it, and what
// the time is lost to, each with the form of the verb that would help.

import { h, oneStop, prose } from "./dom.js";
import { popup } from "./popup.js";

export function openedCosts(lab, menu) {
  const body = h("div.wb-opened-body");
  const about = { role: "dialog", tabindex: "-1", "aria-label": "modelled time" };
  const pane = h("div.wb-opened", about, body);
  const settle = oneStop(pane);
  let shownAt = null; // the node whose time is shown
  const lines = () => body.querySelectorAll("p, summary, h4, li");
  const focusBar = (inside) => inside && barNow()?.focus({ preventScroll: true });
  const box = popup(pane, focusBar, [], lines);

  function open(at) {
    shownAt = lab.at;
    box.open(at);
    if (!box.isOpen()) return;
    draw();
    if (!lab.page.why && !lab.offline) lab.send({ do: "why" });
    pane.focus({ preventScroll: true });
  }

  /** The button of the bar as it is drawn now. */
  function barNow() {
    return pane.closest(".wb-lab").querySelector(".wb-bar-of-time");
  }

  function bar() {
    return (lab.against === null ? lab.page : lab.comparison())?.bar;
  }

  function draw() {
    const shown = bar();
    if (!shown?.rows || lab.at !== shownAt) box.close(); // a step was taken, or is coming
    if (!box.isOpen()) return;
    const unfolded = [...body.querySelectorAll("details[open]")].map((row) => row.dataset.row);
    body.replaceChildren(
      h(
        "p.wb-bar-head",
        {},
        h("b.wb-bar-large", {}, shown.us),
        h("span.wb-kind", {}, shown.kind),
        h("span.wb-hint", {}, ...prose(shown.about)),
        lab.offline ? null : guessFirst(),
      ),
      h(
        "div.wb-resources",
        { role: "group", "aria-label": "resources" },
        shown.rows.map((row) => resource(row, unfolded)),
      ),
      h("p.wb-hint", {}, shown.adds),
      h("h4", {}, "Why is it slow?"),
      ...why(),
    );
    settle();
    box.place();
  }

  /** Whether each step asks for a guess before its time is shown. */
  function guessFirst() {
    const box = h("input", {
      type: "checkbox",
      checked: Boolean(lab.view.guess),
      "data-f": "guess first",
      onchange: () => lab.show({ guess: box.checked }),
    });
    const about = "Each step asks for your guess before its time is shown.";
    return h("label.wb-guess-first", { title: about }, box, " guess first");
  }

  /** A resource: how long it is busy with what; opened, why, and the statements that ask for it. */
  function resource({ name, us, at, share, much, words, parts }, unfolded) {
    return h(
      "details",
      { "data-row": name, open: unfolded.includes(name) },
      h(
        "summary.wb-resource",
        { "data-f": name, title: words },
        h("span", {}, name),
        h(
          "span.wb-resource-axis",
          { "aria-hidden": "true" },
          h("span.wb-span", {
            "data-of": "longest",
            style: `width:${100 * at}%;--share:${share}%`,
          }),
        ),
        h("span.wb-resource-us", {}, us),
        h("span.wb-resource-much", {}, much),
      ),
      h("p.wb-resource-words", {}, words),
      parts.length > 0 && h("ul.wb-parts", {}, parts.map(statement)),
    );
  }

  function statement({ text, us, keys }) {
    return h(
      "li",
      {},
      h(
        "button.wb-part",
        { "data-lights": keys || null, title: text, onclick: () => bringInView(keys) },
        h("span.wb-resource-us", {}, us),
        h("code", {}, text),
      ),
    );
  }

  /** Bring a statement into view: its block, where the pane has blocks, else its buffer. */
  function bringInView(keys) {
    const marks = [...pane.closest(".wb-lab").querySelectorAll(".wb-program .wb-mark")];
    const of = (key) => marks.find((mark) => mark.dataset.k.split(" ").includes(key));
    const mark = keys.split(" ").map(of).find(Boolean);
    mark?.closest(".wb-fold")?.querySelector(".wb-unfold")?.click();
    mark?.scrollIntoView({ block: "center" });
  }

  function why() {
    const found = lab.page.why;
    if (!found) {
      const saved = "This was not looked for before the page was saved.";
      return [h("p.wb-hint", {}, lab.offline ? saved : "Looking …")];
    }
    if (!found.faults.length) return [h("p.wb-hint", {}, ...prose(found.text))];
    return [
      h("p.wb-hint", {}, "What each would gain, modelled, if it alone were ideal:"),
      h("ol.wb-faults", {}, found.faults.map(fault)),
    ];
  }

  function fault({ words, gain, keys, verb, help, place, at, offered }) {
    const go = () => {
      box.close();
      if (!offered) lab.show({ more: true });
      menu.open(place, (now) => menu.markOf(now), verb);
    };
    const [form, call] = [place && !lab.offline, `${verb} ${at}`];
    return h(
      "li",
      { "data-lights": keys || null },
      h("span.wb-fault-gain", {}, gain),
      h(
        "span",
        {},
        ...prose(words),
        " ",
        form && h("button.wb-fault-verb", { onclick: go, "data-f": call }, call),
        form || !help ? null : h("code", {}, help),
      ),
    );
  }

  return { pane, draw, open, inputs: () => [bar(), lab.page?.why, lab.view.guess] };
}
