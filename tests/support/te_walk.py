"""One random graph of compute expressions: its program by NumPy, its schedules by terms."""

from __future__ import annotations

import random

import numpy as np

from tests.support.gpu_lesson import Lesson
from tests.support.random_te import Graph, inputs_of, values
from tests.support.walk import Walk
from workbench import emulate, te
from workbench.ir import PrimFunc


class GraphWalk(Walk):
    """Random steps on the program of graph number `seed`."""

    def first(self) -> PrimFunc:
        """The program of the graph."""
        return te.create_prim_func(Graph(random.Random(self.seed)).args)

    def evaluates(self) -> None:
        """The program computes what the graph says. Raises Wrong."""
        args = Graph(random.Random(self.seed)).args
        given = inputs_of(args, self.seed)
        wanted = values(args, given)
        made = [np.zeros(t.shape, t.dtype) for t in args]
        for array, value in zip(made, given, strict=False):
            array[...] = value
        emulate.evaluate(self.program, made)
        for tensor, a, b in zip(args, made, wanted, strict=True):
            if not np.allclose(a, b, rtol=1e-5):
                raise self.wrong("another value than the graph", [], tensor.name)

    def schedules(self, count: int) -> None:
        """Two graphs of three as a lesson does, with a few steps more; others by `count` steps."""
        if self.seed % 3:
            Lesson(self).go()
            self.go(count // 3)
        else:
            self.go(count)


def graph_walk(seed: int) -> GraphWalk:
    """The walk of graph number `seed`."""
    return GraphWalk("te", "graph", seed)
