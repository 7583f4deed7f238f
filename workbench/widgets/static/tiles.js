// The tiling picture: its levels, sliders and play buttons, tiles that are dragged, cells that are
// pointed at. Where shapes know other selections none of it asks Python; a choice is saved when let
// go of.

import { freshId, h, prose } from "./dom.js";
import { playButton } from "./play.js";
import { lightKin, lightWords, markStrip, pointedLine, clearMarks } from "./point.js";
import { fits, outlinesAt, pointAt, saidAt, slidesTo, slideTo } from "./scene.js";

/** The stage of the pictures in `body`, of any kind; `controls` are for the tiling picture. */
export function pictureStage(lab, pane, body) {
  let picture = null; // that is drawn
  let wanted = {}; // where axes were moved to, until that picture is here
  let puts = []; // functions that put each slider where it stands
  let players = [];
  let held = false; // whether a tile is being dragged
  let last = null; // where the pointer is over the picture
  const line = pointedLine();
  body.addEventListener("pointerdown", (event) => hold(event));
  body.addEventListener("pointermove", (event) => point(event));
  body.addEventListener("pointerup", () => release());
  body.addEventListener("pointercancel", () => release());
  body.addEventListener("pointerleave", () => leave());
  return { controls, draw };

  /** What a picture gets once it is in the body. */
  function draw(drawn) {
    picture = drawn?.at || drawn?.strips ? drawn : null;
    body.querySelector(".wb-strips")?.after(line);
    if (!picture?.at) return;
    for (const put of puts) put();
    const [level] = shownLevel();
    strips().forEach((strip, number) => {
      strip.style.display = picture.levels.length && number !== level ? "none" : "";
    });
    slide();
    if (last) point({ ...last, target: document.elementFromPoint(last.clientX, last.clientY) });
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
    body.querySelector(".wb-caption").replaceChildren(...prose(caption));
    const rows = body.querySelectorAll(".wb-table tbody tr");
    for (const [row, column, words] of said.table) rows[row].children[column].textContent = words;
    return true;
  }

  function move(axis, value) {
    wanted[axis] = value;
    for (const put of puts) put();
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
    for (const put of puts) put();
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

  /** Levels, and a slider for each axis, so that a block, its thread and a step are chosen. */
  function controls({ axes = [], levels = [], pictures }, shown) {
    for (const player of players) player.stop();
    [puts, players, wanted] = [[], [], {}];
    picture = pictures[shown] ?? null;
    const at = picture?.at ?? {};
    const rest = axes.filter((axis) => !axis.main);
    const main = h("div.wb-sliders", {}, axes.filter((axis) => axis.main).map(slider));
    const crumbs = levels.length ? [breadcrumb(levels)] : [];
    if (!rest.length) return [...crumbs, main];
    const open = rest.some((axis) => at[axis.key] >= 0);
    const more = h("summary", {}, `other loops (${rest.length})`);
    return [
      ...crumbs,
      main,
      h("details", { open }, more, h("div.wb-sliders", {}, rest.map(slider))),
    ];
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

  function slider(axis) {
    const id = freshId("slider");
    const words = (value) => (value < 0 ? "all" : `${value} of 0…${axis.extent - 1}`);
    const shown = h("output", { for: id });
    const range = h("input", {
      id,
      type: "range",
      min: -1,
      max: axis.extent - 1,
      "aria-label": axis.label,
      "data-f": `slider ${axis.key}`,
      oninput: () => move(axis.key, Number(range.value)),
      onchange: () => axis.key in wanted && save(),
    });
    puts.push(() => {
      if (wanted[axis.key] === picture.at[axis.key] && !lab.setup.offline) delete wanted[axis.key];
      const value = places()[axis.key];
      range.value = value;
      shown.textContent = value < 0 ? "all" : value;
      range.setAttribute("aria-valuetext", words(value));
    });
    const player = playButton({
      label: axis.key,
      turns: axis.extent,
      next: () => turn(axis),
      done: () => axis.key in wanted && save(),
    });
    players.push(player);
    return h(
      "div.wb-slide",
      {},
      h("label", { for: id, title: axis.label }, axis.key),
      player.button,
      range,
      shown,
    );
  }

  /** The next turn of a loop, once the one before is shown; whether there are more. */
  function turn({ key, extent }) {
    if (!picture || !slide()) return Boolean(picture) && !lab.offline;
    const before = places()[key];
    const value = before + 1 < extent ? before + 1 : 0;
    move(key, value);
    return value + 1 < extent && places()[key] === value;
  }

  // --- by pointer -------------------------------------------------------------------------------

  /** The strip under the pointer, and what of it can be pointed at there. */
  function spot(event) {
    const strip = event.target.closest?.("svg");
    const number = strips().indexOf(strip);
    if (number < 0 || !picture?.fields) return null;
    const shown = strip.getBoundingClientRect();
    const scale = strip.viewBox.baseVal.width / shown.width;
    const [x, y] = [event.clientX - shown.left, event.clientY - shown.top].map((n) => n * scale);
    const found = pointAt(picture.fields, number, selection(), x, y);
    return found && { ...found, strip, number };
  }

  /** What of the turns in which a cell is touched is chosen in the picture. */
  function chosen(turns) {
    const now = selection();
    return Object.fromEntries(Object.entries(turns).filter(([axis]) => axis in now));
  }

  function hold(event) {
    const found = event.button === 0 && picture?.at ? spot(event) : null;
    if (!found || !Object.keys(chosen(found.turns)).length) return;
    held = true;
    body.setPointerCapture?.(event.pointerId);
    event.preventDefault(); // no text is selected meanwhile
    drag(found);
  }

  function drag({ turns }) {
    const now = selection();
    const moved = Object.entries(chosen(turns)).filter(([axis, value]) => now[axis] !== value);
    if (!moved.length) return;
    Object.assign(wanted, Object.fromEntries(moved));
    for (const put of puts) put();
    slide();
  }

  function release() {
    if (!held) return;
    held = false;
    if (Object.keys(wanted).length) save();
  }

  function point(event) {
    const { clientX, clientY } = event;
    last = { clientX, clientY };
    const target = held ? document.elementFromPoint(clientX, clientY) : event.target;
    const found = spot({ ...last, target: target ?? body });
    if (found && held) drag(found);
    if (found) {
      const { strip, number, field } = found;
      markStrip(strip, found.marks, around(found, strip, number));
      lightWords(pane.parentElement, lab.page.names, field);
      line.textContent = found.told;
      return;
    }
    forget();
    const drawn = target?.closest?.("[data-statement], [data-cell]");
    if (!drawn) return;
    const { statement, loops } = drawn.dataset;
    lightWords(pane.parentElement, lab.page.names, { statement, loops: loops?.split(" ") });
    if (!drawn.dataset.cell) return;
    lightKin(body, drawn);
    line.textContent = drawn.querySelector("title")?.textContent ?? "";
  }

  function around({ turns }, strip, number) {
    const select = { ...selection(), ...chosen(turns) };
    const knows = picture.slides?.strips[number] && slidesTo(picture.slides, select);
    return knows ? outlinesAt(strip, picture.slides, number, select) : [];
  }

  function leave() {
    last = null;
    forget();
  }

  function forget() {
    clearMarks(body);
    lightKin(body, null);
    line.textContent = "\u00a0";
    lightWords(pane.parentElement, lab.page?.names ?? {}, {});
  }
}
