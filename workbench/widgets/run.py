"""Running a program of a history, on the GPU or the emulator, and telling what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np

from workbench import draw, emulate
from workbench.diag import Fail
from workbench.insight import Table
from workbench.ir import PrimFunc, dtypes, stores
from workbench.runtime import Built
from workbench.widgets.build import build
from workbench.widgets.compare import counted
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

    def arrays(self, func: PrimFunc) -> list[np.ndarray[Any, Any]]:
        """One fresh array a parameter, in order; outputs start as zeros."""
        outputs = {store.buffer for store in stores(func.body)}
        made = []
        for seed, param in enumerate(func.params):
            if param.name in self.inputs:
                made.append(np.array(self.inputs[param.name], dtype=_numpy(param.dtype)))
            elif param in outputs:
                made.append(np.zeros(param.shape, _numpy(param.dtype)))
            else:
                made.append(whole_numbers(param.shape, param.dtype, seed))
        return made

    def run(self, func: PrimFunc, start: PrimFunc, progress: Progress) -> dict[str, Any]:
        """Run `func`, compare with the reference, and tell what came out as plain data."""
        try:
            built = build(func)
            arrays = self.arrays(func)
            expected = self.expected(start, arrays)
            if self.stop.is_set():
                raise Stopped
            wasted = self._execute(built, arrays, progress)
        except Stopped:
            return {"ok": None, "text": "Stopped: not every block has run, so there is no result."}
        except Fail as fail:
            return {"ok": False, "text": fail.headline, "refusal": refusal(fail)}
        return self._outcome(built, start, arrays, expected, wasted)

    def expected(self, start: PrimFunc, arrays: Arrays) -> list[np.ndarray[Any, Any]]:
        """What the arrays should be after the run."""
        wanted = [array.copy() for array in arrays]
        if self.reference is not None:
            self.reference(*wanted)
        else:
            emulate.evaluate(start, wanted)
        return wanted

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
        expected: Arrays,
        wasted: Sequence[str],
    ) -> dict[str, Any]:
        wrong = [
            where
            for param, got, want in zip(built.func.params, arrays, expected, strict=True)
            if (where := difference(param.name, param.dtype, got, want))
        ]
        device = built.device
        where = device.which if device.is_gpu else "the emulator"
        text = f"Run on {where}: " + (
            wrong[0] if wrong else "every value is as the reference has it."
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
            return time_both(build(a), build(b), self.arrays(a), step, titles)
        except Stopped:
            return {"text": "Stopped before every round was taken: there is no ratio."}
        except Fail as fail:
            return {"text": fail.headline, "refusal": refusal(fail)}


NOT_TIMED = "It is not timed: a wrong result has no time worth knowing."


def whole_numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray[Any, Any]:
    """Small whole numbers that differ from cell to cell, so that sums are exact in any order."""
    values = np.random.default_rng(seed).integers(-8 if dtype[0] != "u" else 0, 9, size=shape)
    return values.astype(_numpy(dtype))


def difference(name: str, dtype: str, got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> str:
    """The first cell that differs, in words; "" where none does. Floats may differ by rounding."""
    if dtypes.is_float(dtype):
        digits = {"float64": 1e-9, "float32": 1e-5}.get(dtype, 2e-2)
        same = np.isclose(got.astype(float), want.astype(float), rtol=digits, atol=digits)
    else:
        same = got == want
    if same.all():
        return ""
    first = tuple(int(i) for i in np.argwhere(~same)[0])
    cell = f"{name}[{', '.join(map(str, first))}]"
    count = int((~same).sum())
    return f"{count:,} of {same.size:,} values are wrong; {cell} is {got[first]}, not {want[first]}"


def _numpy(dtype: str) -> str:
    return "float32" if dtype == "bfloat16" else dtype
