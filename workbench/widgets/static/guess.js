// A guess of what steps make of a cost: a marker on an axis in the strip of costs is set to it by
// arrow keys, by mouse, or as a number; and what came of it.

import { percent } from "./bar.js";
import { h, prose } from "./dom.js";

const FACTOR = 2; // of an arrow key

/** The row of a guess; what is set stays set while the strip is drawn anew. */
export function guessRow(lab) {
  let name = ""; // of the guess that is set,
  let value = 0; // at so much
  let high = 0; // px of the row in which it was made
  const told = h("p.wb-guess-told", { role: "status" });
  return { parts };

  /** What the strip shows of `guess`, in a row; a lesson's is asked, and told, in its card. */
  function parts(guess) {
    const own = guess && guess.name !== lab.question?.name;
    if (guess?.open && guess.start !== null && !lab.offline) {
      if (name !== guess.name) [name, value] = [guess.name, rounded(guess.start, guess.unit)];
      const asks = own ? `Guess first: ${guess.text}` : "Your guess:";
      return [h("div.wb-guess", {}, h("span.wb-guess-ask", {}, ...prose(asks)), setter(guess))];
    }
    if (!own && guess && !guess.told && high && guess.name === name) return [kept()];
    if (!own || !guess.told) return [];
    const [head, rest] = guess.told;
    told.replaceChildren(h("b", {}, head), " ", ...prose(`${rest} ${guess.why}`));
    return [told];
  }

  /** Its row stays until it is decided: panes that grew would come under the mouse. */
  function kept() {
    const row = h("div.wb-guess", {}, h("span.wb-guess-ask", {}, "Your guess is kept."));
    row.style.minHeight = `${high}px`;
    return row;
  }

  function setter(guess) {
    const mark = h("span.wb-guess-mark", {
      role: "slider",
      tabindex: "0",
      "aria-label": "your guess",
      "data-f": "guess mark",
      onkeydown: onKey,
    });
    const before = h("span.wb-span", { "data-of": "before" });
    const old = guess.was ? h("span.wb-guess-was", {}, `before ${guess.was}`) : null;
    const axis = h("div.wb-axis.wb-guess-axis", {}, before, old, mark);
    const number = h("input", {
      type: "text",
      inputmode: "decimal",
      "aria-label": `your guess in ${guess.unit}`,
      "data-f": "guess number",
      oninput: typed,
      onkeydown: onKey,
    });
    const guessed = () => {
      high = axis.closest(".wb-guess").offsetHeight;
      lab.send({ do: "guess", name: guess.name, number: number.value });
    };
    const onsubmit = (event) => {
      event.preventDefault();
      guessed();
    };
    const skip = () => lab.send({ do: "answer", name: guess.name, choice: 0 });
    let wide = 0; // of the axis; it stays while the mouse is down
    axis.addEventListener("pointerdown", (event) => {
      axis.setPointerCapture(event.pointerId);
      drag(event);
      axis.addEventListener("pointermove", drag);
    });
    axis.addEventListener("lostpointercapture", () => {
      axis.removeEventListener("pointermove", drag);
      fit();
      mark.focus({ preventScroll: true });
    });
    write();
    fit();
    return h(
      "form.wb-guess-set",
      { onsubmit },
      axis,
      number,
      h("span", { "aria-hidden": "true" }, guess.unit),
      h("button.wb-act", { type: "submit", "data-f": "guess" }, "guess"),
      h("button", { type: "button", "data-f": "skip", onclick: skip }, "skip"),
    );

    function drag({ clientX }) {
      const { left, width } = axis.getBoundingClientRect();
      const share = Math.min(Math.max((clientX - left) / width, 0.001), 1);
      value = rounded(share * wide, guess.unit);
      write();
      put();
    }

    function onKey(event) {
      const by = { ArrowUp: FACTOR, ArrowDown: 1 / FACTOR };
      if (event.target === mark) Object.assign(by, { ArrowRight: FACTOR, ArrowLeft: 1 / FACTOR });
      if (event.target === mark && event.key === "Enter") guessed();
      if (!by[event.key]) return;
      event.preventDefault();
      value = rounded(value * by[event.key], guess.unit);
      write();
      fit();
    }

    function typed() {
      const read = Number(number.value.replaceAll(",", ""));
      if (!(read > 0 && read < 1e15)) return; // Python says what is wrong with it
      value = read;
      fit();
    }

    function write() {
      number.value = String(value);
    }

    function fit() {
      wide = 2 * Math.max(guess.start, value);
      put();
    }

    function put() {
      before.style.width = percent(guess.start / wide);
      mark.style.left = percent(value / wide);
      mark.ariaValueMin = "0";
      mark.ariaValueMax = String(wide);
      mark.ariaValueNow = String(value);
      const was = guess.was ? `; before ${guess.was}` : "";
      mark.ariaValueText = `${value} ${guess.unit}${was}`;
    }
  }
}

/** A time in three digits, a count whole. */
function rounded(amount, unit) {
  return unit === "µs" ? Number(amount.toPrecision(3)) : Math.max(Math.round(amount), 1);
}
