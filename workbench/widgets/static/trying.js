// Steps that are tried before they are taken: what would be stands in the panes, and nothing of it
// in the history. One question at a time; the newest wins.

import { h, prose, spoken } from "./dom.js";

const TRY_WEIGH = 120; // ms for which the hand rests before costs are asked for
const TRY_LATE = 2000; // ms after which an answer is waited for no longer
let tryViews = 0;

/** What tries steps for a lab; `redraw` draws its panes with `lab.tried`, what would be. */
export function tryOut(lab, redraw) {
  const view = `${(tryViews += 1)}`; // another view of the same lab shows none of it
  let seq = 0;
  let flying = null; // what is asked about: the step, and how
  let next = null; // the one to ask about then
  let at = lab.at; // the node that steps start from
  lab.tried = null;

  /** Try a step: `passing`, only while the hand is there; `quiet`, told of only if it is taken. */
  function ask(step, how = {}) {
    if (lab.offline) return saved(step);
    next = { step, how };
    send();
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
    if (flying || !next) return;
    [flying, next] = [next, null];
    seq += 1;
    const mine = seq;
    lab.ask({ do: "try", step: flying.step, seq, view });
    setTimeout(() => mine === seq && flying && late(), TRY_LATE);
  }

  /** Nobody waits for it any longer, but for the one that was asked for since. */
  function late() {
    if (!next) return drop();
    flying = null;
    send();
  }

  function heard(said) {
    if (said.view !== view || said.seq !== seq) return;
    if (flying) {
      const { step, how } = flying;
      const silent = how.quiet && said.tried.refusal;
      lab.tried = silent ? null : { ...said.tried, step, seq, passing: how.passing };
      flying = null;
      weigh(seq);
    } else if (lab.tried) Object.assign(lab.tried, said.tried); // what it costs
    redraw();
    send();
  }

  function weigh(mine) {
    const ask_ = () => lab.tried && mine === seq && lab.ask({ do: "weigh", seq: mine, view });
    // of a number that is refused it tells which goes
    const tells = lab.tried && (!lab.tried.refusal || "value" in lab.tried.step);
    if (tells) setTimeout(ask_, TRY_WEIGH);
  }

  function drop() {
    [flying, next] = [null, null];
    if (!lab.tried) return;
    lab.tried = null;
    redraw();
  }

  /**
   * Take the newest step that was tried, whether its answer is here or not. One that is refused is
   * asked for, too: so all is told of why, and what to do. A saved page takes none.
   */
  function take() {
    if (lab.offline) return;
    const { step } = next ?? flying ?? lab.tried ?? {};
    drop();
    if (step) lab.send({ do: "apply", ...step });
  }

  /** What is tried is of the program that is shown; of another, it is tried no more. */
  function follow() {
    if (lab.at !== at || lab.gone) drop();
    else if (lab.offline && lab.tried) Object.assign(lab.tried, inPanes(lab.tried));
    at = lab.at;
  }

  return { ask, heard, drop, take, follow };
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
    const tried = lab.tried;
    head.hidden = !tried;
    if (!tried) return;
    const why = tried.refusal?.headline;
    take.hidden = Boolean(why || tried.passing || lab.offline || lab.holds);
    leave.hidden = Boolean(tried.passing || lab.holds); // it goes by itself
    press.hidden = Boolean(why || !tried.passing);
    head.classList.toggle("wb-would-not", Boolean(why));
    const line = "value" in tried.step && Boolean(why || lab.holds); // one, so that no other hides
    head.classList.toggle("wb-would-line", line);
    words.title = line ? spoken(why ?? tried.told) : "";
    const told = why ? prose(why) : [h("code", {}, tried.told)];
    words.replaceChildren(h("b", {}, why ? "✕ " : "would be "), ...told);
  };
  return { head, take, leave, draw };
}
