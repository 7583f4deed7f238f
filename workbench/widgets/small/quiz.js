// Questions on programs that stand beside them: each is answered once, and told by Python.

function make(kind, attrs = {}, ...kids) {
  const [name, ...classes] = kind.split(".");
  const el = document.createElement(name);
  el.className = classes.join(" ");
  for (const [key, value] of Object.entries(attrs)) el[key] = value;
  el.append(...kids);
  return el;
}

/** Sentences come as markup that Python made and escaped. */
const said = (kind, markup) => make(kind, { innerHTML: markup });

function render({ model, el }) {
  // it has the focus where the answer that had it can't be pressed any more
  const root = make("section.wb-quiz", { tabIndex: -1 });
  const parts = model.get("asked").map((item, k) => question(model, item, k));
  const head = said("p.wb-quiz-head", model.get("heading"));
  const outcome = make("p.wb-quiz-outcome");
  outcome.setAttribute("role", "status");
  const close = openView(
    { model, el },
    root,
    head.textContent,
    () => tellNext(model, parts),
    head,
    ...parts.map((part) => part.box),
    outcome,
  );
  const draw = () => {
    const held = root.contains(document.activeElement);
    parts.forEach((part) => part.draw());
    outcome.textContent = model.get("outcome");
    const at = document.activeElement; // browsers leave what is disabled now, or later
    if (held && (at.disabled || !root.contains(at))) root.focus({ preventScroll: true });
  };
  const events = ["change:given", "change:outcome"];
  for (const event of events) model.on(event, draw);
  draw();
  return () => {
    for (const event of events) model.off(event, draw);
    close();
  };
}

/** Before a class: the first question without an answer gets "not sure", the last, and is told. */
function tellNext(model, parts) {
  const k = model.get("given").findIndex((answer) => !answer);
  if (k < 0) return;
  const choice = model.get("asked")[k].choices.length - 1;
  model.send({ do: "answer", item: k, choice });
  parts[k].box.scrollIntoView({ block: "start" });
}

const program = ({ code, shown }) =>
  make("pre", { textContent: code, tabIndex: 0, role: "region", ariaLabel: shown });

function question(model, item, k) {
  // buttons: an arrow moves between radio buttons by choosing, and the first answer stays
  const buttons = item.choices.map((choice, j) => {
    const button = said("button", choice);
    button.addEventListener("click", () => model.send({ do: "answer", item: k, choice: j }));
    return button;
  });
  const told = make("div.wb-quiz-told");
  told.setAttribute("aria-live", "polite");
  const box = make(
    "div.wb-quiz-item",
    {},
    said("p.wb-quiz-ask", `<b>${k + 1}.</b> ${item.text}`),
    ...(item.code ? [program(item)] : []),
    make("div.wb-quiz-choices", { role: "group", ariaLabel: `answers to ${k + 1}` }, ...buttons),
    told,
  );
  const draw = () => {
    const answer = model.get("given")[k];
    buttons.forEach((button, j) => {
      button.disabled = Boolean(answer);
      button.ariaPressed = String(answer?.choice === j);
      button.classList.toggle("wb-quiz-true", answer?.truth === j);
    });
    if (told.innerHTML !== (answer?.told ?? "")) told.innerHTML = answer?.told ?? "";
  };
  return { box, draw };
}

export default { render };
