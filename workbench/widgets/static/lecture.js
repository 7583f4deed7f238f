// Before a class: on the whole screen the lab is larger, and its verdict waits for a key.

const KEY = "PageDown"; // what a presenter's remote sends, too

/** Let the lab in `root` be shown to a class, if it is to be: `draw` draws it. How to stop. */
export function lecture(lab, root, draw) {
  if (!lab.setup.lecture) return () => {};
  root.classList.add("wb-lecture");
  const veil = (on) => {
    lab.veiled = on;
    draw();
  };
  const onScreen = () => veil(document.fullscreenElement === root);
  const onKey = (event) => {
    if (!lab.veiled || event.key !== KEY || !lab.question) return;
    event.preventDefault();
    event.stopPropagation();
    const { name, choices } = lab.question;
    // what was said was said in the room; nothing is shown of a question without an answer
    const open = !lab.offline && !(name in lab.answers);
    if (open) lab.send({ do: "answer", name, choice: choices.length - 1 });
    veil(false);
  };
  document.addEventListener("fullscreenchange", onScreen);
  document.addEventListener("keydown", onKey, true); // also where nothing of the lab has the focus
  return () => {
    document.removeEventListener("fullscreenchange", onScreen);
    document.removeEventListener("keydown", onKey, true);
  };
}
