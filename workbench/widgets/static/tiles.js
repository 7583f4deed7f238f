// The tiling picture: its levels, its slider that steps and plays, tiles that are dragged, cells
// that are pointed at. Where shapes know other selections none of it asks Python; a choice is saved
// when let go of.

import { h, prose } from "./dom.js";
import { CELLS, LANE, lightKin, lightWords, markStrip, pointedLine, clearMarks } from "./point.js";
import { fillPane } from "./fill.js";
import { fits, outlinesAt, pointAt, saidAt, slidesTo, slideTo } from "./scene.js";
import { loopSlider } from "./slider.js";

const MOVED = 4; // px that a press moves before it drags

/**
 * The stage of the pictures in `body`, of any kind, with what is said of them in `foot`; `controls`
 * are for the tiling picture.
 */
export function pictureStage(lab, pane, body, foot) {
  let picture = null; // that is drawn
  let wanted = {}; // where axes were moved to, until that picture is here
  let puts = []; // functions that put levels and slider where they stand
  let slider = null;
  let pressed = null; // where a press began that may become a drag
  let held = false; // whether a tile is being dragged
  let last = null; // where the pointer is over the picture
  const line = pointedLine();
  body.addEventListener("pointerdown", (event) => hold(event));
  body.addEventListener("pointermove", (event) => point(event));
  body.addEventListener("pointerup", () => release());
  body.addEventListener("pointercancel", () => release());
  body.addEventListener("pointerleave", () => leave());
  body.addEventListener("click", (event) => chooseThread(event.target.closest?.(LANE)));
  return { controls, draw };

  /** What a picture gets once it is in the body. */
  function draw(drawn) {
    picture = drawn?.at || drawn?.strips ? drawn : null;
    foot.append(line);
    if (picture?.at) level();
    fillPane(body);
    if (last && picture?.at)
      point({ ...last, target: document.elementFromPoint(last.clientX, last.clientY) });
  }

  function level() {
    putAll();
    const [level] = shownLevel();
    strips().forEach((strip, number) => {
      strip.style.display = picture.levels.length && number !== level ? "none" : "";
    });
    slide();
  }

  function strips() {
    return [...body.querySelectorAll(".wb-strips > svg")];
  }

  /** The number and the name of the level that is shown. */
  function shownLevel() {
    const number = Math.max(picture.levels.indexOf(lab.view.level), 0);
    return [number, picture.levels[number]];
  }

  /** Where each axis stands, -1 at all of it. */
  function places() {
    const own = ([axis]) => axis in picture.at;
    const saved = Object.fromEntries(Object.entries(lab.view.select ?? {}).filter(own));
    const at = { ...picture.at, ...saved };
    const now = lab.setup.offline && fits(picture, at, lab.view.level) ? at : picture.at;
    return { ...now, ...wanted };
  }

  function selection() {
    return Object.fromEntries(Object.entries(places()).filter(([, value]) => value >= 0));
  }

  /** Shows what is chosen, where the shapes know it; whether they do. */
  function slide() {
    const select = selection();
    if (!fits(picture, places(), lab.view.level)) return false;
    if (!slidesTo(picture.slides, select)) return true; // it was drawn for this one
    slideTo(strips(), picture.slides, select);
    const said = saidAt(picture.slides, select);
    const [, ...rest] = picture.caption.split("\n");
    const caption = [said.caption || picture.caption.split("\n")[0], ...rest].join("\n");
    foot.querySelector(".wb-caption").replaceChildren(...prose(caption));
    const rows = foot.querySelectorAll(".wb-table tbody tr");
    for (const [row, column, words] of said.table) rows[row].children[column].textContent = words;
    return true;
  }

  /** Levels and slider as things stand; what came is no longer on its way. */
  function putAll() {
    for (const [axis, value] of Object.entries(wanted)) {
      if (value === picture.at[axis] && !lab.setup.offline) delete wanted[axis];
    }
    for (const put of puts) put();
  }

  function move(axis, value) {
    wanted[axis] = value;
    putAll();
    if (!slide()) save();
  }

  /** One message to Python; in a saved page, the picture among its own that comes nearest. */
  function save() {
    const select = { ...lab.view.select, ...wanted };
    if (!lab.setup.offline) {
      lab.show({ select });
      return true;
    }
    const found = [select, wanted, nearest(wanted)].find((one) => lab.savedTiles(one));
    wanted = {};
    if (found) lab.show({ select: found });
    putAll();
    return Boolean(found);
  }

  /** The stop of a saved page that comes nearest to where an axis was moved to. */
  function nearest(moved) {
    const [axis, value] = Object.entries(moved).at(-1) ?? [];
    const stops = lab.page.axes.find(({ key }) => key === axis)?.stops ?? [];
    const away = (stop) => Math.abs(stop.value - value);
    return { [axis]: [...stops].sort((a, b) => away(a) - away(b))[0]?.value };
  }

  // --- controls ---------------------------------------------------------------------------------

  /** Levels, and one slider, of the axis that is chosen beside it; so each can be chosen. */
  function controls({ axes = [], levels = [], pictures }, shown) {
    slider?.stop();
    [puts, wanted] = [[], {}];
    picture = pictures[shown] ?? null;
    const crumbs = levels.length ? [breadcrumb(levels)] : [];
    if (!axes.length) return crumbs;
    slider = loopSlider({
      axes: [...axes.filter((axis) => axis.main), ...axes.filter((axis) => !axis.main)],
      first: slider?.key(),
      places,
      move,
      ready: () => Boolean(picture) && slide(),
      comes: () => Boolean(picture) && !lab.offline,
      save: (axis) => axis in wanted && save(),
    });
    puts.push(slider.put);
    return [...crumbs, slider.row];
  }

  /** whole › block › thread › registers; one that is not chosen yet begins at its first. */
  function breadcrumb(levels) {
    const buttons = levels.map(({ name, select, why }) => {
      const button = h(
        "button.wb-level",
        {
          "data-f": `level ${name}`,
          disabled: !select,
          title: why || null,
          onclick: () => goNear(name, select),
        },
        name,
      );
      puts.push(() => {
        button.ariaPressed = String(shownLevel()[1] === name);
      });
      return button;
    });
    return h("div.wb-levels", { role: "group", "aria-label": "how near" }, buttons);
  }

  /** To a level, with what is chosen; in a saved page, if it was drawn for that. */
  function goNear(level, first) {
    const now = Object.entries(places()).filter(([axis, value]) => value >= 0 || !(axis in first));
    const chosen = { ...lab.view.select, ...first, ...Object.fromEntries(now) };
    const saved = !lab.setup.offline || lab.savedTiles(chosen, level);
    lab.show({ level, select: saved ? chosen : first });
  }

  // --- by pointer -------------------------------------------------------------------------------

  /** The strip under the pointer, and what of it can be pointed at there. */
  function spot(event) {
    const strip = event.target.closest?.("svg");
    const number = strips().indexOf(strip);
    if (number < 0 || !picture?.fields) return null;
    const shown = strip.getBoundingClientRect();
    const { x: left, y: top, width, height } = strip.viewBox.baseVal;
    const x = left + ((event.clientX - shown.left) * width) / shown.width;
    const y = top + ((event.clientY - shown.top) * height) / shown.height;
    const found = pointAt(picture.fields, number, selection(), x, y);
    return found && { ...found, strip, number };
  }

  /** What of the turns in which a cell is touched is chosen in the picture. */
  function chosen(turns) {
    const now = selection();
    return Object.fromEntries(Object.entries(turns).filter(([axis]) => axis in now));
  }

  /** A press that moves drags; one that does not is a click, on what stands there. */
  function hold(event) {
    const found = event.button === 0 && picture?.at ? spot(event) : null;
    if (!found || !Object.keys(chosen(found.turns)).length) return;
    pressed = { x: event.clientX, y: event.clientY };
    event.preventDefault(); // no text is selected meanwhile
  }

  function begin(event) {
    if (Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < MOVED) return;
    pressed = null;
    held = true;
    body.setPointerCapture?.(event.pointerId);
  }

  function drag({ turns }) {
    const now = selection();
    const moved = Object.entries(chosen(turns)).filter(([axis, value]) => now[axis] !== value);
    if (!moved.length) return;
    Object.assign(wanted, Object.fromEntries(moved));
    putAll();
    slide();
  }

  function release() {
    pressed = null;
    if (!held) return;
    held = false;
    if (Object.keys(wanted).length) save();
  }

  function point(event) {
    if (pressed) begin(event);
    const { clientX, clientY } = event;
    last = { clientX, clientY };
    const target = held ? document.elementFromPoint(clientX, clientY) : event.target;
    const found = spot({ ...last, target: target ?? body });
    if (found && held) drag(found);
    if (found) {
      const { strip, number, field } = found;
      markStrip(strip, found.marks, around(found, strip, number));
      lightWords(pane.parentElement, lab.page.names, field);
      line.textContent = found.words;
      return;
    }
    forget();
    const drawn = target?.closest?.(`[data-statement], ${CELLS}`);
    if (!drawn) return;
    const { statement, loops } = drawn.dataset;
    lightWords(pane.parentElement, lab.page.names, { statement, loops: loops?.split(" ") });
    if (!drawn.matches(CELLS)) return;
    lightKin(body, drawn);
    line.textContent = drawn.querySelector("title")?.textContent ?? "";
  }

  function around({ turns }, strip, number) {
    const select = { ...selection(), ...chosen(turns) };
    const knows = picture.slides?.strips[number] && slidesTo(picture.slides, select);
    return knows ? outlinesAt(strip, picture.slides, number, select) : [];
  }

  /** The thread of a lane is chosen in all pictures; its warp follows. */
  function chooseThread(lane) {
    if (!lane || lab.offline) return;
    const select = { ...lab.view.select };
    delete select.warp;
    const axes = ["threadIdx.x", "threadIdx.y", "threadIdx.z"];
    lane.dataset.thread.split(",").forEach((number, k) => {
      select[axes[k]] = Number(number);
    });
    lab.show({ select });
  }

  function leave() {
    [last, pressed] = [null, null];
    forget();
  }

  function forget() {
    clearMarks(body);
    lightKin(body, null);
    line.textContent = "";
    lightWords(pane.parentElement, lab.page?.names ?? {}, {});
  }
}
