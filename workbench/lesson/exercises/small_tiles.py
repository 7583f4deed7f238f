"""Lesson 4: tile sizes that fit a small shared memory and still load little."""

from __future__ import annotations

from workbench import script
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_most_barriers,
    at_most_loads,
    at_most_shared,
    threads_between,
)
from workbench.schedule import Schedule

PROGRAM = """
@T.prim_func
def product(A: T.Buffer((128, 64), "float32"), B: T.Buffer((64, 128), "float32"),
            C: T.Buffer((128, 128), "float32")):
    for i, j, k in T.grid(128, 128, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def solve(sch: Schedule) -> None:
    """One answer: blocks of 64 x 32 outputs, 8 steps of k at a time, by 64 threads."""
    block = sch.get_block("C")
    write_back = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, factors=[None, 8, 8])
    j_0, j_1, j_2 = sch.split(j, factors=[None, 8, 4])
    k_0, k_1 = sch.split(k, factors=[None, 8])
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2)
    sch.reverse_compute_at(write_back, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(sch.fuse(i_1, j_1), "threadIdx.x")
    for which in (0, 1):
        fetch = sch.cache_read(block, which, "shared")
        sch.compute_at(fetch, k_0)
        fused = sch.fuse(*sch.get_loops(fetch)[-2:])
        _, thread, vector = sch.split(fused, factors=[None, 64, 4])
        sch.vectorize(vector)
        sch.bind(thread, "threadIdx.x")
    sch.decompose_reduction(block, k_0)


EXERCISE = Exercise(
    name="tiles for 3 KiB",
    lesson="04_shared_blocking",
    task="Give each block at most 3 KiB (3072 bytes) of shared memory, as if many blocks had to "
    "share a multiprocessor. Find tile sizes that load at most 3 elements of global memory for "
    "each output, with at most 16 barriers in a block.",
    program=script.parse(PROGRAM),  # type: ignore[arg-type]
    goals=(
        Goal(
            threads_between(32, 256, 32),
            hint="tile_block_y times tile_block_x is the number of threads: a multiple of 32.",
        ),
        Goal(
            at_most_loads(
                "global",
                3,
                128 * 128,
                why="What a block of r x c outputs fetches once of A serves c of them, of B, r.",
            ),
            hint="Where r and c divide 128, blocks of r x c outputs load 64/c + 64/r elements for "
            "each output: which are enough? And do all threads fetch together?",
        ),
        Goal(
            at_most_shared(3072),
            hint="With both tiles in shared memory the bytes are 4 x tile_k x (rows + columns of "
            "the block's tile): make one of the three smaller.",
        ),
        Goal(
            at_most_barriers(16),
            hint="Every tile of k costs two barriers: with a smaller tile_k there are more of "
            "them. Take the largest that fits.",
        ),
    ),
    hints=(
        "blocking_with_shared from the lesson does it with the right five numbers.",
        "Rows of a block's tile: tile_block_y * tile_local_y. It need not be square: make it 64 x "
        "32; then tile_k decides the bytes (more with a larger one) and the barriers (fewer).",
        "show_solution() prints the steps of one answer.",
    ),
    solution=solve,
)
