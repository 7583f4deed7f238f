"""One random walk: steps of any verb over an odd program, each compared with it by terms."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

import workbench as wb
from tests.access.corpus import program
from tests.support.gpu_steps import gpu_steps
from tests.support.pipelines import expanded
from tests.support.random_steps import Chooser
from tests.support.told import Told, take_ours
from workbench import emulate, ir, script
from workbench.access import (
    Data,
    Invalid,
    Terms,
    deciding,
    difference,
    meaning,
    random_data,
    shuffled,
)
from workbench.access.pipelines import ASYNC
from workbench.access.terms import Cell, Term
from workbench.diag import Refusal
from workbench.history.handles import Handle
from workbench.ir import Block, For, PrimFunc, walk
from workbench.verbs.primitive import REGISTRY

ORDERED = ("serial", "unrolled")  # kinds of loops whose iterations follow each other


class Wrong(AssertionError):
    """A step after which the program is not what it was: `kind` says in which way."""

    def __init__(self, kind: str, steps: Sequence[Told], func: PrimFunc, cause: object) -> None:
        told = "; ".join(map(str, steps)) or "(no step)"
        super().__init__(f"{kind}: {cause}\n  {told}\n{script.show(func)}")
        self.kind = kind


@dataclass
class Walk:
    """A program, the steps taken on it, and what is known of its meaning."""

    family: str
    name: str
    seed: int
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    taken: list[Told] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.family} {self.name} {self.seed}")
        self.program = self.first()
        self.sch = wb.Schedule(self.program)
        self.terms = Terms()
        self.data = random_data(self.program, self.seed)
        self.numbers = deciding(self.program)

    @cached_property
    def meant(self) -> list[dict[Cell, Term]]:
        """What the program means, asked for once a step is taken: most draws are refused."""
        return meaning(self.program, self.data, self.terms, numbers=self.numbers)

    def first(self) -> PrimFunc:
        """The program on which the walk starts."""
        return program(self.family, self.name)

    def go(self, count: int, verbs: tuple[str, ...] | None = None) -> None:
        """Take up to `count` random steps. Raises Wrong."""
        for _ in range(count):
            self.attempt(self.draw(verbs))

    def offered(self) -> list[tuple[Handle, str, Mapping[str, Any]]]:
        """Every call that `sch.actions` says is possible, at every block and loop."""
        found: list[tuple[Handle, str, Mapping[str, Any]]] = []
        seen: set[object] = set()
        for block in self.sch.get_blocks():
            for place in (block, *self.sch.get_loops(block)):
                if place.key in seen:
                    continue
                seen.add(place.key)
                try:
                    verdicts = self.sch.actions(place)
                except Exception as error:
                    raise self.wrong(f"actions({place.name}) fails", [], repr(error)) from error
                found += [(place, v.verb, choice) for v in verdicts for choice in v.choices]
        return found

    def take(self, place: Handle, verb: str, choice: Mapping[str, Any]) -> None:
        """Take a call that was offered, and look at what it made. Raises Wrong."""
        step = Told(verb, (place.name,), tuple(choice.items()))
        prim = REGISTRY[verb]
        if any(param.required and param.name not in choice for param in prim.params[1:]):
            return  # a text of one's own
        many = [
            value for param in prim.params if param.many for value in choice.get(param.name, ())
        ]
        named = {
            name: value
            for name, value in choice.items()
            if not any(param.many and param.name == name for param in prim.params)
        }
        try:
            self.sch.apply(verb, place, *many, **named)
        except Exception as error:
            raise self.wrong("what was offered fails", [step], repr(error)) from error
        self.taken.append(step)
        self.accepted[verb] += 1
        self.check()

    def draw(self, verbs: tuple[str, ...] | None) -> Told | None:
        """A step that may suit the program as it is."""
        try:
            return Chooser(self.sch.func, self.rng).step(verbs)
        except Exception as error:
            raise self.wrong("what a verb offers fails", [], repr(error)) from error

    def attempt(self, step: Told | None) -> bool:
        """Take `step` and look at what it made; False where it is refused. Raises Wrong."""
        if step is None or not self.accepts(step):
            return False
        self.check()
        return True

    def accepts(self, step: Told) -> bool:
        """Take `step`; False where it is refused. Raises Wrong."""
        try:
            take_ours(self.sch, step)
        except wb.ScheduleError:
            self.refused[step.verb] += 1
            return False
        except IndexError:  # an earlier step was refused, so that this loop is not there
            return False
        except Exception as error:
            raise self.wrong("a step fails", [step], repr(error)) from error
        self.taken.append(step)
        self.accepted[step.verb] += 1
        return True

    def run_kernel(self) -> bool:
        """Give root nests threads; where a kernel can be built then, it computes the same.

        False where none can be built. Raises Wrong.
        """
        taken = [self.accepts(step) for step in gpu_steps(self.sch.func, self.rng)]
        if any(taken):
            self.check()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", wb.ScheduleWarning)  # slow is not wrong
                built = wb.build(self.sch, target=gpu_for(self.sch.func))
        except wb.ScheduleError:
            return False
        meant = arrays(self.program, self.data)
        got = [array.copy() for array in meant]
        emulate.evaluate(self.program, meant)
        try:
            built.emulate(*got)
        except Exception as error:
            raise self.wrong("a kernel that was built fails", [], error) from error
        for param, a, b in zip(self.program.params, got, meant, strict=True):
            if not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
                raise self.wrong("another value in the kernel", [], param.name)
        return True

    def share_out(self) -> PrimFunc | None:
        """The program with loops of cores and lanes in place of threads; None where C can't be it.

        The schedule stays where it is. Raises Wrong.
        """
        here, rng = self.sch.node, random.Random(f"{self.family} {self.name} {self.seed} c")
        taken = list(self.taken)
        for _ in range(3):
            step = Chooser(self.sch.func, rng).step(("parallel", "vectorize"))
            self.attempt(step)
        func = unbound(self.sch.func)
        self.sch.goto(here)
        self.taken = taken
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", wb.ScheduleWarning)  # some loops run serially
                wb.build(func, target="c")
        except wb.ScheduleError:
            return None
        return func

    def check(self) -> None:
        """The program is well-formed, is read back, and means what it meant. Raises Wrong."""
        func = self.sch.func
        try:
            ir.verify(func)
            ir.assert_structural_equal(func, script.parse(script.show(func)))
        except Exception as error:
            raise self.wrong("not well-formed", [], error) from error
        runs = [(func, order) for order in orders(func, self.seed)]
        with contextlib.suppress(Refusal):  # a step has changed what is pipelined: none is built
            made = expanded(func)
            runs += [(made, lambda loop, values: values)] if made is not func else []
        for run, order in runs:
            try:
                now = meaning(run, self.data, self.terms, order, self.numbers)
            except Invalid as error:
                raise self.wrong("no meaning", [], error) from error
            if any(term is not after[cell] for before, after in zip(self.meant, now, strict=True)
                   for cell, term in before.items()):  # fmt: skip
                told = difference(self.program, run, self.data, order)
                raise self.wrong("another meaning", [], told)

    def wrong(self, kind: str, steps: Sequence[Told], cause: object) -> Wrong:
        return Wrong(f"{self.family} / {self.name} / {self.seed}: {kind}",
                     [*self.taken, *steps], self.sch.func, cause)  # fmt: skip


def gpu_for(func: PrimFunc) -> str:
    """A target that has what `func` asks for: asynchronous copies, or nothing that is new."""
    notes = (
        key for node in walk(func.body) if isinstance(node, For) for key, _ in node.annotations
    )
    return "nvidia/a100" if ASYNC in notes else "cuda"


def unbound(func: PrimFunc) -> PrimFunc:
    """`func` with each thread's loop as a serial one, as it is by its meaning."""

    def visit(node: ir.Node) -> ir.Node:
        bound = isinstance(node, For) and node.thread
        return replace(node, kind="serial", thread=None) if bound else node

    return ir.rewrite(func, visit)


def arrays(func: PrimFunc, data: Data) -> list[np.ndarray[Any, Any]]:
    """What each parameter holds at first, as arrays."""
    return [
        np.array(list(cells.values()), dtype=buffer.type).reshape(buffer.shape)
        for buffer, cells in zip(func.params, data, strict=True)
    ]


def orders(func: PrimFunc, seed: int) -> list[Callable[[For, range], Sequence[int]]]:
    """Orders in which the loops of `func` may run: their own, and that of others without one.

    Threads that share memory wait for each other, which no order of whole threads shows.
    """
    shares = any(
        buffer.scope == "shared"
        for node in walk(func.body)
        if isinstance(node, Block)
        for buffer in node.alloc_buffers
    )
    kinds = {node.kind for node in walk(func.body) if isinstance(node, For)}
    found = [lambda loop, values: values]
    if kinds - {*ORDERED}:
        mixed = shuffled(seed)

        def order(loop: For, values: range) -> Sequence[int]:
            waits = shares and (loop.thread or "").startswith(("thread", "vthread"))
            return values if waits else mixed(loop, values)

        found.append(order)
    return found
