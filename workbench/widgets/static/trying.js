// Steps that are tried before they are taken: what would be stands in the panes, and nothing of it
// in the history. One question at a time; the newest wins.

import { h, prose } from "./dom.js";

const TRY_WEIGH = 120; // ms for which the hand rests before costs are asked for
const TRY_LATE = 2000; // ms after which an answer is waited for no longer
let tryViews = 0;

/** What tries steps for a lab; `redraw` draws its panes with `lab.tried`, what would be. */
export function tryOut(lab, redraw) {
  const view = `${(tryViews += 1)}`; // another view of the same lab shows none of it
  let seq = 0;
  let flying = null; // the step that is asked about
  let next = null; // the one to ask about then
  let at = lab.at; // the node that steps start from
  lab.tried = null;

  function ask(step) {
    if (lab.offline) return;
    next = step;
    send();
  }

  function send() {
    if (flying || !next) return;
    [flying, next] = [next, null];
    seq += 1;
    const mine = seq;
    lab.ask({ do: "try", step: flying, seq, view });
    setTimeout(() => mine === seq && flying && drop(), TRY_LATE);
  }

  function heard(said) {
    if (said.view !== view || said.seq !== seq) return;
    if (flying) {
      lab.tried = { ...said.tried, step: flying, seq };
      flying = null;
      weigh(seq);
    } else if (lab.tried) Object.assign(lab.tried, said.tried); // what it costs
    redraw();
    send();
  }

  function weigh(mine) {
    const ask_ = () => lab.tried && mine === seq && lab.ask({ do: "weigh", seq: mine, view });
    if (!lab.tried.refusal) setTimeout(ask_, TRY_WEIGH);
  }

  function drop() {
    [flying, next] = [null, null];
    if (!lab.tried) return;
    lab.tried = null;
    redraw();
  }

  /** Take the newest step that was tried, whether its answer is here or not. */
  function take() {
    const step = next ?? flying ?? lab.tried?.step;
    const refused = !next && !flying && lab.tried?.refusal;
    drop();
    if (step && !refused) lab.send({ do: "apply", ...step });
  }

  /** What is tried is of the program that is shown; of another, it is tried no more. */
  function follow() {
    if (lab.at !== at || lab.offline) drop();
    at = lab.at;
  }

  return { ask, heard, drop, take, follow };
}

/** Above the program: what it would be, or why not, and how to take it or leave it. */
export function triedHead(lab, trying) {
  const words = h("span.wb-would-told");
  const take = h("button.wb-go", { "data-f": "take", onclick: () => trying.take() }, "take it");
  const leave = h("button", { "data-f": "leave", onclick: () => trying.drop() }, "leave it");
  const head = h("div.wb-row.wb-would-head", { role: "status", hidden: true }, words, take, leave);
  const draw = () => {
    const tried = lab.tried;
    head.hidden = !tried;
    if (!tried) return;
    const why = tried.refusal?.headline;
    take.hidden = Boolean(why);
    words.title = why ?? tried.told; // where its end has no room
    head.classList.toggle("wb-would-not", Boolean(why));
    const told = why ? prose(why) : [h("code", {}, tried.told)];
    words.replaceChildren(h("b", {}, why ? "✕ " : "would be "), ...told);
  };
  return { head, draw };
}
