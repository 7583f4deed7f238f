"""The same random schedule here and in TVM, step by step."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import workbench as wb
from tests.support import reference
from tests.support.gpu_steps import gpu_steps
from tests.support.random_programs import fresh, random_inputs, random_program
from tests.support.random_steps import Chooser, Told, take, take_ours
from tests.support.same_program import Different, compare
from workbench import script
from workbench.ir import PrimFunc


@dataclass
class Verdicts:
    """What the two said: steps that both took or refused, and where they differ and why."""

    both_took: Counter[str] = field(default_factory=Counter)
    both_refused: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A difference that is meant: which steps, what our refusal says, what the docs call it."""

    name: str
    verb: str
    ours: str  # a pattern that our refusal's text fits; "" where we take the step
    theirs: str = ""  # a pattern that TVM's error fits; "" where it takes the step


# The names are those of the sections of docs/differences-from-tvm.md.
EXPLAINED: tuple[Explanation, ...] = (
    Explanation(
        "Reductions across threads", "*", r"would both (update|write)|may (update|write) the same"
    ),
    Explanation("A bound loop stays bound", "*", r"it is bound to"),
    Explanation("One axis, one extent", "bind", r"it runs .* times, but"),
    Explanation("One axis, one loop", "bind", r"is bound to it too, and .* uses both"),
    Explanation("Proofs instead of forms", "*", "", r"compact dataflow|cannot be fulfilled"),
    Explanation("Proofs instead of forms", "reverse_compute_at", "", r"Check failed|pattern match"),
    Explanation(
        "Proofs instead of forms", "reverse_compute_inline", "", r"Invalid|affine|bijective"
    ),
    Explanation("Moves that do nothing", "*", r"no block (ahead of it makes|after it reads)"),
    Explanation(
        "Values that are not made yet",
        "reverse_compute_at",
        r"not made yet|made in different|too early",
    ),
    Explanation("Values that are not made yet", "compute_at", r"not made yet|makes? all"),
    Explanation(
        "Sums that could start again", "*", r"added twice|before its init|out of order|runs twice"
    ),
    Explanation(
        "Blocks that may skip iterations",
        "*",
        r"may not run all|only where its T.where|without its T.where|may leave out",
    ),
    Explanation(
        "Copies that would overwrite", "cache_write", r"leave out cells|leave cells between"
    ),
    Explanation("Alignment of the last axis", "storage_align", r"is the last, whose elements"),
    Explanation("Any combiner that forgets its start", "rfactor", "", r"No matched reducer"),
    Explanation(
        "program: Extents are numbers", "compute_at", r"^values of ax|^T.where of|^bindings of"
    ),
    Explanation("program: Extents are numbers", "reverse_compute_at", r"^values of ax|^T.where of"),
    Explanation(
        "program: One iteration where one is enough", "reverse_compute_at", r"^kind of stat"
    ),
    Explanation(
        "program: Indices where the block runs",
        "reverse_compute_inline",
        r"^(writes|where|T.where|reads)",
    ),
    Explanation("program: Conditions stay with the block", "cache_write", r"^T.where of"),
    Explanation("program: Conditions stay with the block", "rfactor", r"^T.where of"),
    Explanation("Proofs instead of forms", "rfactor", "", r"kSerial"),
    Explanation("program: Extents are numbers", "cache_read", r"^values of ax"),
    Explanation("program: Names are identifiers", "*", r"\.rf"),
    Explanation("program: Copies no larger than the buffer", "cache_read", r"^buffers of root"),
)


def load_tvm() -> tuple[Any, Any]:
    """TVM's schedule class and a function that reads its script."""
    import tvm.script
    from tvm.s_tir import Schedule
    from tvm.script import ir, tirx

    return Schedule, lambda text: tvm.script.from_source(text, {"T": tirx, "I": ir})


def take_theirs(sch: Any, step: Told) -> Any:
    """Take `step` on a TVM schedule."""
    return take(
        sch,
        step,
        lambda s, at: s.get_loops(s.get_sblock(at.block))[at.position],
        lambda s, at: s.get_sblock(at.block),
    )


def printed(func: PrimFunc) -> PrimFunc:
    """`func` with the names that it is printed with."""
    parsed = script.parse(script.show(func))
    assert isinstance(parsed, PrimFunc)
    return parsed


class Pair:
    """One program under two schedules."""

    def __init__(self, rng: random.Random, tvm: tuple[Any, Any]) -> None:
        self.rng = rng
        schedule, read = tvm
        self.program = random_program(rng)
        self.ours = wb.Schedule(self.program)
        self.theirs = schedule(
            read(script.show(self.program, dialect="tvm")), error_render_level="fast"
        )
        self.inputs = random_inputs(self.program, rng)
        self.expected = fresh(self.inputs)
        reference.run(self.program, self.expected)
        self.verdicts = Verdicts()
        self.taken: list[Told] = []
        self.compare_programs()

    def step(self, step: Told | None) -> None:
        """Take `step` in both; where only one does, none keeps it."""
        if step is None:
            return
        ours, theirs = self._ours(step), None
        trial = self.theirs.copy()
        try:
            take_theirs(trial, step)
        except Exception as error:
            theirs = str(error)
        if ours is None and theirs is None:
            self.theirs = trial
            self.taken.append(step)
            self.verdicts.both_took[step.verb] += 1
            self.compare_programs()
        elif ours is not None and theirs is not None:
            self.verdicts.both_refused[step.verb] += 1
        else:
            if ours is None:
                self.ours.undo()
            self._differ(step, ours, theirs, trial)

    def _ours(self, step: Told) -> str | None:
        try:
            take_ours(self.ours, step)
        except wb.ScheduleError as error:
            return str(error)
        return None

    def _differ(self, step: Told, ours: str | None, theirs: str | None, trial: Any) -> None:
        if theirs is None and not self._means_the_same(trial):
            self.verdicts.explained[f"{step.verb}: TVM's result computes something else"] += 1
            return
        for known in EXPLAINED:
            fits = known.verb in (step.verb, "*") and (ours is None) == (not known.ours)
            if fits and re.search(known.ours, ours or "") and re.search(known.theirs, theirs or ""):
                self.verdicts.explained[known.name] += 1
                return
        said = f"we refuse: {ours.splitlines()[0]}" if ours else f"TVM refuses: {_last(theirs)}"
        self.verdicts.unexplained.append(
            f"{step.verb}: {said}\nstep: {step}\nafter: {'; '.join(map(str, self.taken))}\n"
            f"{script.show(self.ours.func)}"
        )

    def _means_the_same(self, trial: Any) -> bool:
        """Whether what TVM made still computes what the first program does."""
        got = fresh(self.inputs)
        try:
            reference.run(self.their_program(trial), got)
        except (AssertionError, wb.ParseError):
            return False  # also where it is no program of blocks and stores any more
        return all(np.array_equal(a, b) for a, b in zip(got, self.expected, strict=True))

    def their_program(self, sch: Any) -> PrimFunc:
        """What a TVM schedule stands at, read here."""
        parsed = script.parse(sch.mod["main"].script())
        assert isinstance(parsed, PrimFunc)
        return parsed

    def compare_programs(self) -> None:
        """Note where the two programs differ."""
        theirs = self.their_program(self.theirs)
        try:
            compare(printed(self.ours.func), theirs)
        except Different as difference:
            text = str(difference)
            verb = self.taken[-1].verb if self.taken else "start"
            name = _explained_program(verb, text)
            if name:
                self.verdicts.explained[name] += 1
                raise Diverged from None
            self.verdicts.unexplained.append(
                f"{verb}: programs differ: {text}\nafter: {'; '.join(map(str, self.taken))}\n"
                f"ours:\n{script.show(self.ours.func)}\ntheirs:\n{script.show(theirs)}"
            )
            raise Diverged from None


def _explained_program(verb: str, text: str) -> str:
    """The name of the known difference between the two programs, or nothing."""
    for known in EXPLAINED:
        is_program = known.name.startswith("program: ") and known.verb in (verb, "*")
        if is_program and re.search(known.ours, text):
            return known.name
    return ""


class Diverged(Exception):
    """The two programs are not the same any more, so comparing further steps says nothing."""


def _last(text: str | None) -> str:
    lines = [line for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def run_seed(seed: int, tvm: tuple[Any, Any]) -> Verdicts:
    """Schedule number `seed` in both."""
    rng = random.Random(seed)
    pair: Pair | None = None
    verdicts = Verdicts()
    try:
        pair = Pair(rng, tvm)
        verdicts = pair.verdicts
        if rng.random() < 0.3:
            for step in gpu_steps(pair.ours.func, rng):
                pair.step(step)
        for _ in range(rng.randint(2, 7)):
            pair.step(Chooser(pair.ours.func, rng).step())
    except Diverged:
        pass
    return verdicts
