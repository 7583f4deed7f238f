"""Messages as a browser sends them to a lab, and ten thousand that no browser sends.

``python -m benchmarks.lab_messages [how many] [seed]``: each message is one that the page sends,
changed in a few places. It has to be done or refused in words within two seconds, and what the
lab shows afterwards has to be of the program that it stands at.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import workbench as wb
from benchmarks.histories import vector_add, window_branches, window_sum
from benchmarks.matmuls import SMALL, blocking_with_shared, matmul
from workbench import lesson
from workbench.verbs.primitive import REGISTRY
from workbench.widgets import Lab
from workbench.widgets.ask.asked import CHOSEN
from workbench.widgets.page.view import MACHINE_PANES, PROGRAM_PANES, read_view

SECONDS = 2.0  # for one message
ROUND = 100  # messages to one lab: a history that grows makes the next ones slower
CANARY = Path(tempfile.gettempdir()) / "workbench-was-run"
CODE = f"__import__('pathlib').Path({str(CANARY)!r}).touch()"
CHOICES = ("block 0, thread 5", "block 1, thread 1", "time step 5")
TRAITS = ("setup", "tree", "lines", "status", "answers", "page_0", "compare_0_1", "layout", "_esm")


def deep(kind: str, depth: int) -> Any:
    """Lists in lists, or dictionaries in dictionaries."""
    made: Any = 1
    for _ in range(depth):
        made = [made] if kind == "list" else {"a": made}
    return made


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**18,
    -(10**400),
    1.5,
    float("nan"),
    float("inf"),
    "",
    "0",
    "x" * 1_000_000,
    "\0",
    "\ud800",
    "é 🙂 \u202e",
    "<script>alert(1)</script>",
    CODE,
    f"[{CODE}]",
    "[" * 3000,
    "[" * 480,
    "-" * 480 + "1",
    "9" * 490,
    "9**9**9**9",
    "[None, None]",
    "[1000000000000, None]",
    f"[{'1, ' * 150}1]",
    "1e999",
    "{[]: 1}",
    "b'x'",
    '"i_0"',
    [],
    {},
    [1, "2", None],
    list(range(1000)),
    {"k": 3, "blockIdx.x": 10**30},
    deep("list", 300),
    deep("dict", 300),
)


def labs(folder: Path) -> Iterator[Lab]:
    """Labs of the lessons' programs, some of them with steps, a question, a file."""
    asked = lesson.who_computes("C", 5, CHOICES, steps="split and both binds")
    yield wb.lab(vector_add(8), actions=["split", "bind"], question=asked)
    yield wb.lab(window_branches(window_sum(1024), (128,)), panes=["tiles", "memory"])
    yield wb.lab(blocking_with_shared(wb.Schedule(matmul(SMALL)), 2, 2, 2, 2, 4), panes=["tiles"])
    yield wb.lab(matmul(SMALL), autosave=folder / "lab.json")


def message(rng: random.Random, lab: Lab) -> Any:
    """What the page of `lab` could send: the state that it changes, or a request."""
    made = lab.session.page
    places = list(made["names"])
    if rng.random() < 0.4 or lab.place not in places:
        nodes = range(-1, len(lab.history) + 1)
        state = {"at": rng.choice(nodes), "against": rng.choice(nodes), "view": view(rng, made)}
        state["place"] = rng.choice([*places, ""])
        return {"state": {k: state[k] for k in rng.sample(list(state), rng.randint(1, 4))}}
    if rng.random() < 0.3:
        do = rng.choice(["look", "answer", "run", "time", "stop", "resume", "forget", "write"])
        return {"do": do, "name": "who computes C[5] after split and both binds", "choice": 1}
    verbs = [v for v in made["offers"][lab.place]["verbs"] if v["verdict"] == "possible"]
    verb = rng.choice(verbs) if verbs else {"name": rng.choice(list(REGISTRY)), "fields": ()}
    args = {
        field["name"]: rng.choice([o["value"] for o in field.get("options", ())] or [""])
        for field in verb["fields"]
    }
    do = rng.choice(["apply", "apply", "write"])
    place = verb.get("place", lab.place)
    return {"do": do, "verb": verb["name"], "place": place, "args": args}


def view(rng: random.Random, made: dict[str, Any]) -> dict[str, Any]:
    """Panes and what is chosen in them, of a page."""
    return {
        "program": rng.choice(PROGRAM_PANES),
        "machine": rng.choice(MACHINE_PANES),
        "buffer": rng.choice([about["name"] for about in made["names"].values()]),
        "select": {
            axis["key"]: rng.randrange(-1, axis["extent"])
            for axis in made.get("axes", ())
            if rng.random() < 0.5
        },
        "more": rng.random() < 0.2,
    }


def changed(rng: random.Random, sent: Any) -> Any:
    """`sent` with a few places changed: other values, keys left out, keys that nobody knows."""
    whole = {"all": copy.deepcopy(sent)}
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        top, *below = spots(whole)
        inside, key = rng.choice(below) if below and rng.random() < 0.95 else top
        kind = rng.random()
        if kind < 0.75 or inside is whole:
            inside[key] = copy.deepcopy(rng.choice(ODD))
        elif kind < 0.9:
            del inside[key]
        else:
            new = rng.choice([*TRAITS, *CHOSEN, *REGISTRY, "do", "axes", "\ud800"])
            inside[new] = copy.deepcopy(rng.choice(ODD))
    return whole["all"]


def spots(inside: dict[Any, Any]) -> Iterator[tuple[dict[Any, Any], Any]]:
    """Every key of a dictionary and of those in it, with where it stands."""
    for key, value in inside.items():
        yield inside, key
        if isinstance(value, dict):
            yield from spots(value)


def fault(lab: Lab, sent: Any) -> str:
    """What is wrong after `lab` got the message; "" where nothing is."""
    began = time.process_time()
    try:
        if isinstance(sent, dict) and "state" in sent:
            lab.set_state(sent["state"])
        else:
            lab._on_message(None, sent, [])
    except Exception as error:
        return f"raised {type(error).__name__}: {str(error)[:200]}"
    took = time.process_time() - began
    lab._on_message(None, {"do": "stop"}, [])
    lab.jobs.wait()
    if lab.status["kind"] == "failed":
        return lab.status["text"][:300]
    if took > SECONDS:
        return f"took {took:.1f} s"
    return "something of it was run" if CANARY.exists() else untrue(lab)


def untrue(lab: Lab) -> str:
    """What a lab shows that is not so; "" where all is."""
    node = lab.history[lab.at]
    made = lab.session.state.get(f"page_{lab.at}")
    view = read_view(lab.view)
    if lab.cursor.node is not node or made is None:
        return f"stands at {lab.cursor.node.id} and shows {lab.at}"
    if made["names"] != lab.session.desk.names(node.func).about:
        return f"shows another program under {lab.at}"
    if view.program not in made["texts"] or not made["pictures"]:
        return f"has no {view.program} under {lab.at}"
    if lab.place in made["names"] and lab.place not in made["offers"]:
        return f"offers nothing at {lab.place!r}"
    if lab.against >= 0 and lab.session.comparison is None:
        return f"compares {lab.against} with {lab.at} and shows nothing of it"
    json.dumps([made, lab.status, lab.view, lab.setup, lab.answers], allow_nan=False)
    return ""


def attack(number: int, seed: int) -> Iterator[tuple[Any, str]]:
    """Send `number` messages; each that is not done or refused in words, with what is wrong."""
    rng = random.Random(seed)
    CANARY.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        sent = 0
        while sent < number:
            for lab in labs(Path(folder)):
                for _ in range(min(ROUND, number - sent)):
                    one = changed(rng, message(rng, lab))
                    sent += 1
                    wrong = fault(lab, one)
                    if wrong:
                        yield one, wrong
                        break  # what follows may be wrong because of it
                lab.close()


def main() -> int:
    """Print what went wrong; 1 where anything did."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found = 0
    for sent, wrong in attack(number, seed):
        found += 1
        print(f"{wrong}\n    {str(sent)[:300]}", flush=True)
    print(f"{number} messages, {found} neither done nor refused in words")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
