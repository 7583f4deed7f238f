// Steps that are tried before they are taken: what would be stands in the panes, and nothing of it
// in the history. One question at a time; the newest wins.

import { h, prose, spoken } from "./dom.js";

const TRY_WEIGH = 120; // ms for which the hand rests before costs are asked for
const TRY_BUSY = 300; // ms after which it is told that an answer is waited for
const TRY_LATE = 2000; // ms after which it is waited for no longer
const TRY_RESTS = 3; // times as long as drawing takes, until the next: a hand in motion sees frames
const TRY_STILL = 100; // ms after which a hand is in motion no more
const TRY_KEPT = 32; // answers that are kept, of one program as it is shown
let tryViews = 0;

/** Why what is tried is not shown. */
export const STUCK = { busy: "kernel busy", late: "no answer" };
const STUCK_SAID = {
  busy: "kernel busy: what it would be comes when that answers",
  late: "no answer within 2 s: the kernel is busy, or gone",
};

/** What tries steps for a lab; `draw` draws its panes with `lab.tried`, what would be. */
export function tryOut(lab, draw) {
  let moved = 0; // when the hand did last
  const redraw = paced(draw, () => moved);
  const view = `${(tryViews += 1)}`; // another view of the same lab shows none of it
  let seq = 0;
  let flying = null; // what is asked about: the step, how, and its number
  let next = null; // the one to ask about then
  let likely = null; // a step that the hand may come to, to ask about when nothing else is
  let at = lab.at; // the node that steps start from
  let panes = lab.view; // those that it was asked for
  const kept = new Map(); // what was answered of what is shown, by the step
  let of = []; // what that is
  lab.tried = null;
  lab.stuck = null; // why what is asked about is not shown: "busy" or "late"

  /** Try a step: `passing`, only while the hand is there; `quiet`, told of only if it is taken. */
  function ask(step, how = {}) {
    moves();
    if (lab.offline) return saved(step);
    const known = answers().get(stepKey(step));
    likely = null;
    next = known ? null : { step, how };
    if (!known) return send();
    if (flying) flying.how = null; // the hand is further
    show(known, step, how);
  }

  function moves() {
    moved = performance.now();
  }

  /** The hand may come to a step: its answer is kept until then. */
  function expect(step) {
    if (lab.offline || answers().has(stepKey(step))) return;
    likely = step;
    send();
  }

  /** The answers that are still right. */
  function answers() {
    const now = [lab.page, lab.view, lab.place, lab.answers];
    if (now.every((one, k) => one === of[k])) return kept;
    kept.clear();
    of = now;
    return kept;
  }

  /** A value of a number that was tried before the page was saved; it stays until it is left. */
  function saved(step) {
    const made = lab.page?.tries?.made[step.place]?.[step.value];
    seq += 1;
    lab.tried = made ? { ...made, ...inPanes(made), step, seq } : null;
    redraw();
  }

  /** What a saved page has of it for the panes that are open. */
  function inPanes({ texts, pictures }) {
    const { program, machine } = lab.view;
    return texts ? { ...texts[program], picture: lab.page.pictures[pictures[machine]] } : {};
  }

  function send() {
    if (flying || !(next || likely)) return;
    flying = next ?? { step: likely, how: null };
    [next, likely] = [null, null];
    answers(); // those of what is shown now
    [flying.seq, flying.of] = [(seq += 1), of];
    const mine = flying;
    lab.ask({ do: "try", step: mine.step, seq: mine.seq, view });
    setTimeout(() => mine === flying && (mine.how || next) && stick("busy"), TRY_BUSY);
    setTimeout(() => mine === flying && late(), TRY_LATE);
  }

  function stick(how) {
    if (lab.stuck === how) return;
    lab.stuck = how;
    redraw();
  }

  /** Nobody waits for it any longer, but for the one that was asked for since. */
  function late() {
    const { how } = flying;
    flying = null;
    if (!next && how) {
      drop();
      stick("late");
    }
    send();
  }

  function heard(said) {
    if (said.view !== view) return;
    if (said.seq === flying?.seq) {
      // the hand came to it meanwhile
      const come = next && stepKey(next.step) === stepKey(flying.step);
      const { step, how } = come ? next : flying;
      const fits = answers() && flying.of === of; // else it is of other panes
      flying = null;
      if (come) next = null;
      if (fits) keep(step, said.tried);
      if (how && fits) show(said.tried, step, how);
      else if (how) next ??= { step, how };
      else stick(null);
    } else if (said.seq === lab.tried?.seq) {
      Object.assign(lab.tried, said.tried); // what it costs
      const known = answers().get(stepKey(lab.tried.step));
      if (known) Object.assign(known, said.tried);
      redraw();
    }
    send();
  }

  function keep(step, answer) {
    kept.set(stepKey(step), answer);
    if (kept.size > TRY_KEPT) kept.delete(kept.keys().next().value);
  }

  function show(answer, step, how) {
    const mine = (seq += 1);
    lab.stuck = null;
    lab.tried =
      how.quiet && answer.refusal ? null : { ...answer, step, seq: mine, passing: how.passing };
    redraw();
    requestAnimationFrame(() => setTimeout(weigh, 0, mine)); // once it is shown
  }

  /** Ask for costs, or which value goes, once the hand rests. */
  function weigh(mine) {
    if (lab.tried?.seq !== mine) return;
    const left = moved + TRY_WEIGH - performance.now();
    if (left > 0) return setTimeout(weigh, left, mine);
    const { refusal, step, costs, goes } = lab.tried;
    const waits = refusal ? "value" in step && goes === undefined : !costs;
    if (waits) lab.ask({ do: "weigh", step, seq: mine, view });
  }

  function drop() {
    [flying, next, likely] = [null, null, null];
    stick(null);
    if (!lab.tried) return;
    lab.tried = null;
    draw();
  }

  /**
   * Take the newest step that was tried, whether its answer is here or not. One that is refused is
   * asked for, too: so all is told of why, and what to do. A saved page takes none.
   */
  function take() {
    if (lab.offline) return;
    const { step } = next ?? (flying?.how ? flying : lab.tried) ?? {};
    drop();
    if (step) lab.send({ do: "apply", ...step });
  }

  /** What is tried is of the program that is shown; of another it is tried no more, and in other
   * panes anew. */
  function follow() {
    if (lab.at !== at || lab.gone) drop();
    else if (lab.tried && lab.offline) Object.assign(lab.tried, inPanes(lab.tried));
    else if (lab.tried && lab.view !== panes) {
      const { step, passing } = lab.tried;
      lab.tried = null;
      ask(step, { passing });
    }
    [at, panes] = [lab.at, lab.view];
  }

  return { ask, moves, expect, heard, drop, take, follow };
}

/**
 * `draw`, which rests after each time while the hand is in motion, that was `moved` last: what is
 * asked for meanwhile is drawn once, then.
 */
function paced(draw, moved) {
  let resting = false;
  let again = false;
  const rest = (from, until) => {
    const still = Math.max(from, moved()) + TRY_STILL; // moves that came while it drew are late
    const left = Math.min(until, still) - performance.now();
    if (left > 0) return setTimeout(rest, left, from, until);
    resting = false;
    if (again) soon();
  };
  const soon = () => {
    again = resting;
    if (resting) return;
    resting = true;
    const begun = performance.now();
    draw();
    // in the frame after it is shown it is known how long that took
    requestAnimationFrame(() =>
      setTimeout(() => {
        const now = performance.now();
        rest(now, now + TRY_RESTS * (now - begun));
      }),
    );
  };
  return soon;
}

function stepKey(step) {
  return JSON.stringify(step);
}

/**
 * Above the program: what it would be, or why not, and how to take it or leave it. A press on its
 * buttons leaves the focus where it is: what is tried there goes on until it is taken or left.
 */
export function triedHead(lab, trying) {
  const words = h("span.wb-would-told");
  const take = h("button.wb-act", { "data-f": "take", onclick: () => trying.take() }, "take it");
  const leave = h("button", { "data-f": "leave", onclick: () => trying.drop() }, "leave it");
  const press = h("span.wb-hint", {}, "press it to take it");
  const onmousedown = (event) => event.preventDefault();
  const about = { role: "status", hidden: true, onmousedown };
  const head = h("div.wb-row.wb-would-head", about, words, press, take, leave);
  const draw = () => {
    const { tried, stuck } = lab;
    head.hidden = !tried && !stuck;
    if (stuck) {
      for (const button of [take, leave, press]) button.hidden = true;
      head.classList.toggle("wb-would-not", stuck === "late");
      head.classList.add("wb-would-line");
      words.title = STUCK_SAID[stuck];
      words.replaceChildren(STUCK_SAID[stuck]);
    }
    if (!tried || stuck) return;
    const why = tried.refusal?.headline;
    take.hidden = Boolean(why || tried.passing || lab.offline || lab.holds);
    leave.hidden = Boolean(tried.passing || lab.holds); // it goes by itself
    press.hidden = Boolean(why || !tried.passing);
    head.classList.toggle("wb-would-not", Boolean(why));
    const line = "value" in tried.step && Boolean(why || lab.holds); // one, so that no other hides
    head.classList.toggle("wb-would-line", line);
    words.title = line ? spoken(why ?? tried.told) : "";
    const told = why ? prose(why) : [h("code", {}, tried.told)];
    // of a loop that is over a line the program stays, and the picture alone shows what would be
    const would = lab.onLine ? "put here: " : "would be ";
    words.replaceChildren(h("b", {}, why ? "✕ " : would), ...told);
  };
  return { head, take, leave, draw };
}
