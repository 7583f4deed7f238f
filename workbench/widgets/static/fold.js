// What of a long program is folded: the types of its parameters, and runs of unchanged lines.

import { h } from "./dom.js";

const AROUND = 2; // lines beside a changed one that stay
const RUN = 4; // lines that are worth a fold

/**
 * Which of the lines stay: those that changed, those beside them, and the loops and blocks that
 * they stand in. Each line has an `indent` and whether it `changed`.
 */
export function staying(lines) {
  const stay = lines.map((_, k) =>
    lines.slice(Math.max(0, k - AROUND), k + AROUND + 1).some((line) => line.changed),
  );
  lines.forEach((line, k) => {
    let level = line.changed ? line.indent : 0;
    for (let j = k - 1; j >= 0 && level > 0; j -= 1) {
      if (lines[j].indent >= level) continue;
      stay[j] = true;
      level = lines[j].indent;
    }
  });
  return stay;
}

/** The rows of a diff; where there is `room` for fewer, runs that do not stay are buttons. */
export function foldUnchanged(rows, room) {
  const lines = rows.map((row) => ({
    indent: Number(row.querySelector(".wb-text").dataset.indent),
    changed: !row.classList.contains("wb-same"),
  }));
  if (rows.length <= room || !lines.some((line) => line.changed)) return rows;
  const shown = [];
  for (const { stays, from, to } of runs(filled(staying(lines), room))) {
    const run = rows.slice(from, to);
    if (stays) shown.push(...run);
    else shown.push(foldBox(`⋯ ${run.length} unchanged lines`, run));
  }
  return shown;
}

/** Where lines stay and where not, each `from` a line `to` before another. Few stay always. */
function runs(stay) {
  const found = [];
  for (let k = 0; k < stay.length; ) {
    let end = k;
    while (end < stay.length && stay[end] === stay[k]) end += 1;
    found.push({ stays: stay[k] || end - k < RUN, from: k, to: end });
    k = end;
  }
  return found;
}

/** Which lines stay where there is `room`: what is left of it goes to those behind staying ones. */
export function filled(stay, room) {
  const more = [...stay];
  const rows = ({ stays, from, to }) => (stays ? to - from : 1);
  let left = room - runs(stay).reduce((sum, run) => sum + rows(run), 0);
  for (let k = 1; k < more.length && left > 0; k += 1) {
    if (more[k] || !more[k - 1]) continue;
    more[k] = true;
    left -= 1;
  }
  return more;
}

/** A button in place of `rows`; pressed, it gives way to them. */
function foldBox(words, rows) {
  for (const row of rows) row.hidden = true;
  const open = () => {
    for (const row of rows) row.hidden = false;
    box.replaceWith(...rows);
  };
  const button = h("button.wb-unfold", { onclick: open }, words);
  const box = h("div.wb-fold", {}, button, rows);
  return box;
}

/** The first line of a function without the types of its parameters; null where there are none. */
export function briefTokens(tokens) {
  const head = tokens.findIndex((token) => token[1].includes("("));
  const named = tokens.slice(head + 1).filter((token) => token[2]);
  if (!tokens.slice(0, 2).some((token) => token[1] === "def") || !named.length) return null;
  const [kind, text] = tokens[head];
  const first = [...tokens.slice(0, head), [kind, text.slice(0, text.indexOf("(") + 1)]];
  const list = named.flatMap((token, k) => (k ? [["", ", "], token] : [token]));
  return [...first, ...list, ["", "):"]];
}
