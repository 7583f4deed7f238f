// One question before the reveal: the learner commits to an answer, the program says what is true.

import { freshId, h, prose, spoken } from "./dom.js";
import { exerciseCard } from "./taken.js";

export function questionCard(lab) {
  const card = h("section.wb-question");
  return { pane: card, draw, inputs };

  function inputs() {
    return [lab.answers, lab.page?.verdict, lab.page?.taken, lab.veiled];
  }

  function draw() {
    const question = lab.question;
    const exercise = !question && typeof lab.page?.taken === "string";
    card.hidden = !question && !exercise;
    card.ariaLabel = exercise ? "Exercise" : "Prediction";
    if (exercise) card.replaceChildren(...exerciseCard(lab));
    if (!question) return;
    const found = question.choices.indexOf(lab.answers[question.name]);
    const given = found < 0 ? undefined : found;
    const verdict = lab.veiled ? undefined : lab.page?.verdict;
    card.replaceChildren(
      h("p.wb-ask", {}, h("b", {}, "Before you try: "), ...prose(question.text), veiled()),
      choices(question, given, verdict),
      given === undefined
        ? h("p.wb-hint", {}, "Choose an answer. It is not graded.")
        : outcome(question, given, verdict),
    );
  }

  function veiled() {
    return lab.veiled ? h("span.wb-hint", {}, " (Page Down shows the answer)") : "";
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
            onchange: () => lab.send({ do: "answer", name: question.name, choice: k }),
          }),
          h("span", {}, prose(choice)),
          right ? h("b", {}, " ✓ so it is") : null,
        );
      }),
    );
  }

  function outcome(question, given, verdict) {
    if (!verdict)
      return h(
        "p.wb-hint",
        {},
        ...prose(question.said[given]),
        ...(lab.offline ? [] : [" ", ...prose(question.todo)]),
      );
    const [first, rest] = verdict.told[given];
    return h(
      "div.wb-told",
      {},
      h("p", {}, h("b", {}, first), ...prose(rest)),
      h("p", {}, h("b", {}, "Why: "), ...prose(verdict.why)),
    );
  }
}
