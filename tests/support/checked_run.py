"""One random schedule of one random program, with every step held against the first program."""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import workbench as wb
from tests.support import reference
from tests.support.cpp import CppFailure, compile_cpp
from tests.support.gpu_steps import gpu_steps
from tests.support.random_programs import fresh, random_inputs, random_program
from tests.support.random_steps import Chooser
from tests.support.told import Told, take_ours
from workbench import emulate, ir, script
from workbench.ir import PrimFunc
from workbench.lower import Lowered

Arrays = list[np.ndarray[Any, Any]]


class Wrong(AssertionError):
    """A check that failed: which, after which steps, and the program."""

    def __init__(self, what: str, steps: Sequence[Told], func: PrimFunc, cause: object) -> None:
        told = "\n".join(f"  {step}" for step in steps) or "  (none)"
        super().__init__(f"{what}: {cause}\nsteps:\n{told}\nprogram:\n{script.show(func)}")
        self.what = what


@dataclass
class Outcome:
    """What happened: steps taken and refused by verb."""

    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    kernels: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    jobs: list[Job] = field(default_factory=list)


@dataclass
class Job:
    """A kernel that was built, to be run as C++ together with others."""

    lowered: Lowered
    inputs: Arrays
    expected: Arrays
    wrong: Callable[[str, object], Wrong]

    def compare(self, name: str, got: Arrays) -> None:
        """Raise Wrong where `got` is not what the program computes."""
        what = f"another value {name}"
        _compare(self.lowered.func, got, self.expected, lambda cause: self.wrong(what, cause))


def _compare(func: PrimFunc, got: Arrays, expected: Arrays, wrong: Callable[[str], Wrong]) -> None:
    """Raise what `wrong` makes of the first cell that differs."""
    for param, a, b in zip(func.params, got, expected, strict=True):
        if not np.array_equal(a, b):
            where = tuple(int(k) for k in np.argwhere(a != b)[0])
            raise wrong(f"{param.name}{list(where)} is {a[where]}, not {b[where]}")


class CheckedRun:
    """A schedule whose every step is checked, those that give threads together."""

    def __init__(self, rng: random.Random, program: PrimFunc | None = None) -> None:
        self.rng = rng
        self.program = program or random_program(rng)
        self.inputs = random_inputs(self.program, rng)
        self.expected = fresh(self.inputs)
        reference.run(self.program, self.expected)
        self.sch = wb.Schedule(self.program)
        self.taken: list[Told] = []
        self.outcome = Outcome()
        self.check_program()

    # --- steps -----------------------------------------------------------------------------------

    def step(self, step: Told) -> bool:
        """Take `step`; False where it is refused."""
        try:
            take_ours(self.sch, step)
        except wb.ScheduleError as error:
            self.outcome.refused[step.verb] += 1
            self.check_refusal(step, error)
            return False
        except IndexError:  # an earlier step was refused, so that this loop is not there
            return False
        except Exception as error:
            raise Wrong("a step failed", [*self.taken, step], self.sch.func, repr(error)) from error
        self.taken.append(step)
        self.outcome.accepted[step.verb] += 1
        return True

    def random_steps(self, count: int, verbs: tuple[str, ...] | None = None) -> None:
        """Take up to `count` random steps, and check the program that each makes."""
        for _ in range(count):
            step = Chooser(self.sch.func, self.rng).step(verbs)
            if step is not None and self.step(step):
                self.check_program()

    def bind_threads(self) -> None:
        """Give every root nest threads, and check the program that these steps make together."""
        taken = [self.step(step) for step in gpu_steps(self.sch.func, self.rng)]
        if any(taken):
            self.check_program()

    # --- checks ----------------------------------------------------------------------------------

    def fail(self, what: str, cause: object) -> Wrong:
        """The failure of a check of the program as it is."""
        return Wrong(what, self.taken, self.sch.func, cause)

    def check_refusal(self, step: Told, error: wb.ScheduleError) -> None:
        """A refusal has a short first line and says what to do."""
        first = re.sub(r"\w{9,}", "eightchr", str(error).splitlines()[0])  # names may be long
        if len(first) > 120 or not first.startswith("Can't ") or not error.hint:
            raise Wrong(
                "a refusal is not as it should be", [*self.taken, step], self.sch.func, error
            )

    def check_program(self) -> None:
        """It is well-formed, is read back as itself, and means what the first one means."""
        func = self.sch.func
        try:
            ir.verify(func)
        except ir.VerifyError as error:
            raise self.fail("not well-formed", error) from error
        try:
            ir.assert_structural_equal(func, script.parse(script.show(func)))
        except Exception as error:
            raise self.fail("not read back as itself", error) from error
        for name, run in (
            ("by the plain reference", reference.run),
            ("emulated", emulate.evaluate),
        ):
            self.check_values(name, lambda args, run=run: run(func, args))

    def check_values(self, name: str, run: Callable[[Arrays], object]) -> None:
        """`run` gives what the first program gives."""
        got = fresh(self.inputs)
        try:
            run(got)
        except Exception as error:
            raise self.fail(f"failed {name}", repr(error)) from error
        _compare(
            self.program,
            got,
            self.expected,
            lambda cause: self.fail(f"another value {name}", cause),
        )

    def check_replay(self) -> None:
        """The trace, as data and back, makes the same programs."""
        again = wb.Schedule.replay(self.program, self.sch.trace)
        for a, b in zip(self.sch.node.path(), again.node.path(), strict=True):
            try:
                ir.assert_structural_equal(a.mod[self.program.name], b.mod[self.program.name])
            except AssertionError as error:
                raise self.fail("replays to another program", error) from error

    def check_kernel(self) -> None:
        """Where a kernel can be built, it gives the same emulated; it is kept to be run as C++."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", wb.ScheduleWarning)  # slow is not wrong
                built = wb.build(self.sch, target="cuda")
        except wb.ScheduleError as error:
            self.outcome.kernels["refused"] += 1
            self.outcome.reasons[_shape_of(str(error).splitlines()[0])] += 1
            return
        except Exception as error:
            raise self.fail("build failed", repr(error)) from error
        self.outcome.kernels["built"] += 1
        self.check_values("in the emulated kernel", lambda args: built.emulate(*args))
        steps, func = list(self.taken), self.sch.func
        self.outcome.jobs.append(
            Job(
                built.lowered,
                self.inputs,
                self.expected,
                lambda what, cause: Wrong(what, steps, func, cause),
            )
        )


def run_as_cpp(jobs: Sequence[Job]) -> None:
    """Run kernels as C++, all in one executable.

    Raises Wrong for the first that is not right, alone where the executable as a whole fails.
    """
    if not jobs:
        return
    arrays = [fresh(job.inputs) for job in jobs]
    try:
        compile_cpp([job.lowered for job in jobs]).run(list(enumerate(arrays)))
    except CppFailure as failure:
        if len(jobs) == 1:
            raise jobs[0].wrong("failed as C++", failure) from failure
        for job in jobs:
            run_as_cpp([job])
        raise
    for job, got in zip(jobs, arrays, strict=True):
        job.compare("in the kernel as C++", got)


def _shape_of(headline: str) -> str:
    """A headline without the names in it, to count alike ones together."""
    return " ".join(word for word in headline.split() if "`" not in word)[:70]


STYLES = ("free", "gpu first", "gpu last")


def run_seed(
    seed: int, verbs: tuple[str, ...] | None = None, styles: tuple[str, ...] = STYLES
) -> Outcome:
    """The random schedule number `seed`, with all checks; of `verbs` where they are given.

    Raises Wrong where one fails.
    """
    rng = random.Random(seed)
    run = CheckedRun(rng)
    style = rng.choice(styles)
    if style == "gpu first":
        run.bind_threads()
    run.random_steps(rng.randint(3, 10), verbs)
    if style == "gpu last":
        run.bind_threads()
    run.check_replay()
    if style != "free":
        run.check_kernel()
    return run.outcome
