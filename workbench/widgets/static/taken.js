// An exercise: the steps that were clicked, as lines for the cell that is handed in.

import { cellsTo } from "./again.js";
import { copyBox } from "./copying.js";
import { h, prose, spoken } from "./dom.js";

const THERE =
  "Put them into the cell for your steps, the one above the cell that opened this lab, in place " +
  "of the steps there, and run it: then they are what the check below the lab grades.";

const WRITES = "puts these steps into the cell for them, in place of all that stands there";

const STARTS = /^mine\.goto\("start"\)/; // as the lines do, and so the cell that they are for

/** The notebook's cell for the steps, above the lab's own; null where there is none to write to. */
function stepsCell(lab) {
  const fits = (cell) => cell.type === "code" && STARTS.test(cell.sharedModel?.getSource());
  return lab.offline ? null : (cellsTo(lab.model).slice(0, -1).findLast(fits) ?? null);
}

/** What stands in an exercise's lab in the place of a question. */
export function exerciseCard(lab) {
  const lines = lab.page.taken;
  const box = copyBox({
    label: "your steps as code",
    what: "The lines are",
    todo: "Copy the lines (Ctrl+C).",
  });
  const take = h(
    "button",
    { disabled: !lines, "aria-haspopup": "dialog", "data-f": "take" },
    "take as code",
  );
  take.onclick = () => box.open(() => take, lines, THERE);
  const told = h("span.wb-hint", { role: "status" });
  const write = h(
    "button",
    { disabled: !lines, "data-f": "write", title: WRITES },
    "write into your steps' cell",
  );
  write.hidden = !stepsCell(lab);
  write.onclick = () => {
    stepsCell(lab)?.sharedModel.setSource(lines);
    told.textContent = " written: run that cell; Ctrl+Z in it takes it back.";
  };
  const { goals = [] } = lab.page;
  return [
    h("p.wb-ask", {}, h("b", {}, "Exercise. "), ...said(lab), take, " ", write, told),
    goals.length ? h("ul.wb-goals", { "aria-label": "goals" }, goals.map(goal)) : "",
    box.panel,
  ];
}

/** A goal, ticked where the program that is shown reaches it. */
function goal({ aim, ok, found, todo }) {
  return h(
    `li${ok ? ".wb-reached" : ""}`,
    { title: spoken(found) },
    h("b", { "aria-hidden": "true" }, ok ? "✓ " : "○ "),
    h("span.wb-unseen", {}, ok ? "reached: " : "not reached: "),
    ...prose(ok || !todo ? aim : `${aim} (${todo})`),
  );
}

function said(lab) {
  if (lab.coded && lab.at === lab.coded)
    return ["These are the steps of your code, which the check grades. "];
  if (lab.coded) return ["The check grades the steps of your code, which end at ", ...there(lab)];
  return lab.page.taken
    ? ["Your steps count as they stand; a notebook that is handed in needs them as code: "]
    : ["Take your steps here, or as code in your steps' cell. "];
}

/** What goes to where the notebook's code ends. */
function there(lab) {
  const go = h("button", { "data-f": "coded" }, `step ${lab.coded}`);
  go.onclick = () => lab.goto(lab.coded);
  go.disabled = !lab.shows(lab.coded);
  return [go, ", not here. To have these graded: "];
}
