// Playing a loop: turn after turn, while it is in view and whoever looks wants things to move.

import { h } from "./dom.js";

const TURN = 500; // ms; of a loop of many turns less, so that it ends in `WHOLE`
const [WHOLE, SHORTEST] = [5000, 80]; // where that is too short to be seen, turns are left out

/**
 * A button that plays: calls `next` with how many turns on, which returns whether there is more,
 * until it is pressed again, is out of view, or that was all; then calls `done`. Without `turns`
 * time flows: `next` gets the milliseconds that passed, frame by frame. Who wants less motion takes
 * one turn a press; where time flows there is no button for them.
 */
export function playButton({ label, turns = 0, next, done }) {
  const still = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
  const every = Math.max(Math.min(TURN, WHOLE / turns), SHORTEST);
  const by = still ? 1 : Math.max(Math.ceil((turns * SHORTEST) / WHOLE), 1);
  const begins = turns ? by : 0;
  let timer = null;
  const seen = globalThis.IntersectionObserver
    ? new IntersectionObserver((found) => {
        if (found.some((one) => !one.isIntersecting)) stop();
      })
    : null;
  const button = h("button.wb-play", {
    "data-f": `play ${label}`,
    onclick: () => (timer === null ? start() : stop()),
  });
  tell();
  button.hidden = still && !turns;
  return { button, stop, playing: () => timer !== null };

  function tell() {
    const word = still ? "next turn" : timer === null ? "play" : "pause";
    button.textContent = { "next turn": "▸|", play: "▶", pause: "❚❚" }[word];
    button.setAttribute("aria-label", `${word}: ${label}`);
    button.title = word;
  }

  function start() {
    const more = next(begins);
    if (still || !more) {
      done();
      return;
    }
    seen?.observe(button);
    if (turns) timer = setInterval(() => goOn(by), every);
    else flow(performance.now());
    tell();
  }

  function goOn(by) {
    if (!button.isConnected || !next(by)) stop();
  }

  /** Frame by frame; a page that was hidden meanwhile goes on where it was. */
  function flow(before) {
    timer = requestAnimationFrame((now) => {
      goOn(Math.min(Math.max(now - before, 0), SHORTEST));
      if (timer !== null) flow(now);
    });
  }

  function stop() {
    if (timer === null) return;
    if (turns) clearInterval(timer);
    else cancelAnimationFrame(timer);
    timer = null;
    seen?.disconnect();
    tell();
    done();
  }
}
