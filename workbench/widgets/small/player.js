// A launch in time, in a lesson: it asks when a block starts, and then it plays.

const ROOM = 96; // px of a timeline beside its rows: the axis, the words, the buttons
const HIGH = 28; // px of a place

function render({ model, el }) {
  const [track, asked, name] = ["track", "asked", "name"].map((trait) => model.get(trait));
  const root = h("section.wb-player.wb-theme");
  let guess = asked ? null : undefined; // null: it is still to be made
  const told = h("p.wb-player-told", { "aria-live": "polite", hidden: true });
  const view = timeline({
    track,
    label: name,
    veiled: true,
    held: () => guess === null,
    moment: (t) => {
      if (typeof guess === "number" && t >= asked.at) told.hidden = false;
    },
  });
  const height = `${ROOM + track.rows * (track.places * HIGH + 4)}px`;
  Object.assign(view.root.style, { height, minHeight: "0" });
  const says = h("button", { onclick: answer }, "that is my guess");
  const question = h("p.wb-player-ask", {}, asked?.text ?? "", " ", says);
  question.hidden = !asked;
  const lanes = markup(model.get("lanes"));
  const warps = h("div.wb-player-warps", {}, h("p", {}, "The warps of each block"), lanes);
  const head = h("p.wb-player-name", {}, name);
  const close = openView(
    { model, el },
    root,
    name,
    () => (guess === null ? answer() : view.step("ArrowRight")),
    head,
    question,
    view.root,
    told,
    warps,
  );
  return () => {
    view.stop();
    close();
  };

  function answer() {
    guess = Math.round(view.now());
    if (says.matches(":focus")) view.root.querySelector("input").focus();
    says.remove();
    question.firstChild.textContent = `You say: time ${guess}.`;
    const said = guess === asked.at ? "As you said." : `You said ${guess}.`;
    told.textContent = `${asked.told} ${said}`;
    view.mark(guess, "your guess");
    view.go(0);
  }
}

export default { render };
