// A box with a text for elsewhere: copied, if the browser lets us, and selected.

import { copied } from "./code.js";
import { h, prose } from "./dom.js";
import { popup } from "./popup.js";

/**
 * `open(find, text, there)` opens it beside the thing that `find` gives, with what to do `there`
 * with the text. `label` names the text, `what` begins to say that it is copied, and `todo` says
 * how to copy it by hand.
 */
export function copyBox({ label, what, todo }) {
  const told = h("p", { role: "status" });
  const area = h("textarea", { readonly: true, "aria-label": label });
  const panel = h("div.wb-taken", {}, told, area);
  const box = popup(panel);

  async function open(find, text, there) {
    told.textContent = ""; // so that the same words are read out another time
    area.value = text;
    area.rows = text.split("\n").length;
    box.open(find);
    const first = (await copied(text)) ? `${what} copied.` : todo;
    told.replaceChildren(...prose(`${first} ${there}`));
    box.place(); // with its words it is wider
    area.focus();
    area.select();
    area.scrollTop = 0; // a long one is known by its beginning
  }

  return { panel, open };
}
