// Where what has a key is drawn, in px of its pane, and where each part of it began.

const KEYED = ":is(g[data-key], g[data-cell])";
const PARTS = ":scope > :is(rect, path, text)";

/** What is drawn of each key, in all groups that have it, for each strip that is shown. */
export function thingsIn(root) {
  const frame = root.getBoundingClientRect();
  const strips = [...root.querySelectorAll(".wb-strips > svg")];
  const shown = strips.filter((strip) => strip.style.display !== "none");
  return shown.map((strip) => {
    const [things, scale] = [new Map(), scaleOf(strip)];
    for (const group of strip.querySelectorAll(KEYED)) {
      if (!group.checkVisibility()) continue; // a legend without room
      const key = group.dataset.key ?? group.dataset.cell;
      if (!things.has(key)) things.set(key, { groups: [], rect: [], path: [], text: [] });
      const thing = things.get(key);
      thing.groups.push(group);
      for (const shape of group.querySelectorAll(PARTS))
        thing[shape.tagName].push(partOf(shape, scale, frame));
    }
    return things;
  });
}

/** The px of a unit of a drawing, across and down. */
function scaleOf(strip) {
  const [shown, { width, height }] = [strip.getBoundingClientRect(), strip.viewBox.baseVal];
  return [shown.width / width, shown.height / height];
}

function partOf(shape, scale, frame) {
  const { left, top, width, height } = shape.getBoundingClientRect();
  const box = { x: left - frame.left, y: top - frame.top, width, height };
  const part = { shape, scale, ...box };
  if (shape.tagName === "text") part.words = shape.textContent;
  if (shape.tagName === "rect")
    part.units = ["x", "y", "width", "height"].map((name) => shape[name].baseVal.value);
  return part;
}

/** What was drawn of a key in that strip; of a cell, which one strip has, in any. */
export function thingOf(was, number, key, { groups: [group] }) {
  if (!group.dataset.key) return was.find((things) => things.has(key))?.get(key);
  return was[number]?.get(key);
}

/** The longest beginning of a key that is drawn: of what it came of, or lies in. */
export function heirOf(things, key) {
  const at = key.lastIndexOf(">");
  if (at < 0) return undefined;
  const one = key.slice(0, at);
  return things.has(one) ? one : heirOf(things, one);
}

/** Tells where parts of what is drawn `now` were: each by itself, else as they lie in all of it. */
export function begunIn(was, now) {
  return (part) => {
    const kind = part.shape.tagName;
    if (was[kind].length === now[kind].length) return was[kind][now[kind].indexOf(part)];
    return through(part, allOf(now), allOf(was));
  };
}

/**
 * The rectangle of `was` from which what is drawn `now` crosses nothing: it lies in it, or in line
 * with what is `kept` of that. Undefined where there is none.
 */
export function partUnder(was, now, kept) {
  const all = allOf(now);
  const stays = (axis) => Boolean(kept) && shared(allOf(kept), all, axis) > 0;
  const lies = (one) => [0, 1].every((axis) => shared(one, all, axis) > 0 || stays(axis));
  const most = (one) => shared(one, all, 0) + shared(one, all, 1);
  return was.rect.filter(lies).sort((a, b) => most(b) - most(a))[0];
}

const AXES = [
  ["x", "width"],
  ["y", "height"],
];

/** How far two boxes lie over each other, across (0) or down (1); apart, that is less than 0. */
function shared(a, b, axis) {
  const [at, size] = AXES[axis];
  return Math.min(a[at] + a[size], b[at] + b[size]) - Math.max(a[at], b[at]);
}

/** The box around the rectangles of what is drawn, or around all of it where it has none. */
function allOf({ rect, path, text }) {
  return around(rect.length ? rect : [...path, ...text]);
}

function around(boxes) {
  const [x, y] = AXES.map(([at]) => Math.min(...boxes.map((box) => box[at])));
  const [right, bottom] = AXES.map(([at, size]) =>
    Math.max(...boxes.map((box) => box[at] + box[size])),
  );
  return { x, y, width: right - x, height: bottom - y };
}

/** Where a box was, as it lies in what is `now` there and `was` elsewhere. */
function through(box, now, was) {
  const [wide, high] = AXES.map(([, size]) => was[size] / (now[size] || 1));
  const [x, y] = [was.x + (box.x - now.x) * wide, was.y + (box.y - now.y) * high];
  return { x, y, width: box.width * wide, height: box.height * high };
}

/**
 * Where words began, and how many times their size, where `from` tells of each rectangle where that
 * was: they stay in the one that they are in, or as far from the nearest as they are.
 */
export function wordsBegin(words, now, from) {
  const far = (rect) => Math.hypot(...middleOf(words).map((at, axis) => beyond(rect, at, axis)));
  const area = ({ width, height }) => width * height;
  const [rect] = [...now.rect].sort((a, b) => far(a) - far(b) || area(a) - area(b));
  const was = from(rect);
  if (far(rect)) return { ...beside(words, rect, was), size: 1 };
  const corner = { ...words, x: was.x + words.x - rect.x, y: was.y + words.y - rect.y };
  if (words.shape.getAttribute("text-anchor") === "start" && isInside(corner, was))
    return { x: corner.x, y: corner.y, size: 1 };
  const size = Math.min(1, ...AXES.map((axis) => sizeIn(words, rect, was, axis)));
  return sizedAt(words, middleOf(through(words, rect, was)), size);
}

/** The same, of words that were there. */
export function wordsBegan(words, was) {
  return sizedAt(words, middleOf(was), was.height / words.height);
}

/** How many times their size words have room along an axis of a box that `was` of another size. */
function sizeIn(words, rect, was, [at, size]) {
  const low = words[at] + words[size] / 2 - rect[at];
  const room = Math.min(low, rect[size] - low); // to either side of their middle
  const times = was[size] / rect[size];
  return (room * times) / Math.min(words[size] / 2, room);
}

/** Words of another size around a spot, where what they are anchored at stays when they grow. */
function sizedAt({ shape, width, height }, [x, y], size) {
  const smaller = { start: -size, middle: -1, end: size - 2 }[shape.getAttribute("text-anchor")];
  return { x: x + (smaller * width) / 2, y: y - height / 2, size };
}

/** Where a box beside others was: as far from their ends, of which it is past, else beginnings. */
function beside(box, now, was) {
  const [x, y] = AXES.map(([at, size]) => {
    const past = box[at] + box[size] / 2 > now[at] + now[size];
    return box[at] + was[at] - now[at] + (past ? was[size] - now[size] : 0);
  });
  return { x, y };
}

function middleOf({ x, y, width, height }) {
  return [x + width / 2, y + height / 2];
}

/** How far a spot is outside of a box, across (0) or down (1). */
function beyond(box, spot, axis) {
  const [at, size] = AXES[axis];
  return Math.max(box[at] - spot, spot - box[at] - box[size], 0);
}

function isInside(inner, outer) {
  return AXES.every(
    ([at, size]) => inner[at] >= outer[at] && inner[at] + inner[size] <= outer[at] + outer[size],
  );
}
