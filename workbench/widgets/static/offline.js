// A saved page: the traits lie in the page, packed, and nothing answers messages.

import { openLab } from "./lab.js";

const packed = atob(document.getElementById("state").textContent);
const bytes = new Blob([Uint8Array.from(packed, (c) => c.charCodeAt(0))]).stream();
const unpacked = new Response(bytes.pipeThrough(new DecompressionStream("deflate")));
const [state, parts] = await unpacked.json();
const whole = (told) =>
  Object.fromEntries(Object.entries(told).map(([name, part]) => [name, parts[part]]));
for (const { pictures } of Object.values(state)) {
  // of a page by their names, of a comparison beside each other
  for (const [name, told] of Object.entries(pictures ?? {})) {
    if (told.picture) told.picture = whole(told.picture);
    else pictures[name] = whole(told);
  }
}
const listeners = new Map();
const model = {
  get: (name) => state[name],
  set: (name, value) => {
    state[name] = value;
  },
  on: (event, act) => listeners.set(event, [...(listeners.get(event) ?? []), act]),
  off: () => {},
  send: () => {},
  save_changes: () => {
    for (const act of listeners.get("change") ?? []) act();
  },
};
const el = document.getElementById("lab");
el.replaceChildren(); // what is there is for readers without this script
openLab({ model, el });
