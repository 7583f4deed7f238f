// Frames that Python drew, one after the other: nothing here needs Python.

function render({ model, el }) {
  const frames = model.get("frames");
  const root = document.createElement("section");
  root.className = "wb-player";
  root.dataset.own = model.get("own");
  root.setAttribute("aria-label", model.get("name"));
  root.addEventListener("keydown", keep);
  const picture = document.createElement("div");
  const said = document.createElement("p");
  said.setAttribute("aria-live", "polite");
  const play = document.createElement("button");
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: 0, max: frames.length - 1, value: 0 });
  slider.setAttribute("aria-label", "time");
  let timer = 0;
  const draw = () => {
    const [svg, sentence] = frames[Number(slider.value)];
    picture.innerHTML = svg;
    said.textContent = sentence;
    play.textContent = timer ? "pause" : "play";
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    draw();
  };
  const next = () => {
    if (Number(slider.value) >= frames.length - 1 || !root.isConnected) stop();
    else slider.value = Number(slider.value) + 1;
    draw();
  };
  slider.addEventListener("input", stop);
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (Number(slider.value) >= frames.length - 1) slider.value = 0;
    // who wants no motion gets a step at each press
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return next();
    timer = setInterval(next, 700);
    draw();
  });
  root.append(picture, said, play, slider);
  el.append(root);
  draw();
  return () => clearInterval(timer);
}

export default { render };
