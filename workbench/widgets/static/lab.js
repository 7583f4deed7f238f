// The lab: draws its panes from the model, and again whatever of it has changed.

import { actionsPane } from "./actions.js";
import { breakMenu, foundPane } from "./breaking.js";
import { askTargets } from "./carry.js";
import { comparePane } from "./compare.js";
import { costStrip } from "./costs.js";
import { guard, h, keepFocus } from "./dom.js";
import { frameLab, screenButton } from "./frame.js";
import { historyPane } from "./history.js";
import { lecture } from "./lecture.js";
import { linkPane } from "./link.js";
import { linkMarks } from "./marks.js";
import { verbMenu } from "./menu.js";
import { Lab } from "./model.js";
import { openedCosts } from "./opened.js";
import { machinePane } from "./pictures.js";
import { programPane } from "./program.js";
import { questionCard } from "./questions.js";
import { runPane } from "./run.js";
import { reachable, stagePane } from "./stage.js";
import { statusBar } from "./status.js";
import { triedHead, tryOut } from "./trying.js";

/** Draw the lab of `model` into `el`; returns how to stop following it. */
export function openLab({ model, el }) {
  const lab = new Lab(model);
  const root = h("div.wb-lab.wb-theme", {
    role: "region",
    "aria-label": lab.setup.title,
    "data-own": lab.setup.own, // of this lab's page without a script, which hides while it is here
  });
  el.append(root);
  const question = questionCard(lab);
  const trying = tryOut(lab, () => soon());
  const asked = askTargets(lab);
  const would = triedHead(lab, trying);
  const menu = verbMenu(lab, trying, would, asked);
  const actions = actionsPane(lab, menu, trying);
  const status = statusBar(lab, menu.errors);
  const [breaking, found] = [breakMenu(lab), foundPane(lab)];
  const redraw = () => drawPart(program);
  const refolded = () => {
    relink();
    reach();
  };
  const program = programPane(lab, breaking, trying, would, asked, redraw, refolded);
  const [machine, compare] = [machinePane(lab, menu), comparePane(lab)];
  const [history, run, opened] = [historyPane(lab), runPane(lab), openedCosts(lab, menu)];
  const [costs, link] = [costStrip(lab, opened), linkPane(lab)];
  const parts = [
    ...[question, program, machine, costs, history, actions, run, compare, menu, opened],
    ...[breaking, found, link],
  ];
  root.append(
    h("div.wb-top", {}, question.pane, status.bar),
    stagePane(program.pane, machine.pane, compare.pane, found.pane),
    costs.pane,
    h(
      "div.wb-bar",
      {},
      history.pane,
      h("div.wb-acts", {}, actions.pane, run.pane, link.pane, screenButton(root)),
    ),
    menu.pane,
    opened.pane,
    breaking.pane,
  );
  guard(root);
  const unframe = frameLab(root, lab.setup.height);
  const reach = reachable(root);
  const relink = linkMarks(root, lab, menu);

  let drawn = false;
  const seen = new Map(); // part -> what it was drawn from, so that a form keeps what is typed
  const inputsOf = (part) => JSON.stringify([part.inputs(), lab.setup, lab.at, lab.gone]);
  const drawPart = (part, from = inputsOf(part)) => {
    keepFocus(part.pane, part.draw);
    seen.set(part, from);
  };
  const draw = () => {
    drawn = false;
    trying.follow();
    const held = root.contains(document.activeElement);
    const changed = parts.filter((part) => seen.get(part) !== inputsOf(part));
    for (const part of changed) part.read?.();
    for (const part of parts) {
      const from = inputsOf(part);
      if (seen.get(part) !== from || changed.includes(part)) drawPart(part, from);
    }
    status.draw();
    menu.conclude();
    relink();
    reach();
    const has = document.activeElement;
    if (held && (has === document.body || has.disabled)) root.focus({ preventScroll: true });
  };
  const soon = () => {
    // several traits change in one step: draw once
    if (drawn) return;
    drawn = true;
    queueMicrotask(draw);
  };
  lab.lost = () => {
    lab.gone = true;
    soon();
  };
  const onAnswer = (said) => {
    if (said?.tried) return trying.heard(said);
    if (said?.targets) return asked.heard(said);
    lab.answered();
    if (said?.link !== undefined) link.heard(said.link);
  };
  // told when the kernel restarts or is found again; its channels close a moment later
  const onLive = () => setTimeout(() => lab.ask({ do: "look" }), 500);
  const unteach = lecture(lab, root, soon);
  model.on("change", soon);
  model.on("msg:custom", onAnswer);
  model.on("comm_live_update", onLive);
  draw();
  return () => {
    model.off("change", soon);
    model.off("msg:custom", onAnswer);
    model.off("comm_live_update", onLive);
    unframe();
    unteach();
  };
}
