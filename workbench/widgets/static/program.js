// The program: its diff against the step before; as loops, CUDA, Metal; its path as Python.

import { codeView, copied, plainText } from "./code.js";
import { h, oneStop, prose } from "./dom.js";
import { tabBar } from "./tabs.js";

export function programPane(lab) {
  const title = h("h3", {}, "Program");
  const head = tabBar("program as", (name) => lab.show({ program: name }));
  const body = h("div.wb-body");
  const pane = h("section.wb-pane.wb-program", { "aria-label": "Program" }, title, head.bar, body);
  const settle = oneStop(pane);

  function draw() {
    const page = lab.page;
    if (!page) return;
    const chosen = head.draw(lab.panes("program"), lab.view.program, lab.setup.labels, body);
    const text = page.texts[chosen];
    title.textContent = text?.title ?? "Program";
    body.replaceChildren(
      ...(text?.lines && !text.refusal ? [copyButton(text)] : []),
      ...codeView(text, page, lab.lines),
      ...notes(page),
    );
    settle();
  }

  function copyButton(text) {
    const button = h("button.wb-copy", { "data-f": "copy" }, "copy");
    button.addEventListener("click", async () => {
      const done = await copied(plainText(text, lab.lines));
      button.textContent = done ? "copied" : "the browser does not let it be copied";
    });
    return button;
  }

  function notes(page) {
    return (page.notes ?? []).map((note) =>
      h("p.wb-note", {}, h("b", {}, "Note: "), ...prose(note)),
    );
  }

  return { pane, draw, inputs: () => [lab.view.program, lab.page?.texts, lab.page?.notes] };
}
