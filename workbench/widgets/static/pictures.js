// Pictures that Python drew, with captions and tables, and what chooses between them.

const PICTURE_NAMES = { who: "who does what", memory: "memory", tiles: "tiles", counts: "counts" };

function pictureView(picture, label) {
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

function machinePane(lab) {
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

  function draw() {
    const page = lab.page;
    if (!page) return;
    const chosen = head.draw(lab.panes("machine"), lab.view.machine, PICTURE_NAMES, body);
    const from = JSON.stringify([chosen, page.buffers, page.axes, lab.view.buffer]);
    if (from !== drawnFrom) {
      // a slider that is being dragged stays what it is
      const make = { who: whoControls, tiles: tileControls }[chosen];
      controls.replaceChildren(...(make ? make(page) : []));
    }
    drawnFrom = from;
    body.replaceChildren(...pictureView(lab.picture(page, chosen), PICTURE_NAMES[chosen]));
    settle();
  }

  function whoControls(page) {
    const buffers = page.buffers ?? [];
    if (buffers.length < 2) return [];
    return [
      choice(
        "cells of",
        buffers.map((name) => [name, name]),
        lab.whoBuffer(page),
        (name) => lab.show({ buffer: name }),
      ),
    ];
  }

  /** A slider for each axis, so that a block, its thread and a step are chosen together. */
  function tileControls(page) {
    const axes = page.axes ?? [];
    sliders.length = 0;
    const rest = axes.filter((axis) => !axis.main);
    const main = h("div.wb-sliders", {}, axes.filter((axis) => axis.main).map(axisSlider));
    if (!rest.length) return [main];
    const open = rest.some((axis) => lab.selected(axis) >= 0);
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
        const at = saved ? axis.stops[slider.value] : Number(slider.value);
        lab.show({ select: { ...(saved ? {} : lab.view.select), [axis.key]: at } });
        for (const put of sliders) put();
      },
    });
    const put = () => {
      const value = lab.selected(axis);
      slider.value = saved ? axis.stops.indexOf(value) : value;
      shown.textContent = words(value);
      slider.setAttribute("aria-valuetext", words(value));
    };
    put();
    sliders.push(put);
    return h("label.wb-slide", {}, h("span", {}, axis.label), slider, shown);
  }

  return {
    pane,
    draw,
    inputs: () => [lab.view, lab.page?.pictures, lab.page?.axes, lab.page?.buffers],
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

/** Tabs; what the lesson does not name waits under "more". */
function tabBar(label, choose) {
  const bar = h("div.wb-tabs", { role: "tablist", "aria-label": label });
  let more = false;
  return { bar, draw };

  function draw({ first, rest }, wanted, names, panel) {
    const all = [...first, ...rest];
    const chosen = all.includes(wanted) ? wanted : all[0];
    const shown = more ? all : [...first, ...(rest.includes(chosen) ? [chosen] : [])];
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-label", names[chosen]);
    bar.replaceChildren(
      ...shown.map((name) =>
        h(
          "button.wb-tab",
          {
            role: "tab",
            "aria-selected": String(name === chosen),
            onclick: () => choose(name),
          },
          names[name],
        ),
      ),
    );
    bar.hidden = all.length < 2;
    const toggle = h(
      "button.wb-more",
      {
        "aria-expanded": String(more),
        onclick: () => {
          more = !more;
          draw({ first, rest }, chosen, names, panel);
        },
      },
      more ? "fewer" : `more (${rest.length})`,
    );
    bar.parentElement.querySelector(":scope > .wb-more")?.remove();
    if (rest.length) bar.after(toggle);
    return chosen;
  }
}
