// The worker of a page that opens links: fetches a browser's Python, and brings it what the page
// says. Nothing of a link is code here, nor made to be: it goes to Python as a text.

const TO_KEEP = 3000; // ms after the lab is there, in which its first clicks are not kept waiting
const SHELF = "workbench-compiled";
const HOME = "/home/pyodide"; // where Python looks for modules
let played = null;

onmessage = async ({ data }) => {
  try {
    if (played) played.answer(data);
    else await begin(data);
  } catch (error) {
    postMessage({ failed: String(error) });
  }
};

/**
 * Open `link` for the page at `home`. `pyodide` is the folder that Python is fetched from,
 * `archive` our package, and `key` an address that stands for both.
 */
async function begin({ link, home, pyodide, archive, key }) {
  let python;
  try {
    const { loadPyodide } = await import(`${pyodide}pyodide.mjs`);
    python = await loadPyodide({ indexURL: pyodide });
    for (const name of ["numpy", "pygments"]) await fetched(python, name);
  } catch (error) {
    return postMessage({ missing: String(error) });
  }
  python.unpackArchive(archive, "zip", { extractDir: HOME });
  const kept = await compiled(key);
  if (kept) python.unpackArchive(kept, "zip", { extractDir: HOME });
  else python.pyimport("sys").dont_write_bytecode = false;
  if (!python.loadedPackages.numpy)
    python.pyimport("workbench.widgets.play.without_numpy").stand_in();
  const { begin } = python.pyimport("workbench.widgets.play.played");
  postMessage({ opens: true });
  played = begin(link, home, (text) => postMessage(text));
  if (!kept) setTimeout(() => keep(python, key), TO_KEEP);
}

/** A package of Pyodide's own, where that folder has it. */
async function fetched(python, name) {
  const quiet = { messageCallback: () => {}, errorCallback: () => {} };
  try {
    await python.loadPackage(name, quiet);
  } catch {
    // without NumPy, what computes with it says so; without Pygments, text has one colour
  }
}

/** What Python compiled of the archive at an earlier visit; undefined where it is not kept. */
async function compiled(key) {
  try {
    const found = await (await caches.open(SHELF)).match(key);
    return found && (await found.arrayBuffer());
  } catch {
    return undefined; // nothing may be kept, or it is gone
  }
}

/** Keep what Python compiled for the next visit, in place of what another page kept. */
async function keep(python, key) {
  try {
    const made = python.pyimport("workbench.widgets.play.archive").compiled();
    const bytes = made.toJs();
    made.destroy();
    await caches.delete(SHELF);
    await (await caches.open(SHELF)).put(key, new Response(bytes));
  } catch {
    // no room for it, or nothing may be kept: the next visit takes longer
  }
}
