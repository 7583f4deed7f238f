// The lab: reads the page from the model's traits, draws it, and tells Python what was asked for.

class Lab {
  constructor(model) {
    this.model = model;
    this.redo = new Map(); // node -> the child that was left last
    this.gone = false; // whether the kernel that answers was restarted or shut down
    this.toComparison = false; // whether a comparison was asked for and is to be shown
  }

  get setup() {
    return this.model.get("setup");
  }
  get tree() {
    return this.model.get("tree");
  }
  get lines() {
    return this.model.get("lines");
  }
  get at() {
    return this.model.get("at");
  }
  get page() {
    return this.model.get(`page_${this.at}`);
  }
  get place() {
    return this.model.get("place");
  }
  get view() {
    return this.model.get("view");
  }
  get status() {
    return this.model.get("status");
  }
  get answers() {
    return this.model.get("answers");
  }
  get question() {
    return this.setup.question;
  }
  get offline() {
    return this.gone || Boolean(this.setup.offline);
  }
  get against() {
    const id = this.model.get("against");
    return id < 0 ? null : id;
  }

  node(id) {
    return this.tree.find((node) => node.id === id);
  }
  firstChild(id) {
    return this.tree.find((node) => node.parent === id)?.id ?? null;
  }
  redoTo(id) {
    return this.redo.get(id) ?? this.firstChild(id);
  }
  panes(side) {
    return this.setup.panes[side];
  }
  whoBuffer(page) {
    return page.buffers.includes(this.view.buffer) ? this.view.buffer : page.buffer;
  }
  comparison() {
    return this.model.get(`compare_${this.against}_${this.at}`);
  }

  picture(page, name) {
    if (name === "who") return page.pictures[`who:${this.whoBuffer(page)}`];
    if (name !== "tiles") return page.pictures[name];
    return page.pictures[this.tilesName(page, this.select)];
  }

  /** As Python names the picture of a selection. */
  tilesName(page, select) {
    const chosen = (page.axes ?? [])
      .map((axis) => [axis.key, this.selected(axis, select)])
      .filter(([, value]) => value >= 0)
      .map(([key, value]) => `${key}=${value}`);
    return `tiles:${chosen.join(",")}`;
  }

  /** What the sliders chose; of a saved page only what it has a picture of. */
  get select() {
    const { select = {} } = this.view;
    const there = !this.setup.offline || this.page.pictures[this.tilesName(this.page, select)];
    return there ? select : {};
  }

  /** Where the slider of an axis stands; -1 while it takes all values. */
  selected(axis, select = this.select) {
    return Math.min(select[axis.key] ?? axis.start, axis.extent - 1);
  }

  /** What can be done at the chosen place, as Python found it; null while nothing is chosen. */
  offer() {
    const offers = this.page?.offers;
    if (!offers) return null;
    return offers[this.place] ?? offers[""] ?? null;
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  /** Whether a node can be shown: without Python only if its page is here. */
  shows(id) {
    if (id === null || !this.node(id)) return false;
    return !this.offline || Boolean(this.model.get(`page_${id}`));
  }

  /** Whether the node that is shown can be compared with another: without Python if it was. */
  compares(id) {
    return !this.offline || Boolean(this.model.get(`compare_${id}_${this.at}`));
  }

  goto(id) {
    if (!this.shows(id)) return;
    const parent = this.node(this.at)?.parent;
    if (id === parent) this.redo.set(parent, this.at);
    this.set({ at: id });
  }

  choose(key) {
    this.set({ place: key });
  }
  show(view) {
    this.set({ view: { ...this.view, ...view } });
  }
  setCompare(id) {
    const against = id === null || id === this.at ? -1 : id;
    this.toComparison = against >= 0;
    this.set({ against });
  }

  send(message) {
    this.ask(message);
    if (!this.gone) this.waiting?.();
  }

  ask(message) {
    try {
      this.model.send(message);
    } catch {
      this.lost(); // the notebook has no channel to Python any more
    }
  }
}

/** Hovering or focusing a loop, buffer or block marks it in every pane; a click pins it. */
function linkMarks(root, lab) {
  let lit = "";
  const light = (keys) => {
    if (keys === lit) return;
    lit = keys;
    redraw();
  };
  const redraw = () => {
    const hot = new Set(lit.split(" ").filter(Boolean));
    const names = lab.page?.names ?? {};
    const words = new Set([...hot].map((key) => names[key]?.name).filter(Boolean));
    for (const el of root.querySelectorAll("[data-k]")) {
      const keys = el.dataset.k.split(" ");
      el.classList.toggle(
        "wb-lit",
        keys.some((key) => hot.has(key)),
      );
      el.classList.toggle("wb-pinned", keys.includes(lab.place));
      if (el.classList.contains("wb-mark")) el.ariaPressed = String(keys.includes(lab.place));
    }
    for (const el of root.querySelectorAll("[data-name]")) {
      el.classList.toggle("wb-lit", words.has(el.dataset.name));
    }
  };
  const from = (event) => {
    const mark = event.target.closest?.("[data-k]");
    if (mark) return mark.dataset.k;
    const drawn = event.target.closest?.("[data-name]")?.dataset.name;
    const found = Object.entries(lab.page?.names ?? {}).find(
      ([, about]) => about.kind === "buffer" && about.name === drawn,
    );
    return found?.[0] ?? "";
  };
  root.addEventListener("mouseover", (event) => light(from(event)));
  root.addEventListener("mouseleave", () => light(""));
  root.addEventListener("focusin", (event) => light(from(event)));
  root.addEventListener("click", (event) => {
    const mark = event.target.closest(".wb-mark");
    const key = mark?.dataset.k.split(" ")[0];
    if (mark) lab.choose(key);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && lab.place) lab.choose("");
  });
  return redraw;
}

const GONE =
  "Python is gone: the kernel was restarted or shut down. To go on, run the notebook's cells " +
  "from the top down to this one. Until then, steps that were opened before can be looked at.";

/** The bar on top: what was said last, errors, saving and an offer to go on where one left off. */
function statusBar(lab, home) {
  const said = h("div.wb-said", { role: "status", "aria-live": "polite" });
  const error = h("div.wb-error", { role: "alert" });
  const offer = h("div.wb-resume");
  const bar = h("div.wb-status", {}, said, error, offer);
  let timer = null;
  let told = "";
  lab.waiting = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      say("Python has not answered: it is busy, or no longer there. The history still steps.");
    }, 4000);
  };

  function say(words) {
    if (told === words) return; // what is said again would be read out again
    told = words;
    said.replaceChildren(...prose(words));
  }

  function draw() {
    clearTimeout(timer);
    const status = lab.status;
    const now = lab.setup.offline ? lab.node(lab.at)?.said : status.text;
    const words = lab.gone ? GONE : status.error ? "" : (now ?? ""); // the alert says it
    say(words);
    const place = (status.error && home()) || bar;
    if (error.parentElement !== place) place.append(error);
    error.hidden = !status.error || lab.gone;
    error.replaceChildren(...(status.error ? [refusalView(status.error)] : []));
    const resume = lab.setup.resume;
    offer.hidden = !resume || lab.offline;
    if (resume) {
      offer.replaceChildren(
        h("span", {}, prose(resume.text)),
        h("button", { onclick: () => lab.send({ do: "resume" }) }, "go on from there"),
        h("button", { onclick: () => lab.send({ do: "forget" }) }, "start afresh"),
      );
    }
  }

  return { bar, draw };
}

/** The number of columns follows the width of the lab itself, not of the window. */
function watchWidth(root) {
  const fit = () => {
    const width = root.clientWidth;
    root.dataset.columns = width < 700 ? "1" : width < 1200 ? "2" : "3";
  };
  fit();
  if (!globalThis.ResizeObserver) return () => {};
  const observer = new ResizeObserver(fit);
  observer.observe(root);
  return () => observer.disconnect();
}

function render({ model, el }) {
  const lab = new Lab(model);
  const root = h("div.wb-lab", {
    role: "region",
    "aria-label": lab.setup.title,
    "data-own": lab.setup.own, // of this lab's page without a script, which hides while it is here
  });
  el.append(root);
  const question = questionCard(lab);
  const actions = actionsPane(lab);
  const status = statusBar(lab, actions.errors);
  const parts = [
    historyPane(lab),
    programPane(lab),
    machinePane(lab),
    actions,
    runPane(lab),
    comparePane(lab),
  ];
  root.append(question.pane, status.bar, ...parts.map((part) => part.pane));
  guard(root);
  const unwatch = watchWidth(root);
  const relink = linkMarks(root, lab);

  let drawn = false;
  const seen = new Map(); // part -> what it was drawn from, so that a form keeps what is typed
  const draw = () => {
    drawn = false;
    for (const part of [question, ...parts]) {
      const from = JSON.stringify([part.inputs(), lab.setup, lab.at, lab.gone]);
      if (seen.get(part) !== from) keepFocus(part.pane, part.draw);
      seen.set(part, from);
    }
    status.draw();
    actions.conclude();
    relink();
  };
  const soon = () => {
    // several traits change in one step: draw once
    if (drawn) return;
    drawn = true;
    queueMicrotask(draw);
  };
  lab.lost = () => {
    lab.gone = true;
    soon();
  };
  // told when the kernel restarts or is found again; its channels close a moment later
  const onLive = () => setTimeout(() => lab.ask({ do: "look" }), 500);
  model.on("change", soon);
  model.on("comm_live_update", onLive);
  draw();
  return () => {
    model.off("change", soon);
    model.off("comm_live_update", onLive);
    unwatch();
  };
}

export default { render };
