// Frames that Python drew, one after the other: nothing here needs Python.

const WHOLE = 5000; // ms at most for all frames
const FRAME = 700; // ms for one, where there are few

function render({ model, el }) {
  const frames = model.get("frames");
  const root = document.createElement("section");
  root.className = "wb-player";
  const picture = document.createElement("div");
  const said = document.createElement("p");
  said.setAttribute("aria-live", "polite");
  const [play, step] = ["play", "step"].map((word) =>
    Object.assign(document.createElement("button"), { textContent: word }),
  );
  // who wants no motion takes the steps
  play.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: 0, max: frames.length - 1, value: 0 });
  slider.setAttribute("aria-label", "time");
  let timer = 0;
  const atEnd = () => Number(slider.value) >= frames.length - 1;
  const draw = () => {
    const [svg, sentence] = frames[Number(slider.value)];
    picture.innerHTML = svg;
    said.textContent = sentence;
    play.textContent = timer ? "pause" : "play";
  };
  const go = (to) => {
    slider.value = to;
    if (timer && (atEnd() || !root.isConnected)) stop();
    draw();
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    draw();
  };
  const next = () => go(Number(slider.value) + 1);
  const oneStep = () => {
    stop();
    if (atEnd()) go(0);
    else next();
  };
  slider.addEventListener("input", stop);
  step.addEventListener("click", oneStep);
  play.addEventListener("click", () => {
    if (timer) return stop();
    timer = setInterval(next, Math.min(FRAME, WHOLE / frames.length));
    go(atEnd() ? 0 : slider.value);
  });
  const close = openView(
    { model, el },
    root,
    model.get("name"),
    oneStep,
    picture,
    said,
    play,
    step,
    slider,
  );
  draw();
  const seen = new IntersectionObserver((found) => {
    if (timer && found.some((one) => !one.isIntersecting)) stop();
  });
  seen.observe(root);
  return () => {
    clearInterval(timer);
    seen.disconnect();
    close();
  };
}

export default { render };
