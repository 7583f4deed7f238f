"""Lesson 3: a matrix multiply with few loads, in tiles that do not divide it."""

from __future__ import annotations

from workbench import script
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_least_blocks,
    at_most_loads,
    at_most_stores,
    threads_between,
)
from workbench.schedule import Schedule

PROGRAM = """
@T.prim_func
def product(A: T.Buffer((60, 40), "float32"), B: T.Buffer((40, 48), "float32"),
            C: T.Buffer((60, 48), "float32")):
    for i, j, k in T.grid(60, 48, 40):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def solve(sch: Schedule) -> None:
    """One answer: tiles of 4 x 4 outputs for a thread, rows and columns kept in registers."""
    block = sch.get_block("C")
    write_back = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, factors=[None, 8, 4])
    j_0, j_1, j_2 = sch.split(j, factors=[None, 4, 4])
    sch.reorder(i_0, j_0, i_1, j_1, k, i_2, j_2)
    sch.reverse_compute_at(write_back, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.y")
    sch.bind(j_1, "threadIdx.x")
    for which in (0, 1):
        sch.compute_at(sch.cache_read(block, which, "local"), k)
    sch.decompose_reduction(block, k)


EXERCISE = Exercise(
    name="a product with few loads",
    task="Each output of this product sums 40 products, so a plain schedule loads 80 elements for "
    "it, and C besides. Reach at most 21, with whole warps and without shared memory. "
    "No tile of 32 threads divides 60 rows: let split guard the rest.",
    program=script.parse(PROGRAM),  # type: ignore[arg-type]
    goals=(
        Goal(
            "whole warps",
            threads_between(32, 256, 32),
            why="A GPU runs threads in warps of 32: a block of whole warps wastes no lane.",
            hint="The middle factors of i and j are the threads of a block: make their product a "
            "multiple of 32.",
        ),
        Goal(
            "several blocks",
            at_least_blocks(4),
            why="Blocks spread over the multiprocessors.",
            hint="A block's tile is threads times outputs of a thread, in each direction: make it "
            "smaller, so that there are at least 4.",
        ),
        Goal(
            "stores to global memory",
            at_most_stores("global", 60 * 48),
            why="The sums stay in registers and are written once.",
            hint="Sum up in local memory: cache_write, and reverse_compute_at under the threads.",
        ),
        Goal(
            "loads from global memory",
            at_most_loads("global", 21 * 60 * 48, 60 * 48),
            why="4 x 4 outputs share 4 elements of A and 4 of B for each k: 8 loads for 16 "
            "products.",
            hint="Give each thread 4 x 4 outputs, and let it keep what it loads for one k: "
            "cache_read A and B to local, compute_at the loop over k outside the tile.",
        ),
    ),
    hints=(
        "Begin as in the lesson: cache_write to local, three factors for i and for j, reorder so "
        "that k is outside the two innermost loops, reverse_compute_at, bind.",
        "Factors [None, 8, 4] for i and [None, 4, 4] for j make 32 threads of 4 x 4 outputs. Then "
        'cache_read(block, 0, "local") and compute_at the loop k, the same for 1, and decompose '
        "last.",
        "show_solution() prints the steps of one answer.",
    ),
    solution=solve,
)
