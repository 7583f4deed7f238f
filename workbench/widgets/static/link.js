// A link that opens at the program that is shown, for a message or a lesson's text.

import { copyBox } from "./copying.js";
import { h } from "./dom.js";

/** The button of a lab that asks for it; `heard` takes what Python made. */
export function linkPane(lab) {
  let asked = false; // by this view: another of the same lab hears the answer, too
  const button = h("button", { "data-f": "link", "aria-haspopup": "dialog", onclick: ask }, "link");
  button.title = button.ariaLabel = "copy a link that opens at this step";
  const box = copyBox({
    label: "the link",
    what: "The link is",
    todo: "Copy the link (Ctrl+C).",
  });
  const pane = h("div.wb-share", {}, button, box.panel);

  function ask() {
    asked = true;
    lab.send({ do: "link" });
  }

  function heard(link) {
    if (!asked) return;
    asked = false;
    if (!link) return; // the status tells why
    const anywhere = lab.setup.plays ? "in any browser, with nothing installed; " : "";
    const there =
      `It holds the program and the steps to step ${lab.at}. It opens ${anywhere}in a notebook ` +
      'with `wb.lab(wb.open("…"))`, or in a terminal with `workbench open "…"`.';
    box.open(() => button, link, there);
  }

  const draw = () => (pane.hidden = lab.offline);
  return { pane, draw, heard, inputs: () => [lab.offline] };
}
