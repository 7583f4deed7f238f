// A kernel that is broken on purpose: a gap between its lines is chosen, and Python runs it again.

function render({ model, el }) {
  const root = h("section.wb-repair.wb-theme", { tabindex: "-1" });
  const head = h("p.wb-repair-head", {}, model.get("heading"));
  const code = h("div.wb-listing", { role: "radiogroup", "aria-label": "where it goes" });
  const box = h("div.wb-repair-code", { tabindex: "0" }, code);
  const found = h("div.wb-repair-found");
  const puts = model.get("puts");
  const what = h("select", {}, ...puts.map((put) => h("option", {}, put)));
  what.onchange = () => choose(model.get("choice"), what.value);
  const putting = h("label.wb-repair-what", {}, "put in ", what);
  putting.hidden = puts.length < 2;
  const mend = h("button", { onclick: () => choose(null) }, "take it away");
  const beside = h("div.wb-repair-beside", {}, putting, found, mend);
  const body = h("div.wb-repair-body", {}, box, beside);
  const close = openView({ model, el }, root, head.textContent, () => {}, head, body);
  const choose = (line, put = model.get("put")) => model.send({ do: "put", line, put });
  const row = (text, k) =>
    h(
      "div.wb-line",
      {},
      h("span.wb-number", { "aria-hidden": "true" }, k + 1),
      h("span.wb-sign"),
      h("code.wb-text", {}, text),
    );

  const draw = () => {
    const [seen, gaps, put, choice] = ["seen", "gaps", "put", "choice"].map((n) => model.get(n));
    const told = { lit: seen.lit, gaps, put, choice };
    const held = box.querySelector(":focus")?.dataset.f;
    const rows = model.get("lines").map(row);
    code.replaceChildren(...brokenRows(rows, told, `gap-${model.get("own")}`, choose));
    if (held) code.querySelector(`[data-f="${held}"]`)?.focus({ preventScroll: true });
    what.value = put;
    root.classList.toggle("wb-broken", !seen.ok);
    mend.hidden = choice === null;
    const todo = seen.ok || !gaps.length ? null : h("p.wb-hint", {}, ...prose(todoOf(put)));
    found.replaceChildren(...[...findingView(seen), todo].filter(Boolean));
  };
  const todoOf = (put) => (puts.length < 2 ? gapTodo(put) : CHOOSE);
  const events = ["change:seen", "change:choice", "change:put"];
  for (const event of events) model.on(event, draw);
  draw();
  const first = code.querySelector(".wb-faulty");
  if (first) box.scrollTop = first.offsetTop - box.offsetTop - box.clientHeight / 3;
  return () => {
    for (const event of events) model.off(event, draw);
    close();
  };
}

const CHOOSE = "Choose what is missing, and the gap between two lines that it goes into.";

export default { render };
