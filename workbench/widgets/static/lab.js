// The lab: draws its panes from the model, and again whatever of it has changed.

import { actionsPane } from "./actions.js";
import { comparePane } from "./compare.js";
import { costStrip } from "./costs.js";
import { guard, h, keepFocus } from "./dom.js";
import { historyPane } from "./history.js";
import { linkMarks } from "./marks.js";
import { verbMenu } from "./menu.js";
import { Lab } from "./model.js";
import { machinePane } from "./pictures.js";
import { programPane } from "./program.js";
import { questionCard } from "./questions.js";
import { runPane } from "./run.js";
import { statusBar } from "./status.js";

/** The number of columns follows the width of the lab itself, not of the window. */
function watchWidth(root) {
  const fit = () => {
    const width = root.clientWidth;
    root.dataset.columns = width < 700 ? "1" : width < 1200 ? "2" : "3";
  };
  fit();
  if (!globalThis.ResizeObserver) return () => {};
  const observer = new ResizeObserver(fit);
  observer.observe(root);
  return () => observer.disconnect();
}

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
  const menu = verbMenu(lab);
  const status = statusBar(lab, menu.errors);
  const parts = [
    historyPane(lab),
    programPane(lab),
    machinePane(lab),
    costStrip(lab),
    actionsPane(lab, menu),
    runPane(lab),
    comparePane(lab),
    menu,
  ];
  root.append(question.pane, status.bar, ...parts.map((part) => part.pane));
  guard(root);
  const unwatch = watchWidth(root);
  const relink = linkMarks(root, lab, menu);

  let drawn = false;
  const seen = new Map(); // part -> what it was drawn from, so that a form keeps what is typed
  const draw = () => {
    drawn = false;
    for (const part of [question, ...parts]) {
      const from = JSON.stringify([part.inputs(), lab.setup, lab.at, lab.gone]);
      if (seen.get(part) !== from) keepFocus(part.pane, part.draw);
      seen.set(part, from);
    }
    status.draw();
    menu.conclude();
    relink();
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
  // told when the kernel restarts or is found again; its channels close a moment later
  const onLive = () => setTimeout(() => lab.ask({ do: "look" }), 500);
  model.on("change", soon);
  model.on("comm_live_update", onLive);
  draw();
  return () => {
    model.off("change", soon);
    model.off("comm_live_update", onLive);
    unwatch();
  };
}
