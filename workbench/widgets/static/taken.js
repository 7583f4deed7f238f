// An exercise: the steps that were clicked, as lines for the cell that is handed in.

import { copied } from "./code.js";
import { h, prose, spoken } from "./dom.js";
import { popup } from "./popup.js";

const THERE =
  "Put them into the cell for your steps, the one above the cell that opened this lab, in place " +
  "of the steps there, and run it: then they are what the check below the lab grades.";

/** What stands in an exercise's lab in the place of a question. */
export function exerciseCard(lab) {
  const lines = lab.page.taken;
  const told = h("p", { role: "status" });
  const area = h("textarea", { readonly: true, "aria-label": "your steps as code" });
  const panel = h("div.wb-taken", {}, told, area);
  const box = popup(panel);
  const take = h(
    "button",
    { disabled: !lines, "aria-haspopup": "dialog", "data-f": "take", onclick: open },
    "take as code",
  );
  const { goals = [] } = lab.page;
  return [
    h("p.wb-ask", {}, h("b", {}, "Exercise. "), said(lab), take),
    goals.length ? h("ul.wb-goals", { "aria-label": "goals" }, goals.map(goal)) : "",
    panel,
  ];

  async function open() {
    area.value = lines;
    area.rows = lines.split("\n").length;
    box.open(() => take);
    const done = await copied(lines);
    told.textContent = `${done ? "The lines are copied." : "Copy the lines (Ctrl+C)."} ${THERE}`;
    box.place(); // with its words it is wider
    area.focus();
    area.select();
  }
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

/** Whether the lab stands where the steps of the notebook's code end. */
function coded(lab) {
  return lab.setup.coded !== 0 && lab.at === lab.setup.coded;
}

function said(lab) {
  if (coded(lab)) return "These are the steps of your code, which the check grades. ";
  if (lab.setup.coded) return "The check grades the steps of your code. To have these graded: ";
  return lab.page.taken
    ? "Your steps count as they stand; a notebook that is handed in needs them as code: "
    : "Take your steps here, or as code in the cell above. ";
}
