// Pictures that Python drew, with captions and tables, and what chooses between them.

import { refusalView } from "./code.js";
import { freshId, h, markup, oneStop, prose, spoken } from "./dom.js";
import { slideTo, slidesTo } from "./scene.js";
import { tabBar } from "./tabs.js";

export function pictureView(picture, label) {
  if (!picture) return [h("p.wb-hint", {}, "This picture was not made before the page was saved.")];
  if (picture.refusal) return [refusalView(picture.refusal)];
  const words = spoken(`${label}: ${picture.caption}`);
  const strips = h("div.wb-strips", { role: "img", "aria-label": words });
  if (picture.line) strips.style.cssText = picture.line;
  strips.append(markup(picture.strips.join("")));
  const table = h("div.wb-table", { role: "group", "aria-label": `${label} as a table` });
  table.append(markup(picture.table));
  const kind = [h("span.wb-kind", {}, picture.kind), " ", h("span.wb-about", {}, picture.about)];
  return [
    h(
      "figure.wb-picture",
      {},
      picture.strips.length ? strips : null,
      h("figcaption", {}, ...prose(picture.caption), "\n", kind),
      picture.strips.length
        ? h("details", {}, h("summary", {}, "the same as a table"), table)
        : table,
    ),
  ];
}

export function machinePane(lab) {
  const head = tabBar("picture", (name) => lab.show({ machine: name }));
  const controls = h("div.wb-row");
  const body = h("div.wb-body");
  const pane = h(
    "section.wb-pane.wb-machine",
    { "aria-label": "Machine" },
    h("h3", {}, "Machine"),
    head.bar,
    controls,
    body,
  );
  const settle = oneStop(pane);
  const sliders = []; // functions that put each where it stands
  let drawnFrom = "";
  let wanted = {}; // where sliders were dragged to, until that picture is here

  function draw() {
    const page = lab.page;
    if (!page) return;
    const chosen = head.draw(lab.panes("machine"), lab.view.machine, lab.setup.labels, body);
    const name = lab.pictureName(chosen);
    const picture = page.pictures[name];
    const from = JSON.stringify([chosen, page.buffers, page.axes, chosen === "who" ? name : ""]);
    if (from !== drawnFrom) {
      // a slider that is being dragged stays what it is
      sliders.length = 0;
      wanted = {};
      const make = { who: whoControls, tiles: tileControls }[chosen];
      controls.replaceChildren(...(make ? make(page, name) : []));
    }
    drawnFrom = from;
    if (picture?.at) for (const put of sliders) put(picture.at);
    body.replaceChildren(...pictureView(picture, lab.setup.labels[chosen]));
    if (picture?.slides) slide(picture);
    settle();
  }

  /** Shows at once what was chosen, where the shapes know it; Python's picture follows. */
  function slide({ slides, at }) {
    const chosen = Object.entries({ ...at, ...wanted }).filter(([, value]) => value >= 0);
    const select = Object.fromEntries(chosen);
    if (slidesTo(slides, select)) slideTo([...body.querySelectorAll("svg")], slides, select);
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

  /** A slider for each axis, so that a block, its thread and a step are chosen together. */
  function tileControls({ axes = [], pictures }, shown) {
    const at = pictures[shown]?.at ?? {};
    const rest = axes.filter((axis) => !axis.main);
    const main = h("div.wb-sliders", {}, axes.filter((axis) => axis.main).map(axisSlider));
    if (!rest.length) return [main];
    const open = rest.some((axis) => at[axis.key] >= 0);
    const more = h("summary", {}, `other loops (${rest.length})`);
    const others = h("div.wb-sliders", {}, rest.map(axisSlider));
    return [main, h("details", { open }, more, others)];
  }

  /** In a saved page it goes from stop to stop, and the others go back: those are its pictures. */
  function axisSlider(axis) {
    const id = freshId("slider");
    const words = (value) => (value < 0 ? "all" : `${value} of 0…${axis.extent - 1}`);
    const saved = lab.setup.offline;
    const shown = h("output", { for: id });
    const slider = h("input", {
      id,
      type: "range",
      min: saved ? 0 : -1,
      max: (saved ? axis.stops.length : axis.extent) - 1,
      "aria-label": axis.label,
      "data-f": `slider ${axis.key}`,
      oninput: () => {
        const value = saved ? axis.stops[slider.value].value : Number(slider.value);
        if (!saved) wanted[axis.key] = value;
        tell(value);
        lab.show({ select: { ...(saved ? {} : lab.view.select), [axis.key]: value } });
      },
    });
    const tell = (value) => {
      shown.textContent = words(value);
      slider.setAttribute("aria-valuetext", words(value));
    };
    sliders.push((at) => {
      const value = at[axis.key];
      if ((wanted[axis.key] ?? value) !== value) return;
      delete wanted[axis.key];
      slider.value = saved ? axis.stops.findIndex((stop) => stop.value === value) : value;
      tell(value);
    });
    return h("label.wb-slide", {}, h("span", {}, axis.label), slider, shown);
  }

  return {
    pane,
    draw,
    inputs: () => [
      lab.view,
      lab.page?.shown,
      lab.page?.pictures,
      lab.page?.axes,
      lab.page?.buffers,
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
