// One slider for all loops of the tiling picture: which of them is chosen beside it. It steps and
// plays, too.

import { h } from "./dom.js";
import { playButton } from "./play.js";

/**
 * A row with the slider of one of `axes`, at `first` that of the axis so named. `places()` says
 * where each axis stands, -1 at all of it; `move(axis, value)` puts one elsewhere, and `save(axis)`
 * says that it stays there. While the picture is not `ready()` for a move, playing waits
 * for another, if one `comes()`.
 */
export function loopSlider({ axes, first, places, move, save, ready, comes }) {
  let axis = axes.find(({ key }) => key === first) ?? axes[0];
  let parts = null;
  const options = axes.map(({ key }) => h("option", { value: key }));
  const loops = h("select.wb-loops", { "aria-label": "loop", "data-f": "loop", onchange: turnTo });
  loops.append(...options);
  const row = h("div.wb-slide", {}, loops);
  make();
  return { row, put, stop: () => parts.player.stop(), key: () => axis.key };

  function turnTo() {
    parts.player.stop();
    axis = axes.find(({ key }) => key === loops.value);
    make();
    put();
  }

  /** What stands beside the choice of a loop, for the one that is chosen. */
  function make() {
    const { key, label, extent } = axis;
    loops.value = key;
    loops.title = label;
    const range = h("input", {
      type: "range",
      min: axis.least ?? -1,
      max: extent - 1,
      "aria-label": label,
      "data-f": "slider",
      oninput: () => move(key, Number(range.value)),
      onchange: () => save(key),
    });
    const player = playButton({ label: key, turns: extent, next: play, done: () => save(key) });
    parts = { range, player, back: step(-1, "‹", "one back"), on: step(1, "›", "one on") };
    parts.shown = h("output");
    const all = "least" in axis ? "" : "all"; // left of 0: the slider's first place
    const end = h("span", { "aria-hidden": "true" }, all);
    row.replaceChildren(loops, parts.back, player.button, parts.on, end, range, parts.shown);
  }

  /** A button that goes one turn on or back; before the first turn is all of the loop. */
  function step(by, sign, word) {
    const onclick = () => {
      const value = places()[axis.key] + by;
      if (value < (axis.least ?? -1) || value >= axis.extent) return;
      parts.player.stop();
      move(axis.key, value);
      save(axis.key);
    };
    const about = { title: word, "aria-label": `${word}: ${axis.key}`, "data-f": word };
    return h("button.wb-play", { ...about, onclick }, sign);
  }

  /** A turn that is `by` later, once the one before is shown; whether there are more. */
  function play(by) {
    if (!ready()) return comes();
    const { key, extent } = axis;
    const before = places()[key];
    const value = before + 1 < extent ? Math.min(before + by, extent - 1) : 0;
    move(key, value);
    return value + 1 < extent && places()[key] === value;
  }

  /** Shows where the loops stand; one that what is only tried has not stays as it is. */
  function put() {
    const at = places();
    axes.forEach(({ key }, k) => {
      if (key in at) options[k].textContent = at[key] < 0 ? key : `${key} = ${at[key]}`;
    });
    const value = at[axis.key];
    if (value === undefined) return;
    parts.range.value = value;
    parts.shown.textContent = value < 0 ? "" : value; // beside its end stands that it is all
    parts.range.dataset.all = String(value < 0);
    parts.range.ariaValueText = value < 0 ? "all" : `${value} of 0…${axis.extent - 1}`;
    parts.back.ariaDisabled = String(value <= (axis.least ?? -1)); // it keeps the focus
    parts.on.ariaDisabled = String(value + 1 >= axis.extent);
  }
}
