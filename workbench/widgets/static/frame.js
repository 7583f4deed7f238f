// How large the lab is: as wide as its cell, as tall as the notebook's panel shows whole.

import { h } from "./dom.js";
import { panelOf, reveal } from "./reveal.js";

const SPARE = 32; // px of the panel that the lab leaves free
const LEAST = 440;
const MOST = 860;
const ELSEWHERE = 640; // where nothing around the lab says how much can be seen
const LOW = 640; // below it lines are closer
const TWO = 760; // px of width from which the program and its picture stand side by side

/**
 * Keep the size of `root` what its surroundings allow: where these do not tell, it is `given` px
 * tall. Returns how to stop.
 */
export function frameLab(root, given) {
  const ruler = h("div.wb-ruler"); // of no height: what is drawn below it does not change it
  root.before(ruler);
  let panel; // not looked for until the lab is laid out
  const fit = () => {
    if (!ruler.clientWidth) return; // not in the page yet, or in a tab that is not shown
    const first = panel === undefined;
    if (first) {
      panel = panelOf(root);
      if (panel) observer.observe(panel);
    }
    if (panel && !panel.clientHeight) return;
    const room = panel && Math.min(Math.max(panel.clientHeight - SPARE, LEAST), MOST);
    const height = room ?? given ?? ELSEWHERE;
    root.style.height = `${height}px`;
    root.dataset.columns = ruler.clientWidth < TWO ? "1" : "2";
    root.dataset.low = String(height < LOW);
    if (first && panel) reveal(root, panel);
  };
  const observer = new ResizeObserver(fit);
  observer.observe(ruler);
  return () => {
    observer.disconnect();
    ruler.remove();
  };
}

/** The button that shows `root` alone, on the whole screen. */
export function screenButton(root) {
  const button = h("button.wb-screen", { "aria-label": "full screen", title: "full screen" });
  button.addEventListener("click", () =>
    document.fullscreenElement === root ? document.exitFullscreen() : root.requestFullscreen(),
  );
  button.hidden = !document.fullscreenEnabled;
  return button;
}
