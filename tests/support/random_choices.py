"""Random programs in which conditions choose between an array that is written and others.

In each, blocks of threads write `S` in global memory, wait, and make `C` of `S`, `A` and `B`: by
conditions, one in the other, with padding, by branches, by `min`, `max` and masks, in loops that
are unrolled or vectors; three of ten have no condition. `S` is written in the same kernel, or in
one before it; `C` may be added to. Values are small whole numbers, so that all sums are exact.
"""

from __future__ import annotations

import random
import textwrap
from unittest.mock import patch

import numpy as np

from workbench import script
from workbench.ir import PrimFunc

BLOCKS, THREADS, TURNS = 2, 32, 4
CELLS = THREADS * TURNS  # that a block of threads has
TYPES = ("float32", "float32", "int32", "float64", "float16")
HEAD = """
@T.prim_func
def main(A: T.Buffer(({blocks}, {cells}), "{type}"), B: T.Buffer(({blocks}, {cells}), "{type}"),
         N: T.Buffer(({cells},), "int32"), S: T.Buffer(({blocks}, {cells}), "{type}"),
         C: T.Buffer(({blocks}, {cells}), "{type}")):
"""
NEST = f"""
    for b in T.thread_binding({BLOCKS}, thread="blockIdx.x"):"""
BODY = """
for i in T.thread_binding({threads}, thread="threadIdx.x"):
    for k in {loop}({turns}):
        with T.block("{name}"):
            u = T.axis.spatial({blocks}, b)
            v = T.axis.spatial({cells}, {cell})
"""
# As it was before `codegen/restrict.py` had its rule: the fault that these programs find.
ALL_RESTRICTED = patch("workbench.codegen.restrict.reads_its_own", lambda kernel: False)
ACROSS, OWN = "k * 32 + i", "i * 4 + k"  # the cells of a thread: a stride apart, or neighbours


def random_choice(seed: int) -> PrimFunc:
    """The program number `seed`."""
    func = script.parse(_Maker(random.Random(seed)).text())
    assert isinstance(func, PrimFunc)
    return func


def arrays(func: PrimFunc, seed: int) -> list[np.ndarray]:
    """Small whole numbers to read; what is written holds 99, so that a load too early is seen."""
    rng = np.random.default_rng(seed)
    *read, _, _ = (rng.integers(-3, 4, buffer.shape) for buffer in func.params)
    written = (np.full((BLOCKS, CELLS), 99) for _ in "SC")
    pairs = zip(func.params, (*read, *written), strict=True)
    return [values.astype(buffer.dtype) for buffer, values in pairs]


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.type = rng.choice(TYPES)
        self.plain = rng.random() < 0.3
        self.sizes = {
            "blocks": BLOCKS, "cells": CELLS, "threads": THREADS, "turns": TURNS, "type": self.type
        }  # fmt: skip

    def text(self) -> str:
        """Two stages in one kernel, in two, or again and again in a loop."""
        rng = self.rng
        stages = [self.stage("S", self.filled()), self.stage("C", self.chosen())]
        if rng.random() < 0.3:
            stages.insert(1, self.stage("C_before", self.chosen()))
        how = rng.random()
        if how < 0.2:
            nests = stages
        elif how < 0.4:
            nests = ["\nfor turn in range(2):" + _indented("".join(stages))]
        else:
            nests = ["".join(stages)]
        return HEAD.format(**self.sizes) + "".join(NEST + _indented(nest, 8) for nest in nests)

    def stage(self, name: str, body: str) -> str:
        """The loops of a stage around its block."""
        loop = self.rng.choice(["range", "T.unroll", "T.unroll", "T.vectorized"])
        cell = OWN if loop == "T.vectorized" else self.rng.choice([ACROSS, OWN])
        head = BODY.format(name=name, loop=loop, cell=cell, **self.sizes)
        return head + _indented(body, 12)

    def filled(self) -> str:
        """What a block of `S` does: a store, at times one more that goes on from it."""
        more = self.rng.choice(["", "", "\nS[u, v] = S[u, v] + A[u, v]"])
        return f"S[u, v] = A[u, v] + {self.number()}{more}"

    def chosen(self) -> str:
        """What a block of `C` does: a store, one of two, or one that goes on from what is there."""
        kind = self.rng.random()
        if kind < 0.25 and not self.plain:
            return (
                f"if {self.condition()}:\n    C[u, v] = {self.value(2)}\n"
                f"else:\n    C[u, v] = {self.value(2)}"
            )
        if kind < 0.4:
            return f"C[u, v] = C[u, v] + {self.choice(2)}"
        return f"C[u, v] = {self.choice(3)}"

    def value(self, depth: int) -> str:
        kind = self.rng.random()
        if depth == 0 or kind < 0.3:
            return self.load()
        if kind < 0.4:
            return self.number()
        if kind < 0.75:
            return self.choice(depth)
        return f"({self.value(depth - 1)} {self.rng.choice('+-')} {self.value(depth - 1)})"

    def choice(self, depth: int) -> str:
        """One of two values."""
        a, b = self.value(depth - 1), self.value(depth - 1)
        pair = f"{a}, {b}"
        kind = self.rng.random()
        if kind < (0.5 if self.plain else 0.2):
            return f"T.{self.rng.choice(['min', 'max'])}({pair})"
        if self.plain or kind < 0.25:  # by masks, 0 and 1
            test = f'T.Cast("{self.type}", {self.simple()})'
            return f"({test} * {a} + ({self.number(1)} - {test}) * {b})"
        if kind < 0.35:  # padding
            near, edge = self.rng.choice([("v - 1", "1 <= v"), ("v + 1", f"v < {CELLS - 1}")])
            array = self.rng.choice("SSAB")
            return f"T.if_then_else({edge}, {array}[u, {near}], {self.value(depth - 1)})"
        word = self.rng.choice(["T.if_then_else", "T.if_then_else", "T.Select"])
        return f"{word}({self.condition()}, {pair})"

    def condition(self) -> str:
        if self.rng.random() < 0.15:
            joined = self.rng.choice(["and", "or"])
            return f"({self.condition()} {joined} {self.condition()})"
        return self.simple()

    def simple(self) -> str:
        """A condition that chooses nothing by itself."""
        if self.rng.random() < 0.3:
            return f"{self.load()} < {self.load()}"
        if self.rng.random() < 0.3:
            return (
                f"N[{self.cell()}] {self.rng.choice(['<', '==', '>='])} {self.rng.randint(-3, 3)}"
            )
        divisor = self.rng.randint(2, 5)
        return f"v % {divisor} {self.rng.choice(['==', '<'])} {self.rng.randint(1, divisor - 1)}"

    def load(self) -> str:
        return f"{self.rng.choice('SSAB')}[u, {self.cell()}]"

    def cell(self) -> str:
        asked = "T.max(N[v], 0) * 32"  # data decide, between 0 and 96
        others = ("v // 2 * 2", f"(v + 1) % {CELLS}", f"{CELLS - 1} - v", asked)
        return self.rng.choice(["v", "v", *others])

    def number(self, value: int | None = None) -> str:
        return f"T.{self.type}({self.rng.randint(-3, 3) if value is None else value})"


def _indented(text: str, spaces: int = 4) -> str:
    return textwrap.indent(text, " " * spaces)
