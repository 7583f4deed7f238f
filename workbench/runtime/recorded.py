"""Times that were measured earlier, kept as data, looked up by program."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from workbench import script
from workbench.ir import PrimFunc, once
from workbench.runtime.timing import Timing


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded time: of which program, after which steps, and the time itself."""

    program: str
    label: str
    timing: Timing


@once
def program_key(func: PrimFunc) -> str:
    """What a program is found by: a hash of its printed text, without its name and attributes."""
    bare = (func.name, func.attrs) == ("main", ())
    text = script.show(func if bare else replace(func, name="main", attrs=()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def times(func: PrimFunc) -> tuple[Timing, ...]:
    """Every recorded time of `func`, one for each device that ran it; () where none did.

    First that of the device with the most runs: most others can be compared with it.
    """
    key = program_key(func)
    found = [run.timing for run in all_runs() if run.program == key]
    runs = Counter(run.timing.device for run in all_runs()) if len(found) > 1 else {}
    return tuple(sorted(found, key=lambda timing: -runs.get(timing.device, 0)))


def vendor_key(routine: str, *shapes: tuple[int, ...]) -> str:
    """What a time of the vendor's library is found by, in place of a program's hash."""
    return " ".join([f"vendor {routine}", *("x".join(map(str, shape)) for shape in shapes)])


def vendor_times(key: str) -> tuple[Timing, ...]:
    """Every recorded time of the vendor's library for that `vendor_key`."""
    return tuple(run.timing for run in all_runs() if run.program == key)


@cache
def all_runs() -> tuple[Run, ...]:
    """Everything that was recorded."""
    return tuple(_read())


def _read() -> Iterator[Run]:
    folder = files("workbench.runtime") / "recorded"
    for path in sorted(folder.iterdir(), key=lambda p: p.name):
        if path.name.endswith(".json"):
            yield from parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> tuple[Run, ...]:
    """The runs in the text of one recorded file."""
    data = json.loads(text)
    shared = {key: data[key] for key in ("device", "date")}
    return tuple(
        Run(
            program=run["program"],
            label=run["label"],
            timing=Timing(
                samples=tuple(run["samples"]),
                how=run["how"],
                clocks=run["clocks"],
                steady=run["steady"],
                notes=tuple(run.get("notes", ())),
                kind="recorded",
                **shared,
            ),
        )
        for run in data["runs"]
    )


def to_json(device: str, date: str, runs: list[Run]) -> str:
    """Runs, all of one device and date, as the text of a recorded file."""
    rows = [
        {
            "program": run.program,
            "label": run.label,
            "samples": [float(f"{s:.4g}") for s in run.timing.samples],
            "how": run.timing.how,
            "clocks": run.timing.clocks,
            "steady": run.timing.steady,
        }
        | ({"notes": run.timing.notes} if run.timing.notes else {})
        for run in runs
    ]
    lines = ",\n".join("    " + json.dumps(row) for row in rows)
    head = f'  "device": {json.dumps(device)},\n  "date": {json.dumps(date)},\n  "runs": [\n'
    return "{\n" + head + lines + "\n  ]\n}\n"
