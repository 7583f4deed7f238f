// What of a long program is folded: types of its parameters, nests, and runs of unchanged lines.

import { h } from "./dom.js";

const AROUND = 2; // lines beside a changed one that stay
const RUN = 4; // lines that are worth a fold

/**
 * Which of the lines stay: those that changed, those beside them, and the loops and blocks that
 * they stand in. Each line has an `indent` and whether it `changed`; `around` says how many lines
 * beside one.
 */
export function staying(lines, around = AROUND) {
  const stay = lines.map((_, k) =>
    lines.slice(Math.max(0, k - around), k + around + 1).some((line) => line.changed),
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

/**
 * The rows of a diff; where there is `room` for fewer, what does not stay is folded: `nests`, each
 * from a line to another with what it does, under that name, and other runs. What stays is what
 * changed, and each row that `keeps` says.
 */
export function foldUnchanged(rows, room, nests = [], keeps = () => false) {
  const lines = rows.map((row) => ({
    indent: Number(row.querySelector(".wb-text").dataset.indent),
    changed: !row.classList.contains("wb-same"),
  }));
  if (rows.length <= room || !lines.some((line) => line.changed)) return rows;
  const kept = rows.map(keeps);
  const must = staying(lines, 0).map((stays, k) => stays || kept[k]);
  const stay = staying(lines).map((stays, k) => stays || kept[k]);
  const at = new Map(rows.map((row, k) => [rowNumber(row), k]));
  const named = nests
    .map(([from, to, words]) => ({ from: at.get(from), to: at.get(to) + 1, words }))
    .filter(({ from, to }) => !must.slice(from, to).some(Boolean));
  for (const { from, to } of named) stay.fill(false, from, to); // its name is what is beside
  const shown = [];
  const found = runs(filled(stay, room, named), named);
  for (const { stays, from, to, words } of joinedRuns(found, room)) {
    const run = rows.slice(from, to);
    if (stays) shown.push(...run);
    else shown.push(foldBox(`⋯ ${words ?? `${run.length} unchanged lines`}`, run));
  }
  return shown;
}

/** Runs, of which those that may be folded are one with the next where there is no room. */
function joinedRuns(found, room) {
  if (found.reduce((sum, run) => sum + runHeight(run), 0) <= room) return found;
  const made = [];
  for (const run of found) {
    const last = made.at(-1);
    if (run.must || !last || last.must) made.push({ ...run, names: run.words ? 1 : 0 });
    else {
      last.to = run.to;
      last.stays = last.to - last.from < RUN;
      last.first ??= last.words ?? run.words;
      last.names += run.words ? 1 : 0;
      const more = last.names > 1 ? `${last.names - 1} more` : "more"; // of other lines
      last.words = last.first && `${last.first}, and ${more}`;
    }
  }
  return made;
}

/** How many rows a run takes. */
const runHeight = ({ stays, from, to }) => (stays ? to - from : 1);

/** The number of a line of the program that is shown; NaN of one that is gone. */
const rowNumber = (row) => Number(row.querySelector(".wb-number").textContent || NaN);

/**
 * Where lines stay and where not, each `from` a line `to` before another; one of the nests `named`
 * is a run of its own. Few stay always.
 */
function runs(stay, named = []) {
  const found = [];
  for (let k = 0; k < stay.length; ) {
    const nest = stay[k] ? null : named.find(({ from }) => from === k);
    const ends = (line) => stay[line] !== stay[k] || (!stay[k] && isFirst(line, named));
    let end = nest?.to ?? k + 1;
    while (!nest && end < stay.length && !ends(end)) end += 1;
    const stays = stay[k] || end - k < RUN;
    found.push({ stays, must: stay[k], from: k, to: end, words: nest?.words });
    k = end;
  }
  return found;
}

const isFirst = (line, named) => named.some(({ from }) => from === line);

/**
 * Which lines stay where there is `room`: what is left of it goes to those behind staying ones, and
 * to a nest of those `named` if there is room for all of it.
 */
export function filled(stay, room, named = []) {
  const more = [...stay];
  let left = room - runs(stay, named).reduce((sum, run) => sum + runHeight(run), 0);
  for (let k = 1; k < more.length && left > 0; k += 1) {
    const nest = named.find(({ from }) => from === k);
    const size = nest ? nest.to - nest.from : 1;
    if (more[k] || !(more[k - 1] || nest)) continue;
    if (!nest || size - 1 <= left) {
      more.fill(true, k, k + size);
      left -= nest ? size - 1 : 1;
    }
    k += size - 1;
  }
  return more;
}

/** A button in place of `rows`; pressed, it gives way to them, and the focus goes to the first. */
function foldBox(words, rows) {
  for (const row of rows) row.hidden = true;
  const open = () => {
    for (const row of rows) row.hidden = false;
    box.replaceWith(...rows);
    rows[0].querySelector(".wb-mark")?.focus({ preventScroll: true });
  };
  const depth = Number(rows[0].querySelector(".wb-text").dataset.indent) / 2;
  const button = h("button.wb-unfold", { onclick: open }, words);
  const box = h("div.wb-fold", { style: `--depth: ${depth}ch` }, button, rows);
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
