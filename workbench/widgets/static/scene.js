// Where the shapes of a picture are for another selection: the one arithmetic that is not Python's.
//
// `slides` is what `workbench.draw.plain` gives with a picture: the axes, numbers that these have,
// and for each strip the shapes that slide. `select` has a value for each axis, by name.

/** A form, [base, [[digit, factor], …], low, high], where the digits have `values`. */
export function formAt([base, terms, low, high], values) {
  let total = base;
  for (const [digit, factor] of terms) total += factor * values[digit];
  return Math.min(Math.max(total, low ?? -Infinity), high ?? Infinity);
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

/** Moves the shapes of `strips`, the picture's SVG elements, to where they are for `select`. */
export function slideTo(strips, slides, select) {
  const values = slides.digits.map(
    ([axis, stride, size]) => Math.floor(select[slides.axes[axis][0]] / stride) % size,
  );
  strips.forEach((strip, number) => {
    for (const shape of strip.querySelectorAll("[data-slide]")) {
      placeShape(shape, slides.strips[number][shape.dataset.slide], values);
    }
  });
}

function placeShape(shape, { forms, parts, cells }, values) {
  const at = (forms ?? []).map((form) => formAt(form, values));
  if (at.length === 4) {
    const [left, top, right, bottom] = at;
    putNumbers(shape, { x: left, y: top, width: right - left, height: bottom - top });
  } else if (at.length === 2) {
    putNumbers(shape, { x: at[0], y: at[1] });
  }
  const told = (words) => words.map((part) => wordsAt(part, values)).join("");
  if (parts) shape.textContent = told(parts);
  if (cells) shape.closest("[data-cells]").dataset.cells = told(cells);
}

function wordsAt(part, values) {
  return typeof part === "string" ? part : String(Math.round(formAt(part, values)));
}

function putNumbers(shape, numbers) {
  for (const [name, value] of Object.entries(numbers)) shape.setAttribute(name, value);
}
