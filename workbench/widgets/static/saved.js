// A launch in time on a saved page: that of any block and warp, put together of what
// `workbench/widgets/still/in_time.py` tells of the kernels of a program.

import { lanesAt } from "./lanes.js";
import { runningAt } from "./track.js";

const within = (number, count) => Math.min(Math.max(number, 0), count - 1);

/**
 * The picture of a saved `page` that a view shows: of the launch, of a block or of a warp; of what
 * the page has not, the next farther one.
 */
export function savedTimeline({ nearer = [], pictures }, { level, select = {} }) {
  const { timeline: launch } = pictures;
  const kernel = nearer[within(select.kernel ?? 0, nearer.length)];
  if (!kernel || !["block", "warp"].includes(level)) return launch;
  const [wide, high, deep] = kernel.grid;
  const block = within(select.block ?? 0, wide * high * deep);
  const warp = within(select.warp ?? 0, kernel.warps.length);
  const kind = kernel.kinds[kernel.warps[warp]];
  if (level === "block" || !kind) {
    return { ...pictures[kernel.block], near: { level: "block", block } };
  }
  const row = Math.floor(block / wide);
  const place = [block % wide, row % high, Math.floor(row / high)];
  const near = { level, block, warp, place, threads: kernel.threads };
  return ofWarp(pictures, kernel, kind, near, select.clock);
}

/** A warp, and below it an example of the request that it makes at a clock, or opens with. */
function ofWarp(pictures, kernel, kind, near, clock = pictures[kind.picture].track.opens) {
  const picture = pictures[kind.picture];
  const { track, asked } = picture;
  const span = runningAt(track, clock).find(({ sort }) => asked[sort]);
  const access = span && kernel.accesses[kind.asks[span.sort]];
  const { place, threads, warp } = near;
  const lanes = access && lanesAt(asked[span.sort], place, threads, warp, span.digits);
  const example = lanes && alike(access, lanes);
  const told = { ...near, clock, drawn: Boolean(example) };
  if (!example) return { ...picture, near: told };
  const { strips, full, table, caption } = pictures[example.picture];
  const said = `${caption}${elsewhere(example, near, span.digits)}`;
  return { ...picture, strips: ["", ...strips], full, table, caption: said, near: told };
}

/** Where the example is, if it is not this very request. */
function elsewhere({ at }, { place: [x, y, z], warp }, digits) {
  const here = { ...digits, warp, "blockIdx.x": x, "blockIdx.y": y, "blockIdx.z": z };
  const axes = Object.entries(at);
  if (axes.every(([axis, value]) => here[axis] === value)) return "";
  const where = axes.map(([axis, value]) => `${axis} = ${value.toLocaleString("en-US")}`);
  return ` Drawn is one alike, at ${where.join(", ")}.`;
}

/** The example that is served as these lanes are; undefined where there is none. */
function alike({ period, examples }, lanes) {
  const awake = lanes.filter((address) => address !== null);
  const base = Math.floor(Math.min(...awake) / period) * period;
  const wants = JSON.stringify(lanes.map((one) => (one === null ? null : one - base)));
  return examples.find((example) => JSON.stringify(example.lanes) === wants);
}
