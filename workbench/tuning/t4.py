"""t4: a record as results in the tuning community's T4 format, for the tools of other tuners."""

from __future__ import annotations

import json
from typing import Any

from workbench.tuning.record import Lines, RecordError
from workbench.tuning.space import Decisions
from workbench.tuning.trial import Ended


def t4(lines: Lines) -> str:
    """The JSON of a T4 results file, version 1.0.0, with all trials and all that was refused.

    A configuration has what was decided under the number of the choice; times are milliseconds.
    Each result has our `trial`, `parents`, `program` and `reason`, too, which the format allows.
    The format is told by the TuningSchema of odgaard on GitHub. Raises RecordError for anything
    else than lines.

    >>> best = wb.tune(add, target="nvidia/h200", trials=2)
    >>> text = tuning.t4(best.tried.lines)
    >>> text.splitlines()[1]
    '  "schema_version": "1.0.0",'
    """
    if not isinstance(lines, Lines):
        raise RecordError(
            f"Can't write {type(lines).__name__} as T4: it takes the lines of a record",
            hint="tuning.t4(tuning.read(path)), or tuning.t4(best.tried.lines)",
        )
    refused = [
        {**_result(refusal.decisions, "constraints", ()), "reason": refusal.reason}
        for refusal in lines.refused.values()
    ]
    data = {
        "schema_version": "1.0.0",
        "device": lines.header.device,
        "results": [*map(_ended, lines.ended), *refused],
    }
    return json.dumps(data, indent=2)


def _ended(one: Ended) -> dict[str, Any]:
    trial, outcome = one.trial, one.outcome
    return {
        **_result(trial.decisions, outcome.status, outcome.times),
        "how": outcome.how,
        "reason": outcome.reason,
        "trial": trial.number,
        "parents": trial.parents,
        "program": trial.program,
    }


def _result(decisions: Decisions, status: str, seconds: tuple[float, ...]) -> dict[str, Any]:
    runtimes = [time * 1e3 for time in seconds]
    middle = sorted(runtimes)[len(runtimes) // 2] if runtimes else None
    return {
        "configuration": {f"choice {k}": decision for k, decision in enumerate(decisions, 1)},
        "objectives": ["time"],
        "times": {"runtimes": runtimes},
        "invalidity": status,
        "correctness": float(status == "correct"),
        "measurements": [] if middle is None else [{"name": "time", "value": middle, "unit": "ms"}],
    }
