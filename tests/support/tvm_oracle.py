"""The same random schedule here and in TVM, step by step."""

from __future__ import annotations

import contextlib
import os
import random
import runpy
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import workbench as wb
from tests.support import reference
from tests.support.gpu_steps import gpu_steps
from tests.support.random_programs import fresh, random_inputs, random_program
from tests.support.random_steps import Chooser
from tests.support.same_program import Different, compare
from tests.support.shallow import shallow
from tests.support.told import Told, take, take_ours
from tests.support.tvm_differences import explained_program, explained_refusal
from workbench import script
from workbench.history.trace import Bare
from workbench.history.tvm_file import in_their_form, tvm_file
from workbench.ir import Block, BlockRealize, Node, PrimFunc, SeqStmt, rewrite, seq, walk


@dataclass
class Verdicts:
    """What the two said: steps that both took or refused, and where they differ and why."""

    both_took: Counter[str] = field(default_factory=Counter)
    both_refused: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


# The line of an exported file that compares what TVM made with our program.
COMPARED = "tvm.ir.assert_structural_equal(short(sch.mod), short(Scheduled))"

# Verbs with which TVM 0.27 follows a null pointer where it should refuse.
CRASHING = ("loop_partition", "merge")


def load_tvm() -> tuple[Any, Any]:
    """TVM's schedule class and a function that reads its script."""
    import tvm.script
    from tvm.s_tir import Schedule
    from tvm.script import ir, tirx

    names = {"T": tirx, "I": ir}
    return Schedule, lambda text: shallow(tvm.script.from_source, text, names)


def take_theirs(sch: Any, step: Told) -> Any:
    """Take `step` on a TVM schedule."""
    kwargs = tuple((key, _value(in_their_form(key, value))) for key, value in step.kwargs)
    return take(
        sch,
        replace(step, kwargs=kwargs),
        lambda s, at: s.get_loops(s.get_sblock(at.block))[at.position],
        lambda s, at: s.get_sblock(at.block),
    )


def _crashes(act: Callable[[], object]) -> bool:
    """Whether `act` ends the process, tried in a copy of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the copy runs no threads of this process, and needs none
        child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with contextlib.suppress(Exception):
            act()
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


def _value(form: Any) -> Any:
    """An argument that is written as Python, as the value that it means."""
    return eval(form.text) if isinstance(form, Bare) else form


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

    def step(self, step: Told | None) -> None:
        """Take `step` in both; where only one does, none keeps it."""
        if step is None:
            return
        trial = self.theirs.copy()
        theirs, ours = self._theirs(trial, step), self._ours(step)
        if ours is None and theirs is None:
            before, self.theirs = self.theirs, trial
            self.taken.append(step)
            self.verdicts.both_took[step.verb] += 1
            if step.verb == "merge":
                self._merge_in_order(step, before)
            self.compare_programs()
        elif ours is not None and theirs is not None:
            self.verdicts.both_refused[step.verb] += 1
        else:
            if ours is None:
                self.check_ours()
                self.ours.undo()
            self._differ(step, ours, theirs, trial)

    def _merge_in_order(self, step: Told, before: Any) -> None:
        """Where loops were named in another order than they stand, count that; merge as they stand.

        TVM puts what they do in the order of naming, whatever that needs.
        """
        names = [node.name for node in walk(self.ours.func) if isinstance(node, Block)]
        args = tuple(sorted(step.args, key=lambda at: names.index(at.block)))
        if args == step.args:
            return
        fault = self._fault(self.theirs)
        name = f"merge: TVM's result {fault}" if fault else "program: Merged as they stand"
        self.verdicts.explained[name] += 1
        self.check_ours()
        self.ours.undo()
        self.theirs = before
        take_ours(self.ours, replace(step, args=args))
        take_theirs(self.theirs, replace(step, args=args))

    def _ours(self, step: Told) -> str | None:
        try:
            take_ours(self.ours, step)
        except wb.ScheduleError as error:
            return str(error)
        return None

    def _theirs(self, trial: Any, step: Told) -> str | None:
        if step.verb in CRASHING and _crashes(lambda: take_theirs(trial, step)):
            return "TVM crashes"
        try:
            take_theirs(trial, step)
        except Exception as error:
            return str(error)
        return None

    def _differ(self, step: Told, ours: str | None, theirs: str | None, trial: Any) -> None:
        fault = self._fault(trial) if theirs is None else ""
        if fault:
            self.verdicts.explained[f"{step.verb}: TVM's result {fault}"] += 1
            return
        name = explained_refusal(step.verb, ours or "", theirs or "")
        if name:
            self.verdicts.explained[name] += 1
            return
        said = f"we refuse: {ours.splitlines()[0]}" if ours else f"TVM refuses: {_last(theirs)}"
        self.verdicts.unexplained.append(
            f"{step.verb}: {said}\nstep: {step}\nafter: {'; '.join(map(str, self.taken))}\n"
            f"{script.show(self.ours.func)}"
        )

    def _fault(self, sch: Any) -> str:
        """What is wrong with what TVM made; nothing where it computes what the first program does.

        TVM's own later steps go by the regions and domains that blocks declare.
        """
        try:
            return self._difference(their_program(sch))
        except wb.ParseError:
            return "is no program of blocks and stores any more"

    def _difference(self, program: PrimFunc) -> str:
        """What `program` does otherwise than the first program; nothing where it is right."""
        got = fresh(self.inputs)
        if [p.shape for p in program.params] != [array.shape for array in got]:
            return "takes other arguments"
        try:
            reference.run(program, got)
        except reference.WrongAccess as wrong:
            if "as declared" in str(wrong) or "its domain" in str(wrong):
                return "declares other cells or iterations than it uses"
            return "uses cells that hold nothing"
        if all(np.array_equal(a, b) for a, b in zip(got, self.expected, strict=True)):
            return ""
        return "computes something else"

    def compare_files(self) -> None:
        """Note where the file of our steps does not make TVM's program when it is run there."""
        name = file_verdict(self.ours, self.theirs.mod)
        if name in ("refused", "written otherwise"):
            self.verdicts.explained[f"to_tvm: {name}"] += 1
        elif name:
            self.verdicts.unexplained.append(f"to_tvm: {name}\n{tvm_file(self.ours.node)}")

    def check_ours(self) -> None:
        """Note where what we made is not right."""
        wrong = self._difference(self.ours.func)
        if wrong:
            self.verdicts.unexplained.append(
                f"ours {wrong}\nafter: {'; '.join(map(str, self.taken))}\n"
                f"{script.show(self.ours.func)}"
            )

    def compare_programs(self) -> None:
        """Note where the two programs differ."""
        verb = self.taken[-1].verb if self.taken else "start"
        text = _comparison(self.ours.func, self.theirs)
        if not text and verb != "loop_partition":
            return
        fault = self._fault(self.theirs)
        name = f"{verb}: TVM's result {fault}" if fault else explained_program(verb, text)
        if name:
            self.verdicts.explained[name] += 1
        else:
            self.verdicts.unexplained.append(
                f"{verb}: programs differ: {text}\nafter: {'; '.join(map(str, self.taken))}\n"
                f"ours:\n{script.show(self.ours.func)}\ntheirs:\n{_text_of(self.theirs)}"
            )
        raise Diverged


def file_verdict(sch: wb.Schedule, theirs: Any = None) -> str:
    """What becomes of the file of `sch` when TVM runs it: "" where it makes our program.

    Else "refused", "written otherwise" (its own comparison fails), or an error; and where what
    comes out is not the module `theirs`, that.
    """
    from tvm.ir import assert_structural_equal

    with TemporaryDirectory() as folder:
        path = Path(folder) / "steps.py"
        try:
            sch.to_tvm(path)
            made = shallow(runpy.run_path, str(path))["module"]
            if theirs is not None:
                assert_structural_equal(made, theirs)
        except wb.ScheduleError as error:
            return "refused" if "for TVM: " in error.headline else str(error)
        except Exception as error:
            line = Path(path).read_text().splitlines().index(COMPARED) + 1
            frames = traceback.extract_tb(error.__traceback__)
            own = any((at.filename, at.lineno) == (str(path), line) for at in frames)
            return "written otherwise" if own else str(error)
    return ""


def _comparison(ours: PrimFunc, theirs: Any) -> str:
    """Where our program and that of a TVM schedule differ; nothing where they do not."""
    try:
        compare(printed(ours), their_program(theirs))
    except (Different, wb.ParseError) as difference:
        return str(difference)
    return ""


def their_program(sch: Any) -> PrimFunc:
    """What a TVM schedule stands at, read here, without the blocks around parts of loops."""
    parsed = script.parse(_text_of(sch))
    assert isinstance(parsed, PrimFunc)
    return rewrite(parsed, _without_wrapping)


def _text_of(sch: Any) -> str:
    return str(sch.mod["main"].script())


def _without_wrapping(node: Node) -> Node:
    """The statements that `loop_partition` of TVM puts blocks around, without those blocks."""
    match node:
        case BlockRealize(iter_values=(), block=Block(name=name, body=body)):
            return body if name.endswith(("_common", "_partition")) else node
        case SeqStmt(stmts):
            return seq(*stmts)
    return node


class Diverged(Exception):
    """The two programs are not the same any more, so comparing further steps says nothing."""


def _last(text: str | None) -> str:
    lines = [line for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def run_seed(seed: int, tvm: tuple[Any, Any]) -> Verdicts:
    """Schedule number `seed` in both."""
    rng = random.Random(seed)
    pair = Pair(rng, tvm)
    try:
        pair.compare_programs()
        if rng.random() < 0.3:
            for step in gpu_steps(pair.ours.func, rng):
                pair.step(step)
        for _ in range(rng.randint(2, 7)):
            pair.step(Chooser(pair.ours.func, rng).step())
        pair.compare_files()
    except Diverged:
        pass
    pair.check_ours()
    return pair.verdicts
