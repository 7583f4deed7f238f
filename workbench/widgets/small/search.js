// The trials of a search: points on the ground that Python drew, where its scales say.

const VIEWS = [
  ["trials", "time by trial"],
  ["predicted", "time by prediction"],
];
const UNITS = [
  ["s", 1],
  ["ms", 1e-3],
  ["µs", 1e-6],
  ["ns", 1e-9],
];
const SPEEDS = [10, 30, 100, 300, 1000]; // trials a second, of a replay
const MARK = 3; // px from the middle of a mark to its edge, as in workbench/draw/search.py
const PATHS = { // what is drawn, the lowest first, each in a role of workbench/draw/colours.py
  far: "chosen-joined",
  kin: "chosen-joined",
  used: "used",
  failed: "failed",
  stairs: "write",
  head: "head",
  hover: "new",
  chosen: "chosen",
};
const NEAR = 16; // px of the drawing: how far off a point may be pointed at
const WIDE = 740; // px of the drawing
const PATIENCE = 1000; // ms until a kernel that hears no messages while it runs is interrupted

function make(kind, attrs = {}, ...kids) {
  const [name, ...classes] = kind.split(".");
  const el = document.createElement(name);
  el.className = classes.join(" ");
  for (const [key, value] of Object.entries(attrs)) {
    if (key in el) el[key] = value;
    else el.setAttribute(key, value);
  }
  el.append(...kids);
  return el;
}

/** What a row of Python's has, by name. */
function rowOf([number, status, seconds, predicted, parents, said, reason]) {
  const decisions = said.replaceAll("×", " × ").split("|");
  return { number, status, seconds, predicted, parents, decisions, reason };
}

const byNumber = (a, b) => a.number - b.number;

/** Seconds in the unit that one reads them in, as workbench/draw/search.py has them. */
function timeText(seconds) {
  const [name, unit] = UNITS.find(([, unit]) => seconds >= unit) ?? UNITS.at(-1);
  return `${(seconds / unit).toPrecision(3)}\u00a0${name}`;
}

const diamond = ([x, y]) =>
  `M${(x - MARK).toFixed(1)} ${y.toFixed(1)}l3-3 3 3-3 3z`;
const cross = ([x, y]) =>
  `M${(x - MARK).toFixed(1)} ${(y - MARK).toFixed(1)}l6 6m-6 0l6-6`;

/** The points of a search on a ground: which there are, where, and what is drawn of them. */
class Plot {
  constructor() {
    this.svg = make("div.wb-search-drawing");
    const drawn = Object.values(PATHS).map((role) => `<path class="wb-${role}"></path>`);
    const holder = make("div", { innerHTML: `<svg><g>${drawn.join("")}</g></svg>` });
    this.layer = holder.querySelector("g");
    this.paths = Object.fromEntries(
      Object.keys(PATHS).map((name, k) => [name, this.layer.children[k]]),
    );
  }

  /** Begin anew on a ground, with rows up to the trial `upto`. */
  begin(ground, view) {
    this.ground = ground;
    this.view = view;
    this.svg.innerHTML = ground.svg;
    this.svg.firstChild.append(this.layer);
    this.spots = new Map(); // number -> where it stands
    this.shown = []; // rows with a spot
    this.text = { used: "", failed: "", head: "" };
    this.stairs = [];
    this.least = Infinity;
  }

  at(row) {
    const { x, y, lanes } = this.ground;
    const on = ([base, factor], number) => base + factor * number;
    const good = row.seconds !== null;
    if (this.view === "predicted") {
      if (!good || row.predicted === null) return null;
      return [on(x, Math.log(row.predicted)), on(y, Math.log(row.seconds))];
    }
    return [on(x, row.number), good ? on(y, Math.log(row.seconds)) : lanes[row.status]];
  }

  /** Further rows, in the order of their numbers. */
  add(rows) {
    for (const row of rows) {
      const spot = this.at(row);
      if (!spot) continue;
      this.spots.set(row.number, spot);
      this.shown.push(row);
      if (row.seconds === null) this.text.failed += cross(spot);
      else this.text.used += diamond(spot);
      if (this.view === "trials") this.step(row, spot);
    }
    for (const [name, text] of Object.entries(this.text)) this.put(name, text);
    const last = this.shown.at(-1);
    const foot = this.stairs.at(-1);
    const end = foot && this.view === "trials" ? [[this.spots.get(last.number)[0], foot[1]]] : [];
    this.put("stairs", this.line([...this.stairs, ...end]));
  }

  /** The stairs of the best so far. */
  step(row, spot) {
    if (row.seconds === null || row.seconds >= this.least) return;
    this.least = row.seconds;
    if (this.stairs.length) this.stairs.push([spot[0], this.stairs.at(-1)[1]]);
    this.stairs.push(spot);
    this.text.head += diamond(spot);
  }

  line(spots) {
    const drawn = spots.map((at) => at.map((n) => n.toFixed(1)).join(" "));
    return drawn.length ? `M${drawn.join("L")}` : "";
  }

  put(name, text) {
    this.paths[name].setAttribute("d", text);
  }

  /** A ring around a trial, by its number; none where it is not drawn. */
  ring(name, number) {
    const spot = this.spots.get(number);
    const r = name === "chosen" ? 6 : 7;
    const half = `a${r} ${r} 0 1 0`;
    this.put(name, spot ? `M${spot[0] - r} ${spot[1]}${half} ${2 * r} 0${half}-${2 * r} 0z` : "");
  }

  /** Lines from a trial to its parents, and, fainter, from these to theirs, and so on. */
  family(number, rowOfNumber) {
    const [seen, waiting, lines] = [new Set(), [number], { kin: "", far: "" }];
    while (waiting.length) {
      const child = waiting.pop();
      if (seen.has(child)) continue;
      seen.add(child);
      for (const parent of rowOfNumber(child)?.parents ?? []) {
        const both = [this.spots.get(child), this.spots.get(parent)];
        if (both.every(Boolean)) lines[child === number ? "kin" : "far"] += this.line(both);
        waiting.push(parent);
      }
    }
    for (const [name, text] of Object.entries(lines)) this.put(name, text);
  }

  /** The row nearest to a spot of the drawing; undefined where none is near. */
  nearest(x, y) {
    let [best, least] = [undefined, NEAR * NEAR];
    for (const row of this.shown) {
      const [a, b] = this.spots.get(row.number);
      const far = (a - x) ** 2 + (b - y) ** 2;
      if (far < least) [best, least] = [row, far];
    }
    return best;
  }
}

class Search {
  constructor(model) {
    this.model = model;
    this.plot = new Plot();
    this.view = "trials";
    this.chosen = null; // numbers of trials
    this.hovered = null;
    this.upto = Infinity; // how many are shown, in a replay
    this.timer = 0;
    this.build();
    this.load();
  }

  build() {
    const button = (textContent, onclick) =>
      make("button", { textContent, type: "button", onclick });
    const table = (ariaLabel) => make("div.wb-table", { tabIndex: 0, role: "group", ariaLabel });
    this.head = make("p.wb-search-head", { textContent: this.model.get("heading") });
    this.bar = make("progress", { ariaLabel: "trials that ended" });
    this.far = make("span.wb-search-far");
    this.stop = button("stop, and keep all", () => this.halt());
    this.tabs = VIEWS.map(([view, text]) => button(text, () => this.look(view)));
    this.field = make("div.wb-search-field", { tabIndex: 0, role: "slider", ariaLabel: "trial" });
    this.field.append(this.plot.svg);
    this.slider = make("input", { type: "range", min: 0, ariaLabel: "trials shown" });
    this.play = button("play again", () => (this.timer ? this.pause() : this.start()));
    this.speed = make("select", { ariaLabel: "speed" });
    this.speed.append(...SPEEDS.map((n) => new Option(`${n} trials a second`, n)));
    this.speed.value = 30;
    this.counted = make("span.wb-search-far");
    this.detail = make("div.wb-search-detail");
    this.open = button("open in the lab", () => this.ask("open", { compare: false }));
    this.beside = button("compare with the best", () => this.ask("open", { compare: true }));
    this.mattered = button("which decision mattered?", () => this.ask("ablation"));
    this.said = make("p.wb-search-said", { role: "status" });
    [this.best, this.why] = [table("the best trials"), table("how candidates ended")];
    this.best.classList.add("wb-search-best");
    this.ablation = make("div.wb-search-ablation");
    this.replay = make("div.wb-search-row", {}, this.play, this.slider, this.speed, this.counted);
    this.live = make("div.wb-search-row", {}, this.bar, this.far, this.stop);
    this.parts = [
      this.head,
      this.live,
      make("div.wb-search-row.wb-search-tabs", { role: "group", ariaLabel: "view" }, ...this.tabs),
      this.field,
      this.replay,
      this.detail,
      make("div.wb-search-row", {}, this.open, this.beside, this.mattered),
      this.said,
      this.ablation,
      folded("the best as a table", this.best),
      folded("how candidates ended, and why", this.why),
    ];
    this.listen();
  }

  listen() {
    const spot = (event) => {
      const box = this.plot.svg.firstChild.getBoundingClientRect();
      const scale = WIDE / box.width;
      return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    };
    const hover = (number) => {
      if (number === this.hovered) return;
      this.hovered = number;
      this.tell();
    };
    this.field.addEventListener("pointermove", (event) =>
      hover(this.plot.nearest(...spot(event))?.number ?? null),
    );
    this.field.addEventListener("pointerleave", () => hover(null));
    this.field.addEventListener("click", (event) => {
      const row = this.plot.nearest(...spot(event));
      if (row) this.choose(row.number);
    });
    this.field.addEventListener("keydown", (event) => {
      const to = this.keyed(event.key);
      if (to === undefined) return;
      event.preventDefault();
      if (to !== null) this.choose(to);
    });
    this.best.addEventListener("click", (event) => {
      const cell = event.target.closest("tbody tr")?.cells[0];
      if (cell) this.choose(Number(cell.textContent.replaceAll(",", "")));
    });
    this.slider.addEventListener("input", () => {
      this.pause();
      this.show(Number(this.slider.value));
    });
  }

  // --- what there is ---------------------------------------------------------------------------

  /** All of it, from the traits. */
  load() {
    this.heard = this.model.get("rows").length;
    this.rows = this.model.get("rows").map(rowOf).sort(byNumber);
    this.grounds = this.model.get("grounds");
    this.choices = this.model.get("choices");
    this.told = this.model.get("told");
    this.drawAll();
  }

  /** A message of a search that runs: further rows. */
  hear(news) {
    if (news.answered) {
      this.halting = false; // it stops once the trial that is measured has ended
      this.answered();
    }
    if (!news.rows) return;
    if (news.from > this.heard) return this.model.send({ do: "rows" });
    const rows = news.rows.slice(this.heard - news.from).map(rowOf).sort(byNumber);
    this.heard += rows.length;
    const late = rows[0]?.number < this.rows.at(-1)?.number; // measured side by side
    this.rows.push(...rows);
    if (late) this.rows.sort(byNumber);
    this.told = news.told;
    this.choices = news.choices ?? this.choices;
    const anew = late || news.grounds !== undefined;
    this.grounds = news.grounds ?? this.grounds;
    if (anew) this.drawAll();
    else {
      this.plot.add(rows);
      this.tellAll();
    }
  }

  row(number) {
    if (number === null) return undefined;
    const row = this.rows[number]; // numbers are places, but where trials were lost
    return row?.number === number ? row : this.rows.find((one) => one.number === number);
  }

  // --- drawing ---------------------------------------------------------------------------------

  drawAll() {
    const ground = this.grounds[this.view];
    if (!ground) return;
    this.plot.begin(ground, this.view);
    this.plot.add(this.rows.slice(0, this.upto));
    this.tellAll();
  }

  tellAll() {
    const { count, of, running, caption, table, reasons } = this.told;
    this.bar.hidden = !running;
    Object.assign(this.bar, { max: of, value: count });
    this.far.textContent = caption;
    this.stop.hidden = !running;
    this.replay.hidden = running || this.rows.length < 2;
    this.slider.max = this.rows.length;
    if (this.upto >= this.rows.length) this.slider.value = this.rows.length;
    const shown = Math.min(this.upto, this.rows.length);
    this.counted.textContent = `${shown} of ${this.rows.length} shown`;
    for (const [box, html] of [
      [this.best, table],
      [this.why, reasons],
    ])
      if (box.innerHTML !== html) box.innerHTML = html;
    this.tabs.forEach((tab, k) => (tab.ariaPressed = String(VIEWS[k][0] === this.view)));
    this.tell();
  }

  /** What is chosen, or pointed at. */
  tell() {
    this.plot.ring("chosen", this.chosen);
    this.plot.ring("hover", this.hovered === this.chosen ? null : this.hovered);
    this.plot.family(this.hovered ?? this.chosen, (number) => this.row(number));
    const row = this.row(this.hovered ?? this.chosen);
    this.detail.replaceChildren(...(row ? this.told_of(row) : [this.hint()]));
    const chosen = this.row(this.chosen);
    const last = Math.max(this.rows.length - 1, 0);
    const now = { min: 0, max: last, now: chosen?.number ?? 0 };
    for (const [name, value] of Object.entries(now))
      this.field.setAttribute(`aria-value${name}`, value);
    this.field.setAttribute("aria-valuetext", chosen ? this.line(chosen) : this.told.caption);
    this.open.disabled = !chosen || this.told.running;
    const { running, best } = this.told;
    this.beside.disabled = this.open.disabled || best === null || chosen.number === best;
    this.mattered.disabled = running || best === null;
  }

  hint() {
    const text = this.rows.length
      ? "Point at a trial to see what was decided; choose it by a click or the arrow keys."
      : "The first candidates are being made.";
    return make("p", { textContent: text });
  }

  line({ number, status, seconds, predicted, reason }) {
    const came =
      seconds === null
        ? `✕ ${status}${reason ? `: ${reason}` : ""}`
        : `${timeText(seconds)} ${this.told.how}`;
    const foretold = predicted === null ? "" : `; predicted ${timeText(predicted)}`;
    return `trial ${number}: ${came}${foretold}`;
  }

  told_of(row) {
    const from = row.parents.length
      ? `made from trial${row.parents.length > 1 ? "s" : ""} ${row.parents.join(", ")}`
      : "drawn by chance";
    const same = row.decisions.length === this.choices.length;
    const decided = row.decisions.map((said, k) =>
      make(
        "div",
        {},
        make("dt", { textContent: same ? this.choices[k] : `choice ${k}` }),
        make("dd", { textContent: said }),
      ),
    );
    return [
      make("p", {}, make("b", { textContent: this.line(row) }), ` (${from})`),
      make("dl", {}, ...decided),
    ];
  }

  // --- what is asked ---------------------------------------------------------------------------

  look(view) {
    this.view = view;
    this.drawAll();
  }

  choose(number) {
    this.chosen = number;
    this.hovered = null;
    this.tell();
  }

  /** Where a key goes from the chosen trial; null: nowhere, undefined: it is none of ours. */
  keyed(key) {
    const rows = this.plot.shown;
    const at = rows.findIndex((row) => row.number === this.chosen);
    const byTime = ["ArrowUp", "ArrowDown"].includes(key);
    if (byTime && at >= 0) return this.faster(rows, rows[at], key === "ArrowDown");
    const to = {
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      ArrowLeft: Math.max(at - 1, 0),
      ArrowDown: Math.max(at - 1, 0),
      PageUp: at + 10,
      PageDown: Math.max(at - 10, 0),
      Home: 0,
      End: rows.length - 1,
    }[key];
    if (to === undefined) return undefined;
    return rows[Math.min(to, rows.length - 1)]?.number ?? null;
  }

  /** The next faster trial than `row`, or the next slower. */
  faster(rows, row, down) {
    const known = rows.filter((one) => one.seconds !== null);
    known.sort((a, b) => a.seconds - b.seconds || a.number - b.number);
    const at = known.indexOf(row);
    if (at < 0) return null;
    return known[Math.min(Math.max(at + (down ? -1 : 1), 0), known.length - 1)].number;
  }

  ask(what, more = {}) {
    this.said.textContent = "…";
    try {
      this.model.send({ do: what, trial: this.chosen, ...more });
    } catch {
      this.said.textContent = "Python is gone: run the cell again.";
    }
  }

  /** Python hears of it while it measures, or is interrupted, as by the notebook's button. */
  halt() {
    this.stop.disabled = this.halting = true;
    this.stop.textContent = "stopping …";
    this.ask("stop");
    setTimeout(() => {
      if (!this.halting || !this.told.running) return;
      const kernel = this.model.widget_manager?.kernel;
      if (kernel?.interrupt) kernel.interrupt();
      else this.said.textContent = "Python is busy: stop the cell, which keeps all, too.";
    }, PATIENCE);
  }

  // --- the replay ------------------------------------------------------------------------------

  show(count) {
    this.upto = count;
    this.slider.value = count;
    this.drawAll();
  }

  start() {
    const begun = performance.now();
    const first = this.upto >= this.rows.length ? 0 : this.upto;
    const frame = () => {
      const count = first + ((performance.now() - begun) / 1000) * Number(this.speed.value);
      this.show(Math.min(Math.floor(count), this.rows.length));
      if (count >= this.rows.length || !this.field.isConnected) this.pause();
      else this.timer = requestAnimationFrame(frame);
    };
    this.play.textContent = "pause";
    this.timer = requestAnimationFrame(frame);
  }

  pause() {
    cancelAnimationFrame(this.timer);
    this.timer = 0;
    this.play.textContent = "play again";
  }
}

function folded(title, box) {
  return make("details", {}, make("summary", { textContent: title }), box);
}

function render({ model, el }) {
  const search = new Search(model);
  const root = make("section.wb-search.wb-theme");
  search.play.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches; // the slider steps
  const close = openView({ model, el }, root, model.get("heading"), () => {}, ...search.parts);
  const size = new ResizeObserver(() => {
    const { width } = search.plot.svg.firstChild?.getBoundingClientRect() ?? {};
    root.style.setProperty("--scale", String(width / WIDE || 1));
  });
  size.observe(search.plot.svg);
  const hear = (news) => search.hear(news);
  const load = () => search.load();
  const say = (search.answered = () => {
    search.said.innerHTML = model.get("said");
    const { strips, caption, table } = model.get("ablation");
    if (!strips) return;
    const picture = make("figure.wb-picture", { innerHTML: strips.join("") });
    const text = make("figcaption", { textContent: caption });
    const rows = make("div.wb-table", { innerHTML: table });
    search.ablation.replaceChildren(picture, text, folded("the same as a table", rows));
  });
  const events = [
    ["msg:custom", hear],
    ["change:rows", load],
    ["change:told", load],
    ["change:grounds", load],
    ["change:said", say],
    ["change:ablation", say],
  ];
  for (const [event, act] of events) model.on(event, act);
  say();
  if (search.told.running) model.send({ do: "rows" });
  return () => {
    for (const [event, act] of events) model.off(event, act);
    search.pause();
    size.disconnect();
    close();
  };
}

export default { render };
