// A track on the screen: rows of what runs, time to the right, a slider and a button that plays.
//
// All that will run is drawn once, faint, and once more as it is when it has run: the second is cut
// where the time stands. To move the time is to move that cut. What runs is faint from
// its start to its end, whatever the time, and fills.

import { h, markup } from "./dom.js";
import { playButton } from "./play.js";
import { marksAt, marksBetween, runningAt, spansBetween, spansOf } from "./track.js";
import { goesOnAt, timeBy, timeText, toldAt, unitText } from "./track.js";

const PRESSED = 4; // px that a press moves before it drags
const [AXIS, LETTER, LINE] = [22, 7, 16]; // px: of the axis, a letter, a line of words
const [THICK, MOST_THICK] = [10, 28]; // px of a place that is seen by itself, and the most
const LETTERS = 12; // px of a box that has room for a number
const MOST_ROW = 240; // px of a row of one place
const TOLD = 334; // ms between two changes around it while it plays: three a second
const THUMB = 16; // px of the mark of a slider
const LEAST_PLACE = 3; // px of a place whose edges are drawn
const GUTTER = 10; // px right of all times

/**
 * `track` as Python gives it, `label` for who cannot see it. `veiled` hides what has not run yet;
 * while it is `held()` the time can be moved, and shows nothing. It begins at the time `opens`,
 * with a `spot` chosen, a row and a place in it; `brief` words leave the time out, which stands
 * beside them then, and `adds(t)` are more of them.
 * `choose(span, t)` is called for a span that is clicked at a time, or where Enter is pressed, and
 * returns whether that leads anywhere; else a click moves the time. `frame(t)` is called where
 * time has moved, `moment(t)` where the chosen row has, too, but at most three times a second while
 * it plays. Returns its `root`, `stop`, `go(t)`, `now()`, `step(key)`, `mark(t, words)`, which
 * leaves a mark at a time, the chosen `row()`, what runs `there()`, and whether it is `playing()`.
 */
export function timeline({
  track,
  label,
  veiled = false,
  spot = { row: 0, place: 0 },
  opens = track.opens,
  brief = false,
  held = () => false,
  choose = () => false,
  frame = () => {},
  moment = () => {},
  adds = () => "",
}) {
  let t = Math.min(opens, track.length);
  let seen = veiled ? t : track.length;
  let chosen = spot;
  let place = null; // how it lies on the screen
  let spoken = 0; // when words changed last
  const marks = []; // [time, words]
  const plot = h("div.wb-track-plot");
  const said = h("p.wb-track-said");
  const range = h("input", { type: "range", min: 0, max: track.length, step: "any" });
  const player = playButton({ label, next: play, done: () => put(t) });
  const steers = Boolean(track.nearer); // keys choose a row, and lead nearer
  const [back, on] = [
    ["ArrowLeft", "event before", "‹"],
    ["ArrowRight", "next event", "›"],
  ].map(([key, word, sign]) =>
    h("button.wb-play", { onclick: () => step(key), title: word, "aria-label": word }, sign),
  );
  range.ariaLabel = `time: ${label}`;
  range.dataset.f = "time";
  const clock = brief ? h("output") : null;
  const controls = h("div.wb-track-row", {}, back, player.button, on, said, clock);
  const root = h("div.wb-track", { style: `--rows: ${track.rows}` }, plot, range, controls);
  range.addEventListener("input", () => halt(Number(range.value)));
  range.addEventListener("keydown", (event) => {
    if (!press(event) && !step(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  plot.addEventListener("pointerdown", hold);
  if (globalThis.ResizeObserver) new ResizeObserver(draw).observe(plot);
  put(t);
  const known = { now: () => t, row: () => chosen.row, there, playing: player.playing };
  return { root, stop: player.stop, go: halt, step, mark, ...known };

  // --- time -------------------------------------------------------------------------------------

  function put(to) {
    t = Math.min(Math.max(to, 0), track.length);
    if (!held()) seen = Math.max(seen, t);
    player.button.disabled = held();
    range.value = t;
    if (clock) clock.textContent = unitText(track, t);
    back.ariaDisabled = String(t <= 0);
    on.ariaDisabled = String(t >= track.length);
    if (place && !(t >= place.from && t <= place.to)) draw();
    else cut();
    frame(t);
    tell();
  }

  /** Words go with the picture; what is read out, or lights up elsewhere, changes less often. */
  function tell() {
    const more = held() ? "" : adds(t);
    const words = held() ? unitText(track, t) : toldAt(track, t) + more;
    said.textContent = brief ? goesOnAt(track, t) + more : words;
    const now = performance.now();
    if (player.playing() && now - spoken < TOLD) return;
    spoken = now;
    range.ariaValueText = steers ? `${words}; ${rowName(chosen.row)}` : words;
    moment(t);
  }

  function rowName(row) {
    return track.names[row] ?? `${track.row} ${row}`;
  }

  /** What runs in the place that is chosen, or in its row. */
  function there() {
    const now = runningAt(track, t).filter((span) => span.row === chosen.row);
    return now.find((span) => span.place === chosen.place) ?? now[0];
  }

  function halt(to) {
    player.stop();
    put(to);
  }

  /** So many milliseconds later; whether there is more. */
  function play(passed) {
    if (t >= track.length) put(0);
    put(t + (passed / 1000 / track.seconds) * track.window);
    return t < track.length;
  }

  function mark(time, words) {
    marks.push([time, words]);
    draw();
  }

  /** Keys that move no time; whether it is one. */
  function press({ key, shiftKey }) {
    if (key === " ") plays();
    else if (steers && key === "Enter") enter(there());
    else if (steers && /^Arrow(Up|Down)$/.test(key)) walk(key === "ArrowUp" ? -1 : 1, shiftKey);
    else return false;
    return true;
  }

  function plays() {
    if (!player.button.hidden) player.button.click(); // else no motion is wanted
  }

  function enter(span) {
    if (span) choose(span, t);
  }

  /** On to the next place, or row. */
  function walk(by, whole) {
    const { rows, places } = track;
    const each = whole ? places : 1;
    const at = chosen.row * places + chosen.place + by * each;
    if (at < 0 || at >= rows * places) return;
    turnTo(Math.floor(at / places), at % places);
  }

  function turnTo(row, place) {
    chosen = { row, place };
    draw();
    tell();
  }

  /** Where a key leads; whether it is one that does. While nothing is shown, no event is told. */
  function step(key) {
    const found = timeBy(key, track, t);
    const to = held() && found !== null ? t + (found > t ? 1 : -1) : found;
    if (to !== null) halt(to);
    return to !== null;
  }

  // --- drawing ----------------------------------------------------------------------------------

  /** Where rows, places and times lie in the room there is. */
  function draw() {
    const [wide, high] = [plot.clientWidth, plot.clientHeight];
    if (!wide || !high) return;
    const page = Math.min(Math.floor(t / track.window) * track.window, track.length);
    const from = page >= track.length ? Math.max(track.length - track.window, 0) : page;
    place = layOut(track, wide, high, chosen, from, marks.length);
    const { left } = place;
    root.style.setProperty("--left", `${left - THUMB / 2}px`);
    root.style.setProperty("--right", `${GUTTER - THUMB / 2}px`);
    plot.replaceChildren(drawnTrack(track, place, chosen, marks));
    cut();
  }

  function cut() {
    if (!place) return;
    const x = place.x(t);
    const [will, ran, whole, runs] = plot.querySelectorAll("[data-layer]");
    will.setAttribute("width", Math.min(place.x(seen), place.left + place.plotted));
    for (const layer of [ran, runs]) layer.setAttribute("width", place.x(Math.min(t, seen)));
    light(runs, whole);
    if (veiled) unveil();
    const head = plot.querySelector(".wb-track-now");
    head?.setAttribute("transform", `translate(${x} 0)`);
  }

  /** What runs now is drawn anew where that is not what ran before. */
  function light(runs, whole) {
    const now = held() ? [] : runningAt(track, t);
    const from = now.map(({ sort, row, number }) => `${sort} ${row} ${number}`).join();
    if (runs.dataset.from === from) return;
    runs.dataset.from = from;
    const boxes = boxesOf(track, place, chosen, now, true);
    for (const layer of [whole, runs]) layer.replaceChildren(...boxPaths(place, boxes));
  }

  /** Numbers of what has begun, and of marks that were passed. */
  function unveil() {
    const began = held() ? -1 : seen;
    for (const one of plot.querySelectorAll("[data-start]"))
      one.setAttribute("visibility", Number(one.dataset.start) <= began ? "visible" : "hidden");
  }

  // --- by pointer -------------------------------------------------------------------------------

  function hold(event) {
    if (event.button !== 0 || !place) return;
    const box = plot.getBoundingClientRect();
    const at = ({ clientX, clientY }) => [clientX - box.left, clientY - box.top];
    const [x, y] = at(event);
    let dragged = false;
    event.preventDefault(); // no text is selected meanwhile
    const move = (later) => {
      const [now] = at(later);
      dragged ||= Math.abs(now - x) > PRESSED;
      if (dragged) halt(place.time(now));
    };
    const end = (later) => {
      plot.removeEventListener("pointermove", move);
      plot.removeEventListener("pointerup", end);
      plot.removeEventListener("pointercancel", end);
      if (!dragged && later.type === "pointerup") pick(x, y);
    };
    plot.setPointerCapture?.(event.pointerId);
    plot.addEventListener("pointermove", move);
    plot.addEventListener("pointerup", end);
    plot.addEventListener("pointercancel", end);
  }

  /** A span that is clicked leads nearer; else the time moves there, in the row that is clicked. */
  function pick(x, y) {
    const spot = place.spot(y);
    const time = Math.min(Math.max(place.time(x), place.from), place.to);
    const thin = spot && !place.large && spot.row !== chosen.row; // it is seen first
    const there =
      spot && !thin && !held()
        ? spansBetween(track, time, time).find(
            (span) => span.row === spot.row && span.place === spot.place && span.start <= seen,
          )
        : null;
    if (there && choose(there, time)) return;
    if (spot) turnTo(spot.row, thin ? 0 : spot.place);
    if (x >= place.left) halt(time);
  }
}

/** Rows below each other; one of many that are thin is shown large above them. */
function layOut(track, wide, high, { row: chosen }, from, marked) {
  const { rows, places } = track;
  const words = marked ? 2 * LINE : LINE; // those of marks stand above all
  const room = high - AXIS - words;
  const each = Math.min(room / rows, Math.max(places * MOST_THICK + 4, MOST_ROW));
  const large = each >= places * THICK;
  const top = large ? words + room - rows * each : words; // what has much room stands low in it
  const numbered = large && each >= LINE ? `${track.row} ${rows - 1}` : String(rows - 1);
  const left = Math.max(...[numbered, ...track.names].map((name) => name.length)) * LETTER + 12;
  const plotted = wide - left - GUTTER;
  const strip = large ? 0 : Math.min(Math.max(room * 0.4, 3 * places), room * 0.5, 14 * places);
  const below = large ? top : top + strip + LINE + 6;
  const row = large ? each : (high - AXIS - below) / rows;
  const inside = large && each > 8 ? 4 : 0; // between rows
  const thick = (row - inside) / places;
  return {
    ...{ wide, high, left, plotted, top, strip, below, row, thick, large, from },
    to: from + track.window,
    bottom: large ? below + rows * row : high - AXIS,
    x: (t) => left + ((t - from) / track.window) * plotted,
    time: (x) => from + ((x - left) / plotted) * track.window,
    y: (span) => below + span.row * row + inside / 2 + span.place * thick,
    spot(y) {
      const stripped = !large && y < top + strip;
      const height = stripped ? strip / places : thick;
      const number = stripped ? chosen : Math.floor((y - below) / row);
      const within = stripped ? y - top : y - below - number * row - inside / 2;
      const found = Math.min(Math.max(Math.floor(within / height), 0), places - 1);
      return number >= 0 && number < rows ? { row: number, place: found } : null;
    },
  };
}

const SPACE = markup("<svg></svg>").firstChild.namespaceURI;

// --- what is drawn -------------------------------------------------------------------------------

function shape(name, about = {}, ...inside) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(about)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function drawnTrack(track, place, chosen, marks) {
  const { wide, high, left, plotted, below, bottom } = place;
  const frame = shape("rect", {
    ...{ x: left, y: below, width: plotted, height: bottom - below },
    class: "wb-room",
  });
  const spans = spansOf(track, place.from, place.to);
  const [boxes, numbers] = spanShapes(track, place, chosen, spans);
  const ran = boxes.map((one) => one.cloneNode(true));
  const layers = Object.entries({ will: boxes, ran, whole: [], runs: [] });
  const cut = layers.map(([name, inside]) =>
    shape("svg", { "data-layer": name, width: left + plotted, height: high }, ...inside),
  ); // each is cut where its width ends
  const now = shape("g", { class: "wb-track-now" });
  now.append(shape("path", { d: `M0 ${place.top}V${bottom + 4}`, class: "wb-clock" }));
  return shape(
    "svg",
    { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, "aria-hidden": "true" },
    frame,
    ...emptyPlaces(track, place),
    ...cut,
    ...markLines(track, place),
    ...numbers,
    ...marks.flatMap((one) => markAt(place, ...one)),
    now,
    ...rowNames(track, place, chosen),
    ...aheadOf(track, place, spans),
    ...timeAxis(track, place),
  );
}

/** Places of rows that are large enough to be seen one by one, as they are when empty. */
function emptyPlaces(track, place) {
  const { large, thick, strip, top, left, plotted } = place;
  const boxes = [];
  const box = (y, height) =>
    boxes.push(`M${left} ${y + 0.5}h${plotted}v${height - 1}h${-plotted}z`);
  const seen = large || strip >= LEAST_PLACE * track.places;
  if (!seen) box(top, strip);
  for (let k = 0; seen && k < track.places; k++) {
    if (!large) box(top + (k * strip) / track.places, strip / track.places);
    for (let row = 0; large && row < track.rows; row++) box(place.y({ row, place: k }), thick);
  }
  return [shape("path", { d: boxes.join(""), class: `wb-${track.empty}` })];
}

/** Spans that are seen one by one: [span, y, height]. */
function seenAlone(track, place, { row: chosen }, spans) {
  return place.large
    ? spans.map((span) => [span, place.y(span) + 1, place.thick - 2])
    : spans.filter(({ row }) => row === chosen).map((span) => inStrip(track, place, span));
}

/** Spans as one path for each look; and their numbers. */
function spanShapes(track, place, chosen, spans) {
  const found = boxesOf(track, place, chosen, spans, false);
  return [boxPaths(place, found), found.flatMap((one) => labelIn(place, ...one))];
}

/** Boxes of spans, `now` of those that run: [role, start, end, y, height, label]. */
function boxesOf(track, place, chosen, spans, now) {
  const found = seenAlone(track, place, chosen, spans).map(([span, y, height]) => {
    const { roles, now: running } = track.sorts[span.sort];
    const role = roles[(span.number ?? 0) % roles.length];
    const number = span.number?.toLocaleString("en-US") ?? "";
    const label = track.sorts[span.sort].label.replace("{number}", number);
    return [now && running ? running : role, span.start, span.end, y, height, label];
  });
  if (!place.large) found.push(...thinRows(track, place, spans, now));
  return found;
}

function inStrip(track, place, span) {
  const high = place.strip / track.places;
  const gap = high < LEAST_PLACE ? 0 : 0.5; // above and below
  return [span, place.top + span.place * high + gap, high - 2 * gap];
}

/** Boxes, [role, start, end, y, height], as one path for each role. */
function boxPaths(place, boxes) {
  const paths = {};
  for (const [role, start, end, y, height] of boxes) {
    const x = Math.max(place.x(start), place.left);
    const wide = place.x(end) - x;
    const width = wide - (wide > 4 ? 1 : 0); // so that one can be told from the next
    paths[role] = `${paths[role] ?? ""}M${x} ${y}h${width}v${height}h${-width}z`;
  }
  return Object.entries(paths).map(([role, d]) => shape("path", { d, class: `wb-${role}` }));
}

function labelIn(place, role, start, end, y, height, label = "") {
  const [x, right] = [Math.max(place.x(start), place.left), place.x(end)];
  if (!label || height < LETTERS || right - x < label.length * LETTER + 4) return [];
  const about = { x: x + 5, y: y + height / 2 + 4, class: "wb-words" };
  return [shape("text", { ...about, "data-start": start }, label)];
}

/** Rows too thin for their places: boxes by how many are in use, rows that are alike as one. */
function thinRows(track, place, spans, now) {
  const rows = Map.groupBy(spans, ({ row }) => row);
  const found = new Map(); // by what rows have in common, the boxes so far
  for (const row of [...rows.keys()].sort((a, b) => a - b)) {
    for (const [start, end, used, sort] of inUse(rows.get(row))) {
      const { roles, now: running } = track.sorts[sort];
      const tenths = Math.ceil(+((10 * used) / track.places).toFixed(9));
      const kind = now && running ? `now-${tenths}` : `busy-${tenths}`;
      const role = track.places > 1 ? kind : now && running ? running : roles[0];
      const key = `${start} ${end} ${role}`;
      const boxes = found.get(key) ?? found.set(key, []).get(key);
      const last = boxes.at(-1);
      if (last?.next === row) {
        last.box[4] += place.row;
        last.next = row + 1;
        continue;
      }
      const y = place.below + row * place.row;
      boxes.push({ box: [role, start, end, y, place.row], next: row + 1 });
    }
  }
  return [...found.values()].flat().map(({ box }) => box);
}

/** From one change to the next how many of a row's `spans` there are, and the sort of one. */
function inUse(spans) {
  const steps = new Map();
  const step = (t, by, sort) => {
    const [total] = steps.get(t) ?? [0];
    steps.set(t, [total + by, by > 0 ? sort : steps.get(t)?.[1]]);
  };
  for (const { start, end, sort } of spans) {
    step(start, 1, sort);
    step(end, -1, sort);
  }
  const changes = [...steps.keys()].sort((a, b) => a - b);
  let [used, sort] = [0, 0];
  return changes.slice(0, -1).flatMap((t, k) => {
    used += steps.get(t)[0];
    sort = steps.get(t)[1] ?? sort;
    return used ? [[t, changes[k + 1], used, sort]] : [];
  });
}

function rowNames(track, place, chosen) {
  const { left, row, below, top, large, strip, bottom } = place;
  const name = (words, y, role = "muted") =>
    shape("text", { x: left - 6, y, "text-anchor": "end", class: `wb-${role}` }, words);
  const head = (words, y) => shape("text", { x: left, y, class: "wb-on-muted" }, words);
  const y = below + (chosen.row + 0.5) * row;
  const inside = chosen.place + 0.5;
  const stripped = top + (inside * strip) / track.places;
  const at = large ? place.y({ row: chosen.row, place: inside }) : stripped;
  const edges = track.nearer ? (large ? [at] : [y, at]) : [];
  const tick = edges.map((edge) =>
    shape("path", { d: `M${left - 5} ${edge}h4`, class: "wb-chosen-joined" }),
  );
  if (large) {
    const long = row >= LINE ? `${track.row} ` : "";
    const every = Math.ceil(12 / row);
    const numbers = Array.from({ length: track.rows }, (_, k) => k).filter((k) => k % every === 0);
    const words = (k) => track.names[k] ?? `${long}${k}`;
    return [...tick, ...numbers.map((k) => name(words(k), below + (k + 0.5) * row + 4))];
  }
  const ends = [0, track.rows - 1].filter((k) => Math.abs(k - chosen.row) * row > 12);
  const places = track.places > 1 ? `${track.places} places` : "one place";
  return [
    head(`${track.row} ${chosen.row}: ${places}`, top - 4),
    head(`all ${track.rows} ${track.row}s`, top + strip + LINE),
    ...tick,
    name(chosen.row, Math.min(y + 4, bottom)),
    ...ends.map((k) => name(k, k ? bottom : below + 10)),
  ];
}

function markAt(place, time, words) {
  const [x, left] = [place.x(time), place.x(time) + words.length * LETTER + 4 > place.wide];
  const anchor = left ? "end" : "start";
  const about = { x: x + (left ? 2 : -2), y: place.top - LINE - 4, "text-anchor": anchor };
  const d = `M${x} ${place.top - LINE - 2}V${place.bottom}`;
  const line = shape("path", { d, class: "wb-asked" });
  return [line, shape("text", { ...about, class: "wb-on" }, words)];
}

/** What goes on ahead of the first span, where there is room for the word. */
function aheadOf(track, place, spans) {
  const first = place.x(spans.reduce((least, { start }) => Math.min(least, start), Infinity));
  if (!(first - place.left > track.nothing.length * LETTER)) return [];
  const about = { x: (place.left + first) / 2, y: place.below + LINE, "text-anchor": "middle" };
  return [shape("text", { ...about, class: "wb-muted" }, track.nothing)];
}

/** Where something ends for all rows: a line, with its number where there is room for it. */
function markLines(track, place) {
  const { large, top, bottom } = place;
  const most = place.plotted / 12;
  const times = large ? marksBetween(track, place.from, place.to, most + 1) : [];
  if (times.length > most) return []; // they would be a ground, not lines
  const first = marksAt(track, place.from) + 1;
  let free = 0; // right of the words before
  return times.flatMap((t, k) => {
    const x = place.x(t);
    const words = `${free ? "" : `${track.mark} `}${(first + k).toLocaleString("en-US")}`;
    const end = x + words.length * LETTER;
    const d = `M${x} ${top - 2}V${bottom}`;
    const line = shape("path", { d, class: "wb-clock", "data-start": t });
    if (x < free || end > place.wide) return [line];
    free = end + 8;
    const about = { x: x - 2, y: top - 4, class: "wb-muted", "data-start": t };
    return [line, shape("text", about, words)];
  });
}

/** Round times along the bottom; where a `tick` is said, round numbers of these. */
function timeAxis(track, place) {
  const about = Math.max(Math.floor(place.plotted / 90), 1);
  const rough = track.tick ? Math.max(track.window / about / track.tick, 1) : track.window / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((n) => n * power >= rough) * power * (track.tick || 1);
  const drawn = [];
  for (let k = Math.ceil(place.from / step); k * step <= place.to + step / 1e6; k++) {
    const x = place.x(k * step);
    const last = k * step + step > place.to;
    const words = `${timeText(k * step)}${last ? ` ${track.unit}` : ""}`;
    const room = (words.length * LETTER) / 2;
    drawn.push(shape("path", { d: `M${x} ${place.bottom}v4`, class: "wb-clock" }));
    drawn.push(
      shape(
        "text",
        {
          x: Math.min(x, place.wide - room),
          y: place.bottom + AXIS - 4,
          "text-anchor": "middle",
          class: "wb-muted",
        },
        words,
      ),
    );
  }
  return drawn;
}
