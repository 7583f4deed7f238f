// One question before the reveal: the learner commits to an answer, the program says what is true.

import { freshId, h, onceDrawn, prose, spoken } from "./dom.js";
import { exerciseCard } from "./taken.js";

export function questionCard(lab) {
  const card = h("section.wb-question");
  const told = h("div.wb-told"); // as high as a line or two, until all of it is asked for
  const more = h("button.wb-rest", { onclick: () => open(told.dataset.open !== "true") });
  new ResizeObserver(() => fits()()).observe(told);
  return { pane: card, draw, inputs };

  function inputs() {
    const { verdict, decided, guess, taken, goals, then, bar, costs } = lab.page ?? {};
    const page = [verdict, decided, guess, taken, goals, then, bar?.waits, costs?.waits];
    return [lab.answers, page, lab.veiled, lab.coded];
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
    if (question.guess) {
      ask(question, [], ofGuess(question, lab.page?.guess));
      open(Boolean(lab.page?.guess?.told) && !lab.veiled);
      return;
    }
    const found = question.choices.indexOf(lab.answers[question.name]);
    const given = found < 0 ? undefined : found;
    const verdict = lab.veiled ? undefined : lab.page?.verdict;
    ask(question, [choices(question, given, verdict)], outcome(question, given, verdict));
    open(Boolean(verdict) && given !== undefined); // the reason is what the answer was for
  }

  function ask(question, answers, came) {
    told.replaceChildren(...came);
    const text = h("p.wb-ask", {}, h("b", {}, "Before you try: "), ...prose(question.text));
    text.append(veiled());
    card.replaceChildren(
      h("div.wb-asking", {}, text, answers),
      h("div.wb-outcome", {}, told, more),
    );
  }

  function veiled() {
    return lab.veiled ? h("span.wb-hint", {}, " (Page Down shows the answer)") : "";
  }

  function open(whole) {
    told.dataset.open = String(whole);
    more.ariaExpanded = String(whole);
    more.textContent = whole ? "less ▴" : "more ▾";
    onceDrawn(fits);
  }

  /** The button stands where something is hidden, or shown by it. */
  function fits() {
    const all = told.dataset.open !== "true" && told.scrollHeight <= told.clientHeight + 1;
    return () => (more.hidden = all);
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
            disabled: lab.offline || (isDecided() && given !== undefined),
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

  /** Whether a program of the history has decided it, which need not be the one that is shown. */
  function isDecided() {
    return Boolean(lab.page?.verdict) || Number.isInteger(lab.page?.decided);
  }

  function outcome(question, given, verdict) {
    if (given === undefined) return [h("span.wb-hint", {}, "Choose an answer. It is not graded.")];
    const said = h("span.wb-hint", {}, ...prose(question.said[given]));
    const elsewhere = isDecided() && !lab.page.verdict; // after undo, or on another branch
    if (elsewhere) return [said, " ", ...answered()];
    if (!verdict) return lab.offline ? [said] : [said, " ", ...todo("Now: ", question.todo)];
    return reply(verdict.told[given], verdict.why);
  }

  function answered() {
    const came = `step ${lab.page.decided} in the history shows what came of it.`;
    return todo("Answered: ", came);
  }

  function reply([first, rest], reason) {
    const why = reason ? [" ", h("b", {}, "Why: "), ...prose(reason)] : [];
    const next = lab.setup.task ?? (lab.offline ? "" : lab.page.then);
    const then = next ? [" ", ...todo("Then: ", next)] : [];
    return [h("b", {}, `${first.trimEnd()} `), ...prose(rest), ...why, ...then];
  }

  /** A guess is set on the axis of costs; here stands what there is to say of it. */
  function ofGuess(question, guess) {
    if (!guess) return [];
    if (guess.open) {
      const saved = "No guess was made before the page was saved.";
      const how = "Set your guess below: arrow keys double and halve it. It is not graded.";
      return [h("span.wb-hint", {}, lab.offline ? saved : how)];
    }
    if (guess.told && !lab.veiled) return reply(guess.told, guess.why);
    const said = h("span.wb-hint", {}, ...prose(`You say: ${guess.answer}.`));
    if (isDecided() && lab.page.decided !== lab.at) return [said, " ", ...answered()];
    const waits = (guess.unit === "µs" ? lab.page.bar : lab.page.costs)?.waits === "asked";
    const press = waits ? ` Then press \`${guess.unit === "µs" ? "model" : "count"}\`.` : "";
    return lab.offline ? [said] : [said, " ", ...todo("Now: ", question.todo + press)];
  }
}

function todo(when, task) {
  return [h("b", {}, when), ...prose(task)];
}
