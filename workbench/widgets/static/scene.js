// Where the shapes of a picture are for another selection: the one arithmetic that is not Python's.
//
// `slides` and `fields` are what `workbench.draw.plain` gives with a picture: names of what is
// chosen, numbers that these have, and for each strip the shapes that slide and the sheets that can
// be pointed at. `select` has a value for each axis, by name.

/** A form, [base, [[digit, factor], …], low, high], where the digits have `values`. */
export function formAt([base, terms, low, high], values) {
  let total = base;
  for (const [digit, factor] of terms) total += factor * values[digit];
  return Math.min(Math.max(total, low ?? -Infinity), high ?? Infinity);
}

/** The digits, [name, stride, size] each, where the names have the values `at`. */
function digitsAt(digits, at) {
  return digits.map(([name, stride, size]) => Math.floor(at[name] / stride) % size);
}

/** Whether the shapes know where they are for `select`; if not, Python has to be asked. */
export function slidesTo(slides, select) {
  if (!slides) return false;
  const chosen = Object.keys(select);
  return (
    chosen.length === slides.axes.length &&
    slides.axes.every(([name, extent]) => {
      const value = select[name];
      return Number.isInteger(value) && value >= 0 && value < extent;
    })
  );
}

/** Whether a tiling picture shows the axes where `places` has them (-1 at all), at a level. */
export function fits({ at, slides, levels = [] }, places, level) {
  const strip = Math.max(levels.indexOf(level), 0);
  const drawn = { ...at, ...slides?.at };
  return Object.keys(at).every(
    (axis) =>
      drawn[axis] === places[axis] ||
      (Boolean(slides?.strips[strip]) && drawn[axis] >= 0 && places[axis] >= 0),
  );
}

/** Moves the shapes of `strips`, the picture's SVG elements, to where they are for `select`. */
export function slideTo(strips, slides, select) {
  const values = digitsAt(slides.digits, select);
  strips.forEach((strip, number) => {
    const moving = slides.strips[number];
    if (!moving) return;
    for (const shape of strip.querySelectorAll("[data-slide]")) {
      placeShape(shape, moving[shape.dataset.slide], values);
    }
  });
}

/** The caption's first line for `select`, and entries of the table: row, column, words. */
export function saidAt(slides, select) {
  const values = digitsAt(slides.digits, select);
  return {
    caption: told(slides.caption, values),
    table: slides.table.map(([row, column, parts]) => [row, column, told(parts, values)]),
  };
}

/** The outlines of what is touched in a strip, where they are for `select`. */
export function outlinesAt(strip, slides, number, select) {
  const values = digitsAt(slides.digits, select);
  return [...strip.querySelectorAll(":is(.wb-read, .wb-write, .wb-both)[data-slide]")].map(
    (shape) => slides.strips[number][shape.dataset.slide].forms.map((form) => formAt(form, values)),
  );
}

/** What is at a spot of a strip, px of its drawing: its turns, marks and words; null: nothing. */
export function pointAt(fields, number, select, x, y) {
  const field = fields.strips[number].findLast(
    ({ edges: [left, top, right, bottom] }) => x >= left && x < right && y >= top && y < bottom,
  );
  if (!field) return null;
  const spot = { ...select, x, y };
  const at = digitsAt(fields.digits, spot);
  const row = Math.floor(formAt(field.row, at));
  const column = Math.floor(formAt(field.column, at));
  const values = digitsAt(fields.digits, { ...spot, row, column });
  return {
    field,
    turns: Object.fromEntries(field.axes.map(([name, form]) => [name, formAt(form, values)])),
    marks: field.marks.map((edges) => edges.map((form) => formAt(form, values))),
    told: told(field.told, values),
  };
}

function placeShape(shape, { forms, parts, cells }, values) {
  const at = (forms ?? []).map((form) => formAt(form, values));
  if (at.length === 4) putNumbers(shape, boxOf(at));
  else if (at.length === 2) putNumbers(shape, { x: at[0], y: at[1] });
  if (parts) shape.textContent = told(parts, values);
  if (cells) shape.closest("[data-cells]").dataset.cells = told(cells, values);
}

/** A rectangle's attributes, of its edges. */
export function boxOf([left, top, right, bottom]) {
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function told(parts, values) {
  return parts
    .map((part) => (typeof part === "string" ? part : String(Math.round(formAt(part, values)))))
    .join("");
}

export function putNumbers(shape, numbers) {
  for (const [name, value] of Object.entries(numbers)) shape.setAttribute(name, value);
}
