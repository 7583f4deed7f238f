// A track on the screen: rows of what runs, time to the right, a slider and a button that plays.
//
// All that will run is drawn once, faint, and once more as it is when it has run: the second is cut
// where the time stands. To move the time is to move that cut.

import { h, markup } from "./dom.js";
import { playButton } from "./play.js";
import { spansBetween, spansOf, timeBy, timeText, toldAt } from "./track.js";

const PRESSED = 4; // px that a press moves before it drags
const [AXIS, LETTER, LINE] = [22, 7, 16]; // px: of the axis, a letter, a line of words
const [THICK, MOST_THICK] = [10, 28]; // px of a place with numbers, and the most
const TOLD = 334; // ms between two changes of words while it plays: three a second

/**
 * `track` as Python gives it, `label` for who cannot see it. `veiled` hides what has not run yet.
 * `choose({ row, number })` is called for a span that is clicked, `moment(t)` where time has moved,
 * at most three times a second while it plays. Returns its `root`, `stop`, `go(t)` and `now()`.
 */
export function timeline({ track, label, veiled = false, row = 0, choose, moment = () => {} }) {
  let t = track.opens;
  let seen = veiled ? t : track.length;
  let chosen = row;
  let place = null; // how it lies on the screen
  let spoken = 0; // when words changed last
  const plot = h("div.wb-track-plot");
  const said = h("p.wb-track-said");
  const range = h("input", { type: "range", min: 0, max: track.length, step: "any" });
  const player = playButton({ label, next: play, done: () => put(t) });
  const [back, on] = [
    ["ArrowLeft", "event before", "‹"],
    ["ArrowRight", "next event", "›"],
  ].map(([key, word, sign]) =>
    h("button.wb-play", { onclick: () => step(key), title: word, "aria-label": word }, sign),
  );
  range.ariaLabel = `time: ${label}`;
  range.dataset.f = "time";
  const clock = h("output");
  const controls = h("div.wb-slide", {}, back, player.button, on, range, clock);
  const root = h("div.wb-track", {}, plot, said, controls);
  range.addEventListener("input", () => halt(Number(range.value)));
  range.addEventListener("keydown", (event) => {
    if (!step(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  plot.addEventListener("pointerdown", hold);
  if (globalThis.ResizeObserver) new ResizeObserver(draw).observe(plot);
  put(t);
  return { root, stop: player.stop, go: halt, now: () => t };

  // --- time -------------------------------------------------------------------------------------

  function put(to) {
    t = Math.min(Math.max(to, 0), track.length);
    seen = Math.max(seen, t);
    range.value = t;
    clock.textContent = `${timeText(t)} ${track.unit}`;
    back.ariaDisabled = String(t <= 0);
    on.ariaDisabled = String(t >= track.length);
    if (place && !(t >= place.from && t <= place.to)) draw();
    else cut();
    tell();
  }

  function tell() {
    const now = performance.now();
    if (player.playing() && now - spoken < TOLD) return;
    spoken = now;
    const words = toldAt(track, t);
    said.textContent = words;
    range.ariaValueText = words;
    moment(t);
  }

  function halt(to) {
    player.stop();
    put(to);
  }

  /** A share of the whole later, or the next event; whether there is more. */
  function play(share) {
    if (t >= track.length) put(0);
    put(share === null ? timeBy("ArrowRight", track, t) : t + share * track.length);
    return t < track.length;
  }

  /** Where a key leads; whether it is one that does. */
  function step(key) {
    const to = timeBy(key, track, t);
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
    place = layOut(track, wide, high, chosen, from);
    plot.replaceChildren(drawnTrack(track, place, chosen));
    cut();
  }

  function cut() {
    if (!place) return;
    const x = place.x(t);
    const [will, ran] = plot.querySelectorAll(".wb-track-layer");
    will.setAttribute("width", place.x(seen));
    ran.setAttribute("width", Math.max(x, 0));
    const head = plot.querySelector(".wb-track-now");
    head?.setAttribute("transform", `translate(${x} 0)`);
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

  /** The row of a spot is shown large; its span is chosen. */
  function pick(x, y) {
    const spot = place.spot(y);
    if (!spot) return;
    const time = place.time(x);
    const there = spansBetween(track, time, time).find(
      (span) => span.row === spot.row && span.place === spot.place && span.start <= seen,
    );
    if (spot.row !== chosen) {
      chosen = spot.row;
      draw();
    }
    if (there) choose?.({ row: there.row, number: there.number });
  }
}

/** Rows below each other; one of many that are thin is shown large above them. */
function layOut(track, wide, high, chosen, from) {
  const { rows, places } = track;
  const top = LINE;
  const room = high - AXIS - top;
  const each = Math.min(room / rows, places * MOST_THICK + 4);
  const large = each >= places * THICK;
  const names = large && each >= LINE ? `${track.row} ${rows - 1}`.length : String(rows - 1).length;
  const left = names * LETTER + 8;
  const plotted = wide - left - 10;
  const strip = large ? 0 : Math.min(Math.max((room * 0.4) / places, 3), 14) * places;
  const below = large ? top : top + strip + LINE + 6;
  const row = large ? each : (high - AXIS - below) / rows;
  const inside = large && each > 8 ? 4 : 0; // between rows
  const thick = (row - inside) / places;
  return {
    ...{ wide, high, left, plotted, top, strip, below, row, thick, large, from },
    to: from + track.window,
    bottom: high - AXIS,
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

function drawnTrack(track, place, chosen) {
  const { wide, high, left, plotted, below, bottom } = place;
  const frame = shape("rect", {
    ...{ x: left, y: below, width: plotted, height: bottom - below },
    class: "wb-room",
  });
  const layers = ["wb-track-will", "wb-track-ran"].map((name) =>
    shape(
      "svg",
      { class: `wb-track-layer ${name}`, width: 0, height: high }, // which cuts what is in it
      ...spanShapes(track, place, chosen),
    ),
  );
  const now = shape("g", { class: "wb-track-now" });
  now.append(shape("path", { d: `M0 ${place.top - 6}V${bottom + 4}`, class: "wb-clock" }));
  return shape(
    "svg",
    { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, "aria-hidden": "true" },
    frame,
    ...emptyPlaces(track, place),
    ...layers,
    ...rowNames(track, place, chosen),
    ...timeAxis(track, place),
    now,
  );
}

/** Places of rows that are large enough to be seen one by one: hollow. */
function emptyPlaces(track, place) {
  const { large, thick, strip, top, left, plotted } = place;
  const boxes = [];
  const box = (y, height) =>
    boxes.push(`M${left} ${y + 0.5}h${plotted}v${height - 1}h${-plotted}z`);
  for (let k = 0; k < track.places; k++) {
    if (!large) box(top + (k * strip) / track.places, strip / track.places);
    for (let row = 0; large && row < track.rows; row++) box(place.y({ row, place: k }), thick);
  }
  return [shape("path", { d: boxes.join(""), class: "wb-idle" })];
}

/** Spans as one path for each look; of large rows with their numbers. */
function spanShapes(track, place, chosen) {
  const paths = {};
  const words = [];
  const box = (role, x, y, width, height) => {
    const gap = width > 4 ? 1 : 0;
    paths[role] = `${paths[role] ?? ""}M${x} ${y}h${width - gap}v${height}h${gap - width}z`;
  };
  const boxed = (span, y, height) => {
    const [x, end] = [Math.max(place.x(span.start), place.left), place.x(span.end)];
    const [thin, ...thick] = track.sorts[span.sort].roles;
    const role = height < THICK ? thin : (thick[span.number % thick.length] ?? thin);
    box(role, x, y, end - x, height);
    const label = span.number?.toLocaleString("en-US") ?? "";
    if (!label || height < THICK || end - x < label.length * LETTER + 4) return;
    const about = { x: (x + end) / 2, y: y + height / 2 + 4, "text-anchor": "middle" };
    words.push(shape("text", { ...about, class: "wb-words" }, label));
  };
  const spans = spansOf(track, place.from, place.to);
  if (place.large) {
    for (const span of spans) boxed(span, place.y(span) + 1, place.thick - 2);
  } else {
    const high = place.strip / track.places;
    for (const span of spans) {
      if (span.row === chosen) boxed(span, place.top + span.place * high + 1, high - 2);
    }
    for (const [start, end, from, to, sort] of stacked(spans, place)) {
      const x = place.x(start);
      box(track.sorts[sort].roles[0], x, from, place.x(end) - x, to - from);
    }
  }
  const drawn = Object.entries(paths).map(([role, d]) => shape("path", { d, class: `wb-${role}` }));
  return [...drawn, ...words];
}

/** Spans of thin rows that touch, from the same time to the same time, as one box. */
function stacked(spans, place) {
  const found = new Map(); // by times and sort, the boxes so far: from, to
  const order = spans.map((span) => [span, place.y(span)]).sort((a, b) => a[1] - b[1]);
  for (const [{ start, end, sort }, y] of order) {
    const key = `${start} ${end} ${sort}`;
    const boxes = found.get(key) ?? found.set(key, []).get(key);
    const last = boxes.at(-1);
    if (last && y - last[3] < 0.01) last[3] = y + place.thick;
    else boxes.push([start, end, y, y + place.thick, sort]);
  }
  return [...found.values()].flat();
}

function rowNames(track, place, chosen) {
  const { left, row, below, top, large, strip } = place;
  const name = (words, y, role = "muted") =>
    shape("text", { x: left - 6, y, "text-anchor": "end", class: `wb-${role}` }, words);
  const head = (words, y) => shape("text", { x: left, y, class: "wb-muted" }, words);
  if (large) {
    const long = row >= LINE ? `${track.row} ` : "";
    const every = Math.ceil(12 / row);
    const numbers = Array.from({ length: track.rows }, (_, k) => k).filter((k) => k % every === 0);
    return numbers.map((k) => name(`${long}${k}`, below + (k + 0.5) * row + 4));
  }
  const y = below + (chosen + 0.5) * row;
  const mark = shape("path", { d: `M${left - 5} ${y}h4`, class: "wb-chosen-joined" });
  const ends = [0, track.rows - 1].filter((k) => Math.abs(k - chosen) * row > 12);
  return [
    head(`${track.row} ${chosen}: ${track.places} places`, top - 4),
    head(`all ${track.rows} ${track.row}s`, top + strip + LINE),
    mark,
    name(chosen, Math.min(y + 4, place.bottom)),
    ...ends.map((k) => name(k, k ? place.bottom : below + 10)),
  ];
}

/** Round times along the bottom. */
function timeAxis(track, place) {
  const about = Math.max(Math.floor(place.plotted / 90), 1);
  const rough = track.window / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((n) => n * power >= rough) * power;
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
          y: place.high - 4,
          "text-anchor": "middle",
          class: "wb-muted",
        },
        words,
      ),
    );
  }
  return drawn;
}
