"""Running a program of a history, on a GPU, the emulator or the CPU, and telling what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from threading import Event
from typing import Any, TypeAlias

import numpy as np

from workbench import draw, emulate, insight, runtime
from workbench.diag import Fail
from workbench.emulate import EmulationError, Expected, Run, Wrong
from workbench.emulate.kernels.orders import Orders, orders
from workbench.emulate.kernels.report import Met
from workbench.insight import Table
from workbench.ir import Buffer, PrimFunc, refuse_sizes
from workbench.runtime import Built, DeviceReport, launching
from workbench.runtime.arguments import written_params
from workbench.widgets.page.compare import counted, measuring
from workbench.widgets.page.memo import CPU, FIRST, at_inputs, build, launching_of
from workbench.widgets.page.texts import refusal
from workbench.widgets.run.inputs import arrays
from workbench.widgets.run.times import NEVER, SECONDS, time_both, times

Progress = Callable[[int, int], None]
Waits: TypeAlias = Callable[[int], None] | None
# What a lab's programs can run on -> the target that they are built for.
TARGETS = {"gpu": FIRST, "cpu": CPU}
Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]


class Stopped(Exception):
    """The run was stopped by the learner."""


@dataclass(frozen=True)
class Found:
    """What a run of a kernel that is broken on purpose came to: whether all is right, in words.

    `fail` is what the emulator refused, and `orders` its race, if two threads of a block have one;
    `ok` is None where the run was stopped.
    """

    ok: bool | None
    said: str
    fail: EmulationError | None = None
    orders: Orders | None = None


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
    unit: launching.Unit | None = None  # whose worker is asked; None: the emulator's run

    def halt(self) -> None:
        """Let what is under way end soon: the emulator looks at `stop`, a worker does not."""
        self.stop.set()
        if self.unit:
            launching.worker(self.unit).stop()

    def run(
        self,
        func: PrimFunc,
        start: PrimFunc,
        progress: Progress,
        on: str = "gpu",
        waits: Waits = None,
    ) -> dict[str, Any]:
        """Run `func`, compare with the reference, and tell what came out as plain data.

        `waits` is told, as in a call of what is built, how many notebooks have the GPU before.
        """
        try:
            func, start = (at_inputs(one, self.inputs) for one in (func, start))
            refuse_sizes(func, "choose arrays for")
            built = _built_for(func, on)
            _check_compiled(built)
            self.unit = _unit(built)
            given = arrays(func, self.inputs)
            blocks = None if built.device.measures else insight.sampled(built.kernels)
            made = self._made(built, start, given, blocks, progress, waits)
            return self._outcome(built, start, *made, waits)
        except Stopped:
            return {"ok": None, "brief": "stopped", "text": STOPPED}
        except Fail as fail:
            if self.stop.is_set():  # which ends the worker that a run waits for
                return {"ok": None, "brief": "stopped", "text": STOPPED}
            headline = f"✕ {fail.headline}"
            return {"ok": False, "brief": "✕ refused", "text": headline, "refusal": refusal(fail)}

    def find(self, built: Built, start: PrimFunc, progress: Progress) -> Found:
        """Run `built`, which is broken on purpose, on the emulator, and tell what is found."""
        given = arrays(built.func, self.inputs)
        copies = [array.copy() for array in given]
        blocks = insight.sampled(built.kernels)
        try:
            made, wanted, ran = self._made(built, start, copies, blocks, progress, None)
        except Stopped:
            return Found(None, STOPPED)
        except EmulationError as error:
            found = error.refusal
            if not isinstance(found, Met):
                return Found(False, error.headline, error)
            both = orders(built.kernels, given, built.func.params, found.meeting)
            return Found(False, error.headline, error, both)
        where, some = _where(built, ran)
        wrong = _wrong_cells(start, made, wanted, some)
        if wrong:
            return Found(False, f"Run on {where}: {_difference(*wrong[0], some)[1]}.")
        return Found(True, f"Run on {where}: every value is right.")

    def _made(
        self,
        built: Built,
        start: PrimFunc,
        given: Arrays,
        blocks: list[int] | None,
        progress: Progress,
        waits: Waits,
    ) -> tuple[Arrays, Expected, Run | None]:
        """What a run, of a large program some `blocks`, makes of arrays, and what it should."""
        if blocks is not None and self.reference is None:
            sampled = self._sample(built, start, given, blocks, progress)
            if sampled is not None:
                return sampled
        wanted = self.expected(start, given)
        if self.stop.is_set():
            raise Stopped
        return given, wanted, self._execute(built, given, blocks, progress, waits)

    def _sample(
        self, built: Built, start: PrimFunc, given: Arrays, blocks: list[int], progress: Progress
    ) -> tuple[Arrays, Expected, Run | None] | None:
        """Run `blocks`, and work out by its meaning what `start` puts into the cells they write.

        None where `start` does not say what each cell is, with `given` as it was.
        """
        none: dict[str, Array] = {}
        if emulate.evaluate_cells(start, given, none) is None:
            return None
        written = written_params(start)
        pairs = zip(start.params, given, strict=True)
        made = [array.copy() if param in written else array for param, array in pairs]
        ran = self._execute(built, made, blocks, progress, None)
        wanted = emulate.evaluate_cells(start, given, ran.written if ran else none)
        return None if wanted is None else (made, Expected(wanted), ran)

    def expected(self, start: PrimFunc, arrays: Arrays) -> Expected:
        """What the arrays should be after the run."""
        if self.reference is not None:
            return emulate.expected(self.reference, start.params, arrays, written_params(start))
        wanted = [array.copy() for array in arrays]
        emulate.evaluate(start, wanted)
        return Expected(wanted)

    def _execute(
        self,
        built: Built,
        arrays: Arrays,
        blocks: list[int] | None,
        progress: Progress,
        waits: Waits,
    ) -> Run | None:
        """Run on the arrays, of a large program some `blocks`; what the emulator tells."""
        if built.device.measures and not built.lowered.fault:
            launching_of(built)(*arrays, seconds=SECONDS, waits=waits)
            return None
        run = emulate.run(
            built.kernels,
            arrays,
            params=built.func.params,
            blocks=blocks,
            progress=progress,
            stop=self.stop,
        )
        if run.stopped:
            raise Stopped
        return run

    def _outcome(
        self,
        built: Built,
        start: PrimFunc,
        arrays: Arrays,
        expected: Expected,
        ran: Run | None,
        waits: Waits,
    ) -> dict[str, Any]:
        where, some = _where(built, ran)
        wrong = _wrong_cells(start, arrays, expected, some)
        for param, cell in wrong:
            expected.refuse_untouched(param, cell)
        brief, which = "✓ right result", "every value"
        if some is not None:
            brief, which = "✓ right result, in part", "what they write"
        whose = "the reference" if self.reference else "the start"
        outcome = f"{which} is right: {whose} gives the same."
        if wrong:
            brief, outcome = _difference(*wrong[0], some)
        rows = tuple(counted(built.func).items())
        untimed: dict[str, Any] = {"table": "", "brief": "", "notes": [NOT_TIMED], **NEVER}
        timed = untimed if wrong else times(built, start, arrays, waits)
        if self.stop.is_set():  # which ends the worker, of which `times` tells
            timed = {**untimed, "notes": [STOPPED_TIME]}
        notes = [] if some is None else [SAMPLED]
        notes += [warning.headline for warning in ran.warnings] if ran else []
        return {
            "ok": not wrong,
            "brief": brief,
            "text": f"{brief[0]} Run on {where}: {outcome}",
            "time": timed["brief"],
            "times": timed["table"],
            "us": timed["us"],
            "gpu": timed["gpu"],
            "notes": [*notes, *timed["notes"]],
            "table": draw.table_html(Table(("counted over the whole run", "how many"), rows)),
            "device": device_text(built.device),
        }

    def time_both(
        self,
        a: PrimFunc,
        b: PrimFunc,
        titles: Sequence[str],
        progress: Progress,
        waits: Waits = None,
    ) -> dict[str, Any]:
        """Time two programs by turns, on the GPU or the CPU, and tell the ratio as plain data."""

        def step(done: int, of: int) -> None:
            if self.stop.is_set():
                raise Stopped
            progress(done, of)

        try:
            target = measuring(a, b) or FIRST  # which then says what is missing
            pair = build(a, target), build(b, target)
            self.unit = _unit(pair[0])
            given = arrays(at_inputs(a, self.inputs), self.inputs)
            return time_both(*pair, given, step, titles, waits)
        except Stopped:
            return {"text": NO_RATIO}
        except Fail as fail:
            if self.stop.is_set():  # which ends the worker that a time waits for
                return {"text": NO_RATIO}
            return {"text": fail.headline, "refusal": refusal(fail)}


def _unit(built: Built) -> launching.Unit | None:
    if not built.device.measures:
        return None
    return "CPU" if built.target.is_cpu else "GPU"


def _built_for(func: PrimFunc, on: str) -> Built:
    """`func`, built for what it is to run on; what a CPU can't run may run on what is beside it."""
    try:
        return build(func, TARGETS[on])
    except Fail as fail:
        if on != "cpu":
            raise
        hint = f"choose “on {runtime.device().which}” beside run; or {fail.hint}"
        raise Fail(
            fail.headline, asked=fail.asked, where=fail.where, detail=fail.detail, hint=hint
        ) from None


def _check_compiled(built: Built) -> None:
    """Raise Fail where a program for the CPU could only run by what it is compared with."""
    report = built.device
    if built.target.is_cpu and not report.measures:
        raise Fail(
            f"Can't run {built.func.name} on this CPU: no C compiler is found here",
            hint=report.how_to_get,
        )


def device_text(report: DeviceReport) -> str:
    """Which device runs programs, why, and how to get a better one."""
    return f"runs on {report.which}: {report.why}" + (
        f" ({report.how_to_get})" if report.how_to_get else ""
    )


NO_RATIO = "Stopped before every round was taken: there is no ratio."
STOPPED = "Stopped: the run did not come to its end, so there is no result."
STOPPED_TIME = "It was not timed to the end: stopped."
NOT_TIMED = "It is not timed: a wrong result has no time worth knowing."


SAMPLED = (
    "So large a program is run in part: the first block, the last and two between. "
    "To run all of them: wb.build(sch).emulate(…), with an array for each parameter."
)


def _where(built: Built, ran: Run | None) -> tuple[str, Mapping[str, Array] | None]:
    """Where it ran; and, where only some blocks did, the cells of each array that these write."""
    if ran is None:
        return built.device.which, None
    blocks = sum(prod(kernel.grid) for kernel in built.kernels)
    if ran.blocks == blocks:
        return "the emulator", None
    return f"the emulator, {ran.blocks} of {blocks:,} blocks", ran.written


def _wrong_cells(
    start: PrimFunc, arrays: Arrays, expected: Expected, some: Mapping[str, Array] | None
) -> list[tuple[Buffer, Wrong]]:
    """The first wrong cell of each parameter that has one, of those that were written."""
    return [
        (param, cell)
        for param, got, want in zip(start.params, arrays, expected.arrays, strict=True)
        if some is None or param.name in some
        if (cell := _first_wrong(param, got, want, some))
    ]


def _first_wrong(
    param: Buffer, got: Array, want: Array, some: Mapping[str, Array] | None
) -> Wrong | None:
    among = some[param.name] if some is not None else None
    return emulate.first_wrong(param.name, param.dtype, got, want, among=among)


def _difference(param: Buffer, wrong: Wrong, some: Mapping[str, Array] | None) -> tuple[str, str]:
    """How many values are wrong, in few words and in a sentence that tells the first."""
    number = prod(param.shape) if some is None else int(some[param.name].sum())
    share = f"{wrong.count:,} of {number:,}"
    first = f"{wrong.cell} is {wrong.got}, not {wrong.want}"
    return f"✕ {share} wrong", f"{share} values are wrong; {first}"
