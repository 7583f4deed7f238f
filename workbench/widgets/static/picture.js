// A picture that Python drew, with its caption and its table.

import { refusalView } from "./code.js";
import { h, markup, prose, spoken } from "./dom.js";

// Beside another, or in a pane that scrolls, a picture may shrink; its words do not while they have
// room.
const WORDY = 0.8;
const shrunk = new ResizeObserver((strips) => {
  for (const { target, contentRect } of strips) {
    if (target.closest(".wb-machine, .wb-beside")) continue; // as large as these
    const scale = contentRect.width / target.viewBox.baseVal.width || 1;
    const words = String(Math.max(Math.min(scale, 1), WORDY));
    for (const name of ["--across", "--down"]) target.style.setProperty(name, words);
  }
});

/** What is drawn, or what `moves` in place of its first drawing; of levels, the first is shown. */
export function pictureView(picture, label, moves = null) {
  if (!picture) return [h("p.wb-hint", {}, "This picture was not made before the page was saved.")];
  if (picture.refusal) return [refusalView(picture.refusal)];
  if (!picture.strips.length && !moves) {
    const caption = h("p.wb-caption", {}, ...prose(picture.caption));
    return [caption, picture.table && tableView(picture, label)].filter(Boolean);
  }
  return [h("figure.wb-picture", {}, moves, ...stripsOf(picture, label, moves))];
}

/** What is drawn around what `moves`, which stays, anew. */
export function aroundOf(moves, picture, label) {
  for (const part of [...moves.parentElement.childNodes]) if (part !== moves) part.remove();
  moves.after(...stripsOf(picture, label, moves));
}

function stripsOf(picture, label, moves) {
  const still = picture.strips.slice(moves ? 1 : 0);
  if (!still.length) return [];
  const words = spoken(`${label}: ${picture.full || picture.caption}`);
  const strips = h("div.wb-strips", { role: "img", "aria-label": words });
  if (picture.line) strips.style.cssText = picture.line;
  strips.append(markup(still.join("")));
  for (const strip of strips.children) shrunk.observe(strip);
  const deeper = picture.levels?.length ? [...strips.children].slice(1) : [];
  for (const strip of deeper) strip.style.display = "none";
  return [strips];
}

/** What is said of a picture: a line of it, and all, with the table, once that is opened. */
export function sayingView(picture, label) {
  if (!picture || picture.refusal || !(picture.strips.length || picture.track)) return null;
  const kind = h("span.wb-kind", {}, picture.kind);
  const { amount } = picture;
  const first = amount ? picture.caption.slice(0, -amount.length) : picture.caption;
  const much = amount && h("b.wb-amount", {}, amount);
  const caption = h(`span.wb-caption${much ? ".wb-much" : ""}`, {}, [
    h("span", {}, prose(first)),
    much || null,
  ]);
  return h(
    "details.wb-saying",
    { title: "in words, and as a table" },
    h("summary", { "data-f": `saying ${label}` }, caption, kind),
    h("p.wb-about", {}, picture.about),
    picture.table && tableView(picture, label),
  );
}

function tableView({ table }, label) {
  const box = h("div.wb-table", { role: "group", "aria-label": `${label} as a table` });
  box.append(markup(table));
  return box;
}
