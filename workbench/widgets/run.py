"""Running a program of a history, on the GPU or the emulator, and telling what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from threading import Event
from typing import Any

import numpy as np

from workbench import draw, emulate
from workbench.diag import Fail
from workbench.emulate import Expected, Wrong
from workbench.insight import Table
from workbench.ir import Buffer, PrimFunc
from workbench.runtime import Built
from workbench.runtime.arguments import written_params
from workbench.widgets.build import build
from workbench.widgets.compare import counted
from workbench.widgets.inputs import arrays
from workbench.widgets.texts import refusal
from workbench.widgets.times import time_both, times

Progress = Callable[[int, int], None]
Arrays = Sequence[np.ndarray[Any, Any]]


class Stopped(Exception):
    """The run was stopped by the learner."""


@dataclass
class Runner:
    """What is run: arrays by parameter name, and what they should become.

    `inputs` maps parameters to arrays; those not named get whole numbers from a fixed sequence.
    `reference` takes the arrays of the parameters and writes the outputs; without one, the
    program that the history started from is run by its meaning.
    """

    inputs: Mapping[str, Any] = field(default_factory=dict)
    reference: Callable[..., object] | None = None
    stop: Event = field(default_factory=Event)

    def run(self, func: PrimFunc, start: PrimFunc, progress: Progress) -> dict[str, Any]:
        """Run `func`, compare with the reference, and tell what came out as plain data."""
        try:
            built = build(func)
            given = arrays(func, self.inputs)
            wanted = self.expected(start, given)
            if self.stop.is_set():
                raise Stopped
            wasted = self._execute(built, given, progress)
            return self._outcome(built, start, given, wanted, wasted)
        except Stopped:
            return {"ok": None, "text": "Stopped: not every block has run, so there is no result."}
        except Fail as fail:
            return {"ok": False, "text": fail.headline, "refusal": refusal(fail)}

    def expected(self, start: PrimFunc, arrays: Arrays) -> Expected:
        """What the arrays should be after the run."""
        if self.reference is not None:
            return emulate.expected(self.reference, start.params, arrays, written_params(start))
        wanted = [array.copy() for array in arrays]
        emulate.evaluate(start, wanted)
        return Expected(wanted)

    def _execute(self, built: Built, arrays: Arrays, progress: Progress) -> list[str]:
        """Run on the arrays; returns what was wasted, in sentences."""
        if built.device.is_gpu:
            built(*arrays)
            return []
        params = built.func.params
        run = emulate.run(built.kernels, arrays, params=params, progress=progress, stop=self.stop)
        if run.stopped:
            raise Stopped
        return [warning.headline for warning in run.warnings]

    def _outcome(
        self,
        built: Built,
        start: PrimFunc,
        arrays: Arrays,
        expected: Expected,
        wasted: Sequence[str],
    ) -> dict[str, Any]:
        wrong = [
            (param, cell)
            for param, got, want in zip(start.params, arrays, expected.arrays, strict=True)
            if (cell := emulate.first_wrong(param.name, param.dtype, got, want))
        ]
        for param, cell in wrong:
            expected.refuse_untouched(param, cell)
        device = built.device
        where = device.which if device.is_gpu else "the emulator"
        text = f"Run on {where}: " + (
            _difference(*wrong[0]) if wrong else "every value is as the reference has it."
        )
        rows = tuple(counted(built.func).items())
        found = {"table": "", "notes": [NOT_TIMED]} if wrong else times(built, start, arrays)
        return {
            "ok": not wrong,
            "text": text,
            "times": found["table"],
            "notes": [*wasted, *found["notes"]],
            "table": draw.table_html(Table(("counted over the whole run", "times"), rows)),
        }

    def time_both(
        self, a: PrimFunc, b: PrimFunc, titles: Sequence[str], progress: Progress
    ) -> dict[str, Any]:
        """Time two programs by turns on the GPU, and tell the ratio as plain data."""

        def step(done: int, of: int) -> None:
            if self.stop.is_set():
                raise Stopped
            progress(done, of)

        try:
            return time_both(build(a), build(b), arrays(a, self.inputs), step, titles)
        except Stopped:
            return {"text": "Stopped before every round was taken: there is no ratio."}
        except Fail as fail:
            return {"text": fail.headline, "refusal": refusal(fail)}


NOT_TIMED = "It is not timed: a wrong result has no time worth knowing."


def _difference(param: Buffer, wrong: Wrong) -> str:
    found = f"{wrong.count:,} of {prod(param.shape):,} values are wrong"
    return f"{found}; {wrong.cell} is {wrong.got}, not {wrong.want}"
