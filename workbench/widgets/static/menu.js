// What can be done at a place: its verbs and their forms, drawn beside it while it is open.

import { targetButtons } from "./carry.js";
import { refusalView } from "./code.js";
import { h, oneStop, prose, spoken } from "./dom.js";
import { verbForm } from "./form.js";
import { gripRow } from "./grip.js";
import { popup } from "./popup.js";

/**
 * The menu of a lab. `open(key, find)` opens it at a place, beside what `find` gives for it, with a
 * `verb`, if one is given, as if that were pressed there; when it closes the focus goes back there,
 * or, once a step was taken, to where the lab goes on. What stands in a form is tried at once, and
 * so is each place of the tray, which `asked` asks for: there a press takes the step. So do the
 * buttons of `would`, which tells of what is tried.
 */
export function verbMenu(lab, trying, would, asked_) {
  const spots = h("div.wb-target-groups", { onmouseleave: left, onfocusout: left });
  let over = null; // the place of the tray that is shown as tried
  const body = h("div.wb-menu-body");
  const told = h("div.wb-refused"); // what a step was refused for, below the form that asked for it
  const pane = h("div.wb-menu", { role: "dialog", tabindex: "-1" }, body, told);
  const settle = oneStop(pane);
  const box = popup(pane, closed, [would.take, would.leave]);
  let key = ""; // the place that it is open at,
  let at = null; // and the node
  let back = () => null; // where the focus goes once it is closed
  let wanted = null; // the verb that is to be pressed once it is there
  let name = null; // the verb whose form or reason is shown
  let asked = null; // the status that there was when a step was asked for
  let fault = null; // the status that refused one
  let fresh = false; // whether that is not in view yet
  let show = () => {}; // puts the call of the form as Python wrote it
  let form = null; // what tries the step that stands in the form; null: there is none
  let formOf = ""; // what it was made of: the same is not tried again when it is drawn anew

  function open(place, find, verb = null) {
    lab.choose(place);
    if (lab.offline || !lab.page) return; // of a page that is still coming nothing is known
    back = (now) => (find(now) instanceof SVGElement ? markOf(now) : find(now));
    if (place !== key) choose(null);
    [key, at, wanted] = [place, lab.at, verb];
    body.replaceChildren();
    spots.replaceChildren();
    if (lab.setup.carried?.includes(lab.page.names[place]?.kind)) asked_.ask(place, bring);
    box.open(() => find(place));
    if (!box.isOpen()) return; // it was open here: the press has closed it
    draw();
    pane.focus({ preventScroll: true });
    enter();
  }

  function left() {
    if (!over) return;
    over = null;
    if (form) form();
    else trying.drop();
  }

  /** Takes what is tried; what it is refused for is told below. */
  function take() {
    asked = lab.status;
    trying.take();
  }

  /** The places of the tray; those on lines are for the hand that carries. */
  function bring(targets) {
    const shown = targets.filter(({ loop }) => !loop);
    const tell = (target) => {
      if (target !== over) trying.ask(target.step, { passing: true });
      over = target;
    };
    const put = (target) => {
      tell(target);
      over = null;
      take();
    };
    spots.replaceChildren(...targetButtons(shown, tell, put));
    settle();
    box.place();
  }

  function closed(inside, pressed) {
    choose(null);
    if (pressed) setTimeout(trying.drop); // drawn anew, what is pressed would hear of no click
    else trying.drop();
    const focus = () => back(lab.at === at ? key : lab.place)?.focus({ preventScroll: true });
    if (inside) queueMicrotask(focus); // once the program is drawn as it is
  }

  /** Show the form of a verb, and no more what another was refused for. */
  function choose(verb) {
    [name, asked, told.hidden] = [verb, null, true];
    [form, formOf] = [null, ""];
  }

  /** The place that it is open at; "" while it is closed. */
  const openAt = () => (box.isOpen() ? key : "");

  /**
   * A place as it stands in the program; where it is gone, the one where the lab goes on, and in
   * what is only tried the first that would be new.
   */
  function markOf(place) {
    const marks = [...pane.closest(".wb-lab").querySelectorAll(".wb-program .wb-mark")];
    const of = (wanted) => marks.find((mark) => mark.dataset.k.split(" ").includes(wanted));
    const comes = (mark) => lab.tried && mark.closest(".wb-come, .wb-edit");
    return of(place) ?? of(lab.place) ?? marks.find(comes);
  }

  /** From the menu itself the focus goes to its form, or else its verbs, once they are there. */
  function enter() {
    if (pane.getRootNode().activeElement !== pane) return;
    const first = pane.querySelector(".wb-form :is(input, select, button)");
    (first ?? pane.querySelector(".wb-verb, .wb-more"))?.focus({ preventScroll: true });
  }

  function draw() {
    if (lab.at !== at || lab.offline || !lab.page) box.close(); // a step was taken, or is coming
    if (!box.isOpen()) return;
    const offer = lab.offer(); // if there is none, it is on its way
    const first = Boolean(offer) && !body.querySelector(".wb-verbs");
    const label = offer?.place.label ?? lab.page.names[key]?.label ?? "";
    pane.ariaLabel = `verbs at ${label}`;
    const drawn = offer ? [gripRow(lab, trying, key, take), ...verbs(offer)].filter(Boolean) : [];
    body.replaceChildren(h("h4", {}, label), spots, ...drawn);
    settle();
    box.place(first);
    enter();
    const found = offer?.verbs.find((verb) => verb.name === wanted);
    if (found) press(found);
  }

  function verbs(offer) {
    const shown = offer.verbs.filter((verb) => lab.view.more || verb.offered);
    const verb = shown.find((one) => one.name === name) ?? (shown.length === 1 ? shown[0] : null);
    name = verb?.name ?? null;
    return [
      ...(shown.length ? [] : [h("p.wb-hint", {}, "None of the offered verbs starts here.")]),
      h(
        "div.wb-verbs",
        { role: "group", "aria-label": "verbs" },
        shown.map(verbButton),
        offer.more || lab.view.more ? moreButton() : null,
      ),
      ...(verb ? verbBody(verb) : []),
    ];
  }

  function verbButton(verb) {
    const refused = verb.verdict === "refused";
    return h(
      `button.wb-verb${refused ? ".wb-cannot" : ""}`,
      {
        "data-f": verb.name,
        "aria-expanded": String(name === verb.name),
        "aria-disabled": refused ? "true" : null,
        title: spoken(verb.summary),
        onclick: () => press(verb),
      },
      refused ? h("span.wb-what", {}, verb.name) : verb.name,
      refused ? h("span.wb-why", {}, " why not?") : null,
    );
  }

  /** Show the form of a verb, which takes the focus, or why it is refused. */
  function press(verb) {
    wanted = null;
    choose(verb.name);
    if (verb.try) apply({ verb: verb.name, place: verb.place, args: verb.try });
    draw();
    const field = body.querySelector(".wb-form :is(input, select, button)");
    (field ?? body.querySelector(`[data-f="${verb.name}"]`))?.focus({ preventScroll: true });
  }

  /** Ask for a step; what would be refused is asked for, too, and tells why at its place. */
  function apply(step) {
    asked = lab.status;
    lab.send({ do: "apply", ...step });
  }

  function moreButton() {
    const more = Boolean(lab.view.more);
    return h(
      "button.wb-more",
      { "aria-expanded": String(more), onclick: () => lab.show({ more: !more }), "data-f": "more" },
      more ? "fewer verbs" : "more verbs",
    );
  }

  function verbBody(verb) {
    const summary = h("p.wb-summary", {}, prose(verb.summary));
    if (verb.verdict === "refused") return verb.try ? [summary] : [summary, refusalView(verb.why)];
    const made = verbForm(lab, verb, apply);
    show = made.show;
    // what it was refused for is no more what it asks
    made.form.addEventListener("input", () => {
      told.hidden = true;
      trying.ask(made.asked());
    });
    tryFirst(made);
    return [summary, made.form];
  }

  /** What a form holds at first is tried, if it can be taken: nobody has asked for it yet. */
  function tryFirst({ asked: step }) {
    form = () => trying.ask(step(), { quiet: true });
    const of = JSON.stringify(step());
    if (of !== formOf) form();
    formOf = of;
  }

  /** Where the error stands that there is: below the form, if it was refused what that asked. */
  function errors() {
    fresh = Boolean(asked && lab.status !== asked && lab.status.error);
    if (fresh) [fault, asked, told.hidden] = [lab.status, null, false];
    return lab.status === fault ? told : null;
  }

  /** What changed without the menu being drawn anew, in which something may be typed. */
  function conclude() {
    show();
    if (!fresh) return;
    fresh = false;
    box.place();
    told.scrollIntoView({ block: "nearest" });
  }

  const inputs = () => [lab.offer(), lab.view.more];
  return { pane, draw, open, openAt, markOf, errors, conclude, inputs };
}
