// What runs on a track at a time: the arithmetic of `workbench/insight/track.py`, in a browser.
//
// `track` is `Track.plain()`. Spans are [first, count, row, place, start, length, sort, shape], the
// dimensions of a shape [extent, row, place, start, name, least]. Nothing here is as long as trip
// counts.

/** Span number `k` of `spans`, from 0 on. */
export function trackSpan(track, spans, k) {
  const [first, , firstRow, firstPlace, firstStart, length, sort, shape] = spans;
  let [row, place, start, rest] = [firstRow, firstPlace, firstStart, k];
  const digits = {};
  for (const [extent, rows, places, later, name, least] of track.shapes[shape]) {
    const digit = rest % extent;
    rest = Math.floor(rest / extent);
    row += digit * rows;
    place += digit * places;
    start += digit * later;
    if (name) digits[name] = least + digit;
  }
  return { number: first + k, row, place, start, end: start + length, sort, digits };
}

/** The first number below `count` that is `past`, of numbers in order; `count` if none is. */
function firstPast(count, past) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (past(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** How many of `spans` start, or end, at `t` or before. */
export const startedAt = (track, spans, t) =>
  firstPast(spans[1], (k) => trackSpan(track, spans, k).start > t);
export const endedAt = (track, spans, t) =>
  firstPast(spans[1], (k) => trackSpan(track, spans, k).end > t);

/** What runs at `t`. */
export function runningAt(track, t) {
  return track.spans.flatMap((spans) => amongSpans(track, spans, endedAt(track, spans, t), t));
}

/** What is there at any time from `from` to `to`. */
export function spansBetween(track, from, to) {
  return track.spans.flatMap((spans) => amongSpans(track, spans, endedAt(track, spans, from), to));
}

function amongSpans(track, spans, k, t) {
  const found = [];
  for (const end = startedAt(track, spans, t); k < end; k++) found.push(trackSpan(track, spans, k));
  return found;
}

/** How many marks there are up to `t`. */
export function marksAt(track, t) {
  return track.marks.reduce((total, spans) => total + endedAt(track, spans, t), 0);
}

/** The times of marks from `from` to `to`, in order, at most so many. */
export function marksBetween(track, from, to, most) {
  const found = [];
  for (const spans of track.marks) {
    const end = startedAt(track, spans, to);
    for (let k = endedAt(track, spans, from); k < end && found.length < most; k++)
      found.push(trackSpan(track, spans, k).start);
  }
  return found.sort((a, b) => a - b);
}

const MANY = 12000; // spans that are drawn one by one

/** What is drawn of times from `from` to `to`: of too many spans a bar for each of their places. */
export function spansOf(track, from, to) {
  return track.spans.flatMap((spans) => {
    const [k, end] = [endedAt(track, spans, from), startedAt(track, spans, to)];
    return end - k > MANY ? bars(track, spans, k, end) : amongSpans(track, spans, k, to);
  });
}

/** The spans from number `k` up to `end` that stand in one place, as one that has no number. */
function bars(track, spans, k, end) {
  const shape = track.shapes[spans[7]];
  const later = shape.findIndex(([, , , start]) => start > 0);
  const beside = shape.slice(0, later < 0 ? shape.length : later);
  const places = beside.reduce((total, [extent]) => total * extent, 1);
  return Array.from({ length: Math.min(places, end - k) }, (_, n) => {
    const last = end - 1 - ((end - 1 - k - n) % places);
    const stop = trackSpan(track, spans, last).end;
    return { ...trackSpan(track, spans, k + n), end: stop, number: null };
  });
}

/** The span of a `sort` with that `number`; undefined where there is none. */
export function spanNumbered(track, sort, number) {
  const has = ([first, count, , , , , own]) =>
    own === sort && number >= first && number < first + count;
  const spans = track.spans.find(has);
  return spans && trackSpan(track, spans, number - spans[0]);
}

/**
 * Where a key leads from `t`, as on any slider up and right go on: arrows to the next or last time
 * at which a span starts or ends, pages to a mark, such as a barrier; to the beginning or the end
 * where there is none. Null: to nowhere.
 */
export function timeBy(key, track, t) {
  if (key === "Home") return 0;
  if (key === "End") return track.length;
  const among = /^Page/.test(key) ? track.marks : track.spans;
  const back = /^(ArrowLeft|ArrowDown|PageDown)$/.test(key);
  if (!back && !/^(ArrowRight|ArrowUp|PageUp)$/.test(key)) return null;
  const found = eventsOf(track, among, t, back);
  return back ? Math.max(0, ...found) : Math.min(track.length, ...found);
}

/** Of each of `spans` the first start and end after `t`, or the last `before` it. */
function eventsOf(track, spans, t, before = false) {
  return spans.flatMap((one) =>
    ["start", "end"].flatMap((name) => {
      const at = (k) => trackSpan(track, one, k)[name];
      const k = firstPast(one[1], (n) => (before ? at(n) >= t : at(n) > t)) - (before ? 1 : 0);
      return k >= 0 && k < one[1] ? [at(k)] : [];
    }),
  );
}

/** A time with its unit: "1 clock", "3 clocks", "6.25 µs". */
export function unitText({ unit }, t) {
  const number = timeText(t);
  return `${number} ${number === "1" && unit.length > 2 ? unit.slice(0, -1) : unit}`;
}

/** What goes on at `t`, in words: "modelled 61 µs: 256 of 256 blocks run". */
export const toldAt = (track, t) =>
  `${track.source} ${unitText(track, t)}: ${goesOnAt(track, t)}`;

/** The same without the time. */
export function goesOnAt(track, t) {
  const said = track.sorts.flatMap((sort, number) => {
    const numbers = numbersAt(track, number, t);
    return numbers.running ? [filledIn(sort.says, numbers)] : [];
  });
  const nothing = t < track.length ? track.nothing : "all is done";
  return said.join(", ") || nothing;
}

function numbersAt(track, sort, t) {
  const own = track.spans.filter((spans) => spans[6] === sort);
  const sum = (count) => own.reduce((total, spans) => total + count(spans), 0);
  const all = sum((spans) => spans[1]);
  const done = sum((spans) => endedAt(track, spans, t));
  const now = sum((spans) => startedAt(track, spans, t)) - done;
  const from = own.find((spans) => startedAt(track, spans, t) > endedAt(track, spans, t));
  const digits = from ? trackSpan(track, from, endedAt(track, from, t)).digits : {};
  const mark = marksAt(track, t) + 1;
  const marks = track.marks.reduce((total, spans) => total + spans[1], 0);
  return { ...digits, running: now, done, waiting: all - done - now, mark, marks, all };
}

/** A time in three digits or so: 6.25, 61.3, 1,034. */
export function timeText(t) {
  const scale = t < 10 ? 100 : t < 100 ? 10 : 1;
  const number = Math.floor(t * scale + 0.5);
  return scale === 1 ? number.toLocaleString("en-US") : String(number / scale);
}

function filledIn(says, numbers) {
  return says.replaceAll(/\{([^}]*)\}/g, (all, name) =>
    name in numbers ? numbers[name].toLocaleString("en-US") : all,
  );
}
