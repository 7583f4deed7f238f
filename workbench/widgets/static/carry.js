// A loop, block or buffer of the program is carried: onto the tray below it, or, but for a buffer,
// onto the line of a loop.
// Where it hovers, what would be is shown; where it is put down, that is taken. The lines that the
// hand is on stay where they are: what would be of these stands in the picture alone.

import { freshId, h, oneStop, spoken } from "./dom.js";

const DRAGS = 5; // px of a press that is a drag, and no click
const CARRY_EDGE = 20; // px at an edge of the program in which what is carried scrolls it,
const CARRY_SCROLL = 4; // px in each frame
const CARRY_RESTS = 400; // ms for which what is carried rests on a fold that opens then
const HEAD_LOOPS = /^\s*for ([\w, ]+) in /;
const HEAD_BUFFERS = /^\s*def |T\.alloc_buffer\(/;

/** Asks Python where things can be put; a question that is not the newest has no answer. */
export function askTargets(lab) {
  let waits = null;
  const ask = (key, come) => {
    waits = { key, at: lab.at, come };
    lab.ask({ do: "carry", place: key });
  };
  const heard = ({ targets, place }) => {
    if (waits?.key === place && waits.at === lab.at) waits.come(targets);
  };
  return { ask, heard };
}

/** Buttons for the targets, by groups; `tell` hears of the one that the hand or focus is on. */
export function targetButtons(targets, tell, choose) {
  const groups = Map.groupBy(targets, ({ group }) => group);
  return [...groups].map(([group, all]) => {
    const id = freshId("targets");
    const name = group && h("span.wb-hint", { id }, group);
    const buttons = all.map((target) => targetButton(target, tell, choose));
    return h("div.wb-target-group", { role: "group", "aria-labelledby": group && id }, [
      name,
      ...buttons,
    ]);
  });
}

function targetButton(target, tell, choose) {
  const { group, label, why_not: why } = target;
  const button = h(
    `button.wb-target${why ? ".wb-cannot" : ""}`,
    {
      type: "button",
      "aria-label": `put: ${group} ${label}`.replace("  ", " ") + (why ? ", refused" : ""),
      "aria-disabled": why ? "true" : null,
      title: why ? spoken(why) : null,
      "data-f": `target ${group} ${label}`,
      onfocus: () => tell(target),
      // a tray that comes up under a mouse at rest is not pointed at
      onmousemove: (event) => (event.movementX || event.movementY) && tell(target),
      onclick: () => choose(target),
    },
    h("span.wb-what", {}, label),
  );
  button.target = target;
  return button;
}

/**
 * Lets loops, blocks and buffers of `body`, a program, be carried: dragged by their names where
 * they are made, or lifted with Space and put down from the tray with Enter. `would` has buttons
 * that take it and put it back. `mark` is called whenever the program is drawn, as `redraw` does.
 */
export function carrying(lab, trying, asked, body, would, redraw) {
  const said = h("span.wb-hint");
  const list = h("div.wb-target-groups");
  const tray = h("div.wb-tray", { role: "group", hidden: true }, said, list);
  // in the top layer, so that its place is the page's in a notebook, too, and nothing cuts it off
  const hand = h("div.wb-in-hand", { "aria-hidden": "true", popover: "manual" });
  const settle = oneStop(tray);
  let press = null; // on a name, which may become a drag: the key, and where
  let held = null; // what is carried: its key, the node, how, its targets, the one that it is over
  let returns = null; // the node from which a step was taken by keys: the focus goes on behind it
  let ended = false; // the click that ends a drag opens nothing

  const kinds = () => (lab.offline || lab.against !== null ? [] : (lab.setup.carried ?? []));

  /** The names of loops and blocks at the heads of their lines, and what can be carried: these,
   * and buffers where they are made. */
  function mark() {
    for (const line of body.querySelectorAll(".wb-line:not(.wb-gone, .wb-was) > .wb-text")) {
      const loops = HEAD_LOOPS.exec(line.textContent)?.[1].split(", ") ?? [];
      const makes = HEAD_BUFFERS.test(line.textContent);
      for (const one of line.querySelectorAll(".wb-mark")) {
        const { kind } = lab.page?.names[one.dataset.k] ?? {};
        const block = kind === "block" && Boolean(line.dataset.head);
        const heads = block || (kind === "loop" && loops.includes(one.textContent));
        const lifts = heads || (kind === "buffer" && makes);
        one.classList.toggle("wb-heads", heads);
        one.classList.toggle("wb-lifts", lifts && kinds().includes(kind));
      }
    }
    if (returns !== null && returns !== lab.at) nameOf(lab.place)?.focus({ preventScroll: true });
    if (returns !== lab.at) returns = null;
    if (held?.at === lab.at) markLines();
    else if (held) queueMicrotask(end); // another program is shown
  }

  const nameOf = (key) => body.querySelector(`:is(.wb-heads, .wb-lifts)[data-k="${key}"]`);

  function lift(key, byKeys) {
    held = { key, at: lab.at, byKeys, targets: [], over: null };
    trying.drop();
    lab.carries = true;
    const { name } = lab.page.names[key];
    said.replaceChildren("put ", h("code.wb-word", {}, name));
    tray.ariaLabel = `places for ${name}`;
    list.replaceChildren();
    tray.hidden = false;
    document.addEventListener("keydown", onEscape, true);
    asked.ask(key, (targets) => held?.key === key && offer(targets));
  }

  function offer(targets) {
    held.targets = targets;
    const shown = held.byKeys ? targets : targets.filter(({ loop }) => !loop);
    list.replaceChildren(...targetButtons(shown, over, put));
    const onLines = shown.length < targets.length;
    const where = "on the line of a loop";
    if (!shown.length) said.append(onLines ? ` ${where}` : ": there is no place for it");
    else if (onLines) list.append(h("span.wb-hint", {}, `or ${where}`));
    settle();
    markLines();
    if (!held.byKeys) return hover();
    const buttons = [...list.querySelectorAll(".wb-target")];
    (buttons.find((one) => !one.ariaDisabled) ?? buttons[0])?.focus({ preventScroll: true });
    tray.scrollIntoView({ block: "nearest" }); // a lab may stand half below the window
  }

  /** The target at a point: one of the tray, or the loop of that line whose name is nearest. */
  function targetAt(x, y) {
    const on = document.elementFromPoint(x, y);
    const button = on?.closest?.(".wb-target");
    if (button && tray.contains(button)) return button.target;
    const line = body.contains(on) ? on.closest(".wb-line") : null;
    const far = (one) => {
      const { left, right } = one.getBoundingClientRect();
      return Math.abs((left + right) / 2 - x);
    };
    const names = [...(line?.querySelectorAll(".wb-heads") ?? [])];
    const near = names.sort((a, b) => far(a) - far(b))[0]?.dataset.k;
    return held.targets.find(({ loop }) => loop && loop === near) ?? null;
  }

  function over(target) {
    if (!held || target === held.over) return;
    held.over = target;
    for (const one of list.querySelectorAll(".wb-target"))
      one.classList.toggle("wb-over", one.target === target);
    hand.classList.toggle("wb-would-not", Boolean(target?.why_not));
    if (target) trying.ask(target.step);
    else trying.drop();
    const onLine = Boolean(target?.loop) && !held.byKeys;
    if (onLine !== lab.onLine) {
      lab.onLine = onLine;
      redraw();
      if (onLine) hover(); // other lines may stand there now
    }
    markLines();
  }

  function put(target) {
    over(target);
    const { byKeys, at } = held;
    if (!(byKeys && target.why_not)) end(); // by keys one goes on to another place
    if (byKeys && !target.why_not) returns = at;
    trying.take();
    if (held) held.over = null; // nothing is shown as tried any more
  }

  /** Nothing is carried any more; what is shown as tried stays until it is taken or dropped. */
  function end() {
    clearTimeout(held?.resting);
    held = press = null;
    lab.carries = lab.onLine = false;
    tray.hidden = true;
    if (hand.matches(":popover-open")) hand.hidePopover();
    body.classList.remove("wb-carrying");
    document.removeEventListener("keydown", onEscape, true);
    redraw();
  }

  function back() {
    const from = held?.byKeys && held.key;
    end();
    trying.drop();
    // once the program is drawn as it is
    if (from) queueMicrotask(() => nameOf(from)?.focus({ preventScroll: true }));
  }

  function onEscape(event) {
    if (!body.isConnected) return end();
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    back();
  }

  body.addEventListener("pointerdown", (event) => {
    const name = event.target.closest?.(".wb-lifts");
    if (held && !event.isPrimary) back();
    const drags = name && !event.button && event.isPrimary && event.pointerType !== "touch";
    ended = false;
    press = drags ? { key: name.dataset.k, x: event.clientX, y: event.clientY } : null;
  });
  body.addEventListener("pointermove", (event) => {
    const { clientX, clientY } = event;
    if (press && Math.hypot(clientX - press.x, clientY - press.y) > DRAGS) {
      body.setPointerCapture(event.pointerId);
      getSelection().removeAllRanges(); // the press began one
      body.classList.add("wb-carrying");
      hand.textContent = lab.page.names[press.key].name;
      hand.showPopover();
      lift(press.key, false);
      requestAnimationFrame(scrollOn);
      press = null;
      ended = true;
    }
    if (!held || held.byKeys) return;
    [held.x, held.y] = [clientX, clientY];
    hand.style.translate = `${clientX + 10}px ${clientY + 10}px`;
    hover();
  });
  function hover() {
    if (held.x === undefined) return;
    over(targetAt(held.x, held.y));
    const fold = document.elementFromPoint(held.x, held.y)?.closest?.(".wb-fold");
    if (fold === held.fold) return;
    clearTimeout(held.resting);
    held.fold = fold;
    const open = () => fold.querySelector("button").click();
    if (fold && body.contains(fold)) held.resting = setTimeout(open, CARRY_RESTS);
  }

  /** While something is carried to an edge of the program, it scrolls there. */
  function scrollOn() {
    if (!held || held.byKeys) return;
    const { top, bottom } = body.getBoundingClientRect();
    const before = body.scrollTop;
    if (held.y < top + CARRY_EDGE) body.scrollTop -= CARRY_SCROLL;
    else if (held.y > bottom - CARRY_EDGE && held.y < bottom) body.scrollTop += CARRY_SCROLL;
    if (body.scrollTop !== before) hover();
    requestAnimationFrame(scrollOn);
  }

  body.addEventListener("pointerup", () => {
    press = null;
    if (!held || held.byKeys) return;
    const target = held.over;
    if (target) put(target);
    else back();
  });
  body.addEventListener("lostpointercapture", () => held && !held.byKeys && back());
  const stop = (event) => ended && event.isTrusted && event.stopPropagation(); // a fold's may go on
  body.addEventListener("click", stop, true);
  body.addEventListener("keydown", (event) => {
    const name = event.target.closest?.(".wb-lifts");
    if (event.key !== " " || !name) return;
    event.preventDefault();
    event.stopPropagation(); // which would press it
    lift(name.dataset.k, true);
  });
  tray.addEventListener("keydown", (event) => event.stopPropagation()); // its arrows are its own
  would.leave.addEventListener("click", () => held && back());
  would.take.addEventListener("click", () => {
    if (held) returns = held.at;
    if (held) end();
  });
  tray.addEventListener("focusout", ({ relatedTarget }) => {
    if (held?.byKeys && relatedTarget && !tray.contains(relatedTarget)) back();
  });

  /** The lines on which it can be put, and the one that it is over. */
  function markLines() {
    const loops = new Map(held.targets.map((target) => [target.loop, target]));
    for (const one of body.querySelectorAll(".wb-heads")) {
      const target = loops.get(one.dataset.k);
      one.classList.toggle("wb-takes", Boolean(target && !target.why_not));
      one.classList.toggle("wb-over", Boolean(target && target === held.over));
    }
  }

  return { mark, tray, hand };
}
