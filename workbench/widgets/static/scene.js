// Where the shapes of a picture are for another selection: the one arithmetic that is not Python's.
//
// `slides` and `fields` are what `workbench.draw.plain` gives with a picture: names of what is
// chosen, numbers that these have, and for each strip the shapes that slide and the sheets that can
// be pointed at. `select` has a value for each axis, by name.

/** A form, [base, low, high, digit, factor, digit, factor, …], where the digits have `values`. */
function formAt(form, values) {
  const [base, low, high] = form;
  let total = base;
  for (let k = 3; k < form.length; k += 2) total += form[k + 1] * values[form[k]];
  return Math.min(Math.max(total, low ?? -Infinity), high ?? Infinity);
}

/** A digit of a value: what a table has for it, or value // stride % size. */
function digitOf([first, size], value) {
  return Array.isArray(first) ? first[value] : Math.floor(value / first) % size;
}

/** What gives the forms of `told`, by their numbers, where the names have the values `at`. */
function formsAt({ digits, forms }, at) {
  const values = digits.map(([name, ...told]) => digitOf(told, at[name]));
  return (number) => formAt(forms[number], values);
}

/** Whether the shapes know where they are for `select`; if not, Python has to be asked. */
export function slidesTo(slides, select) {
  if (!slides) return false;
  const chosen = Object.keys(select);
  return chosen.length === slides.axes.length && chosen.every((axis) => has(slides, axis, select));
}

/** Whether the shapes know where they are for the value of an axis. */
function has({ axes }, axis, select) {
  const value = select[axis];
  const known = axes.find(([name]) => name === axis);
  return Boolean(known) && Number.isInteger(value) && value >= known[1] && value < known[2];
}

/** Whether a tiling picture shows the axes where `places` has them (-1 at all), at a level. */
export function fits({ at, slides, levels = [] }, places, level) {
  const strip = Math.max(levels.indexOf(level), 0);
  const drawn = { ...at, ...slides?.at };
  return Object.keys(at).every(
    (axis) =>
      drawn[axis] === places[axis] ||
      (Boolean(slides?.strips[strip]) && drawn[axis] >= 0 && has(slides, axis, places)),
  );
}

/** Moves the shapes of `strips`, the picture's SVG elements, to where they are for `select`. */
export function slideTo(strips, slides, select) {
  const form = formsAt(slides, select);
  strips.forEach((strip, number) => {
    const moving = slides.strips[number];
    if (!moving) return;
    for (const shape of strip.querySelectorAll("[data-slide]")) {
      placeShape(shape, moving[shape.dataset.slide], form);
    }
  });
}

/** The caption's first line for `select`, and entries of the table: row, column, words. */
export function saidAt(slides, select) {
  const form = formsAt(slides, select);
  return {
    caption: worded(slides.caption, form),
    table: slides.table.map(([row, column, parts]) => [row, column, worded(parts, form)]),
  };
}

/** The outlines of what is touched in a strip, where they are for `select`. */
export function outlinesAt(strip, slides, number, select) {
  const form = formsAt(slides, select);
  const drawn = ".wb-read, .wb-write, .wb-both, .wb-chosen, .wb-chosen-both";
  return [...strip.querySelectorAll(`:is(${drawn})[data-slide]`)].map(
    (shape) => slides.strips[number][shape.dataset.slide].forms.map(form),
  );
}

/** What is at a spot of a strip, px of its drawing: its turns, marks and words; null: nothing. */
export function pointAt(fields, number, select, x, y) {
  const field = fields.strips[number].findLast(
    ({ edges: [left, top, right, bottom] }) => x >= left && x < right && y >= top && y < bottom,
  );
  if (!field) return null;
  const spot = { ...select, x, y };
  const cell = formsAt(fields, spot);
  const [row, column] = [field.row, field.column].map((number) => Math.floor(cell(number)));
  const form = formsAt(fields, { ...spot, row, column });
  return {
    field,
    turns: Object.fromEntries(field.axes.map(([name, number]) => [name, form(number)])),
    marks: field.marks.map((edges) => edges.map(form)),
    words: worded(field.words, form),
  };
}

function placeShape(shape, { forms, parts, cells }, form) {
  const at = (forms ?? []).map(form);
  if (at.length === 4) putNumbers(shape, boxOf(at));
  else if (at.length === 2) putNumbers(shape, { x: at[0], y: at[1] });
  if (parts) shape.textContent = worded(parts, form);
  if (cells) shape.closest("[data-cells]").dataset.cells = worded(cells, form);
}

/** A rectangle's attributes, of its edges. */
export function boxOf([left, top, right, bottom]) {
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function worded(parts, form) {
  return parts
    .map((part) => (typeof part === "string" ? part : String(Math.round(form(part)))))
    .join("");
}

export function putNumbers(shape, numbers) {
  for (const [name, value] of Object.entries(numbers)) shape.setAttribute(name, value);
}
