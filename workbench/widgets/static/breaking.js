// Breaking the kernel of the program on purpose: what can be wrong in it, and what was found.

import { findingView, gapTodo } from "./broken.js";
import { h, oneStop, prose } from "./dom.js";
import { popup } from "./popup.js";

/** The menu of all that can be broken; `open(find, line)` opens it beside a thing, at a line. */
export function breakMenu(lab) {
  const body = h("div.wb-breaks");
  const about = { role: "dialog", tabindex: "-1", "aria-label": "break it on purpose" };
  const pane = h("div.wb-breaking", about, body);
  const settle = oneStop(pane);
  let back = () => null;
  let at = null; // the node
  let wanted = 0; // the line that was pressed
  const box = popup(pane, (inside) => inside && back()?.focus({ preventScroll: true }));

  function open(find, line = 0) {
    [back, at, wanted] = [find, lab.at, line];
    box.open(find);
    if (!box.isOpen()) return;
    lab.send({ do: "faults" });
    draw();
    pane.focus({ preventScroll: true });
  }

  function draw() {
    const { offers, none } = lab.breaks;
    if (lab.at !== at || lab.offline || lab.broken || lab.status.error) box.close();
    if (!box.isOpen()) return;
    const [here, others] = [true, false].map((own) =>
      (offers ?? []).filter(({ line }) => (line > 0 && line === wanted) === own),
    );
    body.replaceChildren(
      h("h4", {}, "Break it on purpose"),
      h("p.wb-hint", {}, offers ? none || ABOUT : "Looking …"),
      ...byLine(here), // those of the line that was pressed stand first
      ...[...by("kind", others)].map(kindOf),
    );
    settle();
    box.place();
    if (pane.getRootNode().activeElement === pane) body.querySelector("button")?.focus();
  }

  /** The offers of a kind, folded where they are many. */
  function kindOf([kind, offers]) {
    const open = offers.length <= FEW;
    const head = h("summary", {}, `${kind} (${offers.length})`);
    return h("details.wb-break-kind", { open }, head, byLine(offers));
  }

  const byLine = (offers) => [...by("line", offers).values()].map(lineOf);

  function lineOf(offers) {
    const [{ line, code }] = offers;
    return h(
      "div.wb-break",
      { "data-line": String(line) },
      line > 0 && h("p", {}, `${line} `, h("code", {}, code)),
      offers.map(({ fault, does }) =>
        h("button", { "data-f": fault, onclick: () => lab.send({ do: "break", fault }) }, does),
      ),
    );
  }

  return { pane, draw, open, inputs: () => [lab.breaks, lab.status] };
}

const FEW = 6; // offers of a kind that are seen at once

/** Offers by what they have under a key, in order. */
function by(key, offers) {
  const found = new Map();
  for (const offer of offers) found.set(offer[key], [...(found.get(offer[key]) ?? []), offer]);
  return found;
}

const ABOUT =
  "Choose what goes wrong. The program stays as it is: this is no step, and “mend” takes it back.";

/** Where the kernel is broken: in the place of the picture, what a run of it came to. */
export function foundPane(lab) {
  const body = h("div.wb-body");
  const pane = h("section.wb-pane.wb-found", { "aria-label": "What is found" }, body);
  const settle = oneStop(pane);

  function draw() {
    const broken = lab.broken;
    pane.hidden = !broken;
    if (!broken) return body.replaceChildren();
    const running = lab.status.kind === "running";
    const run = h(
      "button.wb-act",
      { disabled: running, "data-f": "find", onclick: () => lab.send({ do: "find" }) },
      "▶ run it on the emulator",
    );
    body.replaceChildren(
      ...(broken.found ? findingView(broken.found) : [h("p", {}, running ? "Running …" : run)]),
      h("p.wb-hint", {}, ...prose(broken.found ? next(broken) : broken.stays)),
    );
    settle();
  }

  return { pane, draw, inputs: () => [lab.broken, lab.status.kind] };
}

/** What to do once it was run. */
function next({ gaps, put, found }) {
  if (gaps.length) return gapTodo(put);
  if (found.ok) return "Mend it, and break something else.";
  return "Which line is wrong, and why? Then mend it.";
}

/** Above the text of a broken kernel: that it is, and the button that mends it. */
export function brokenHead(lab) {
  const mend = h(
    "button.wb-mend",
    { "data-f": "mend", onclick: () => lab.send({ do: "mend" }) },
    "mend",
  );
  const words = h("b");
  const head = h("div.wb-row.wb-broken-head", {}, words, mend);
  const draw = () => {
    head.hidden = !lab.broken;
    words.textContent = `✕ ${lab.broken?.told ?? ""}`;
  };
  return { head, draw };
}
