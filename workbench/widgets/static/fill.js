// How large pictures are drawn: shapes grow until what is drawn meets its pane; words and lines do
// not grow with them.

const [SMALL, LARGE] = [12, 15]; // px of words
const ROOMY = 0.8; // smaller than that a picture shows its short words, or its pane scrolls
const CLOSE = 0.94; // smaller than that lines of words that stand close would meet
const WORDS = 0.145; // of a pane, that words take at most: what is drawn has the rest
const TIGHT = 0.75; // smaller than that lines of words would meet: they shrink, too
const SMALLEST = 0.5; // and no shape is drawn: its pane scrolls
const TALL = 2.5; // times its width to which a picture is stretched at most
const BESIDE = 0.4; // of a comparison's height are for its pictures, at least
const SAYINGS = 48; // px of what is said over and below each
const BAR = 15; // px that a scroll bar may take
const BELOW_TIME = 150; // below what runs in time, at least
const EDGE = 1; // px left free around all that is drawn, for its lines
const [ABOVE, BELOW] = [0.78, 0.22]; // of the size of words, from their baseline

const inks = new WeakMap(); // what is drawn in a strip, which is measured once

/** Make the strips of `body` as large as it allows, with as many words as it has room for. */
export function fillPane(body) {
  for (let low = 0; ; low++) {
    const last = showForm([body], low);
    const { smallest, share } = fillReadably(body);
    if (last || (smallest >= CLOSE && share <= WORDS)) return;
  }
}

/** Of pictures that have forms with ever fewer words show that; whether none has fewer. */
function showForm(pictures, low) {
  let last = true;
  for (const picture of pictures) {
    const forms = [...picture.querySelectorAll(".wb-strips > svg")];
    const least = Math.max(...forms.map(formOf), 0);
    if (!least) continue; // which of its strips are shown is not decided here
    const shown = Math.min(low, least);
    for (const strip of forms) strip.style.display = formOf(strip) === shown ? "" : "none";
    last &&= shown === least;
  }
  return last;
}

function formOf(strip) {
  return Number(strip.dataset.low ?? 0);
}

/** Words grow with shapes only while they leave the pane to these. */
function fillReadably(body) {
  let filled = fillShown(body, LARGE);
  for (const most of [filled.size * Math.sqrt(WORDS / filled.share), SMALL]) {
    if (filled.share <= WORDS) break;
    filled = fillShown(body, Math.max(most, SMALL));
  }
  return filled;
}

/**
 * Make what is shown as large as `body` allows, with words of up to `most` px: the smallest of its
 * scales, 0 where the pane scrolls, the share of it that words take, and the px of the largest.
 */
function fillShown(body, most) {
  const strips = [...body.querySelectorAll(".wb-strips > svg")];
  const shown = strips.filter((strip) => strip.style.display !== "none");
  const above = body.querySelector(".wb-track")?.offsetHeight ?? 0;
  const wide = body.offsetWidth - 1; // which may be rounded up
  const high = Math.max(body.clientHeight - above - 1, above && BELOW_TIME);
  if (!shown.length || wide < 1 || high < 1) return { smallest: 1, share: 0, size: SMALL };
  const drawn = shown.map((strip) => ({ strip, most, ...inkOf(strip) }));
  const rows = rowsOf(drawn, wide, high);
  const heights = rows.map((row) => Math.max(...row.map(({ size }) => size[1])));
  const all = sum(heights);
  const least = Math.max(...shown.map(leastOf));
  const isLong = all * least > high; // the pane scrolls
  const room = isLong ? wide - BAR : wide;
  const filled = rows.flatMap((row, k) => {
    const height = Math.max((high * heights[k]) / all, heights[k] * least);
    const across = sum(row.map(({ size }) => size[0]));
    const wides = row.map(({ size }) => (room * size[0]) / across);
    const scales = row.map((one, n) => scalesOf(one, wides[n], height));
    const one = Math.min(...scales.flat()); // what goes on beside it is as tall
    return row.map((drawn, n) => {
      const used = isJoint(drawn) ? [one, one] : scales[n];
      return { scales: scales[n], ...put(drawn, wides[n], ...used) };
    });
  });
  return {
    smallest: isLong ? 0 : Math.min(...filled.flatMap(({ scales }) => scales)),
    share: sum(filled.map(({ words }) => words)) / (wide * Math.max(high, all * least)),
    size: Math.max(...filled.map(({ size }) => size)),
  };
}

/** Make pictures beside each other as large as the narrowest of them allows, at one scale; one
 * alone fills the pane. */
export function fillBeside(pane) {
  const all = pane.querySelectorAll(".wb-drawn");
  if (all.length === 1) return fillPane(all[0]);
  const pictures = [...pane.querySelectorAll(".wb-beside .wb-picture")];
  for (let low = 0; ; low++) {
    const last = showForm(pictures, low);
    if (fillEither(pane) >= CLOSE || last) return;
  }
}

/** Make them so beside each other, or below, in a pane that is tall; their scale. */
function fillEither(pane) {
  const scaleOf = (below) => {
    pane.querySelector(".wb-beside")?.toggleAttribute("data-below", below);
    return fillEqually(pane);
  };
  const [aside, below] = [false, true].map(scaleOf);
  return below > aside ? below : scaleOf(false);
}

/** Make those that are shown equally large; their scale. */
function fillEqually(pane) {
  const strips = [...pane.querySelectorAll(".wb-beside .wb-strips > svg")];
  const drawn = strips
    .filter((strip) => strip.style.display !== "none")
    .map((strip) => ({ strip, ...inkOf(strip), wide: strip.parentElement.clientWidth }));
  if (!drawn.length || !drawn.every(({ wide }) => wide)) return 1;
  const above = pane.querySelector(".wb-beside").getBoundingClientRect().top;
  const left = pane.getBoundingClientRect().bottom - above - pane.scrollTop - SAYINGS;
  const below = "below" in pane.querySelector(".wb-beside").dataset;
  const high = below ? left / drawn.length - SAYINGS : Math.max(left, pane.clientHeight * BESIDE);
  const scale = Math.min(...drawn.map((one) => oneScale(one, one.wide, high)));
  for (const one of drawn) put(one, one.wide, scale, scale);
  return scale;
}

/** Whether it is read row by row, and its pane scrolls sooner than its words are small. */
function scrolls(strip) {
  return "scrolls" in strip.dataset;
}

/** The scale below which its pane scrolls. */
function leastOf(strip) {
  if (!scrolls(strip)) return SMALLEST;
  return formOf(strip) ? CLOSE : ROOMY; // nothing more can be left out
}

/** Whether its proportions are free, and all of its words, which stand close, stay. */
function isFree(strip) {
  return "free" in strip.dataset;
}

/** Whether it goes on in the strips beside it. */
function isJoint({ strip }) {
  return "joint" in strip.dataset;
}

/** The strips in rows, so many beside each other as leaves them largest. */
function rowsOf(drawn, wide, high) {
  let best = { scale: 0, rows: [drawn] };
  for (let count = 1; count <= drawn.length; count++) {
    const rows = [];
    for (let k = 0; k < drawn.length; k += count) rows.push(drawn.slice(k, k + count));
    const across = Math.max(...rows.map((row) => sum(row.map(({ size }) => size[0]))));
    const close = wide / across < ROOMY && drawn.some(({ strip }) => scrolls(strip));
    if (count > 1 && close) break; // words would meet, and there is room below
    const down = sum(rows.map((row) => Math.max(...row.map(({ size }) => size[1]))));
    const scale = Math.min(wide / across, high / down);
    if (scale > best.scale) best = { scale, rows };
  }
  return best.rows;
}

/**
 * The edges of what is drawn in a strip, its size at its natural scale, and the area of its words
 * at a size of 1 px.
 */
function inkOf(strip) {
  if (!inks.has(strip)) {
    const edges = [];
    let words = 0;
    for (const shape of strip.querySelectorAll("rect, path, text")) {
      if (shape.closest(".wb-pointing")) continue;
      const isWords = shape.tagName === "text";
      if (isWords) words += wordArea(shape);
      if (isWords && "slide" in shape.dataset) continue; // it has room wherever it goes
      edges.push(isWords ? wordEdges(shape) : shapeEdges(shape));
    }
    inks.set(strip, { edges, words, size: boxAt({ edges }, 1, 1).size });
  }
  return inks.get(strip);
}

/** Left, top, right, bottom of a shape; of words, too, how far they reach at a size of 1 px. */
function shapeEdges(shape) {
  const { x, y, width, height } = shape.getBBox();
  return { at: [x, y, x + width, y + height], reach: [0, 0, 0, 0] };
}

function wordEdges(words) {
  const [x, y] = ["x", "y"].map((name) => Number(words.getAttribute(name)));
  const wide = words.getComputedTextLength() / emOf(words);
  const left = { start: 0, middle: wide / 2, end: wide }[words.getAttribute("text-anchor")];
  return { at: [x, y, x, y], reach: [left, ABOVE, wide - left, BELOW] };
}

function wordArea(words) {
  const { width, height } = words.getBBox();
  return (width * height) / emOf(words) ** 2;
}

function emOf(words) {
  return parseFloat(getComputedStyle(words).fontSize);
}

/**
 * How large words are, up to `most`, where shapes are so many times their natural size; `free`: all
 * of them.
 */
function wordsAt(across, down, free, most) {
  const low = free ? Math.min(down / TIGHT, 1) : 1; // in a pane that is low
  return Math.min(Math.max(SMALL * Math.min(across, down), SMALL * low), most);
}

/** The box of what is drawn, in px, and the size of that, where it is scaled so. */
function boxAt({ edges, most = LARGE }, across, down, free = false) {
  const size = wordsAt(across, down, free, most);
  const scale = [across, down, across, down];
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { at, reach } of edges) {
    for (let k = 0; k < 2; k++) {
      box[k] = Math.min(box[k], at[k] * scale[k] - reach[k] * size);
      box[k + 2] = Math.max(box[k + 2], at[k + 2] * scale[k] + reach[k + 2] * size);
    }
  }
  const sides = [box[2] - box[0] + 2 * EDGE, box[3] - box[1] + 2 * EDGE];
  return { box, size: sides, words: size };
}

/** The largest scale, up to `most`, with which what is measured by `size` has `room`. */
function largest(size, room, most = 16) {
  let [low, high] = [0, most];
  for (let turn = 0; turn < 20; turn++) {
    const middle = (low + high) / 2;
    if (size(middle) <= room) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * The scale with which a strip has so much room; it is no smaller than can be read, if it may.
 * Where its words alone have none, the pane scrolls.
 */
function oneScale(drawn, wide, high, least = SMALLEST) {
  const both = largest((scale) => boxAt(drawn, scale, scale).size[0] / wide, 1);
  const upright = largest((scale) => boxAt(drawn, scale, scale).size[1] / high, 1);
  return both ? Math.max(Math.min(both, upright), Math.min(least, both)) : least;
}

/** The two scales of a strip: what is free in its proportions takes all of the room. */
function scalesOf(drawn, wide, high) {
  const { strip } = drawn;
  const least = leastOf(strip);
  const one = oneScale(drawn, wide, high, least);
  if (!isFree(strip)) return [one, one];
  const box = (across, down) => boxAt(drawn, across, down, !scrolls(strip)).size;
  const upright = largest((scale) => box(scale, scale)[1] / high, 1);
  const across = largest((scale) => box(scale, upright)[0] / wide, 1);
  const down = largest((scale) => box(across, scale)[1] / high, 1, across * TALL);
  return [across || least, Math.max(down, least)];
}

/** Draw a strip so large, in the middle of so many px; the size and the area of its words. */
function put(drawn, wide, across, down) {
  const { strip } = drawn;
  const small = isFree(strip) && !scrolls(strip);
  const { box, size, words } = boxAt(drawn, across, down, small);
  const [left, top] = [(box[0] - EDGE) / across, (box[1] - EDGE) / down];
  strip.setAttribute("viewBox", [left, top, size[0] / across, size[1] / down].join(" "));
  strip.setAttribute("preserveAspectRatio", "none");
  strip.toggleAttribute("data-small", across < ROOMY); // its legend has no room
  for (const some of strip.querySelectorAll("[data-short]")) shorten(some, across < ROOMY);
  const { style } = strip;
  style.setProperty("--wide", `${size[0]}px`);
  // to the next in its row
  style.setProperty("--aside", `${Math.max(wide - size[0] - 0.1, 0) / 2}px`);
  style.setProperty("--high", `${size[1]}px`);
  style.setProperty("--across", String(across));
  style.setProperty("--down", String(down));
  style.setProperty("--size", `${words}px`);
  return { size: words, words: drawn.words * words ** 2 };
}

function shorten(words, small) {
  const { dataset } = words;
  dataset.long ??= words.textContent;
  words.textContent = small ? dataset.short : dataset.long;
}

function sum(numbers) {
  return numbers.reduce((all, number) => all + number, 0);
}
