// A curve that is drawn by hand: handles on a ground, moved up and down by mouse or by keys.

const STEP = 1.1; // of an arrow key; Page Up and Page Down take it five times
const KEYS = { ArrowUp: STEP, ArrowDown: 1 / STEP, PageUp: STEP ** 5, PageDown: STEP ** -5 };

function make(kind, attrs = {}, ...kids) {
  const [name, ...classes] = kind.split(".");
  const el = document.createElement(name);
  el.className = classes.join(" ");
  Object.assign(el, attrs);
  el.append(...kids);
  return el;
}

/** An element of a drawing. */
function drawn(name, attrs) {
  const el = make("div", { innerHTML: `<svg><${name}></${name}></svg>` }).firstChild.firstChild;
  for (const [key, value] of Object.entries(attrs)) el.setAttribute(key, value);
  return el;
}

/** Microseconds as one says them. */
function said(seconds) {
  const us = seconds * 1e6;
  return us >= 1000 ? `${(us / 1000).toPrecision(3)} ms` : `${us.toPrecision(3)} µs`;
}

function render({ model, el }) {
  const root = make("section.wb-curve.wb-theme");
  const head = make("p.wb-curve-head", { innerHTML: model.get("heading") });
  const field = make("div.wb-curve-field", { innerHTML: model.get("ground") });
  const told = make("p.wb-curve-told");
  told.setAttribute("role", "status");
  const done = make("button", { textContent: "that is what I expect" });
  const svg = field.firstElementChild;
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "the best so far, as you expect it");
  svg.removeAttribute("aria-hidden");
  const [base, factor] = model.get("scale");
  const [least, most] = model.get("ends");
  const spots = model.get("spots");
  let values = [...model.get("values")];
  const line = drawn("polyline", { class: "wb-asked" });
  const handles = spots.map(([number, x], k) => handle(number, x, k));
  svg.append(line, ...handles.flatMap((one) => [one.words, one.mark]));
  done.addEventListener("click", () => model.send({ do: "draw", values }));
  const close = openView({ model, el }, root, head.textContent, () => {}, head, field, done, told);
  const news = () => {
    values = [...model.get("values")];
    draw();
  };
  const events = ["change:values", "change:told", "change:heading"];
  for (const event of events) model.on(event, news);
  draw();
  return () => {
    for (const event of events) model.off(event, news);
    close();
  };

  function handle(number, x, k) {
    const mark = drawn("circle", { class: "wb-chosen", r: 8, cx: x, tabindex: 0, role: "slider" });
    // the first would run into the axis
    const stands = k ? { x, "text-anchor": "middle" } : { x: x - 8, "text-anchor": "start" };
    const words = drawn("text", { class: "wb-on-strong", ...stands });
    mark.setAttribute("aria-label", `the best after ${number} trials`);
    mark.setAttribute("aria-valuemin", least * 1e6);
    mark.setAttribute("aria-valuemax", most * 1e6);
    mark.addEventListener("keydown", (event) => {
      if (!KEYS[event.key] || model.get("told")) return;
      event.preventDefault();
      move(k, values[k] * KEYS[event.key]);
    });
    mark.addEventListener("pointerdown", (event) => {
      if (model.get("told")) return;
      mark.setPointerCapture(event.pointerId);
      const drag = ({ clientY }) => {
        const { top, height } = svg.getBoundingClientRect();
        const y = ((clientY - top) / height) * svg.viewBox.baseVal.height;
        move(k, Math.exp((y - base) / factor));
      };
      mark.addEventListener("pointermove", drag);
      const end = () => mark.removeEventListener("pointermove", drag);
      mark.addEventListener("lostpointercapture", end, { once: true });
    });
    return { mark, words };
  }

  /** The best never gets worse: those behind come down with it, those before go up. */
  function move(k, seconds) {
    const value = Number(Math.min(Math.max(seconds, least), most).toPrecision(3));
    values = values.map((v, j) => (j < k ? Math.max(v, value) : Math.min(v, value)));
    values[k] = value;
    draw();
  }

  function draw() {
    head.innerHTML = model.get("heading");
    const kept = model.get("told");
    const points = values.map((value, k) => [spots[k][1], base + factor * Math.log(value)]);
    line.setAttribute("points", points.map((point) => point.join(",")).join(" "));
    handles.forEach(({ mark, words }, k) => {
      mark.setAttribute("cy", points[k][1]);
      mark.setAttribute("aria-valuenow", values[k] * 1e6);
      mark.setAttribute("aria-valuetext", said(values[k]));
      mark.setAttribute("aria-disabled", String(Boolean(kept)));
      words.setAttribute("y", points[k][1] - 14);
      words.textContent = said(values[k]);
    });
    root.classList.toggle("wb-curve-kept", Boolean(kept));
    done.hidden = Boolean(kept);
    if (told.innerHTML !== kept) told.innerHTML = kept;
  }
}

export default { render };
