"""Lesson 3: a matrix multiply with few loads, in tiles that do not divide its rows."""

from __future__ import annotations

from workbench import script
from workbench.lesson.edge import edge_first
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_least_blocks,
    at_most_loads,
    at_most_one_store,
    threads_between,
)
from workbench.schedule import Schedule

PROGRAM = """
@T.prim_func
def product(A: T.Buffer((61, 40), "float32"), B: T.Buffer((40, 48), "float32"),
            C: T.Buffer((61, 48), "float32")):
    for i, j, k in T.grid(61, 48, 40):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


CELLS = 61 * 48
LOADS = 21  # for each output


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
    lesson="03_local_blocking",
    task="Each output of this product sums 40 products, so a plain schedule loads 80 elements for "
    "it, and C besides. Load about a quarter of them. 61 is a prime number: only a tile of 1 row "
    "or of all 61 divides it, so split has an edge to guard.",
    program=script.parse(PROGRAM),  # type: ignore[arg-type]
    goals=(
        Goal(
            threads_between(32, 256, 32),
            hint="The middle factors of i and j are the threads of a block: make their product 32, "
            "64 or another multiple of 32, up to 256.",
        ),
        Goal(
            at_least_blocks(4),
            hint="A block's tile is threads times outputs of a thread, in each direction: make it "
            "smaller.",
        ),
        Goal(
            at_most_one_store("global", CELLS),
            hint="Sum up in local memory: cache_write, and reverse_compute_at under the threads.",
        ),
        Goal(
            at_most_loads(
                "global",
                LOADS,
                CELLS,
                why="For one k, a tile of V x V outputs needs 2 V loads for its V x V products.",
            ),
            hint=edge_first(
                "Give each thread 4 x 4 outputs or more, and let it keep what it loads for one k: "
                "cache_read A and B to local, compute_at the loop over k outside the tile.",
                LOADS,
                CELLS,
            ),
        ),
    ),
    hints=(
        "Begin as in the lesson: cache_write to local, three factors for i and for j, reorder so "
        "that k is outside the two innermost loops, reverse_compute_at, bind. Then "
        'cache_read(block, 0, "local") and compute_at the loop k, the same for 1, and decompose '
        "last.",
        "Let each thread have 4 x 4 outputs, and choose the threads of a block so that its tile "
        "reaches as little as can be over the 48 columns and the 61 rows.",
        "Factors [None, 8, 4] for i and [None, 4, 4] for j make 32 threads of 4 x 4 outputs: 64 "
        "rows for 61, and 48 columns for 48.",
    ),
    solution=solve,
)
