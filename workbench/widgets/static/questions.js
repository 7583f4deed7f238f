// One question before the reveal: the learner commits to an answer, the program says what is true.

import { freshId, h, prose, spoken } from "./dom.js";
import { exerciseCard } from "./taken.js";

export function questionCard(lab) {
  const card = h("section.wb-question");
  const told = h("div.wb-told"); // as high as a line or two, until all of it is asked for
  const more = h("button.wb-rest", { onclick: () => open(told.dataset.open !== "true") });
  new ResizeObserver(fits).observe(told);
  return { pane: card, draw, inputs };

  function inputs() {
    const { verdict, taken, goals, then } = lab.page ?? {};
    return [lab.answers, verdict, taken, goals, then, lab.veiled];
  }

  function draw() {
    const question = lab.question;
    const exercise = !question && typeof lab.page?.taken === "string";
    const { task } = lab.setup;
    card.hidden = !question && !exercise && !task;
    card.ariaLabel = question ? "Prediction" : exercise ? "Exercise" : "Task";
    if (exercise) card.replaceChildren(...exerciseCard(lab));
    else if (task) card.replaceChildren(h("p.wb-ask", {}, ...todo("Do: ", task)));
    if (!question) return;
    const found = question.choices.indexOf(lab.answers[question.name]);
    const given = found < 0 ? undefined : found;
    const verdict = lab.veiled ? undefined : lab.page?.verdict;
    told.replaceChildren(...outcome(question, given, verdict));
    card.replaceChildren(
      h(
        "div.wb-asking",
        {},
        h("p.wb-ask", {}, h("b", {}, "Before you try: "), ...prose(question.text), veiled()),
        choices(question, given, verdict),
      ),
      h("div.wb-outcome", {}, told, more),
    );
    open(Boolean(verdict) && given !== undefined); // the reason is what the answer was for
  }

  function veiled() {
    return lab.veiled ? h("span.wb-hint", {}, " (Page Down shows the answer)") : "";
  }

  function open(whole) {
    told.dataset.open = String(whole);
    more.ariaExpanded = String(whole);
    more.textContent = whole ? "less ▴" : "more ▾";
    fits();
  }

  /** The button stands where something is hidden, or shown by it. */
  function fits() {
    more.hidden = told.dataset.open !== "true" && told.scrollHeight <= told.clientHeight + 1;
  }

  function choices(question, given, verdict) {
    const group = freshId("answer");
    return h(
      "fieldset",
      {},
      h("legend.wb-unseen", {}, spoken(question.text)),
      question.choices.map((choice, k) => {
        const id = `${group}-${k}`;
        const right = verdict && given !== undefined && verdict.truth === k;
        return h(
          `label.wb-answer${given === k ? ".wb-given" : ""}${right ? ".wb-right" : ""}`,
          { for: id },
          h("input", {
            type: "radio",
            id,
            name: group,
            value: String(k),
            checked: given === k,
            disabled: lab.offline || Boolean(lab.page?.verdict && given !== undefined),
            onchange: ({ target }) => {
              // where there is an answer, Python says whether this takes its place
              if (given !== undefined) target.closest("fieldset").elements[given].checked = true;
              lab.send({ do: "answer", name: question.name, choice: k });
            },
          }),
          h("span", {}, prose(choice)),
          right ? h("b", {}, " ✓ so it is") : null,
        );
      }),
    );
  }

  function outcome(question, given, verdict) {
    if (given === undefined) return [h("span.wb-hint", {}, "Choose an answer. It is not graded.")];
    const said = h("span.wb-hint", {}, ...prose(question.said[given]));
    if (!verdict) return lab.offline ? [said] : [said, " ", ...todo("Now: ", question.todo)];
    const [first, rest] = verdict.told[given];
    const why = [" ", h("b", {}, "Why: "), ...prose(verdict.why)];
    const next = lab.setup.task ?? (lab.offline ? "" : lab.page.then);
    const then = next ? [" ", ...todo("Then: ", next)] : [];
    return [h("b", {}, first), ...prose(rest), ...why, ...then];
  }
}

function todo(when, task) {
  return [h("b", {}, when), ...prose(task)];
}
