// A kernel that is broken on purpose: what is wrong in its text, the gaps in which something can be
// put back, and what a run of it came to.

import { h, prose } from "./dom.js";
import { pictureView, sayingView } from "./picture.js";

const ORDERS = "both orders of the race";

/**
 * Mark the lines of a text, `rows`, that are `lit`, by their numbers from 1 on, and put a radio
 * button of the group `name` in the gap ahead of each of `gaps`, which take `put`; it stands in the
 * chosen one. Returns all rows, with the choice of no gap first; `choose` gets a line or null.
 */
export function brokenRows(rows, { lit, gaps, put, choice }, name, choose) {
  rows.forEach((row, k) => row.classList.toggle("wb-faulty", lit.includes(k + 1)));
  if (!gaps.length) return rows;
  for (const line of gaps) {
    const row = rows[line - 1];
    row.classList.add("wb-gapped");
    row.prepend(gapAhead(name, line, choice, `${put} ahead of line ${line}`, choose));
  }
  const none = h("label.wb-line.wb-nowhere", {}, gapAhead(name, null, choice, "as it is", choose));
  none.append(h("span.wb-text", {}, `as it is, without ${put}`));
  const there = (row, k) => (k + 1 === choice ? [putRow(row, put), row] : [row]);
  return [none, ...rows.flatMap(there)];
}

function gapAhead(name, line, choice, label, choose) {
  return h("input.wb-gap", {
    type: "radio",
    name,
    "aria-label": label,
    title: label,
    "data-f": `gap ${line}`,
    checked: line === choice,
    onchange: () => choose(line),
  });
}

/** What was put back, as a line of the text that has no number. */
function putRow(before, put) {
  const indent = /^ */.exec(before.querySelector(".wb-text").textContent)[0];
  return h("div.wb-line.wb-put", {}, h("code.wb-text", {}, `${indent}${put}`));
}

/** What to do where something goes into a gap. */
export function gapTodo(put) {
  return `Choose the gap between two lines in which \`${put}\` is missing.`;
}

/** What a run came to: in words, and of a race both orders. */
export function findingView({ ok, said, detail, picture }) {
  const sign = ok === null ? "" : ok ? "✓ " : "✕ ";
  const bad = ok === false ? ".wb-bad" : "";
  return [
    h(`p.wb-verdict${bad}`, { role: "status" }, h("b", {}, sign, ...prose(said))),
    detail ? h("p", {}, ...prose(detail)) : null,
    ...(picture ? [...pictureView(picture, ORDERS), sayingView(picture, ORDERS)] : []),
  ].filter(Boolean);
}
