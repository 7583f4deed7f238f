// Tabs; what the lesson does not name waits under "more".

import { h } from "./dom.js";

export function tabBar(label, choose) {
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
    const said = more ? "fewer views" : `${rest.length} more view${rest.length > 1 ? "s" : ""}`;
    const toggle = h(
      "button.wb-more",
      {
        "aria-expanded": String(more),
        "aria-label": said,
        title: said,
        onclick: () => {
          more = !more;
          draw({ first, rest }, chosen, names, panel);
        },
      },
      "⋯",
    );
    bar.parentElement.querySelector(":scope > .wb-more")?.remove();
    if (rest.length) bar.after(toggle);
    return chosen;
  }
}
