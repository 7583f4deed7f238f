// A launch in time, in a lesson: it asks when a block starts, and then it plays.

const ROOM = 96; // px of a timeline beside its rows: the axis, the words, the buttons
const HIGH = 28; // px of a place
const MOST_HIGH = 360; // px of all: what has no room is drawn thin
const MOST_QUEUE = 12; // blocks that are seen waiting

function render({ model, el }) {
  const [track, asked, name] = ["track", "asked", "name"].map((trait) => model.get(trait));
  const root = h("section.wb-player.wb-theme");
  let guess = asked ? (asked.given ?? null) : undefined; // null: it is still to be made
  const told = h("p.wb-player-told", { "aria-live": "polite", hidden: true });
  const kept = h("p.wb-player-kept", { role: "status", hidden: true });
  const queue = h("span");
  const view = timeline({
    track,
    label: name,
    veiled: true,
    held: () => guess === null,
    moment: (t) => {
      if (typeof guess === "number" && t >= asked.at) told.hidden = false;
    },
    frame: waits,
  });
  const rows = track.rows * (track.places * HIGH + 4);
  const height = `${Math.min(ROOM + (asked ? LINE : 0) + rows, MOST_HIGH)}px`;
  Object.assign(view.root.style, { height, minHeight: "0" });
  const says = h("button", { onclick: answer }, "that is my guess");
  const question = h("p.wb-player-ask", {}, asked?.text ?? "", " ", says);
  question.hidden = !asked;
  const lanes = markup(model.get("lanes"));
  const warps = h("div.wb-player-warps", {}, h("p", {}, "The warps of each block"), lanes);
  const head = h("p.wb-player-name", {}, name);
  const line = h("p.wb-player-queue", { "aria-hidden": "true" }, queue, legend(track.sorts[0]));
  const close = openView(
    { model, el },
    root,
    name,
    () => (guess === null ? answer() : view.step("ArrowRight")),
    head,
    question,
    line,
    view.root,
    told,
    kept,
    warps,
  );
  if (typeof guess === "number") tellGuess();
  const unkept = () => {
    kept.textContent = model.get("asked")?.kept ?? "";
    kept.hidden = !kept.textContent;
  };
  model.on("change:asked", unkept);
  unkept();
  return () => {
    model.off("change:asked", unkept);
    view.stop();
    close();
  };

  /** The blocks that wait, the next one first; while it is held, all of them. */
  function waits(t) {
    const [spans] = track.spans;
    const first = guess === null ? 0 : startedAt(track, spans, t);
    const shown = Math.min(spans[1], first + MOST_QUEUE);
    const numbers = Array.from({ length: shown - first }, (_, k) => h("span", {}, `${first + k}`));
    const more = spans[1] - shown;
    const rest = more ? ` and ${more.toLocaleString("en-US")} more` : "";
    queue.replaceChildren("waiting: ", ...(numbers.length ? numbers : ["none"]), rest);
  }

  function answer() {
    guess = Math.round(view.now());
    if (says.matches(":focus")) view.root.querySelector("input").focus();
    tellGuess();
    view.go(0);
    try {
      model.send({ time: guess });
    } catch {
      // without Python nothing is kept, and it plays all the same
    }
  }

  function tellGuess() {
    says.remove();
    question.firstChild.textContent = `You say: time ${guess}.`;
    const said = guess === asked.at ? "As you said." : `You said ${guess}.`;
    told.textContent = `${asked.told} ${said}`;
    view.mark(guess, "your guess");
  }
}

/** What the colours are. */
function legend({ now, roles }) {
  const known = [
    [now, "runs"],
    [roles[0], "done"],
  ];
  const parts = known.map(([role, word]) => {
    const box = shape("rect", { width: 12, height: 12, class: `wb-${role}` });
    return h("span", {}, shape("svg", { width: 12, height: 12 }, box), word);
  });
  return h("span.wb-player-legend", {}, ...parts);
}

export default { render };
