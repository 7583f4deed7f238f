// The launch, one block and one warp in time: levels of one timeline, each nearer than the last.
//
// A click on what runs goes one level nearer, at the time that was clicked; crumbs lead to any
// level, to what they name, and Escape one level back. What a warp asks for is worked out here, the
// picture of a request by Python, one by one; a saved page has examples of them (`saved.js`).

import { h } from "./dom.js";
import { lanesAt } from "./lanes.js";
import { lightWords } from "./point.js";
import { timeline } from "./timeline.js";
import { runningAt, spanNumbered } from "./track.js";

const LEVELS = ["whole", "block", "warp"];
const FARTHEST = { level: "whole" };

/** Levels in time for the `pane` of pictures. */
export function inTime(lab, pane) {
  let shown = null; // { from, level, near, asked, view } of the timeline that is drawn
  let aim = null; // what time a level begins at, of its track, if one was pointed at
  let wanted = null; // the clock whose request Python was asked for
  let watched = null; // the program's pane, whose words are new when it is drawn anew
  let glows = false; // whether words of the program do
  let brought = ""; // the statement that was brought into view
  let steps = []; // the buttons of the crumbs, level by level
  const anew = new MutationObserver(() => glows && glow());
  pane.addEventListener("keydown", back);
  return { crumbs, draw, light, leave };

  /** The picture's timeline; one that is drawn already stays where its time is. */
  function draw({ track, near = FARTHEST, asked = [] }, label) {
    const from = JSON.stringify([track, near.level, near.block, near.warp]);
    if (shown?.from !== from) {
      shown?.view.stop();
      wanted = null;
      const opens = aim?.(track);
      aim = null;
      shown = { from, track, near, asked };
      const how = { spot: spotOf(track, near), opens, brief: near.level !== "whole" };
      shown.view = timeline({ track, label, ...how, choose, moment, adds });
    }
    Object.assign(shown, { track, near, asked });
    if (wanted === near.clock) wanted = null;
    return shown.view.root;
  }

  /** Once all of it stands there: what goes with the time. */
  function light() {
    const program = pane.parentElement?.querySelector(".wb-program");
    if (program && program !== watched) anew.observe(program, { childList: true, subtree: true });
    watched = program;
    moment(shown.view.now());
  }

  /** Another picture is shown: nothing glows with a time meanwhile. */
  function leave() {
    if (glows) lightWords(pane.parentElement, {}, {});
    glows = false;
  }

  // --- from level to level ----------------------------------------------------------------------

  /** whole › block › warp, with the numbers of those that they lead to. */
  function crumbs({ near }) {
    steps = LEVELS.map((level) => {
      const about = { "data-f": `level ${level}`, "aria-pressed": String(level === near.level) };
      return h("button.wb-level", { ...about, onclick: () => go(level) }, level);
    });
    return h("div.wb-levels", { role: "group", "aria-label": "how near" }, steps);
  }

  function nameCrumbs() {
    const { select } = leadsTo();
    steps.forEach((button, k) => {
      const number = select[LEVELS[k]];
      const words = number === undefined ? "" : ` ${number.toLocaleString("en-US")}`;
      if (button.textContent !== LEVELS[k] + words) button.textContent = LEVELS[k] + words;
    });
  }

  /** What crumbs lead to: of a launch what runs now in the row that is chosen, if anything does. */
  function leadsTo() {
    const { near, view } = shown;
    const { clock, ...select } = { kernel: 0, block: 0, warp: 0, ...lab.view.select };
    const there = near.level === "whole" ? view.there() : null;
    if (there) Object.assign(select, { kernel: there.sort, block: there.number });
    if (near.level === "block") select.warp = view.row();
    return { there, select };
  }

  function go(level) {
    if (level === shown.near.level) return;
    const { near, view } = shown;
    const t = view.now();
    const { there, select } = leadsTo();
    if (there) into(there, t);
    else if (level === "whole") aim = outOf(select, t / shown.track.length);
    else if (near.level !== "whole") aim = () => t;
    const nearer = level === "warp" && near.level === "block" ? { clock: Math.floor(t) } : {};
    lab.show({ level, select: { ...select, ...nearer } });
  }

  /** Escape leads one level back. */
  function back(event) {
    const at = shown && pane.contains(shown.view.root) ? LEVELS.indexOf(shown.near.level) : 0;
    if (event.key !== "Escape" || at < 1 || !lab.nears) return;
    event.preventDefault();
    event.stopPropagation();
    go(LEVELS[at - 1]);
  }

  /** The row and the place that are chosen first: those of what one came from. */
  function spotOf(track, { level }) {
    const { kernel = 0, block = 0, warp = 0 } = lab.view.select ?? {};
    const span = level === "whole" ? spanNumbered(track, kernel, block) : null;
    if (span) return { row: span.row, place: span.place };
    return { row: level === "whole" ? 0 : Math.min(warp, track.rows - 1), place: 0 };
  }

  /** The time in a launch at such a share of a block's time. */
  function outOf({ kernel, block }, share) {
    return (track) => {
      const span = spanNumbered(track, kernel, block);
      return span && span.start + share * (span.end - span.start);
    };
  }

  /** The same share of a block's time. */
  function into({ start, end }, t) {
    const share = Math.min(Math.max((t - start) / (end - start), 0), 1);
    aim = (track) => share * track.length;
  }

  /** A click on what runs goes one level nearer. */
  function choose(span, t) {
    const { track, near } = shown;
    if (!track.nearer || !lab.nears) return false;
    const { clock, ...select } = lab.view.select ?? {};
    if (near.level === "whole") {
      into(span, t);
      lab.show({ level: "block", select: { ...select, kernel: span.sort, block: span.number } });
    } else {
      aim = () => t;
      lab.show({ level: "warp", select: { ...select, warp: span.row, clock: Math.floor(t) } });
    }
    return true;
  }

  // --- what goes with a time --------------------------------------------------------------------

  /** The statement that runs, and its loops, in the program. */
  function glow() {
    if (!shown.view || shown.near.level === "whole") return leave();
    const span = spanAt(shown.view.now());
    glows = true;
    const names = lab.page?.names ?? {};
    const of = span ? shown.track.sorts[span.sort] : {};
    lightWords(pane.parentElement, names, of);
    if (of.statement !== brought && !shown.view.playing()) bring(of.statement, names);
  }

  /** A statement that is not in view comes to the middle of the program, if it is not folded. */
  function bring(statement, names) {
    const body = watched?.querySelector(".wb-body");
    const isBlock = ({ dataset }) =>
      dataset.k.split(" ").some((key) => names[key]?.kind === "block");
    const words = [...(body?.querySelectorAll(".wb-pointed") ?? [])];
    const row = words.find(isBlock)?.closest(".wb-line");
    if (!row) return;
    brought = statement;
    const [top, end] = [row.offsetTop - body.scrollTop, row.offsetTop + row.offsetHeight];
    if (top < 0 || end > body.scrollTop + body.clientHeight)
      body.scrollTop = Math.max(0, row.offsetTop - body.clientHeight / 2);
  }

  function moment(t) {
    if (shown.view) nameCrumbs();
    glow();
    const span = spanAt(t) ?? spanAt(t - 1); // where all is done, what came last
    if (!span || shown.near.level !== "warp") return;
    lightPart(span);
    if (shown.asked[span.sort] && lab.nears) ask(startOf(span));
  }

  /** What runs at a time in the row that is chosen; of one warp, in any. */
  function spanAt(t) {
    const row = shown.view?.row() ?? shown.near.warp ?? 0;
    const now = runningAt(shown.track, t);
    return shown.near.level === "warp" ? now[0] : now.find((span) => span.row === row);
  }

  /** When the request began that a wavefront is of. */
  function startOf({ start, digits }) {
    return start - ((digits.wavefront ?? 1) - 1);
  }

  /** Of a request that is drawn, the wavefront that is served. */
  function lightPart(span) {
    const { clock, drawn = true } = shown.near; // a saved page has not all of them
    const mine = drawn && shown.asked[span.sort] && startOf(span) === clock;
    const part = mine ? String(span.digits.wavefront ?? 1) : "";
    pane.querySelector(".wb-strips")?.classList.toggle("wb-past", !mine);
    for (const one of pane.querySelectorAll(".wb-strips [data-served]")) {
      one.classList.toggle("wb-served-now", one.dataset.served === part);
    }
  }

  function ask(clock) {
    if (clock === shown.near.clock || wanted !== null) return;
    wanted = clock;
    lab.show({ select: { ...lab.view.select, clock } });
  }

  /** Which lanes ask for which bytes. */
  function adds(t) {
    if (shown.near.level !== "warp") return "";
    const span = spanAt(t);
    const asked = span && shown.asked[span.sort];
    if (!asked) return "";
    const { place, threads, warp } = shown.near;
    const lanes = lanesAt(asked, place, threads, warp, span.digits);
    const awake = lanes.filter((address) => address !== null);
    if (!awake.length) return "; all lanes are idle";
    const [low, high] = [Math.min(...awake), Math.max(...awake) + asked[0] - 1];
    const bytes = [low, high].map((n) => n.toLocaleString("en-US")).join(" to ");
    return `; ${awake.length} lanes, bytes ${bytes}`;
  }
}
