// A saved page: the traits lie in the page, and nothing answers messages.

const state = JSON.parse(document.getElementById("state").textContent);
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
widget.render({ model, el: document.getElementById("lab") });
