"""Lesson 7: an operator of one's own, or one of these, with half of the naive kernel's traffic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

from workbench import te
from workbench.diag import Fail
from workbench.ir import BlockRealize, Const, PrimFunc, walk
from workbench.lesson.checking import check_reference
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import at_least_blocks, at_most_traffic, threads_between, traffic
from workbench.lesson.naive import naive
from workbench.lesson.programs import stages

LARGEST = 2**22  # turns of its loops: so many take the check a few seconds

OPERATORS = (
    ("Sobel's edges", 128, 128, (1, 2, 1), (-1, 0, 1)),
    ("a box blur", 128, 128, (1, 1, 1, 1, 1), (1, 1, 1, 1, 1)),
    ("a Gaussian blur", 96, 128, (1, 4, 6, 4, 1), (1, 4, 6, 4, 1)),
    ("the other edges of Sobel", 128, 64, (-1, 0, 1), (1, 2, 1)),
)
"""What is proposed: its name, rows and columns of B, weights down a column and along a row."""


@dataclass(frozen=True, slots=True)
class OwnOperator(Exercise):
    """An exercise that can be taken on another operator than the one that is `proposed`."""

    proposed: OwnOperator | None = None  # where this is another one

    def show_solution(self) -> str:
        """The steps of one solution, as Python: of the proposed operator, which it says."""
        if self.proposed is None:
            return Exercise.show_solution(self)
        steps = Exercise.show_solution(self.proposed)
        return f"# for the operator that was proposed, {self.proposed.name}\n{steps}"

    def own(self, args: Sequence[te.Tensor], reference: Callable[..., Any]) -> OwnOperator:
        """This exercise on the operator of `args`, inputs and outputs of compute expressions.

        `reference` computes the same with NumPy: it takes the inputs as arrays, in their order, and
        returns the output, or all outputs in a tuple. Raises Fail, with the first wrong cell, where
        the two do not agree; for an operator that takes too long to check; and where the naive
        kernel moves so little that no kernel could move half of it.
        """
        program = te.create_prim_func(args)
        turns = max(_turns(realize) for realize in _blocks(program))
        if turns > LARGEST:
            raise Fail(
                f"Can't take this operator: a stage of it runs {turns:,} times",
                hint=f"choose smaller shapes for the exercise: at most {LARGEST:,} times",
            )
        wrong = check_reference(program, reference)
        if wrong:
            name = getattr(reference, "__name__", "the NumPy function")
            raise Fail(
                f"Can't take this operator: {name} computes something else",
                detail=wrong,
                hint="compare one cell of both by hand: which index is one off?",
            )
        moved, cells = traffic(naive(program).func), sum(prod(p.shape) for p in program.params)
        if moved < 2 * cells:
            raise Fail(
                f"Can't take this operator: its naive kernel moves {moved:,} elements",
                detail=f"its arguments have {cells:,}, and each has to be moved once",
                hint="use elements more than once: in a window, a product, or two stages",
            )
        return replace(
            self,
            name="your own operator",
            task="Schedule your operator so that it moves at most half of what the naive kernel "
            "moves, which has a thread for each cell of each stage.",
            program=program,
            goals=_goals(program),
            tolerance=None,
            proposed=self.proposed or self,
        )


def _blocks(program: PrimFunc) -> list[BlockRealize]:
    return [node for node in walk(program.root.body) if isinstance(node, BlockRealize)]


def _turns(realize: BlockRealize) -> int:
    extents = (iterator.dom.extent for iterator in realize.block.iter_vars)
    return prod(int(extent.value) for extent in extents if isinstance(extent, Const))


def _goals(program: PrimFunc) -> tuple[Goal, ...]:
    """What to reach: half of the naive kernel's traffic, by a launch that a GPU can use."""
    half = traffic(naive(program).func) // 2
    return (
        Goal(
            threads_between(32, 1024, 32),
            hint="The loops on threadIdx run as often as a block has threads: make that a multiple "
            "of 32.",
        ),
        Goal(
            at_least_blocks(4),
            hint="A block's tile is too large: make it smaller, so that there are more blocks.",
        ),
        Goal(
            at_most_traffic(
                half,
                "half of the naive kernel's",
                why="What a block fetches once, its threads use several times; and a stage that "
                "stays in shared memory or registers is neither stored nor loaded.",
            ),
            hint="What is stored and loaded again that could stay in the block? Give the stage "
            "between a memory of the block (set_scope, compute_at), and copy what is loaded "
            "several times (cache_read).",
        ),
    )


def made(operator: tuple[str, int, int, Sequence[int], Sequence[int]], key: str) -> OwnOperator:
    """The exercise on a proposed operator."""
    name, rows, columns, down, across = operator
    program = stages(rows, columns, down, across)
    return OwnOperator(
        name=name,
        key=key,
        lesson="07_own_operator",
        task="Write an operator of your own as compute expressions, and the same with NumPy, for "
        "exercise.own; or take the one that is proposed: "
        f"{name}, {_sum('A', across)} along each row, then {_sum('H', down)} down each column. "
        "Schedule it so that it moves at most half of what the naive kernel moves, which has a "
        "thread for each cell of each stage.",
        program=program,
        goals=_goals(program),
        hints=(
            "Which elements does the naive kernel load more than once, and which does it store "
            "only to load them again?",
            "A block of r x c outputs needs few rows and columns more than r x c of the stage "
            "before. Who of its threads could keep them for the others, and where?",
            "Split the outputs into tiles, bind the tiles to blocks and their cells to threads. "
            "Let each block have its part of the stage between: set_scope to shared, compute_at "
            "the last loop over blocks; fuse its loops, split by the number of threads, bind. "
            "Where a block still loads an element several times, cache_read does the same for it.",
        ),
    )


def _sum(buffer: str, weights: Sequence[int]) -> str:
    """ "A[1] + 2 A[2]": the weighted sum of neighbours, by their place."""
    terms = (
        f"{'- ' if w < 0 else '+ '}{'' if abs(w) == 1 else f'{abs(w)} '}{buffer}[{k}]"
        for k, w in enumerate(weights)
        if w
    )
    return " ".join(terms).removeprefix("+ ")


EXERCISES = tuple(partial(made, operator) for operator in OPERATORS)
