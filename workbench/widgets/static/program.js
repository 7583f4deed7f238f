// The program: its diff against the step before; as loops, as code; its path as Python.

import { changesIn } from "./changes.js";
import { codeView, copied, plainText } from "./code.js";
import { h, keepFocus, oneStop, prose } from "./dom.js";
import { tabBar } from "./tabs.js";

/** The pane; `refolded` is called when it is drawn anew since there is other room. */
export function programPane(lab, refolded) {
  const title = h("h3.wb-unseen", {}, "Program");
  const head = tabBar("program as", (name) => lab.show({ program: name }));
  const body = h("div.wb-body");
  const changes = changesIn(body);
  const copy = h("button.wb-copy", { "data-f": "copy", onclick: copyText }, "copy");
  const remarks = h("div.wb-notes");
  const pane = h(
    "section.wb-pane.wb-program",
    { "aria-label": "Program" },
    title,
    head.bar,
    changes.button,
    copy,
    body,
    remarks,
  );
  const settle = oneStop(pane);
  let fitted; // the height of the pane that the lines were folded for
  new ResizeObserver(() => {
    if (pane.offsetHeight === fitted) return;
    keepFocus(pane, draw);
    refolded();
  }).observe(pane);
  let shown = ""; // the program and pane whose first change was brought into view

  function text() {
    return lab.page?.texts[lab.view.program];
  }

  /** How many lines of code can be seen at once. */
  function room() {
    const line = body.querySelector(".wb-line")?.offsetHeight;
    return line && body.clientHeight ? Math.floor(body.clientHeight / line) : undefined;
  }

  function draw() {
    const page = lab.page;
    if (!page) return;
    const chosen = head.draw(lab.panes("program"), lab.view.program, lab.setup.labels, body);
    const pane_ = page.texts[chosen];
    title.textContent = pane_?.title ?? "Program";
    copy.hidden = !pane_?.lines || Boolean(pane_.refusal);
    copy.textContent = "copy";
    remarks.replaceChildren(...(page.notes ?? []).map(note));
    const lines = room();
    fitted = lines && pane.offsetHeight;
    body.replaceChildren(...codeView(pane_, page, lab.lines, lines));
    const now = `${lab.at} ${chosen}`;
    changes.drawn(now !== shown);
    shown = now;
    settle();
  }

  async function copyText() {
    const done = await copied(plainText(text(), lab.lines));
    copy.textContent = done ? "copied" : "the browser does not let it be copied";
  }

  return { pane, draw, inputs: () => [lab.view.program, lab.page?.texts, lab.page?.notes] };
}

/** A note: its beginning, and all of it when it is opened. */
function note(words) {
  return h("details.wb-note", {}, h("summary", {}, h("b", {}, "Note: "), ...prose(words)));
}
