// A kernel that is broken on purpose: a gap between its lines is chosen, and Python runs it again.

function make(kind, attrs = {}, ...kids) {
  const [name, ...classes] = kind.split(".");
  const el = document.createElement(name);
  el.className = classes.join(" ");
  for (const [key, value] of Object.entries(attrs)) el[key] = value;
  el.append(...kids);
  return el;
}

function render({ model, el }) {
  const root = make("section.wb-repair", { tabIndex: -1 });
  const head = make("p.wb-repair-head", { textContent: model.get("heading") });
  const group = `gap-${model.get("own")}`;
  const none = gap(model, group, null, "no barrier");
  const rows = model.get("lines").map((text, k) => {
    const number = k + 1;
    const line = make(
      "div.wb-repair-line",
      {},
      make("span.wb-repair-number", { textContent: number, ariaHidden: "true" }),
      make("code", { textContent: text }),
    );
    if (!model.get("gaps").includes(number)) return { line, parts: [line] };
    const choice = gap(model, group, number, `barrier ahead of line ${number}`);
    return { line, choice, parts: [choice.box, line] };
  });
  const code = make(
    "div.wb-repair-code",
    { role: "radiogroup", ariaLabel: "where the barrier goes" },
    none.box,
    ...rows.flatMap((row) => row.parts),
  );
  const said = make("p.wb-repair-said");
  said.setAttribute("role", "status");
  const orders = make("div.wb-repair-orders");
  const mend = make("button", { textContent: "take it away" });
  mend.addEventListener("click", () => choose(model, null));
  const parts = [head, code, said, orders, mend];
  const close = openView({ model, el }, root, head.textContent, () => {}, ...parts);

  const draw = () => {
    const { said: words, right, lit, timelines } = model.get("seen");
    const choice = model.get("choice");
    for (const one of [none, ...rows.map((row) => row.choice)]) {
      if (one) one.input.checked = one.line === choice;
    }
    rows.forEach((row, k) => row.line.classList.toggle("wb-repair-lit", lit.includes(k + 1)));
    root.classList.toggle("wb-repair-right", right);
    mend.hidden = choice === null;
    said.textContent = `${right ? "✓" : "✕"} ${words}`;
    orders.replaceChildren(...timelines.map(timeline));
  };
  const events = ["change:seen", "change:choice"];
  for (const event of events) model.on(event, draw);
  draw();
  const first = rows[model.get("seen").lit[0] - 1]?.line;
  if (first) code.scrollTop = first.offsetTop - code.offsetTop - code.clientHeight / 3;
  return () => {
    for (const event of events) model.off(event, draw);
    close();
  };
}

function choose(model, line) {
  model.send({ do: "put", line });
}

/** A radio button of the gap ahead of a line; arrows go through the gaps in the lines' order. */
function gap(model, group, line, label) {
  const input = make("input", { type: "radio", name: group, ariaLabel: label });
  input.addEventListener("change", () => choose(model, line));
  const text = make("span", { textContent: line === null ? label : "T.barrier()" });
  return { line, input, box: make("label.wb-repair-gap", {}, input, text) };
}

/** What comes first and second, and the value that it leads to. */
function timeline([first, second, end], k) {
  return make(
    "ol.wb-repair-order",
    { ariaLabel: k === 0 ? "in one order" : "in the other order" },
    make("li", { textContent: first }),
    make("li", { textContent: second }),
    make("li.wb-repair-end", { textContent: end }),
  );
}

export default { render };
