// What each lane of a warp asks for at a time: the arithmetic of `workbench/insight/lane_terms.py`.

import { runningAt } from "./track.js";

const WARP = 32;
const OPERATORS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => a - b * Math.floor(a / b),
  min: Math.min,
  max: Math.max,
  "<": (a, b) => Number(a < b),
  "<=": (a, b) => Number(a <= b),
  ">": (a, b) => Number(a > b),
  ">=": (a, b) => Number(a >= b),
  "==": (a, b) => Number(a === b),
  "!=": (a, b) => Number(a !== b),
};

/** The value of a term where axes and loops have the numbers `at`; a condition's is 0 or 1. */
function workedOut(term, at) {
  if (typeof term === "number") return term;
  if (typeof term === "string") return at[term];
  const [op, first, ...rest] = term;
  const a = workedOut(first, at);
  if (op === "?") return workedOut(rest[a ? 0 : 1], at);
  if (op === "and") return a ? Number(Boolean(workedOut(rest[0], at))) : 0;
  if (op === "or") return a ? 1 : Number(Boolean(workedOut(rest[0], at)));
  return OPERATORS[op](a, workedOut(rest[0], at));
}

/**
 * The byte address of each lane of a warp, null where it is idle or there is no such thread.
 * `asked` is [bytes of a lane, address, guards]; `block` says which block, `threads` how many it
 * has each way, `turns` a number for each loop around.
 */
export function lanesAt([, address, guards], block, threads, warp, turns) {
  const [wide, high, deep] = threads;
  const at = { ...turns };
  const put = (unit, place) => place.forEach((n, k) => (at[`${unit}Idx.${"xyz"[k]}`] = n));
  put("block", block);
  return Array.from({ length: WARP }, (_, lane) => {
    const number = warp * WARP + lane;
    const row = Math.floor(number / wide);
    put("thread", [number % wide, row % high, Math.floor(row / high)]);
    const awake = number < wide * high * deep && guards.every((told) => workedOut(told, at));
    return awake ? workedOut(address, at) : null;
  });
}

/** What a warp issues at `t`: a span of the track of its requests; undefined where it waits. */
export function issuedAt(requests, warp, t) {
  return runningAt(requests, t).find(({ row }) => row === warp);
}
