// What opens beside a line: on the browser's top layer, where nothing clips it and it pushes none.

const POPUP_MARGIN = 8; // pixels to the edges of the window
const POPUP_GAP = 4; // pixels to the line
const ENOUGH = 320; // pixels that hold a form with what it was refused for

/**
 * Where a box of `width` stands beside `line`, in a window of `view`: below, or above where that
 * has more room and below there is not enough. It never covers the line: `room` is how tall it is
 * at most, and `bottom` counts from the window's lower edge.
 */
export function popupPlace(line, width, view) {
  const under = view.height - line.bottom - POPUP_GAP - POPUP_MARGIN;
  const over = line.top - POPUP_GAP - POPUP_MARGIN;
  const below = under >= ENOUGH || under >= over;
  const left = Math.max(POPUP_MARGIN, Math.min(line.left, view.width - width - POPUP_MARGIN));
  return below
    ? { left, top: line.bottom + POPUP_GAP, room: Math.max(under, 0) }
    : { left, bottom: view.height - line.top + POPUP_GAP, room: Math.max(over, 0) };
}

/** The rectangle of what `thing` is a part of: its whole line of a program; it starts at itself. */
function lineOf(thing) {
  const { left } = thing.getBoundingClientRect();
  const { top, bottom } = (thing.closest(".wb-line") ?? thing).getBoundingClientRect();
  return { left, top, bottom };
}

/**
 * Lets `node`, a part of the lab, open beside a thing. `open(find)` does that, where `find` gives
 * the thing as it is drawn now, and does nothing for the press that has just closed it there.
 * Escape closes it and goes no further; a press elsewhere closes it, and Tab where that leaves it,
 * and so does its thing when that is gone. The focus goes back to the thing, if it was inside;
 * `closed` is told whether it was.
 */
export function popup(node, closed = () => {}) {
  node.popover = "auto";
  node.classList.add("wb-popup");
  let find = () => null;
  let left = null; // the thing that it was closed at by the press which is under way

  const isOpen = () => node.matches(":popover-open");
  const close = () => {
    if (isOpen()) node.hidePopover();
  };

  function place() {
    if (!isOpen()) return;
    const thing = find();
    const line = thing?.isConnected ? lineOf(thing) : null;
    const gone = !line || line.bottom < 0 || line.top > innerHeight;
    if (gone) return close();
    node.style.maxHeight = "none";
    const { room, ...where } = popupPlace(line, node.offsetWidth, {
      width: document.documentElement.clientWidth,
      height: innerHeight,
    });
    node.style.maxHeight = `${room}px`;
    for (const side of ["left", "top", "bottom"])
      node.style[side] = side in where ? `${where[side]}px` : "auto";
  }

  function open(at) {
    const thing = at();
    if (!thing?.isConnected || thing === left) return;
    find = at;
    if (!isOpen()) node.showPopover();
    place();
  }

  const holdsFocus = () => node.contains(node.getRootNode().activeElement);
  const onKey = (event) => {
    if (!isOpen()) return watch(false); // the lab was taken away with it
    if (event.key === "Tab") setTimeout(() => holdsFocus() || close());
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
    [window, "resize", place],
  ];
  const watch = (on) => {
    for (const [target, event, act] of watched)
      target[on ? "addEventListener" : "removeEventListener"](event, act, true);
  };
  node.addEventListener("beforetoggle", ({ newState }) => {
    watch(newState === "open");
    if (newState === "open") return;
    left = find();
    setTimeout(() => (left = null));
    const inside = holdsFocus();
    if (inside) left?.focus({ preventScroll: true });
    closed(inside);
  });
  return { open, close, place, isOpen };
}
