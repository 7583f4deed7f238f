// The program: its diff against the step before; as loops, as code; its path as Python.

import { brokenHead } from "./breaking.js";
import { brokenRows } from "./broken.js";
import { carrying } from "./carry.js";
import { changesIn } from "./changes.js";
import { codeView, copied, plainText } from "./code.js";
import { freshId, h, onceDrawn, oneStop, prose } from "./dom.js";
import { gripNumbers } from "./grip.js";
import { motionIn } from "./motion.js";
import { tabBar } from "./tabs.js";

const BROKEN = "cuda"; // the text in which one breaks and mends
const HOLDS_APART = 8; // px between lines of which the hand takes something, as program.css has it

/**
 * The pane; `breaking` is the menu of what can be broken in its kernel, `trying` tries steps,
 * `would` tells of one, `asked` asks where things can be carried, and `refolded` is called when it
 * is drawn anew since there is other room.
 */
export function programPane(lab, breaking, trying, would, asked, redraw, refolded) {
  const title = h("h3.wb-unseen", {}, "Program");
  const head = tabBar("program as", (name) => lab.show({ program: name }));
  const body = h("div.wb-body");
  const changes = changesIn(body, () => lab.carries || lab.holds);
  const copy = h("button.wb-copy", { "data-f": "copy", onclick: copyText }, "copy");
  const broken = brokenHead(lab);
  const grips = gripNumbers(lab, trying, body, redraw);
  const carried = carrying(lab, trying, asked, body, would, redraw);
  const group = freshId("gap");
  const breaks = h(
    "button.wb-break-it",
    { "data-f": "break", "aria-haspopup": "dialog", onclick: () => breaking.open(() => breaks) },
    "break it …",
  );
  const remarks = h("div.wb-notes");
  const pane = h(
    "section.wb-pane.wb-program",
    { "aria-label": "Program" },
    title,
    head.bar,
    changes.button,
    h("div.wb-copies", {}, breaks, copy),
    broken.head,
    would.head,
    body,
    carried.tray,
    carried.hand,
    grips.hand,
    remarks,
  );
  const settle = oneStop(pane);
  let lines; // how many can be seen; what is told of what is tried or carried takes none of that
  let fitted; // the height that they were folded for
  const fit = new ResizeObserver(() => {
    if (body.offsetHeight === fitted || lab.tried || lab.carries) return;
    redraw();
    refolded();
  });
  fit.observe(body, { box: "border-box" });
  const motion = motionIn(body);
  let stood = null; // where it stands, read before anything of the lab changes
  let seen = []; // the program and the pane that are drawn
  let brought = ""; // the lines of what was found that were brought into view
  let shown = ""; // the program and pane whose first change was brought into view
  const unfolded = new Set(); // the numbers of its lines that a learner unfolded

  function text() {
    const broken = lab.view.program === BROKEN && lab.broken;
    return broken || lab.page?.texts[lab.view.program];
  }

  /** How many lines of code can be seen at once, whichever are folded. */
  function room() {
    const line = body.querySelector(".wb-line")?.offsetHeight;
    const holds = [...body.querySelectorAll(".wb-line")].map((row) => row.matches(".wb-holds"));
    const apart = HOLDS_APART * holds.filter((one, k) => one && holds[k + 1]).length;
    return line && body.clientHeight ? Math.floor((body.clientHeight - apart) / line) : undefined;
  }

  function draw() {
    const page = lab.page;
    if (!page) return;
    if (!stood) read();
    const { scrollTop, scrollLeft, room, high, was } = stood;
    stood = null;
    const chosen = head.draw(lab.panes("program"), lab.view.program, lab.setup.labels, body);
    const now_ = lab.broken;
    const breakable = chosen === BROKEN && !lab.offline && !now_ && lab.against === null;
    const shows = now_ && chosen === BROKEN;
    const tried = lab.tried?.text && !now_ && !lab.onLine ? lab.tried : null;
    const shown_ = shows ? { lines: now_.lines, label: LABEL } : page.texts[chosen];
    const { holds } = lab; // a number: then nothing comes or goes that need not
    const pane_ = tried?.text ?? (shown_ && { ...shown_, now: shown_.now || holds });
    title.textContent = pane_?.title ?? "Program";
    copy.hidden = !pane_?.lines || Boolean(pane_.refusal);
    copy.textContent = "copy";
    remarks.replaceChildren(...(page.notes ?? []).map(note));
    would.draw();
    if (!lab.carries && !lab.tried) [lines, fitted] = [room, room && high];
    breaks.hidden = !breakable;
    broken.draw();
    pane.classList.toggle("wb-broken", Boolean(now_));
    body.classList.toggle("wb-breakable", !breaks.hidden);
    // what is found may be in lines that are folded
    const folds = now_ || tried || holds ? Infinity : lines;
    const now = `${lab.at} ${chosen}`;
    if (now !== shown) unfolded.clear();
    const made = codeView(pane_, tried ?? page, tried?.lines ?? lab.lines, folds, keeps());
    const moved = seen[1] === chosen && seen[0] !== lab.at && !tried && !now_ && !lab.carries;
    body.replaceChildren(...made);
    const follows = tried || lab.carries || holds; // the program that is shown stays it
    if (lab.tried || follows) onceDrawn(() => stay(scrollTop, scrollLeft));
    pane.classList.toggle("wb-would", Boolean(tried));
    if (now_) mark(now_, chosen);
    else if (chosen === "tensorir") hold();
    if (!follows && !grips.lands()) changes.drawn(now !== shown && !now_);
    if (moved) onceDrawn(() => motion.moveLines(was));
    if (!follows) seen = [lab.at, chosen];
    shown = now;
    settle();
  }

  function read() {
    const { scrollTop, scrollLeft, offsetHeight } = body;
    stood = { scrollTop, scrollLeft, room: room(), high: offsetHeight, was: motion.lines() };
  }

  function stay(top, left) {
    if (body.scrollTop === top && body.scrollLeft === left) return null;
    return () => body.scrollTo({ top, left, behavior: "instant" });
  }

  /** Which rows are not folded: those that were unfolded, those of the loops and blocks that the
   * question names, of the chosen one, and of the one with the focus. */
  function keeps() {
    const { text, todo } = lab.question ?? {};
    const words = new Set([text, todo, lab.setup.task].join(" ").match(/\w+/g));
    const focused = body.contains(document.activeElement) && document.activeElement.dataset.k;
    return (row) => {
      if (unfolded.has(row.querySelector(".wb-number").textContent)) return true;
      const head = row.querySelector("[data-head]")?.dataset.head;
      if (!head) return false;
      const marks = [...row.querySelectorAll(".wb-mark")];
      const keys = marks.map((mark) => mark.dataset.k);
      const names = marks.map((mark) => mark.textContent);
      return keys.includes(focused) || keys.includes(lab.place) || names.some((n) => words.has(n));
    };
  }

  /** What can be dragged; lines that have any stand apart, so that each has room for the hand. */
  function hold() {
    for (const one of [grips, carried]) one.mark();
    for (const row of body.querySelectorAll(".wb-line"))
      row.classList.toggle("wb-holds", Boolean(row.querySelector(".wb-lifts, .wb-grip-number")));
    onceDrawn(() => grips.stand);
  }

  /** In the text, the lines of what was found, and in the kernel's the gaps. */
  function mark(now_, chosen) {
    const { gaps, put, choice, found } = now_;
    const rows = [...body.querySelectorAll(".wb-listing .wb-line")];
    if (chosen === BROKEN) {
      const running = lab.status.kind === "running";
      const choose = (line) => lab.send({ do: "find", line });
      const lit = found?.lit ?? [];
      const all = brokenRows(rows, { lit, gaps, put, choice }, group, choose);
      body.querySelector(".wb-listing").replaceChildren(...all);
      // one that is disabled would lose the focus
      for (const gap of running ? body.querySelectorAll(".wb-gap") : []) {
        gap.ariaDisabled = "true";
        gap.addEventListener("click", (event) => event.preventDefault());
      }
    } else if (chosen === "tensorir") {
      const number = (row) => Number(row.querySelector(".wb-number").textContent);
      for (const row of rows)
        row.classList.toggle("wb-faulty", Boolean(found?.program.includes(number(row))));
    }
    const [first, told] = [body.querySelector(".wb-faulty"), JSON.stringify([chosen, found?.lit])];
    if (first && told !== brought) body.scrollTop = first.offsetTop - body.clientHeight / 3;
    brought = told;
  }

  const unfold = ({ target }) => {
    for (const number of target.closest(".wb-fold")?.querySelectorAll(".wb-number") ?? [])
      unfolded.add(number.textContent);
  };
  body.addEventListener("click", unfold, true); // ahead of its button, which gives way to them
  body.addEventListener("click", ({ target }) => {
    const row = body.classList.contains("wb-breakable") && target.closest(".wb-line");
    const bare = row && !row.querySelector(".wb-mark") && /\w/.test(lineText(row));
    if (!row || !(target.closest(".wb-number") || bare) || !getSelection().isCollapsed) return;
    const line = [...body.querySelectorAll(".wb-line")].indexOf(row) + 1;
    breaking.open(() => (row.isConnected ? row : breaks), line);
  });

  async function copyText() {
    const done = await copied(plainText(text(), lab.lines));
    copy.textContent = done ? "copied" : "the browser does not let it be copied";
  }

  const inputs = () => [
    ...[lab.view.program, lab.page?.texts, lab.page?.notes, lab.broken, lab.against],
    ...[lab.broken && lab.status.kind, lab.tried?.seq, lab.tried?.goes, lab.stuck, lab.onLine],
  ];
  return { pane, read, draw, inputs };
}

const LABEL = "CUDA code, broken on purpose";
const lineText = (row) => row.querySelector(".wb-text").textContent;

/** A note: its beginning, and all of it when it is opened. */
function note(words) {
  return h("details.wb-note", {}, h("summary", {}, h("b", {}, "Note: "), ...prose(words)));
}
