// The form of a verb: a field for each argument, and the call that it makes, as Python writes it.

import { freshId, h, prose } from "./dom.js";

/**
 * The form of `verb`, as an element, `show`, which puts the call as Python wrote it last, and
 * `asked`, the step that stands in it.
 * Shift, Ctrl or Meta with Enter in a field apply it too, as they run a cell.
 */
export function verbForm(lab, verb, apply) {
  const fields = verb.fields.map((field) => ({ field, ...control(field) }));
  const call = h("code.wb-call", {}, verb.call);
  const asked = () => ({
    verb: verb.name,
    place: verb.place,
    args: Object.fromEntries(fields.map(({ field, read }) => [field.name, read()])),
  });
  const ways = (verb.ways ?? []).map((way) => wayButton(way, fields));
  const show = () => {
    if (lab.writes(asked())) call.textContent = lab.call.text;
    if (!ways.length || lab.call.verb !== verb.name || lab.call.place !== verb.place) return;
    ways.forEach(({ cost }, k) => (cost.textContent = lab.call.told?.[k] ?? ""));
  };
  // Enter in a field clicks it, too; nothing is submitted, which a sandboxed frame may forbid.
  const onclick = (event) => {
    event.preventDefault();
    apply(asked());
  };
  const button = h("button.wb-act", { type: "submit", onclick }, `apply ${verb.name}`);
  const form = h(
    "form.wb-form",
    {
      oninput: () => {
        lab.ask({ do: "write", ...asked() });
        show();
      },
      onkeydown: (event) => {
        const chord = event.shiftKey || event.ctrlKey || event.metaKey;
        if (event.key !== "Enter" || !chord) return;
        event.preventDefault();
        event.stopPropagation();
        button.click();
      },
    },
    ways.length
      ? h("div.wb-ways", { role: "group", "aria-label": "proposals" }, ways.map(({ box }) => box))
      : null,
    fields.map(({ box }) => box),
    button,
    call,
  );
  if (ways.length) lab.ask({ do: "write", ...asked() }); // what each of them costs
  return { form, show, asked };
}

/** A button that fills the fields with arguments that go together, and what they cost. */
function wayButton(way, fields) {
  const cost = h("span.wb-help", {}, "…");
  const onclick = (event) => {
    event.preventDefault();
    for (const { field, input } of fields) input.value = way.args[field.name];
    fields[0].input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const button = h("button.wb-way", { type: "button", onclick }, h("code", {}, way.text), cost);
  return { box: button, cost };
}

/** A labelled control for one argument; suggestions come from what the check allows. */
function control(field) {
  const id = freshId("field");
  const help = field.help ? h("span.wb-help", { id: `${id}-help` }, prose(field.help)) : null;
  const [input, list] = { choice: select, bool: tick }[field.kind]?.(field, id) ?? typed(field, id);
  const label = h("label", { for: id }, prose(field.label));
  const read = () => (field.kind === "bool" ? input.checked : input.value);
  return { box: h("div.wb-field", {}, label, input, list, help), read, input };
}

function select(field, id) {
  const option = ({ value, label, refused }) =>
    h(
      "option",
      { value, selected: value === field.value, "aria-disabled": refused ? "true" : null },
      refused ? `✕ ${label}` : label, // no browser strikes a line of a list through
    );
  return [h("select", { id }, field.options.map(option))];
}

function tick(field, id) {
  return [h("input", { id, type: "checkbox", checked: field.value })];
}

const SIZES = { int: 6, dict: 34 }; // letters; two names with their numbers are seen whole

function typed(field, id) {
  const some = field.options.length > 0;
  const list = freshId("list");
  const input = h("input", {
    id,
    type: "text",
    value: field.value,
    size: Math.max(SIZES[field.kind] ?? 12, field.value.length + 3), // beside its arrow
    list: some ? list : null,
    spellcheck: "false",
    autocomplete: "off",
    "aria-describedby": field.help ? `${id}-help` : null,
  });
  const options = field.options.map(({ value }) => h("option", { value }));
  return [input, some ? h("datalist", { id: list }, options) : null];
}
