// Numbers of a program that can be taken hold of: each value is tried at once, and the steps after
// the split that it comes from follow. Of a loop that no split made, it is a new one.

import { h } from "./dom.js";
import { STUCK } from "./trying.js";

const LOOP_HEAD = /^\s*for (.+?) in [\w.]+\((\d+(?:, \d+)*)/;
const GRIP_HEAD = /^\s*(for|with)\b/;
const GRIP_STEP = 14; // px of a drag from one value to the next
const GRIP_MEANS = 0.2; // of that, after which the hand is on its way to the next
const GRIP_BESIDE = 2; // px between a number and what it is tried as
const GRIP_TAKES = "Enter takes another, and the steps after that are redone";
const GRIP_INPUTS = ["pointerdown", "keydown", "wheel"];

/**
 * The slider of a loop's number, for its menu; Enter takes what it is at, as `take` does. What
 * would be a new split has a form of its own there.
 */
export function gripRow(lab, trying, key, take) {
  const grip = lab.grips[key];
  if (!grip?.step || grip.values.length < 2) return null;
  const { name } = lab.page.names[key];
  const told = h("output", {}, `${grip.value}`);
  const tell = (value) => {
    told.textContent = `${value}`;
    slider.ariaValueText = `${name}: ${value}`;
  };
  const slider = h("input", {
    type: "range",
    min: 0,
    max: grip.values.length - 1,
    step: 1,
    "aria-label": `how often ${name} runs`,
    "data-f": "grip",
    oninput: () => tryValue(trying, key, grip, grip.values[slider.value], tell),
    onkeydown: (event) => {
      if (event.key === "Escape" && lab.offline) trying.drop(); // of a menu, that closes it
      if (event.key !== "Enter") return;
      event.preventDefault();
      take();
    },
  });
  slider.value = grip.values.indexOf(grip.value);
  tell(grip.value);
  const help = `step ${grip.step} set it${lab.offline ? "" : `; ${GRIP_TAKES}`}`;
  const row = h(
    "div.wb-grip",
    {},
    h("label", {}, h("code", {}, name), " runs ", slider, " ", told, " times"),
    h("span.wb-help", {}, help),
  );
  /** Back at the value that the program has. */
  const rest = () => {
    slider.value = grip.values.indexOf(grip.value);
    tell(grip.value);
  };
  return Object.assign(row, { rest });
}

/** Show what a value of a grip would make; its own is what is there. */
function tryValue(trying, key, grip, value, tell = () => {}) {
  tell(value);
  if (value === grip.value) trying.drop();
  else trying.ask({ place: key, value });
}

/**
 * Let the numbers of loops in `body`, a program, be dragged: release takes, Escape puts back. The
 * line of one that is held, or was let go, stays where it is. `mark` is called whenever the program
 * is drawn, as `redraw` does, and `stand` once its lines have their places.
 */
export function gripNumbers(lab, trying, body, redraw) {
  let held = null; // the number that the hand is on: its key and grip, where it was, what it is at
  let landed = null; // the line whose number was let go, and where it was, until the next input
  let dragged = false; // the click that ends a drag opens nothing
  let pressed = null; // the number that one is on which ends no drag
  // in the top layer, as what is carried is
  const hand = h("div.wb-tried-as", { "aria-hidden": "true", popover: "manual" });

  function mark() {
    const { places = [], instead } = lab.tried ?? {};
    for (const line of body.querySelectorAll(".wb-line:not(.wb-gone, .wb-was) > .wb-text")) {
      markLine(line, lab.grips);
      const head = GRIP_HEAD.test(line.textContent) ? [...line.querySelectorAll(".wb-mark")] : [];
      const refuses = head.some(({ dataset }) => places.includes(dataset.k));
      line.parentElement.classList.toggle("wb-faulty", refuses);
    }
    numberOf(instead)?.classList.add("wb-instead");
  }

  const numberOf = (key) => key && body.querySelector(`[data-grip="${key}"]`);

  /** Let the number that is held stand below the hand, and say what it is tried as. */
  function stand() {
    if (landed) return land();
    const number = numberOf(held?.key);
    const listing = body.querySelector(".wb-listing");
    if (!number || !listing) return;
    const off = () => number.getBoundingClientRect().top - held.top;
    body.scrollTop += off();
    const rest = off(); // at an end of the program nothing scrolls
    if (rest < 0) listing.style.paddingTop = `${-rest}px`;
    if (rest > 0) listing.style.paddingBottom = `${rest}px`;
    if (rest > 0) body.scrollTop += rest;
    tell(number);
  }

  /** In the program that came of it lines are folded and gone: the one let go is where it was. */
  function land() {
    const rows = [...body.querySelectorAll(".wb-line:not(.wb-gone, .wb-was)")];
    const row = rows.find((one) => lineNumber(one) === landed.line);
    if (row?.offsetHeight) body.scrollTop += row.getBoundingClientRect().top - landed.top;
  }

  const forget = () => (landed = null);

  /** What it was and what it is tried as, beside it; whether that goes, and else which does. */
  function tell(number) {
    const { refusal, step, goes } = lab.tried ?? {};
    const { value, grip } = held;
    const not = Boolean(refusal) && step.value === value;
    number.classList.add("wb-held");
    number.classList.toggle("wb-held-not", not);
    if (value === grip.value) return hide();
    const more = lab.stuck ? ` · ${STUCK[lab.stuck]}` : not && goes ? ` · ${goes} goes` : "";
    hand.textContent = `${grip.value} → ${value}${more}`;
    hand.classList.toggle("wb-would-not", not);
    if (!hand.matches(":popover-open")) hand.showPopover();
    const { left, top, bottom } = number.getBoundingClientRect();
    const above = top - hand.offsetHeight - GRIP_BESIDE;
    const y = above < body.getBoundingClientRect().top ? bottom + GRIP_BESIDE : above;
    const x = Math.min(left, document.documentElement.clientWidth - hand.offsetWidth);
    hand.style.translate = `${x}px ${y}px`;
  }

  const hide = () => hand.matches(":popover-open") && hand.hidePopover();

  /** Nothing is held any more; what is tried is shown until it is taken or dropped. */
  function release() {
    const row = held && lab.holds && numberOf(held.key)?.closest(".wb-line");
    if (row) {
      landed = { line: lineNumber(row), top: row.getBoundingClientRect().top };
      for (const kind of GRIP_INPUTS)
        window.addEventListener(kind, forget, { capture: true, once: true });
    }
    held = null;
    hide();
    if (lab.holds) {
      lab.holds = false;
      redraw();
    }
  }

  function markLine(line, grips) {
    const found = LOOP_HEAD.exec(line.textContent);
    if (!found) return;
    const marks = [...line.querySelectorAll(".wb-mark")];
    const names = found[1].split(", ");
    let to = found[0].length;
    const numbers = found[2].split(", ").reverse();
    for (const [k, number] of numbers.entries()) {
      const name = names[numbers.length - 1 - k];
      const loop = marks.find((mark) => mark.textContent === name)?.dataset.k;
      // a new split has another loop in its place
      const key = loop && loop === lab.tried?.held ? lab.tried.step.place : loop;
      if (grips[key]?.values.length > 1) wrap(line, to - number.length, to, key, grips[key]);
      to -= number.length + ", ".length;
    }
  }

  /** Make the characters of a line from one to another, a number, what the hand is laid on. */
  function wrap(line, from, to, key, grip) {
    const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    let passed = 0;
    let text = texts.nextNode();
    while (text && to > passed + text.length) {
      passed += text.length;
      text = texts.nextNode();
    }
    if (!text || from < passed) return;
    const range = document.createRange();
    range.setStart(text, from - passed);
    range.setEnd(text, to - passed);
    const title = `drag it${grip.step ? "" : " to split the loop"}: ${grip.values.join(", ")}`;
    range.surroundContents(h("span.wb-grip-number", { "data-grip": key, title }));
  }

  body.addEventListener("pointerdown", (event) => {
    const key = event.target.closest?.("[data-grip]")?.dataset.grip;
    [dragged, pressed] = [false, null]; // the click that ended an earlier one may never have come
    const grip = lab.grips[key]; // none where another program is about to be drawn
    if (!grip || event.button || !event.isPrimary) return;
    event.preventDefault(); // selects no text
    document.addEventListener("keydown", onKey, true);
    const { top } = numberOf(key).getBoundingClientRect();
    held = { key, grip, x: event.clientX, top, value: grip.value };
    body.setPointerCapture(event.pointerId);
  });
  body.addEventListener("pointermove", ({ clientX }) => {
    if (!held) return;
    trying.moves();
    const { key, grip, x } = held;
    const far = (clientX - x) / GRIP_STEP;
    const place = grip.values.indexOf(grip.value) + Math.round(far);
    const value = grip.values[Math.min(Math.max(place, 0), grip.values.length - 1)];
    if (value !== held.value) {
      [held.value, dragged, lab.holds] = [value, true, true];
      const number = numberOf(key);
      if (number) tell(number);
      tryValue(trying, key, grip, value);
    }
    const over = far - Math.round(far);
    const coming = Math.abs(over) > GRIP_MEANS && grip.values[place + Math.sign(over)];
    if (coming && coming !== grip.value) trying.expect({ place: key, value: coming });
  });
  body.addEventListener("pointerup", () => {
    const moved = held && held.value !== held.grip.value;
    pressed = held && !dragged ? held.key : null;
    release();
    if (moved) trying.take();
  });
  const leave = () => {
    if (held) trying.drop();
    release();
  };
  body.addEventListener("pointerdown", ({ isPrimary }) => isPrimary || leave());
  body.addEventListener("lostpointercapture", leave);
  // also after a release that took nothing, since what it was refused for is still shown
  function onKey(event) {
    if (event.key !== "Escape" && body.isConnected) return;
    document.removeEventListener("keydown", onKey, true);
    if (held) event.stopPropagation(); // it is for the hand, not for what has the focus
    release();
    trying.drop();
  }
  const ended = (event) => {
    const line = numberOf(pressed)?.closest(".wb-line");
    const loop = line?.querySelector(`.wb-mark[data-k="${pressed}"]`);
    if (dragged || loop) event.stopPropagation();
    [dragged, pressed] = [false, null];
    loop?.click(); // its menu has the number as a slider
  };
  body.addEventListener("click", ended, true);
  return { mark, stand, hand, lands: () => Boolean(landed) };
}

function lineNumber(row) {
  return row.querySelector(".wb-number").textContent;
}
