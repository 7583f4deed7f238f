// The bar on top: what was said last, and an offer to go on where one left off. What was refused
// stands in the menu that asked for it, else below the bar.

import { refusalView } from "./code.js";
import { h, prose, spoken } from "./dom.js";
import { popup } from "./popup.js";

const GONE =
  "Python is gone: the kernel was restarted or shut down. To go on, run the notebook's cells " +
  "from the top down to this one. Until then, steps that were opened before can be looked at.";

// What is said while Python does not answer, and after how many milliseconds: clicks are answered
// within 550, and what is said of those would flicker.
const LATE = [
  [600, "Python is busy with this, or with another cell. It goes on here when that is done."],
  [4000, "Python has not answered: it is busy, or no longer there. The history still steps."],
];

export function statusBar(lab, home) {
  const said = h("div.wb-said", { role: "status", "aria-live": "polite" });
  const error = h("div.wb-error", { role: "alert" });
  const offer = h("div.wb-resume");
  const aside = h("div.wb-aside");
  const bar = h("div.wb-status", {}, said, offer, aside);
  const box = popup(aside);
  let before = null; // the status that was drawn last
  let timers = []; // of what is asked, until Python has answered
  let late = ""; // what is said of Python meanwhile
  let told = "";
  lab.waiting = () => {
    if (timers.length) return;
    const tell = (words) => {
      late = words;
      draw(); // which says it, unless Python is known to be gone
    };
    timers = LATE.map(([wait, words]) => setTimeout(() => tell(words), wait));
  };
  lab.answered = () => {
    timers.forEach(clearTimeout);
    [timers, late] = [[], ""];
    draw();
  };

  function say(words) {
    if (told === words) return; // what is said again would be read out again
    told = words;
    said.replaceChildren(...prose(words));
    said.title = spoken(words); // it is one line, cut where it is longer
    said.classList.toggle("wb-all-said", lab.gone);
    said.classList.toggle("wb-stop", words.startsWith("✕"));
  }

  function draw() {
    const status = lab.status;
    // what was refused the alert says: here it goes on saying where one stands
    const now = lab.setup.offline || status.error ? lab.node(lab.at)?.said : status.text;
    say(lab.gone ? GONE : late || (now ?? ""));
    const place = (status.error && home()) || aside;
    if (error.parentElement !== place) place.append(error);
    error.hidden = !status.error || lab.gone;
    error.replaceChildren(...(status.error ? [refusalView(status.error)] : []));
    if (error.hidden || place !== aside) box.close();
    else if (status !== before) box.open(() => said);
    before = status;
    const resume = lab.setup.resume;
    offer.hidden = !resume || lab.offline;
    if (resume) {
      offer.replaceChildren(
        h("span", {}, prose(resume.text)),
        h("button", { onclick: () => lab.send({ do: "resume" }) }, resume.go),
        h("button", { onclick: () => lab.send({ do: "forget" }) }, "start afresh"),
      );
    }
  }

  return { bar, draw };
}
