// A page that opens a link: its steps as text at once, and as a lab as soon as the browser's own
// Python is there.

import { h, prose } from "./dom.js";
import { stepsOf } from "./fragment.js";
import { openLab } from "./lab.js";
import { playedModel } from "./played.js";

const HOW = "In Python it opens with `wb.open(…)`, in a terminal with `workbench open`.";
const AGAIN = ["try again", () => location.reload()];
const ANOTHER = ["open another link", () => (location.hash = "")];

const page = JSON.parse(textOf("page"));
const place = document.getElementById("lab");
const home = location.href.split("#")[0];
const NONE = home.startsWith("file:")
  ? "Python begins only on a page from a web server, and this one is a file"
  : "Python could not be fetched";
const pyodide = new URL(page.pyodide, home).href;

/** What a data block of the page holds. */
function textOf(id) {
  return document.getElementById(id).textContent;
}

// what stands behind the # changes by hand, or by another link: the lab's own way is told below
addEventListener("hashchange", () => location.reload());
if (location.hash.length > 1) show(location.hash);
else askForOne();

/** Take a link from who has one and opened the page without it. */
function askForOne() {
  const field = h("input", { name: "link", required: true, autofocus: true });
  const go = (event) => {
    event.preventDefault();
    location.hash = field.value.split("#").pop().replace(/\s/g, "");
  };
  const about = "Paste a link that a lab's link button or lab.link() made.";
  const label = h("label", {}, about, field);
  place.replaceChildren(h("form.wb-ask", { onsubmit: go }, label, h("button", {}, "open")));
}

/** Show the steps of `link` as text, begin to fetch Python, and show their lab once it is there. */
async function show(link) {
  const said = h("p.wb-coming", { role: "status" });
  const text = h("div.wb-as-text");
  const say = (words, ...buttons) => said.replaceChildren(...prose(words), ...buttons);
  place.replaceChildren(said, text);
  say(`Python is fetched from ${new URL(pyodide).host || "this page's folder"}: 16 MB, once.`);
  const worker = startWorker(link, heard);
  worker.onerror = ({ message }) => heard({ missing: message });
  const model = playedModel((what) => worker.postMessage(JSON.stringify(what)));
  let limit; // of the time in which a link is read
  const steps = await stepsOf(link);
  if (steps && !model.there) text.replaceChildren(...asText(steps));

  function heard(news) {
    if (news.opens) {
      say("Python is here and takes the steps.");
      const late = `Python took more than ${page.seconds} s for these steps, and was ended.`;
      limit = setTimeout(() => end(late), page.seconds * 1000);
    } else if (news.told) {
      clearTimeout(limit);
      if (!model.there) place.replaceChildren();
      const first = !model.there;
      model.hear(news);
      if (first) openLab({ model, el: place });
    } else if (model.there) model.fail(news.failed ?? news.missing);
    else if (news.refused) end(`✕ ${news.refused.headline} Do: ${news.refused.hint}.`, ANOTHER);
    else if (news.failed) end(`Python can't take these steps here: ${news.failed}. ${HOW}`);
    else end(`${NONE}: no lab, but the steps of this link as text. ${HOW}`);
  }

  function end(words, [name, onclick] = AGAIN) {
    clearTimeout(limit);
    worker.terminate();
    say(words, h("button", { onclick }, name));
  }
}

/** The steps as they stand in a link, each in a line. */
function asText({ program, calls }) {
  const list = h("ol", {}, ...calls.map((call) => h("li", {}, h("code", {}, call))));
  const about = calls.length ? "and the steps on it" : "as it was written";
  return [h("p", {}, `The program, ${about}:`), h("pre", {}, program), list];
}

/** The worker with Python, told to open `link`; `heard` takes what it says. */
function startWorker(link, heard) {
  const code = new Blob([textOf("worker")], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(code), { type: "module" });
  const archive = Uint8Array.from(atob(textOf("archive")), (c) => c.charCodeAt(0)).buffer;
  const key = `https://workbench.invalid/${page.key}`; // of nothing on the net: a name of a cache
  worker.onmessage = ({ data }) => heard(typeof data === "string" ? JSON.parse(data) : data);
  worker.postMessage({ link, home, pyodide, archive, key }, [archive]);
  return worker;
}
