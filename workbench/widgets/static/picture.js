// A picture that Python drew, with its caption and its table.

import { refusalView } from "./code.js";
import { h, markup, prose, spoken } from "./dom.js";

// A picture shrinks with its pane; its words do not while they have room.
const WORDY = 0.8;
const shrunk = new ResizeObserver((strips) => {
  for (const { target, contentRect } of strips) {
    const scale = contentRect.width / target.viewBox.baseVal.width || 1;
    target.style.setProperty("--scale", String(Math.max(Math.min(scale, 1), WORDY)));
  }
});

/** All of it, with what `moves` in place of its first drawing; of levels, the first is shown. */
export function pictureView(picture, label, moves = null) {
  if (!picture) return [h("p.wb-hint", {}, "This picture was not made before the page was saved.")];
  if (picture.refusal) return [refusalView(picture.refusal)];
  return [h("figure.wb-picture", {}, moves, ...partsOf(picture, label, Boolean(moves)))];
}

/** The parts of a picture but for what `moves`, anew around that, which stays. */
export function aroundOf(moves, picture, label) {
  for (const part of [...moves.parentElement.childNodes]) if (part !== moves) part.remove();
  moves.after(...partsOf(picture, label, true));
}

function partsOf(picture, label, moves) {
  const words = spoken(`${label}: ${picture.full || picture.caption}`);
  const strips = h("div.wb-strips", { role: "img", "aria-label": words });
  if (picture.line) strips.style.cssText = picture.line;
  const still = picture.strips.slice(moves ? 1 : 0);
  strips.append(markup(still.join("")));
  for (const strip of strips.children) {
    shrunk.observe(strip);
    if ("scrolls" in strip.dataset)
      strip.style.setProperty("--least", `${WORDY * strip.viewBox.baseVal.height}px`);
  }
  const deeper = picture.levels?.length ? [...strips.children].slice(1) : [];
  for (const strip of deeper) strip.style.display = "none";
  const table = h("div.wb-table", { role: "group", "aria-label": `${label} as a table` });
  table.append(markup(picture.table));
  const kind = [h("span.wb-kind", {}, picture.kind), " ", h("span.wb-about", {}, picture.about)];
  const caption = h("span.wb-caption", {}, ...prose(picture.caption));
  return [
    still.length > 0 && strips,
    h("figcaption", {}, caption, "\n", kind),
    picture.table && h("details", {}, h("summary", {}, "the same as a table"), table),
  ].filter(Boolean);
}
