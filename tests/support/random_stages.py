"""Random schedules of stages of random graphs, their calls in several orders."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.support.random_te import Graph
from tests.support.walk import orders
from workbench import ir, script
from workbench.access import Terms, deciding, meaning, random_data
from workbench.ir import PrimFunc
from workbench.schedule import Schedule, ScheduleError
from workbench.te import Operation, Tensor, create_prim_func
from workbench.tvm import te
from workbench.tvm.te.axes import Loop
from workbench.tvm.te.stages import Stage

ORDERS = 3


class Declared:
    """A schedule of the stages of graph `seed`, whose calls on several stages come in any order.

    The outputs are tiled and bound, virtual threads among their axes; what they read is copied,
    and other stages are inlined or attached to their loops.
    """

    def __init__(self, seed: int, order: int) -> None:
        self.args = Graph(random.Random(seed)).args
        self.rng = random.Random(f"stages {seed}")
        outputs = list(dict.fromkeys(t.op for t in self.args if t.op.body))
        self.s = te.create_schedule(outputs)
        self.inner = [s.op for s in self.s.stages if s.body and s.op not in outputs]
        self.calls: list[Callable[[], object]] = []
        self.tiled: dict[Stage, list[Loop]] = {}
        for op in outputs:
            self._output(op)
        for op in self.inner:
            self._inside(op)
        for stage in self.s.stages:
            self._copied(stage)
        random.Random(order).shuffle(self.calls)
        for call in self.calls:
            call()

    def _output(self, op: Operation) -> None:
        """Tile and bind an output; its sum may be made in registers, below one of the loops."""
        stage, inside = self.s[op], None
        if op.num_outputs == 1 and self.rng.random() < 0.4:
            inside = self.s[self.s.cache_write(op.output(0), "local")]
        axes = stage.op.axis
        if axes:
            self.tiled[stage] = self._tiled(stage)
        if axes and inside is not None:
            at = self.rng.choice(self.tiled[stage])
            self.calls.append(lambda: inside.compute_at(stage, at))

    def _tiled(self, stage: Stage) -> list[Loop]:
        axes = stage.op.axis
        roles: dict[str, list[Loop]] = {"blockIdx": [], "vthread": [], "threadIdx": []}
        for axis in self.rng.sample(axes, min(len(axes), self.rng.choice((1, 2)))):
            outer, loop = stage.split(axis, factor=self.rng.choice((2, 3, 4, 6)))
            roles["blockIdx"].append(outer)
            if self.rng.random() < 0.5:
                copies, loop = stage.split(loop, nparts=2)
                roles["vthread"].append(copies)
            if self.rng.random() < 0.5:
                loop, _ = stage.split(loop, nparts=self.rng.choice((2, 3)))
            roles["threadIdx"].append(loop)
        bound = [loop for loops in roles.values() for loop in loops]
        stage.reorder(*bound, *(loop for loop in stage.leaf_iter_vars if loop not in bound))
        for role, loops in roles.items():
            for loop, letter in zip(loops, "xy", strict=False):
                tag = role if role == "vthread" else f"{role}.{letter}"
                stage.bind(loop, te.thread_axis(tag))
        return list(stage.leaf_iter_vars)

    def _inside(self, op: Operation) -> None:
        """Inline a stage that no caller sees, or attach it to its only reader."""
        stage, wish = self.s[op], self.rng.random()
        readers = [s for s in self.s.stages if s.body and stage in s.body.inputs]
        if wish < 0.35 and not op.reduce_axis and op.num_outputs == 1:
            self.calls.append(stage.compute_inline)
        elif wish < 0.7 and len(readers) == 1 and readers[0] in self.tiled:
            at = self.rng.choice(self.tiled[readers[0]])
            self.calls.append(lambda: stage.compute_at(readers[0], at))

    def _copied(self, stage: Stage) -> None:
        """Copy what one of the tiled stages reads, and fetch it there."""
        readers = [s for s in self.tiled if s.body and stage in s.body.inputs]
        if not readers or stage.op.num_outputs > 1 or self.rng.random() < 0.5:
            return
        tensor, reader = stage.op.output(0), readers[0]
        at, scope = self.rng.choice(self.tiled[reader]), self.rng.choice(("shared", "local"))

        def call() -> None:
            copy = self.s[self.s.cache_read(tensor, scope, [reader.op])]
            copy.compute_at(reader, at)
            if scope == "shared":
                copy.split(copy.fuse(*copy.op.axis), factor=3)

        self.calls.append(call)

    def applied(self) -> Schedule | str:
        """Its steps, or why there are none."""
        try:
            return self.s.applied(self.args)
        except ScheduleError as error:
            return error.headline


def check_stages(seed: int) -> bool:
    """Whether the stages of graph `seed` have steps: the same in each order, of one meaning.

    Raises AssertionError.
    """
    every = [Declared(seed, order) for order in range(ORDERS)]
    first, *others = (one.applied() for one in every)
    for other in others:
        if isinstance(first, str) or isinstance(other, str):
            assert type(first) is type(other), f"{seed}: {first} or {other}"
        else:
            ir.assert_structural_equal(first.func, other.func)
    if isinstance(first, Schedule):
        _check_meaning(seed, every[0].args, first.func)
    return isinstance(first, Schedule)


def _check_meaning(seed: int, args: list[Tensor], func: PrimFunc) -> None:
    plain, terms = create_prim_func(args), Terms()
    data, numbers = random_data(plain, seed), deciding(plain)
    wanted = meaning(plain, data, terms, numbers=numbers)
    for order in orders(func, seed):
        found = meaning(func, data, terms, order, numbers)
        assert all(
            term is after[cell]
            for before, after in zip(wanted, found, strict=True)
            for cell, term in before.items()
        ), f"{seed}: another meaning\n{script.show(func)}"
