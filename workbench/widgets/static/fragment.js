// The steps of a link as text, read without Python: what a page shows until that is there.

const FRAGMENT = /^#?workbench1\.([A-Za-z0-9_-]+)$/;
const MOST_BYTES = 256 * 1024; // bytes that are unpacked
const MOST_STEPS = 500;

/** The program and the calls of its steps, as texts; null where `fragment` holds none. */
export async function stepsOf(fragment) {
  const found = FRAGMENT.exec(fragment.replace(/%2e/i, ".")); // as some programs send a dot
  if (!found) return null;
  try {
    const { program, nodes } = JSON.parse(await inflated(found[1]));
    if (typeof program !== "string" || nodes.length > MOST_STEPS) return null;
    return { program, calls: nodes.map(({ step }) => callOf(step)) };
  } catch {
    return null; // damaged; Python says how
  }
}

async function inflated(code) {
  const raw = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Blob([Uint8Array.from(raw, (c) => c.charCodeAt(0))]).stream();
  const reader = bytes.pipeThrough(new DecompressionStream("deflate")).getReader();
  const text = new TextDecoder("utf-8", { fatal: true });
  let [made, read] = ["", 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return made + text.decode();
    read += value.length;
    if (read > MOST_BYTES) throw new RangeError("too much is packed");
    made += text.decode(value, { stream: true });
  }
}

/** A step as the call that makes it. */
function callOf({ verb, args, kwargs }) {
  const named = Object.entries(kwargs).map(([name, value]) => `${name}=${written(value)}`);
  return `${verb}(${[...args.map(written), ...named].join(", ")})`;
}

/** A value as Python writes it, a loop or block by its name. */
function written(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (value.entries) return written(Object.entries(value.entries).map(String));
  return typeof value === "object" ? value.name || value.block : JSON.stringify(value);
}
