// What the lab shows, read from the traits, and what it asks of Python.

import { savedTimeline } from "./saved.js";
import { fits } from "./scene.js";

export class Lab {
  constructor(model) {
    this.model = model;
    this.redo = new Map(); // node -> the child that was left last
    this.carries = false; // whether a loop or block of the program is carried,
    this.onLine = false; // over a line of it by hand: then its text stays as it is
    this.holds = false; // whether a number of the program is dragged: then its line stays
    this.gone = false; // whether the kernel that answers was restarted or shut down
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
  /** Where the steps of the notebook's code end. */
  get coded() {
    return this.model.get("coded");
  }
  get answers() {
    return this.model.get("answers");
  }
  get call() {
    return this.model.get("call");
  }
  /** What can be broken in the kernel that is shown; nothing while nobody asked. */
  get breaks() {
    const breaks = this.model.get("broken"); // a view that was saved before may have none
    return breaks?.at === this.at ? breaks : {};
  }
  /** The kernel that is broken on purpose, in place of that of the program; null: it is whole. */
  get broken() {
    return this.breaks.fault && !this.offline ? this.breaks : null;
  }
  get question() {
    return this.setup.question;
  }
  get offline() {
    return this.gone || Boolean(this.setup.offline);
  }
  /** Whether a timeline leads nearer: Python draws that, or a saved page has it. */
  get nears() {
    return !this.offline || (!this.tried && Boolean(this.page?.nearer?.length));
  }
  /** What numbers can be taken hold of: without Python those of which the page has tried some. */
  get grips() {
    return (this.offline ? this.page?.tries?.grips : this.page?.grips) ?? {};
  }
  get against() {
    const id = this.model.get("against");
    return id < 0 ? null : id;
  }

  node(id) {
    return this.tree.find((node) => node.id === id);
  }
  redoTo(id) {
    return this.redo.get(id) ?? this.tree.find((node) => node.parent === id)?.id ?? null;
  }
  /** The panes of a side that are shown first, and the rest: first, too, what a program brings. */
  panes(side) {
    const { first, rest } = this.setup.panes[side];
    const brings = this.page?.brings ?? [];
    return {
      first: [...first, ...rest.filter((name) => brings.includes(name))],
      rest: rest.filter((name) => !brings.includes(name)),
    };
  }
  comparison() {
    return this.model.get(`compare_${this.against}_${this.at}`);
  }

  /** The picture that a pane shows: Python's choice, and in a saved page what is chosen there. */
  pictureName(pane) {
    const { buffers, shown } = this.page;
    if (!this.setup.offline) return shown[pane];
    const { buffer, select = {} } = this.view;
    const found = {
      who: () => buffers.find(({ name }) => name === buffer)?.picture,
      tiles: () => this.savedTiles(select),
    }[pane]?.();
    return found ?? this.savedRequest(pane)?.picture ?? shown[pane];
  }

  /** That picture. */
  picture(pane) {
    const saved = this.setup.offline && { timeline: savedTimeline }[pane];
    return saved ? saved(this.page, this.view) : this.page.pictures[this.pictureName(pane)];
  }

  /** Which of the requests of an access a saved page shows: what is chosen, else the worst. */
  savedRequest(pane) {
    const request = this.request(pane);
    const costs = request?.costs ?? [];
    const { select: chosen = {} } = this.view;
    const is = ({ select }) => Object.entries(select).every(([axis, n]) => chosen[axis] === n);
    return costs.find(is) ?? costs[0] ?? request;
  }

  /** The access whose requests a pane shows: the one that is chosen, else that with the worst. */
  request(pane) {
    const found = this.page.requests?.[pane] ?? [];
    return found.find(({ name }) => name === this.view.access) ?? found.find(({ first }) => first);
  }

  /** The tiling picture among those of a saved page that shows a selection; undefined: none. */
  savedTiles(select, level = this.view.level) {
    const { axes = [], pictures } = this.page;
    const places = Object.fromEntries(axes.map(({ key, start }) => [key, select[key] ?? start]));
    const shows = ([name, made]) =>
      name.startsWith("tiles:") && made.at && fits(made, places, level);
    return Object.entries(pictures).find(shows)?.[0];
  }

  /** What can be done at the chosen place, as Python found it; null until it has. */
  offer() {
    return this.page?.offers[this.place] ?? null;
  }

  set(values) {
    const is = (name, value) => JSON.stringify(this.model.get(name)) === JSON.stringify(value);
    const same = Object.entries(values).every(([name, value]) => is(name, value));
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
    if (!same && !this.offline) this.waiting?.(); // Python hears, and answers, what is new alone
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
    // the branch that is left, so that the line of the history goes on along it
    for (let node = this.node(this.at); node && node.parent !== null; node = this.node(node.parent))
      this.redo.set(node.parent, node.id);
    this.set(id === this.against ? { at: id, against: -1 } : { at: id });
  }

  choose(key) {
    this.set({ place: key });
  }
  show(view) {
    this.set({ view: { ...this.view, ...view } });
  }
  /** Whether the call that Python wrote last is that of a form. */
  writes({ verb, place, args }) {
    const { call } = this;
    return (
      call.verb === verb &&
      call.place === place &&
      Object.entries(args).every(([name, value]) => call.args[name] === value)
    );
  }
  setCompare(id) {
    const against = id === null || id === this.at ? -1 : id;
    this.set({ against });
  }

  send(message) {
    this.ask(message);
    if (!this.offline) this.waiting?.();
  }

  ask(message) {
    try {
      this.model.send(message);
    } catch {
      this.lost(); // the notebook has no channel to Python any more
    }
  }
}
