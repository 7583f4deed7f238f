// Numbers of a program that can be taken hold of: each value is tried at once, and the steps after
// the split that it comes from follow. Of a loop that no split made, it is a new one.

import { h } from "./dom.js";

const LOOP_HEAD = /^\s*for (.+?) in [\w.]+\((\d+(?:, \d+)*)/;
const GRIP_STEP = 14; // px of a drag from one value to the next
const GRIP_MEANS = 0.2; // of that, after which the hand is on its way to the next

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
      if (event.key !== "Enter") return;
      event.preventDefault();
      take();
    },
  });
  slider.value = grip.values.indexOf(grip.value);
  tell(grip.value);
  const row = h(
    "div.wb-grip",
    {},
    h("label", {}, h("code", {}, name), " runs ", slider, " ", told, " times"),
    h("span.wb-help", {}, `step ${grip.step} set it; the steps after that are redone`),
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

/** Let the numbers of loops in `body`, a program, be dragged: release takes, Escape puts back. */
export function gripNumbers(lab, trying, body) {
  let held = null; // the number that the hand is on: its key and grip, where it was, what it is at
  let dragged = false; // the click that ends a drag opens nothing

  function mark() {
    const { grips } = lab;
    const lines = ".wb-line:not(.wb-gone, .wb-was) > .wb-text";
    for (const line of body.querySelectorAll(lines)) markLine(line, grips);
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
      const key = marks.find((mark) => mark.textContent === name)?.dataset.k;
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
    dragged = false; // the click that ended an earlier one may never have come
    if (!key || event.button || !event.isPrimary) return;
    event.preventDefault(); // selects no text
    document.addEventListener("keydown", onKey);
    const grip = lab.grips[key];
    held = { key, grip, x: event.clientX, value: grip.value };
    body.setPointerCapture(event.pointerId);
  });
  body.addEventListener("pointermove", ({ clientX }) => {
    if (!held) return;
    const { key, grip, x } = held;
    const far = (clientX - x) / GRIP_STEP;
    const place = grip.values.indexOf(grip.value) + Math.round(far);
    const value = grip.values[Math.min(Math.max(place, 0), grip.values.length - 1)];
    if (value !== held.value) {
      [held.value, dragged] = [value, true];
      tryValue(trying, key, grip, value);
    }
    const over = far - Math.round(far);
    const coming = Math.abs(over) > GRIP_MEANS && grip.values[place + Math.sign(over)];
    if (coming && coming !== grip.value) trying.expect({ place: key, value: coming });
  });
  body.addEventListener("pointerup", () => {
    const moved = held && held.value !== held.grip.value;
    held = null;
    if (moved) trying.take();
  });
  const leave = () => {
    if (held) trying.drop();
    held = null;
  };
  body.addEventListener("pointerdown", ({ isPrimary }) => isPrimary || leave());
  body.addEventListener("lostpointercapture", leave);
  // also after a release that took nothing, since what it was refused for is still shown
  function onKey({ key }) {
    if (key !== "Escape" && body.isConnected) return;
    document.removeEventListener("keydown", onKey);
    held = null;
    trying.drop();
  }
  const ended = (event) => {
    if (dragged) event.stopPropagation();
    dragged = false;
  };
  body.addEventListener("click", ended, true);
  return { mark };
}
