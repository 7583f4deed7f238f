// The model of a lab whose Python is the browser's own: what stands, what is chosen, what is told.

/** The model of a lab that asks by `ask`; what is answered goes to its `hear`. */
export function playedModel(ask) {
  const [state, on] = [{}, new Map()];
  const sent = []; // the names of what was chosen and is not answered yet, ask by ask
  let chosen = {};
  const tell = (event, said) => (on.get(event) ?? []).forEach((act) => act(said));
  return {
    there: false,
    get: (name) => state[name],
    set: (name, value) => (state[name] = chosen[name] = value),
    on: (event, act) => on.set(event, [...(on.get(event) ?? []), act]),
    off: () => {},
    send(message) {
      if (message.do === "stop") location.reload(); // no other way to end what Python is at
      else ask({ message });
    },
    save_changes() {
      sent.push(Object.keys(chosen));
      ask({ chosen });
      chosen = {};
      tell("change");
    },
    hear({ told, said, link, chose }) {
      this.there = true;
      if (chose) sent.shift();
      for (const name of sent.flat()) delete told[name]; // it was chosen since
      Object.assign(state, told);
      state.setup.plays = true; // whatever this page is called
      if (link) follow(link);
      if (Object.keys(told).length) tell("change");
      if (said) tell("msg:custom", said);
    },
    fail(why) {
      sent.length = 0; // which of these has no answer now is not known
      const headline = `Python ended: ${why}`;
      const hint = "load the page again: the steps to this program stand in its address";
      state.status = { kind: "failed", text: headline, error: { headline, hint } };
      tell("change");
    },
  };
}

/** Let the page's address open where the lab stands. */
function follow(link) {
  try {
    history.replaceState(null, "", `#${link.split("#")[1]}`);
  } catch {
    // a browser takes only so many in a time: the next one tells all of the way
  }
}
