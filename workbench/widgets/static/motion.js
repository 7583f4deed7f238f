// What a step changes moves to where it is now, and a level comes out of the one before. Where less
// motion is wished nothing moves: what has changed is outlined until the next input.

const MOVES = { duration: 300, easing: "cubic-bezier(0.2, 0, 0, 1)", fill: "backwards" };
const ARRIVES = { duration: 150, delay: 150, easing: "ease-out", fill: "backwards" };
const INPUTS = ["pointerdown", "keydown", "wheel"];
const KEYED = ':is(g[data-key], g[data-cell]):not([data-key="legend"])';

/** The motion of what is drawn in `root`, where any input puts it at its end. */
export function motionIn(root) {
  let running = [];
  let outlined = []; // groups whose keys are told as changed until the next input
  const told = new Set();
  const hears = { capture: true, passive: true };
  const end = () => {
    for (const kind of INPUTS) window.removeEventListener(kind, end, hears);
    for (const one of running) one.finish();
    for (const one of outlined) one.classList.remove("wb-arrived");
    [running, outlined] = [[], []];
    told.clear();
  };
  const begin = () => {
    // from now on any input ends it
    for (const kind of INPUTS) window.addEventListener(kind, end, hears);
  };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const moves = (shape, from, options = MOVES) => running.push(shape.animate([from, {}], options));
  const arrives = (shape) => moves(shape, { opacity: 0 }, ARRIVES);

  /** Where each line of a program stands, told by its words and which with these it is. */
  function lines() {
    const top = root.getBoundingClientRect().top;
    return new Map([...keyedLines(root)].map(([key, row]) => [key, topOf(row) - top]));
  }

  /** Moves lines from where they were; of those that are there for the first time, the words come. */
  function moveLines(was) {
    if (calm.matches) return; // a sign stands before what has changed
    begin();
    const frame = root.getBoundingClientRect();
    for (const [key, row] of keyedLines(root)) {
      const now = topOf(row) - frame.top;
      const before = was.get(key);
      if (now > frame.height || now < -row.offsetHeight) continue;
      if (before === undefined) arrives(row);
      else if (Math.abs(before - now) > 1) moves(row, { translate: `0 ${before - now}px` });
    }
  }

  /** Where the shapes of each key are, in px of the pane. */
  function shapes() {
    const frame = root.getBoundingClientRect();
    const found = new Map();
    for (const group of keyedGroups(root)) {
      const all = found.get(keyOf(group)) ?? [];
      found.set(keyOf(group), all);
      for (const rect of rectsOf(group)) {
        const box = rect.getBoundingClientRect();
        const size = [rect.width, rect.height].map(({ baseVal }) => baseVal.value);
        all.push({ x: box.left - frame.left, y: box.top - frame.top, ...sizeOf(box), size });
      }
    }
    return found;
  }

  /** Moves shapes from where those with their key were, or what they came of, or lie in, was. */
  function moveShapes(was) {
    begin();
    const frame = root.getBoundingClientRect();
    const used = new Map(); // how many rectangles of a key were seen
    for (const group of keyedGroups(root)) {
      const key = keyOf(group);
      const first = used.get(key) ?? 0;
      const rects = rectsOf(group);
      used.set(key, first + rects.length);
      const own = was.get(key);
      const before = own ?? heir(was, key);
      const from = (k) => (own ? own[Math.min(first + k, own.length - 1)] : before?.[0]);
      if (calm.matches) outline(group, rects, own && from);
      else if (!before?.length) arrives(group);
      else moveGroup(group, rects, from, Boolean(own), frame);
    }
  }

  function outline(group, rects, from) {
    const same = ({ width, height }, size) =>
      Math.abs(width.baseVal.value - size[0]) < 1 && Math.abs(height.baseVal.value - size[1]) < 1;
    const stays = from && rects.every((rect, k) => same(rect, from(k).size));
    if (stays && !told.has(keyOf(group))) return;
    told.add(keyOf(group));
    group.classList.add("wb-arrived");
    outlined.push(group);
  }

  function moveGroup(group, rects, from, same, frame) {
    const inside = userOf(group.ownerSVGElement, frame);
    rects.forEach((rect, k) => {
      const old = inside(from(k));
      const { x, y, width, height } = rect;
      const now = [x, y, width, height].map(({ baseVal }) => baseVal.value);
      const edges = [old.x, old.y, old.width, old.height];
      if (edges.every((edge, n) => Math.abs(edge - now[n]) < 0.5)) return;
      const [left, top, wide, high] = edges.map((edge) => `${edge}px`);
      moves(rect, { x: left, y: top, width: wide, height: high });
    });
    const [first] = rects;
    for (const other of group.querySelectorAll("text, path")) {
      if (!same) arrives(other);
      else if (first) follow(other, inside(from(0)), first.getBBox());
    }
  }

  /** Moves words and lines as the middle of their rectangle moves. */
  function follow(shape, old, now) {
    const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
    const [a, b] = [middle(old), middle(now)];
    const [dx, dy] = [a[0] - b[0], a[1] - b[1]];
    if (Math.hypot(dx, dy) > 0.5) moves(shape, { translate: `${dx}px ${dy}px` });
  }

  return { lines, moveLines, shapes, moveShapes };
}

/** The lines that are seen, each with its words, and which of those with these it is. */
function* keyedLines(root) {
  const seen = new Map();
  for (const row of root.querySelectorAll(".wb-listing .wb-line:not(.wb-gone, .wb-was)")) {
    if (!row.offsetHeight) continue;
    const words = row.lastElementChild.textContent;
    const count = seen.get(words) ?? 0;
    seen.set(words, count + 1);
    yield [`${words} ${count}`, row];
  }
}

function keyedGroups(root) {
  const strips = [...root.querySelectorAll(".wb-strips > svg")];
  const shown = strips.filter((strip) => strip.style.display !== "none");
  return shown.flatMap((strip) => [...strip.querySelectorAll(KEYED)]);
}

function keyOf(group) {
  return group.dataset.key ?? group.dataset.cell;
}

function rectsOf(group) {
  return [...group.children].filter((shape) => shape.tagName === "rect");
}

/** Where that was which is told by the longest beginning of a key. */
function heir(was, key) {
  const at = key.lastIndexOf(">");
  if (at < 0) return undefined;
  const one = key.slice(0, at);
  return was.get(one) ?? heir(was, one);
}

/** From px of the pane to those of a drawing. */
function userOf(strip, frame) {
  const [shown, box] = [strip.getBoundingClientRect(), strip.viewBox.baseVal];
  const [across, down] = [box.width / shown.width, box.height / shown.height];
  return ({ x, y, width, height }) => ({
    x: box.x + (x + frame.left - shown.left) * across,
    y: box.y + (y + frame.top - shown.top) * down,
    width: width * across,
    height: height * down,
  });
}

function topOf(el) {
  return el.getBoundingClientRect().top;
}

function sizeOf({ width, height }) {
  return { width, height };
}
