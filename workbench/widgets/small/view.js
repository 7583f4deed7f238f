// What the small views share: where they stand, their keys, and how they are shown to a class.

const KEY = "PageDown"; // what a presenter's remote sends, too

/** What is typed in a view is not for JupyterLab: arrows leave the cell there, D D deletes it. */
function keep(event) {
  const passes = event.key === "Escape" || event.ctrlKey || event.metaKey;
  if (!passes && !(event.shiftKey && event.key === "Enter")) event.stopPropagation();
}

/**
 * The root of a view in `el`, with `parts` in it; it comes into view where its cell was run by
 * hand. Before a class it can take the whole screen, where it is larger and a key calls `onward`.
 * Returns how to stop following the page.
 */
function openView({ model, el }, root, label, onward, ...parts) {
  root.dataset.own = model.get("own");
  root.setAttribute("aria-label", label);
  root.addEventListener("keydown", keep);
  root.append(...parts);
  el.append(root);
  const stay = arrive(root);
  const unteach = model.get("lecture") ? teach(root, onward) : () => {};
  return () => {
    stay();
    unteach();
  };
}

/** Let the view in `root` be shown to a class; returns how to stop. */
function teach(root, onward) {
  root.classList.add("wb-lecture");
  const button = document.createElement("button");
  button.textContent = "full screen";
  button.className = "wb-screen";
  button.addEventListener("click", () =>
    document.fullscreenElement === root ? document.exitFullscreen() : root.requestFullscreen(),
  );
  root.append(button);
  const onKey = (event) => {
    if (document.fullscreenElement !== root || event.key !== KEY) return;
    event.preventDefault();
    event.stopPropagation();
    onward();
  };
  document.addEventListener("keydown", onKey, true); // also where nothing of it has the focus
  return () => document.removeEventListener("keydown", onKey, true);
}
