// A saved page: the traits lie in the page, and nothing answers messages.

const state = JSON.parse(document.getElementById("state").textContent);
const listeners = new Map();
const changed = new Set();
const model = {
  get: (name) => state[name],
  set: (name, value) => {
    state[name] = value;
    changed.add(`change:${name}`);
  },
  on: (event, act) => listeners.set(event, [...(listeners.get(event) ?? []), act]),
  off: () => {},
  send: () => {},
  save_changes: () => {
    const acts = [...changed].flatMap((event) => listeners.get(event) ?? []);
    changed.clear();
    for (const act of acts) act();
  },
};
widget.render({ model, el: document.getElementById("lab") });
