// What a step changes moves to where it is now, and a level comes out of the one before. Where less
// motion is wished nothing moves: what has changed is outlined until the next input.

import { h } from "./dom.js";
import { begunIn, heirOf, partUnder, thingOf, thingsIn, wordsBegan, wordsBegin } from "./drawn.js";

const MOVES = { duration: 300, easing: "cubic-bezier(0.2, 0, 0, 1)", fill: "backwards" };
const ARRIVES = { duration: 150, delay: 150, easing: "ease-out", fill: "backwards" };
const INPUTS = ["pointerdown", "keydown", "wheel"];

/** The motion of what is drawn in `root`, where any input puts it at its end. */
export function motionIn(root) {
  let running = [];
  let layer = null; // what fades, of a picture of another kind
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

  /** Tells how to move lines from where they were; of new ones words come. */
  function moveLines(was) {
    if (calm.matches) return null; // a sign stands before what has changed
    const frame = root.getBoundingClientRect();
    const seen = [...keyedLines(root)]
      .map(([key, row]) => ({ key, row, now: topOf(row) - frame.top }))
      .filter(({ row, now }) => now <= frame.height && now >= -row.offsetHeight);
    return () => {
      begin();
      for (const { key, row, now } of seen) {
        const before = was.get(key);
        if (before === undefined) arrives(row);
        else if (Math.abs(before - now) > 1) moves(row, { translate: `0 ${before - now}px` });
      }
    };
  }

  /** What is drawn of each key, and where; null where that is nothing. */
  function shapes() {
    const strips = thingsIn(root);
    return strips.length ? strips : null;
  }

  /** Tells how to move shapes from where those with their key were, or what they came of, or lie
   * in, was. */
  function moveShapes(was) {
    const strips = thingsIn(root);
    return () => {
      begin();
      strips.forEach((things, number) => {
        const before = was[number] ?? new Map();
        for (const [key, now] of things) {
          const own = thingOf(was, number, key, now);
          if (calm.matches) outline(key, own, now);
          else if (own) moveThing(own, now);
          else comeOf(heirOf(before, key), now, before, things);
        }
      });
    };
  }

  /** Tells how what was drawn fades over what is, a picture of another kind; so it does if that
   * follows. */
  function fadeShapes(gone) {
    if (calm.matches || layer) return null;
    const { offsetLeft, offsetTop, clientWidth, clientHeight } = root;
    return () => fadeOver(gone, offsetLeft, offsetTop, clientWidth, clientHeight);
  }

  function fadeOver(gone, left, top, width, height) {
    if (layer) return;
    begin();
    layer = h("div.wb-leaving", { "aria-hidden": "true" }, ...gone);
    layer.style.cssText = `left: ${left}px; top: ${top}px; width: ${width}px; height: ${height}px`;
    root.after(layer);
    const fades = layer.animate([{ opacity: 1 }, { opacity: 0 }], { ...MOVES, fill: "both" });
    fades.onfinish = () => {
      layer.remove();
      layer = null;
    };
    running.push(fades);
  }

  function outline(key, own, now) {
    if (key === "legend") return; // it tells nothing of the program
    const same = (part, k) => {
      const { units } = own.rect[Math.min(k, own.rect.length - 1)];
      return [2, 3].every((side) => Math.abs(units[side] - part.units[side]) < 1);
    };
    const changed = now.rect.filter((part, k) => !own?.rect.length || !same(part, k));
    const some = own && !told.has(key);
    const groups = some ? changed.map(({ shape }) => shape.parentNode) : now.groups;
    if (!groups.length) return;
    told.add(key);
    for (const group of groups) group.classList.add("wb-arrived");
    outlined.push(...groups);
  }

  /** What is new begins in that part of what it came of in which it lies, or comes where it is. */
  function comeOf(heir, now, before, things) {
    const part = heir && partUnder(before.get(heir), now, things.get(heir));
    if (!part) return now.groups.forEach(arrives);
    moveRects(now, () => part);
    for (const words of now.text) moveWords(words, wordsBegin(words, now, () => part));
    for (const { shape } of [...now.path, ...now.text]) arrives(shape);
  }

  /** Moves all of a thing as one; words that it did not have come. */
  function moveThing(own, now) {
    const from = begunIn(own, now);
    moveRects(now, from);
    for (const line of now.path) moveLine(line, from(line));
    const had = [...own.text];
    for (const one of now.text) {
      const same = had.findIndex(({ words }) => words === one.words);
      if (same >= 0) moveWords(one, wordsBegan(one, had.splice(same, 1)[0]));
      else {
        arrives(one.shape);
        if (now.rect.length) moveWords(one, wordsBegin(one, now, from));
      }
    }
  }

  function moveRects({ rect }, from) {
    for (const part of rect) {
      const [old, [x, y, width, height]] = [from(part), part.units];
      if (isNear(old, part)) continue;
      const [across, down] = part.scale;
      moves(part.shape, {
        x: `${x + (old.x - part.x) / across}px`,
        y: `${y + (old.y - part.y) / down}px`,
        width: `${(width * old.width) / part.width}px`,
        height: `${(height * old.height) / part.height}px`,
      });
    }
  }

  function moveLine(line, old) {
    if (isNear(old, line)) return;
    const [wide, high] = [old.width / (line.width || 1), old.height / (line.height || 1)];
    moves(line.shape, { translate: shift(line, old), scale: `${wide || 1} ${high || 1}` });
  }

  function moveWords(words, old) {
    if (!old.size) return; // they were, or are, in what is hidden
    if (Math.abs(old.size - 1) < 0.01 && isNear({ ...words, ...old }, words)) return;
    moves(words.shape, { translate: shift(words, old), scale: String(old.size) });
  }

  return { lines, moveLines, shapes, moveShapes, fadeShapes };
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

/** From where a part is to where it was, in units of its drawing. */
function shift({ x, y, scale: [across, down] }, old) {
  return `${(old.x - x) / across}px ${(old.y - y) / down}px`;
}

function isNear(a, b) {
  return ["x", "y", "width", "height"].every((edge) => Math.abs(a[edge] - b[edge]) < 0.5);
}

function topOf(el) {
  return el.getBoundingClientRect().top;
}
