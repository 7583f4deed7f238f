// What can be done next at the chosen place: each verb with its verdict and a form.

import { refusalView } from "./code.js";
import { freshId, h, oneStop, prose, spoken } from "./dom.js";

export function actionsPane(lab) {
  const title = h("h3", {}, "Next step");
  const path = h("div.wb-places", { role: "group", "aria-label": "place" });
  const verbs = h("div.wb-verbs");
  const body = h("div.wb-action");
  const done = h("p.wb-done"); // what the step did, said on top too, which may be out of sight
  const told = h("div.wb-refused"); // what a step was refused for, below the form that asked for it
  const pane = h(
    "section.wb-pane.wb-actions",
    { "aria-label": "Next step" },
    title,
    path,
    verbs,
    body,
    done,
    told,
  );
  const settle = oneStop(pane);
  let open = null; // the verb whose form or reason is shown
  let at = null; // the node that was drawn last
  let showCall = () => {}; // puts the call of the open form as Python wrote it

  function draw() {
    const offer = lab.offer();
    const place = offer?.place;
    const going = offer?.verbs.find((verb) => verb.name === open);
    if (!going || (lab.at !== at && going.verdict === "refused")) open = null;
    at = lab.at;
    title.replaceChildren("Next step", place ? h("span.wb-at", {}, ` at ${place.label}`) : "");
    path.replaceChildren(...(offer?.places ?? []).map(placeButton));
    const shown = (offer?.verbs ?? []).filter((verb) => lab.view.more || verb.offered);
    const rest = place && (offer.more || lab.view.more);
    verbs.replaceChildren(...shown.map(verbButton), ...(rest ? [moreButton()] : []));
    const verb = shown.find((one) => one.name === open);
    body.replaceChildren(...(verb ? verbBody(verb) : hint(offer)));
    settle();
  }

  /** Say what was done below the form as well; apart from `draw`, which makes a form anew. */
  function conclude() {
    const given = lab.question && lab.answers[lab.question.name];
    const shown = !lab.offline && lab.status.step;
    done.hidden = !shown;
    done.replaceChildren(...(shown ? prose(`✓ ${lab.status.text}`) : []));
    showCall();
    if (shown && given !== undefined && lab.page?.verdict)
      done.append(" ", h("b", {}, "Your answer is decided: see the question."));
  }

  function hint(offer) {
    if (lab.gone) return [h("p.wb-hint", {}, "Steps can be taken again when the cell has run.")];
    if (lab.offline)
      return [
        h("p.wb-hint", {}, "This page has no Python behind it: choose steps in the history."),
      ];
    if (!offer) return [h("p.wb-hint", {}, "Choose a loop or a block in the program.")];
    return [];
  }

  function placeButton(place) {
    return h(
      "button.wb-place",
      {
        "data-k": place.key,
        "aria-pressed": String(place.key === lab.place),
        onclick: () => lab.choose(place.key),
      },
      place.label,
    );
  }

  function verbButton(verb) {
    const refused = verb.verdict === "refused";
    return h(
      `button.wb-verb${refused ? ".wb-cannot" : ""}`,
      {
        "data-f": verb.name,
        "aria-expanded": String(open === verb.name),
        title: spoken(verb.summary),
        onclick: () => {
          open = verb.name; // pressed again, a form that is open already takes the focus
          draw();
          if (open) body.querySelector("input, select")?.focus();
        },
      },
      verb.name,
      refused ? h("span.wb-why", {}, " why not?") : null,
    );
  }

  function moreButton() {
    const more = Boolean(lab.view.more);
    return h(
      "button.wb-more",
      { "aria-expanded": String(more), onclick: () => lab.show({ more: !more }), "data-f": "more" },
      more ? "fewer" : "more",
    );
  }

  function verbBody(verb) {
    if (verb.verdict === "refused") {
      return [h("p.wb-summary", {}, prose(verb.summary)), refusalView(verb.why)];
    }
    return [h("p.wb-summary", {}, prose(verb.summary)), form(verb)];
  }

  function form(verb) {
    const fields = verb.fields.map((field) => ({ field, ...control(field) }));
    const go = h("button.wb-go", { type: "submit", disabled: lab.offline }, `apply ${verb.name}`);
    const call = h("code.wb-call", {}, verb.call);
    const asked = () => ({
      verb: verb.name,
      place: lab.place,
      args: Object.fromEntries(fields.map(({ field, read }) => [field.name, read()])),
    });
    showCall = () => {
      if (lab.writes(asked())) call.textContent = lab.call.text;
    };
    const rewrite = () => {
      lab.ask({ do: "write", ...asked() });
      showCall();
    };
    const submit = (event) => {
      event.preventDefault();
      lab.send({ do: "apply", ...asked() });
    };
    return h(
      "form.wb-form",
      { onsubmit: submit, oninput: rewrite },
      fields.map(({ box }) => box),
      go,
      call,
    );
  }

  /** A labelled control for one argument; suggestions come from what the check allows. */
  function control(field) {
    const id = freshId("field");
    const label = h("label", { for: id }, prose(field.label));
    let input;
    if (field.kind === "choice") {
      input = h(
        "select",
        { id },
        field.options.map((option) =>
          h(
            "option",
            { value: option.value, selected: option.value === field.value },
            option.label,
          ),
        ),
      );
    } else if (field.kind === "bool") {
      input = h("input", { id, type: "checkbox", checked: field.value });
    } else {
      const list = freshId("list");
      input = h("input", {
        id,
        type: "text",
        value: field.value ?? "",
        size: field.kind === "int" ? 6 : 12,
        list: field.options?.length ? list : null,
        spellcheck: "false",
        autocomplete: "off",
        "aria-describedby": field.help ? `${id}-help` : null,
      });
      if (field.options?.length) {
        const options = field.options.map((option) => h("option", { value: option.value }));
        return wrap(label, input, h("datalist", { id: list }, options));
      }
    }
    return wrap(label, input);

    function wrap(...parts) {
      const help = field.help ? h("span.wb-help", { id: `${id}-help` }, prose(field.help)) : null;
      const read = () => (field.kind === "bool" ? input.checked : input.value);
      return { box: h("div.wb-field", {}, parts, help), read };
    }
  }

  const errors = () => (open && !lab.offline ? told : null);
  return {
    pane,
    draw,
    conclude,
    errors,
    inputs: () => [lab.offer(), lab.place, lab.view.more],
  };
}
