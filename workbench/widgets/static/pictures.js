// The pane of the pictures, and what chooses between them.

import { h, onceDrawn, oneStop } from "./dom.js";
import { fillPane } from "./fill.js";
import { motionIn } from "./motion.js";
import { inTime } from "./nearer.js";
import { aroundOf, pictureView, sayingView } from "./picture.js";
import { tabBar } from "./tabs.js";
import { pictureStage } from "./tiles.js";

/** `menu` opens the form of the step that a picture waits for. */
export function machinePane(lab, menu) {
  const head = tabBar("picture", (name) => lab.show({ machine: name }));
  const controls = h("div.wb-row");
  const body = h("div.wb-body");
  const foot = h("div.wb-foot");
  const pane = h(
    "section.wb-pane.wb-machine",
    { "aria-label": "Machine" },
    h("h3", {}, "Machine"),
    head.bar,
    controls,
    body,
    foot,
  );
  const settle = oneStop(pane);
  const stage = pictureStage(lab, pane, body, foot);
  let drawnFrom = "";
  new ResizeObserver(() => fillPane(body)).observe(body);
  const motion = motionIn(body);
  let seen = {}; // what is drawn: the picture's name, how it looks, and whether it is only tried
  let stood = null; // where it stands, read before anything of the lab changes
  const time = inTime(lab, pane);

  function draw() {
    const page = lab.page;
    if (!page) return;
    const chosen = head.draw(lab.panes("machine"), lab.view.machine, lab.setup.labels, body);
    const name = lab.pictureName(chosen);
    const would = lab.tried?.picture;
    const picture = would ?? lab.picture(chosen);
    const shown = chosen === "who" ? name : "";
    const request = lab.request(chosen);
    const { block, warp, level } = picture?.near ?? {};
    const drawn = [page.buffers, page.axes, page.levels, page.requests?.[chosen], request?.name];
    drawn.push(level, block, warp);
    const from = JSON.stringify([lab.at, chosen, ...drawn, shown]);
    if (from !== drawnFrom) {
      // a slider that is being dragged stays what it is
      const levels = () => crumbs(picture);
      const make = { who: whoControls, tiles: stage.controls, timeline: levels }[chosen];
      const made = request ? requestControls : make;
      controls.replaceChildren(...(made ? made(page, name, request, chosen) : []));
    }
    drawnFrom = from;
    const label = lab.setup.labels[chosen];
    const { select, level: near } = lab.view;
    const waits = !lab.offline && (!would || would.refusal) && page.act; // for a step
    const look = JSON.stringify([chosen, picture, select, near, waits]);
    const moves = picture?.track ? time.draw(picture, label) : null;
    const stays = look === seen.look && picture?.strips?.length && !moves; // and moves on
    const moved = !stays && seen.chosen === chosen && !seen.would && !would;
    const was = moved && (stood ?? motion.shapes());
    stood = null;
    const soon = page.bar?.waits === "soon"; // its times come: until then it is of no other kind
    const kind = soon ? seen.kind : picture?.kind;
    const gone = was && seen.kind !== kind && !moves ? [...body.childNodes] : [];
    // a slider that is held must not leave the page: what stands around it is made anew
    if (moves && body.contains(moves)) aroundOf(moves, picture, label);
    else if (!stays) body.replaceChildren(...pictureView(picture, label, moves));
    if (moves) time.light();
    else time.leave();
    say(sayingView(picture, label));
    if (waits && !stays) body.append(act(waits));
    pane.classList.toggle("wb-would", Boolean(would));
    stage.draw(picture);
    if (gone.length) onceDrawn(() => motion.fadeShapes(gone));
    else if (was) onceDrawn(() => motion.moveShapes(was));
    seen = { chosen, look, kind, would: Boolean(would) };
    settle();
  }

  function read() {
    stood = seen.would || lab.tried ? null : motion.shapes();
  }

  /** What was opened of it stays open. */
  function say(saying) {
    if (saying) saying.open = foot.querySelector("details")?.open ?? false;
    foot.replaceChildren(...(saying ? [saying] : []));
  }

  function act({ verb, place, at, offered }) {
    const call = `${verb} ${at}`;
    const go = () => {
      if (!offered) lab.show({ more: true });
      menu.open(place, (now) => menu.markOf(now), verb);
    };
    return h("button.wb-fault-verb", { onclick: go, "data-f": "act" }, `${call} ▸`);
  }

  function crumbs(picture) {
    return picture?.near && lab.nears ? [time.crumbs(picture)] : [];
  }

  function whoControls({ buffers }, shown) {
    if (buffers.length < 2) return [];
    return [
      choice(
        "cells of",
        buffers.map(({ name }) => [name, name]),
        buffers.find(({ picture }) => picture === shown)?.name,
        (name) => lab.show({ buffer: name }),
      ),
    ];
  }

  /** Which access, and one slider for all that numbers its requests; which call, and its lanes. */
  function requestControls({ requests, pictures }, shown, request, pane) {
    const names = requests[pane].map(({ name }) => [name, name]);
    const axes = lab.setup.offline ? [] : request.axes;
    return [
      choice(pane === "fragments" ? "call" : "requests of", names, request.name, (access) =>
        lab.show({ access }),
      ),
      ...(lab.setup.offline && request.costs.length > 1 ? [costChoice(request.costs, pane)] : []),
      ...stage.controls({ axes, pictures }, shown),
    ];
  }

  /** Without Python: one request of each cost, the worst first. */
  function costChoice(costs, pane) {
    const labels = costs.map(({ label }) => [label, label]);
    return choice("that take", labels, lab.savedRequest(pane).label, (label) =>
      lab.show({ select: costs.find((one) => one.label === label).select }),
    );
  }

  return {
    pane,
    read,
    draw,
    inputs: () => [
      lab.view,
      lab.page?.shown,
      !lab.setup.offline && lab.page?.pictures, // those of a saved page are what they are
      lab.page?.axes,
      lab.page?.buffers,
      lab.page?.requests,
      lab.page?.brings,
      lab.page?.act,
      lab.tried?.seq,
    ],
  };
}

function choice(label, options, value, change) {
  const select = h(
    "select",
    { onchange: () => change(select.value) },
    options.map(([key, name]) => h("option", { value: key, selected: key === value }, name)),
  );
  return h("label.wb-choice", {}, `${label} `, select);
}
