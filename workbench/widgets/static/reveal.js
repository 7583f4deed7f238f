// After a cell was run by hand, its lab, quiz or report is brought into view: JupyterLab scrolled
// to the next cell before there was an output. Nothing else moves the page: a notebook that is run
// whole or loaded again, and a second view of an output, stay where they are.

const SETTLES = 500; // ms in which what stands above the lab may still change its height
const FRAMES = 30; // that are drawn by then; a busy machine takes longer for them
const HANDS = ["wheel", "keydown", "pointerdown", "touchstart"];

/**
 * Scroll `panel` until `root` is whole in view, or what is taller from its top on, if its cell was
 * run by hand just now.
 */
export function reveal(root, panel) {
  if (!ranByHand(root)) return;
  const end = performance.now() + SETTLES;
  let frames = 0;
  let free = false; // the learner goes elsewhere
  const leave = () => {
    free = true;
    for (const kind of HANDS) window.removeEventListener(kind, leave, true);
  };
  for (const kind of HANDS) window.addEventListener(kind, leave, { capture: true, passive: true });
  const put = () => {
    frames += 1;
    const over = performance.now() > end && frames > FRAMES;
    if (free || !root.isConnected || over) return leave();
    const [lab, around] = [root.getBoundingClientRect(), panel.getBoundingClientRect()];
    const top = around.top + panel.clientTop;
    if (lab.top < top || lab.bottom > top + panel.clientHeight)
      panel.scrollTop += lab.top - top - Math.max(0, (panel.clientHeight - lab.height) / 2);
    requestAnimationFrame(put);
  };
  requestAnimationFrame(put);
}

/** Once `root` is laid out, it comes into view as it should. Returns how to wait no longer. */
export function arrive(root) {
  const laid = new ResizeObserver(() => {
    if (!root.clientHeight) return; // not in the page yet, or in a tab that is not shown
    laid.disconnect();
    const panel = panelOf(root);
    if (panel) reveal(root, panel);
  });
  laid.observe(root);
  return () => laid.disconnect();
}

/** The nearest box around `root` that scrolls in place of growing with what is in it, or null. */
export function panelOf(root) {
  const around = [];
  for (let el = root.parentElement; el && el !== document.documentElement; el = el.parentElement)
    if (/auto|scroll/.test(getComputedStyle(el).overflowY)) around.push(el);
  const before = around.map((el) => el.clientHeight);
  root.style.height = "20000px";
  const found = around.find((el, k) => before[k] > 0 && el.clientHeight === before[k]);
  root.style.height = "";
  return found ?? null;
}

/**
 * Whether the cell around `root` was run alone: it is the active one, or the one before it, and no
 * other cell waits or was run later. Run All leaves the last cell active; whether it was that,
 * where this cell is at the end, only the notebook's count of cells tells.
 */
function ranByHand(root) {
  const cell = root.closest(".jp-Notebook .jp-Cell");
  if (!cell || !navigator.userActivation?.hasBeenActive) return false;
  const cells = [...cell.parentElement.querySelectorAll(":scope > .jp-Cell")];
  const mine = count(cell);
  if (cells.some((other) => other !== cell && count(other) > mine)) return false;
  const active = cells.findIndex((other) => other.classList.contains("jp-mod-active"));
  const at = cells.indexOf(cell);
  if (active !== at && active !== at + 1) return false;
  if (active < cells.length - 1) return true;
  const fresh = active > at && cells[active].classList.contains("jp-CodeCell"); // made by the run
  return fresh || cellsRun(cell) === 1;
}

/** When a cell was run: what its prompt says; one that waits comes after all. */
function count(cell) {
  const prompt = cell.querySelector(".jp-InputPrompt")?.textContent ?? "";
  return prompt.includes("*") ? Infinity : Number(/\d+/.exec(prompt)?.[0] ?? 0);
}

/** How many cells were run at once, as the notebook's toolbar has it, or 0. */
function cellsRun(cell) {
  const told = cell.closest(".jp-NotebookPanel")?.querySelectorAll(
    ".jp-Notebook-ExecutionIndicator-tooltip span",
  )[1];
  return Math.max(0, ...(told?.textContent.match(/\d+/g) ?? []).map(Number));
}
