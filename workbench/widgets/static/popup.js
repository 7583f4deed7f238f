// What opens beside a line: on the browser's top layer, where nothing clips it and it pushes none.

import { h } from "./dom.js";

const POPUP_MARGIN = 8; // pixels to the edges of the window
const POPUP_GAP = 4; // pixels to the line
const ENOUGH = 320; // pixels that hold a form with what it was refused for

/**
 * Where a box of `size` stands beside `line`, between the edges of `view`: below its block, else
 * above it, else below the line, where it is whole; where it is nowhere, below the line, or above
 * where that has more room and below there is not enough. A box that stands `low`, below, stays
 * there while the line leaves it enough: it does not jump when it grows. It never covers the line:
 * `room` is how tall it is at most, and `bottom` counts from the window's lower edge.
 */
export function popupPlace(line, size, view, low = false) {
  const under = (edge) => Math.max(view.height - edge - POPUP_GAP - POPUP_MARGIN, 0);
  const over = (edge) => Math.max(edge - POPUP_GAP - POPUP_MARGIN, 0);
  const left = Math.max(view.left, Math.min(line.left, view.right - size.width));
  const below = (edge) => ({ left, top: edge + POPUP_GAP, room: under(edge) });
  const above = (edge) => ({
    left,
    bottom: view.height - edge + POPUP_GAP,
    room: over(edge),
  });
  const { top, bottom } = line.block;
  const least = Math.min(size.height, ENOUGH);
  const fits = under(line.bottom) >= least;
  if (under(bottom) >= size.height) return below(bottom);
  if (low && fits) return below(line.bottom);
  if (over(top) >= size.height) return above(top);
  return fits || under(line.bottom) >= over(line.top) ? below(line.bottom) : above(line.top);
}

/**
 * The rectangle of what `thing` is a part of: its whole line of a program, and there of the `block`
 * in which that stands or which it begins; it starts at itself.
 */
function lineOf(thing) {
  const { left } = thing.getBoundingClientRect();
  const line = thing.closest(".wb-line");
  const { top, bottom } = (line ?? thing).getBoundingClientRect();
  const code = line?.querySelector("[data-indent]");
  return { left, top, bottom, block: code ? blockOf(line) : { top, bottom } };
}

/** From the head of the innermost block around `line`, else from itself, to the last line in it. */
function blockOf(line) {
  const text = (row) => row.querySelector(".wb-text");
  const indent = (row) => Number(text(row)?.dataset.indent ?? NaN); // of a fold there is none
  const opens = (row) => /^\s*with /.test(text(row)?.textContent ?? "");
  let first = line;
  let least = indent(line);
  for (let row = line; row && !opens(first); row = row.previousElementSibling) {
    if (!(indent(row) < least)) continue;
    if (opens(row)) first = row;
    least = indent(row);
  }
  if (!opens(first)) first = line;
  let last = first;
  for (let row = first.nextElementSibling; row; row = row.nextElementSibling) {
    if (indent(row) <= indent(first)) break;
    last = row;
  }
  const seen = line.closest(".wb-body")?.getBoundingClientRect();
  return {
    top: Math.max(first.getBoundingClientRect().top, seen?.top ?? 0),
    bottom: Math.min(last.getBoundingClientRect().bottom, seen?.bottom ?? innerHeight),
  };
}

/** Where a popup of `node` may stand: between the edges of its lab, as far as they are seen. */
function boundsOf(node) {
  const window_ = document.documentElement.clientWidth;
  const lab = node.closest(".wb-lab").getBoundingClientRect();
  return {
    left: Math.max(lab.left, POPUP_MARGIN),
    right: Math.min(lab.right, window_ - POPUP_MARGIN),
    height: innerHeight,
  };
}

/** The most of `room` at which a box that is now as tall as it needs cuts none of its `lines`. */
function wholeLines(node, lines, room) {
  const { top } = node.getBoundingClientRect();
  const edges = [...lines].map((line) => line.getBoundingClientRect());
  const cut = edges.filter((line) => line.top - top < room && line.bottom - top > room);
  return Math.min(room, ...cut.map((line) => line.top - top));
}

/**
 * Lets `node`, a part of the lab, open beside a thing. `open(find)` does that, where `find` gives
 * the thing as it is drawn now, and does nothing for the press that has just closed it there.
 * Escape closes it and goes no further; a press elsewhere closes it, but for one on its `own`
 * buttons, and Tab where that leaves it, and so does its thing when that is gone. The focus goes
 * back to the thing, if it was inside, or left it by Tab; `closed` is told whether it does, and
 * whether a press closed it, which is still under way. Where it has less room than it needs, it
 * ends between two of its `lines`.
 */
export function popup(node, closed = () => {}, own = [], lines = () => []) {
  node.popover = "auto";
  node.classList.add("wb-popup");
  node.append(h("button.wb-shut", { "aria-label": "close", title: "close", onclick: close }, "×"));
  let find = () => null;
  let low = false; // whether it stands below the thing, and has been read there
  let left = null; // the thing that it was closed at by the press which is under way
  let pressed = true; // whether it is a press that closes it
  let tabbed = false; // or Tab, which led out of it

  const isOpen = () => node.matches(":popover-open");

  function close() {
    pressed = false;
    if (isOpen()) node.hidePopover();
    pressed = true;
  }

  /** Where there is room now; `first` of what is only now drawn in it. */
  function place(first = false) {
    if (!isOpen()) return;
    const thing = find();
    const line = thing?.isConnected ? lineOf(thing) : null;
    const gone = !line || line.bottom < 0 || line.top > innerHeight;
    if (gone) return close();
    const bounds = boundsOf(node);
    node.style.maxHeight = "none";
    node.style.setProperty("--wide", `${bounds.right - bounds.left}px`);
    const size = { width: node.offsetWidth, height: node.offsetHeight };
    const { room, ...where } = popupPlace(line, size, bounds, low && !first);
    low = "top" in where;
    node.style.maxHeight = `${room < size.height ? wholeLines(node, lines(), room) : room}px`;
    for (const side of ["left", "top", "bottom"])
      node.style[side] = side in where ? `${where[side]}px` : "auto";
  }

  function open(at) {
    const thing = at();
    if (!thing?.isConnected || thing === left) return;
    find = at;
    if (!isOpen()) node.showPopover();
    place(true);
  }

  const holdsFocus = () => node.contains(node.getRootNode().activeElement);
  const onKey = (event) => {
    if (!isOpen()) return watch(false); // the lab was taken away with it
    if (event.key === "Tab")
      setTimeout(() => {
        tabbed = !holdsFocus();
        if (tabbed) close();
        tabbed = false;
      });
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  const onScroll = (event) => {
    if (!node.contains(event.target)) place();
  };
  const watched = [
    [document, "keydown", onKey],
    [window, "scroll", onScroll],
    [window, "resize", () => place()],
  ];
  const watch = (on) => {
    for (const [target, event, act] of watched)
      target[on ? "addEventListener" : "removeEventListener"](event, act, true);
  };
  // what is unfolded in it makes it taller
  node.addEventListener("toggle", ({ target }) => target === node || place(), true);
  node.addEventListener("beforetoggle", ({ newState }) => {
    const opens = newState === "open";
    watch(opens);
    for (const button of own) {
      button.popoverTargetElement = opens ? node : null; // a press there is none elsewhere
      button.popoverTargetAction = "show"; // as it is already
    }
    if (opens) return;
    const thing = find();
    if (pressed) left = thing;
    setTimeout(() => (left = null)); // late where much is to do: a key may come before
    const inside = tabbed || holdsFocus(); // Tab goes on from the thing, not from the page's end
    if (inside) thing?.focus({ preventScroll: true });
    closed(inside, pressed);
  });
  return { open, close, place, isOpen };
}
