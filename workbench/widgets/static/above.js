// A box that opens above its button, in the browser's top layer: no cell cuts it off.

/** Make `button` open and close `box`, which grows upward and is no wider than `root`. */
export function opensAbove(button, box, root) {
  box.popover = "auto"; // a click elsewhere or Escape closes it
  box.classList.add("wb-above");
  button.popoverTargetElement = box;
  const close = (event) => {
    if (!box.contains(event.target)) box.hidePopover(); // the lab moves away below it
  };
  box.addEventListener("beforetoggle", (event) => {
    if (event.newState !== "open") return removeEventListener("scroll", close, true);
    addEventListener("scroll", close, true);
    const [from, lab] = [button.getBoundingClientRect(), root.getBoundingClientRect()];
    const right = from.left + from.right > lab.left + lab.right;
    Object.assign(box.style, {
      bottom: `${innerHeight - from.top + 4}px`,
      left: right ? "auto" : `${from.left}px`,
      right: right ? `${document.documentElement.clientWidth - from.right}px` : "auto",
      maxHeight: `${from.top - 12}px`,
      maxWidth: `${right ? from.right - lab.left : lab.right - from.left}px`,
    });
  });
}
