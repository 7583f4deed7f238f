"""The predictions of the lessons, by short names: what is asked, and why the answer is what it is.

A lesson's cell names its question only, so that nobody reads the answer with the question.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.diag import Fail, count_text
from workbench.ir import PrimFunc
from workbench.lesson.banks import sectors_of, turns_of
from workbench.lesson.convolutions import convolution, one_output_each, tiled_convolution
from workbench.lesson.goals import blocks, counts, global_loads
from workbench.lesson.predict import (
    Others,
    how_many,
    how_many_loads,
    how_often_used,
    loads,
    loads_of,
    reads_of_block,
    times,
    who_computes,
)
from workbench.lesson.programs import (
    Ways,
    bound,
    elementwise,
    fetched,
    one_each,
    product,
    staged,
    stages,
    tiled,
    window,
)
from workbench.widgets import Question


def question(name: str) -> Question:
    """The question of that name. Raises Fail for a name that there is not."""
    if name not in QUESTIONS:
        raise Fail(f"Can't find the question {name!r}", hint=f"there are: {', '.join(QUESTIONS)}")
    return QUESTIONS[name]


BINDS = "bind(i_0, blockIdx.x) and bind(i_1, threadIdx.x)"  # which to which: not "both"

# The programs that are asked about: their blocks, each with the loops around it.
PER_THREAD = "i_0 8 blockIdx.x, i_1 128 threadIdx.x"
OWN_TILE = "i_0 2 blockIdx.y, j_0 2 blockIdx.x, i_1 2 threadIdx.y, j_1 2 threadIdx.x"
BLOCK_TILE = "i_0 2 blockIdx.y, j_0 2 blockIdx.x, i_1_j_1_fused 4 threadIdx.x"
LOCAL = {
    "C": f"{BLOCK_TILE}, k_0 2, k_1 4, i_2 2, j_2 2",
    "C_local": f"{BLOCK_TILE}, ax0 2, ax1 2",
}
SHARED = "ax0_ax1_fused_0 1, ax0_ax1_fused_1 4 threadIdx.x, ax0_ax1_fused_2 4"


def eight(*factors: tuple[int | None, int]) -> Others:
    """Lesson 1's vector after other splits, and before any."""

    def made() -> Mapping[str, PrimFunc]:
        start = elementwise(8)
        others = {_after(f): bound(start, f) for f in factors}
        return {**others, "before any loop is bound": start}

    return made


def _after(factors: tuple[int | None, int | None]) -> str:
    """The words for lesson 1's steps with another split."""
    return f"after `sch.split(i, factors={list(factors)})`, with the same binds"


def windows() -> Mapping[str, PrimFunc]:
    """Lesson 2's programs, and what each of them is."""
    start = window(1024, 3)
    return {
        "if no block kept a copy: three loads for each of its outputs": bound(start, (None, 128)),
        "if every thread fetched all that its block needs": fetched(start, 128, together=False),
        "if the threads of a block fetched each cell once, together": fetched(start, 128),
    }


def rounds(func: PrimFunc) -> Mapping[str, str]:
    """Two slips on the rounds in which lesson 2's threads fetch."""
    threads, cells = 128, loads_of(func, "A") // 8
    carriers = -(-cells // threads) * threads
    return {
        loads(threads): f"{threads} is one cell for each thread: the outputs of {threads} threads "
        f"need {cells} cells.",
        loads(carriers): f"{carriers} is how often the two loops run together; where they are past "
        f"the last of the {cells} cells, `T.where` lets nothing be loaded.",
    }


def small(*tiles: int) -> dict[str, PrimFunc]:
    """Lesson 3's product by square tiles for each thread, in blocks of 2 x 2 threads."""
    return {f"with {v} x {v} outputs for a thread": tiled(MATMUL, (v, v), (2, 2), 2) for v in tiles}


def bound_tiles() -> Mapping[str, PrimFunc]:
    """Lesson 3's product by threads that keep what they load for one k."""
    kept = {
        f"with {v} x {v} outputs for a thread that keeps what it loads": tiled(
            MATMUL, (v, v), (2, 2), 2, copies="local"
        )
        for v in (2, 4)
    }
    whole = tiled(MATMUL, (2, 2), (4, 4), 4, copies="together")
    return {**kept, "if the threads of one block fetched each element once, together": whole}


def blocks_of(*sides: int) -> Others:
    """Lesson 4's product with other blocks of outputs."""
    return lambda: {
        f"with {n} x {n} outputs for a block": tiled(MATMUL, (1, 1), (n, n), 4) for n in sides
    }


def fetches() -> Mapping[str, PrimFunc]:
    """Lesson 4's two ways to fetch a tile of A."""
    return {
        "if the threads of a block fetched each element once, together": tiled(
            MATMUL, (2, 2), (2, 2), 4, copies="together"
        ),
        "if every thread fetched the whole tile": tiled(MATMUL, (2, 2), (2, 2), 4, copies="each"),
    }


def tile_of_a_block(func: PrimFunc) -> Mapping[str, str]:
    """Two slips on what lesson 4's block of 4 x 4 outputs fetches, in two steps of k_0."""
    step = 4 * 4
    return {
        loads(step): f"{step} is one tile of 4 x 4, and a block fetches one in each of the 2 steps "
        "of `k_0`.",
        loads(2 * step // 4): f"{2 * step // 4} counts instructions: each loads four elements.",
    }


def both_inputs(func: PrimFunc) -> Mapping[str, str]:
    """A slip on the loads of lesson 3's first program."""
    both = (loads_of(func, "A") + loads_of(func, "B")) // 64
    return {times(both): f"{both} counts the loads of A and of B together."}


def thousand() -> Mapping[str, PrimFunc]:
    """Lesson 1's vector of 1024 after other splits."""
    start = elementwise(1024)
    splits: tuple[tuple[int | None, int | None], ...] = ((128, None), (None, 256), (None, 1))
    return {_after(f): bound(start, f) for f in splits}


def other_windows() -> Mapping[str, PrimFunc]:
    """Lesson 2's window in blocks of other sizes, and without a copy."""
    start = window(1024, 3)
    others = {f"with {n} threads in a block": fetched(start, n) for n in (32, 128)}
    return {**others, "if no block kept a copy": bound(start, (None, 64))}


def nearer() -> Mapping[str, PrimFunc]:
    """Lesson 3's product with its sums, then A and B, nearer to the threads."""
    return {
        "if the sum stayed in a register": tiled(MATMUL, (1, 1), (8, 8), 1),
        "if the threads of one block fetched each element once, together": tiled(
            MATMUL, (2, 2), (4, 4), 4, copies="together"
        ),
        "with 2 x 2 outputs for a thread that keeps what it loads": tiled(
            MATMUL, (2, 2), (2, 2), 2, copies="local"
        ),
    }


def kept() -> Mapping[str, PrimFunc]:
    """Lesson 3's product without the copies of A and B, and with other tiles."""
    return {
        "with the sums in global memory, one output for a thread": one_each(MATMUL),
        "without the copies: a load for each of two factors, for each product": tiled(
            MATMUL, (2, 2), (2, 2), 2
        ),
        "with 4 x 4 outputs for a thread": tiled(MATMUL, (4, 4), (2, 2), 2, copies="local"),
    }


def loads_in_all(func: PrimFunc) -> str:
    """The loads of global memory of all kernels, in words."""
    return f"{global_loads(func):,} elements"


def loads_each(func: PrimFunc) -> str:
    """The loads of global memory for each output, in words."""
    return f"{counts(func).loads_per_output:g} elements"


def sectors(func: PrimFunc) -> str:
    """The sectors that a warp's load of A touches, in words."""
    return count_text(sectors_of(func, "A"), "sector")


def layouts() -> Mapping[str, PrimFunc]:
    """Lesson 6's first program with other neighbours, in threads or in memory."""
    by_batch = convolution(4, 16, 64, 64, layout="NCHW")
    return {
        "if `f` were on threadIdx.x: all threads of a warp would want the same number of A, and "
        "another of W": one_output_each(PICTURES, pictures="blockIdx.x"),
        "if A were stored picture by picture (NCHW)": one_output_each(by_batch),
    }


def smaller_tiles() -> Mapping[str, PrimFunc]:
    """Lesson 6's tiles, smaller, and one for the whole block."""
    tiles = {
        v: tiled_convolution(PICTURES, (v, v), (64 // v, 64 // v), near=False) for v in (4, 64)
    }
    return {f"with {v} x {v} outputs for a thread": made for v, made in tiles.items()}


def of_pixel(func: PrimFunc) -> str:
    """What the block of the first pixel loads from A, in words."""
    return elements(reads_of_block(func, "A", (0, 0, 0)))


def elements(number: int) -> str:
    """A number of elements in words."""
    return f"{number:,} elements"


def other_pixels(func: PrimFunc) -> Mapping[str, str]:
    """What blocks of other pixels load, and a slip on the steps."""
    edge, inner = (reads_of_block(func, "A", (0, 0, pixel)) for pixel in (1, 5))
    step = 8 * 64
    return {
        elements(edge): f"{edge:,} is for the block of pixel (0, 1), at an edge: 6 of its 9 taps "
        "are inside.",
        elements(inner): f"{inner:,} is for the block of pixel (1, 1), whose 9 taps are all "
        "inside.",
        elements(step): f"{step} is one fetch of 8 channels of 64 pictures; there is one for each "
        "tap, and again for the other 8 channels.",
    }


def turns(func: PrimFunc) -> str:
    """The turns that a warp's read of Apad_shared takes, in words."""
    return count_text(turns_of(func, "Apad_shared"), "turn")


def wider_tiles() -> Mapping[str, PrimFunc]:
    """Lesson 6's program with tiles of neighbours, of 8, 16 and 32 pictures for a thread."""
    return {
        f"with {v} neighbours in a row for each thread": tiled_convolution(
            convolution(4, 16, 64, 8 * v), (8, v)
        )
        for v in (8, 16, 32)
    }


def other_stages(*but: str) -> Others:
    """Lesson 7's blur by what becomes of its first stage, `but` for one."""
    told: dict[str, Ways] = {
        "if H were stored whole, by a kernel of its own": "whole",
        "if H were computed again wherever it is read": "again",
        "if each block kept its part of H": "tile",
        "if each block kept its parts of H and of A": "both",
    }
    return lambda: {words: staged(BLUR, how) for words, how in told.items() if how not in but}


def parts_of_a_block(func: PrimFunc) -> Mapping[str, str]:
    """Two slips on what lesson 7's block of 4 x 8 outputs needs."""
    return {
        loads(96): "96 is three loads for each of 32 cells of H: the block has 32 outputs, but "
        "they need two rows of H more.",
        loads(48): "48 cells of H are computed, and each of them adds up three of A.",
        loads(32): "32 is a load for each output. Their window reaches two rows and two columns "
        "further.",
    }


MATMUL = product(8, 8, 8)
PICTURES = convolution(4, 16, 64, 64)
BLUR = stages(16, 16, (1, 1, 1), (1, 1, 1))

VECTOR_ADD = {
    "vector_2_4": who_computes(
        "C",
        5,
        ("block 0, thread 5", "block 1, thread 1", "block 5, thread 0", "time step 5"),
        steps=f"split(i, [2, 4]), {BINDS}",
        others=eight((1, 8), (8, 1)),
        asked={"C": "i_0 2 blockIdx.x, i_1 4 threadIdx.x"},
    ),
    "vector_4_2": who_computes(
        "C",
        5,
        ("block 1, thread 1", "block 2, thread 1", "block 5, thread 0", "block 1, thread 2"),
        steps=f"split(i, [4, 2]), {BINDS}",
        others=eight((2, 4), (8, 1), (None, 3)),
        asked={"C": "i_0 4 blockIdx.x, i_1 2 threadIdx.x"},
    ),
    "vector_1024": how_many(
        "blocks",
        "after split(i, [None, 128]) and both binds, how many blocks are there?",
        ("4 blocks", "8 blocks", "128 blocks", "1,024 blocks"),
        lambda func: f"{blocks(func):,} blocks",
        steps=f"apply split(i, [None, 128]), {BINDS}",
        why="1024 elements in blocks of 128 threads: `None` worked out to 1024 / 128.",
        asked={"C": PER_THREAD},
        others=thousand,
    ),
}

WINDOW_SUM = {
    "window_bound": how_many_loads(
        "A",
        "with one thread for each output, how often is an inner element of A loaded?",
        (1, 3, 130),
        by="element",
        others=windows,
        steps="split i by [None, 128] and bind both loops",
        why={
            3: "Each of the 1024 threads loads its own three, whatever its neighbours have loaded: "
            "A[5] is wanted for B[3], B[4] and B[5], by three different threads. (The memory "
            "picture says × 2.95, the average over the 130 elements of a block: the four at its "
            "edges are loaded once or twice.)"
        },
        asked={"C": PER_THREAD},
    ),
    "window_cached": how_many_loads(
        "A",
        "after cache_read and compute_at under i_1, how many loads from A does one block make?",
        (130, 384, 16_640),
        by="block",
        others=windows,
        steps="apply cache_read (A, shared) to block C, and compute_at of A_shared to i_1",
        stage="A_shared",
        why={
            16_640: "The copy stands inside the loop over threads, so every one of the 128 threads "
            "copies all 130 cells: 128 x 130 = 16,640 in a block. The tile is right, but nobody "
            "shares the work."
        },
        asked={"C": PER_THREAD, "A_shared": f"{PER_THREAD}, ax0 130"},
    ),
    "window_cooperative": how_many_loads(
        "A",
        "after splitting the fetch by [None, 128] and binding its inner loop, how many loads from "
        "A does one block make?",
        (128, 130, 256, 384),
        by="block",
        others=windows,
        slips=rounds,
        steps="split ax0 by [None, 128] and bind ax0_1 to threadIdx.x",
        threads=2,
        why={
            130: "128 threads fetch 128 cells in the first round and 2 in the second, where the "
            "other 126 have nothing to do (T.where guards them): 130 loads, one for each cell."
        },
        asked={"C": PER_THREAD, "A_shared": f"{PER_THREAD}, ax0_0 2, ax0_1 128 threadIdx.x"},
    ),
    "window_64": how_many(
        "loads of all blocks",
        "with 64 threads in a block that fetch together, how many loads from A do all blocks make "
        "together?",
        ("1,040 loads", "1,056 loads", "1,088 loads", "3,072 loads"),
        lambda func: loads(loads_of(func, "A")),
        steps="take the same steps with 64 in place of 128",
        why="16 blocks fetch 66 cells each: the two at the edge are fetched by the neighbour, too. "
        "Twice as many blocks, twice as many edges.",
        asked={
            "C": "i_0 16 blockIdx.x, i_1 64 threadIdx.x",
            "A_shared": "i_0 16 blockIdx.x, i_1 64 threadIdx.x, ax0_0 2, ax0_1 64 threadIdx.x",
        },
        others=other_windows,
    ),
}

LOCAL_BLOCKING = {
    "matmul_bound": how_many_loads(
        "A",
        "with one thread for each output, how often is each element of A loaded?",
        (1, 2, 8, 16),
        by="element",
        others=bound_tiles,
        slips=both_inputs,
        steps="bind i to threadIdx.y and j to threadIdx.x",
        why={
            8: "A[0, 0] is wanted for all of row 0, C[0, 0] to C[0, 7]: eight threads, and each of "
            "them loads it for itself."
        },
        asked={"C": "i 8 threadIdx.y, j 8 threadIdx.x, k 8"},
    ),
    "matmul_loads": how_many(
        "loads",
        "after decompose_reduction, how many elements does the kernel load from global memory for "
        "each output?",
        ("2 elements", "8 elements", "16 elements", "24 elements"),
        loads_each,
        steps="apply decompose_reduction to block C, with the loop k",
        why="8 of A, 8 of B, and 8 of C: the sum itself lies in global memory. Each step loads it, "
        "adds, and stores it again.",
        asked={
            "C_init": "i 8 threadIdx.y, j 8 threadIdx.x",
            "C_update": "i 8 threadIdx.y, j 8 threadIdx.x, k 8",
        },
        others=nearer,
    ),
    "matmul_kept": how_many(
        "loads",
        "after both copies, how many elements does the kernel load from global memory for each "
        "output?",
        ("4 elements", "8 elements", "16 elements", "24 elements"),
        loads_each,
        steps="apply cache_read (A, local) to block C and compute_at of A_local to k_1, then the "
        "same for B",
        why="for one k, 2 elements of A and 2 of B serve 4 products: one load for each product in "
        "place of two, and each output has 8 products.",
        asked={
            "C": f"{OWN_TILE}, k_0 4, k_1 2, i_2 2, j_2 2",
            "C_local": f"{OWN_TILE}, ax0 2, ax1 2",
            "A_local": f"{OWN_TILE}, k_0 4, k_1 2, ax0 2",
            "B_local": f"{OWN_TILE}, k_0 4, k_1 2, ax0 2",
        },
        others=kept,
    ),
    "matmul_tiled": how_often_used(
        "A",
        "after the four binds, how often does one thread use each element of A that it needs?",
        (1, 2, 4, 8),
        by="thread",
        others=lambda: {
            **small(1, 4),
            "with all outputs for one thread": tiled(MATMUL, (8, 8), (1, 1), 2),
        },
        steps="bind i_0 and j_0 to blockIdx.y and blockIdx.x, i_1 and j_1 to threadIdx.y and "
        "threadIdx.x",
        axes=("threadIdx.x", "threadIdx.y"),
        stage="C_local",
        why={
            2: "The thread has 2 x 2 outputs: two in each row. An element of A is wanted for the "
            "outputs of its row, an element of B for those of its column: V = 2 times each."
        },
        asked={
            "C": f"{OWN_TILE}, k_0 4, k_1 2, i_2 2, j_2 2",
            "C_local": f"{OWN_TILE}, ax0 2, ax1 2",
        },
    ),
}

SHARED_BLOCKING = {
    "matmul_block": how_often_used(
        "A",
        "how often does one block read each element of A that it needs?",
        (1, 2, 4, 8),
        by="block",
        others=blocks_of(1, 2, 8),
        steps="go to the step marked local, and in the picture of the tiles choose block (0, 0), "
        "then one thread after the other",
        stage="C_local",
        why={
            4: "The block has 4 x 4 outputs, four in a row, so each element of A is wanted four "
            "times: by two threads, two times each. A thread's own two share a register. The two "
            "threads do not know of each other."
        },
        asked=LOCAL,
    ),
    "matmul_fetched": how_many_loads(
        "A",
        "after cache_read and compute_at under k_0, how many loads from A does one block make?",
        (16, 32, 128),
        by="block",
        others=fetches,
        slips=tile_of_a_block,
        steps="apply cache_read (A, shared) to block C, and compute_at of A_shared to k_0",
        stage="A_shared",
        why={
            128: "In each of the 2 steps of k_0 the tile has 16 elements, and every one of the 4 "
            "threads fetches all of it: 2 x 16 x 4 = 128. You know this from lesson 2."
        },
        asked={**LOCAL, "A_shared": f"{BLOCK_TILE}, k_0 2, ax0 4, ax1 4"},
    ),
    "matmul_cooperative": how_many_loads(
        "A",
        "after fuse, split by [None, 4, 4] and bind, how many loads from A does one block make?",
        (8, 16, 32, 128),
        by="block",
        others=fetches,
        slips=tile_of_a_block,
        steps="fuse ax0 and ax1, split by [None, 4, 4], vectorize the last, bind the middle loop",
        threads=2,
        stage="A_shared",
        why={
            32: "16 elements in each of 2 steps, each fetched by one thread: 32, once for every "
            "element that the block needs. A float4 is one instruction and four elements."
        },
        asked={**LOCAL, "A_shared": f"{BLOCK_TILE}, k_0 2, {SHARED}"},
    ),
}

PIXELS = "y_x_fused 16 blockIdx.z, f_0 1 blockIdx.y, n_0 1 blockIdx.x"
NEIGHBOURS = f"{PIXELS}, f_1 8 threadIdx.y, n_1 8 threadIdx.x"
STRIDED = f"{PIXELS}, f_1 2 vthread.y, n_1 2 vthread.x, f_2 8 threadIdx.y, n_2 8 threadIdx.x"
TAPS = "rc_0 2, ry 3, rx 3"
WHOLE = {"Apad_shared": "ax0 6, ax1 6, ax2 16, ax3 64", "W_shared": "ax0 3, ax1 3, ax2 16, ax3 64"}

CONVOLUTION = {
    "conv_sectors": how_many(
        "sectors of A",
        "with n on threadIdx.x, how many sectors of 32 bytes does a warp touch to load its 32 "
        "numbers of A?",
        ("1 sector", "4 sectors", "32 sectors"),
        sectors,
        steps="bind y_x_fused to blockIdx.y, f to blockIdx.x and n to threadIdx.x",
        why="the 32 threads of a warp have neighbouring n, and n is the last dimension of A: they "
        "want 32 numbers that lie side by side, 128 bytes in 4 sectors.",
        asked={
            "B": "y_x_fused 16 blockIdx.y, f 64 blockIdx.x, n 64 threadIdx.x, ry 3, rx 3, rc 16"
        },
        others=layouts,
    ),
    "conv_tiled": how_often_used(
        "Apad_shared",
        "after the five binds, how often does one thread use each element of Apad_shared that it "
        "needs?",
        (1, 4, 8, 64),
        by="thread",
        others=smaller_tiles,
        slips=lambda func: {times(1): "once is what a thread with one output does."},
        steps="bind y_x_fused, f_0 and n_0 to blockIdx.z, .y and .x, then f_1 and n_1 to "
        "threadIdx.y and threadIdx.x",
        axes=("threadIdx.x", "threadIdx.y"),
        why={
            8: "The thread has 8 filters of 8 pictures. An element of Apad_shared belongs to one "
            "picture, and all 8 filters want it; an element of W_shared serves its 8 pictures. It "
            "is a product of matrices for each tap."
        },
        asked={
            **WHOLE,
            "B": f"{NEIGHBOURS}, {TAPS}, rc_1 8, f_2 8, n_2 8",
            "B_local": f"{NEIGHBOURS}, ax0 8, ax1 8",
        },
    ),
    "conv_corner": how_many(
        "loads of A by the block of pixel (0, 0)",
        "fetched together, how many elements does the block of pixel (0, 0) load from A?",
        ("512 elements", "4,096 elements", "6,144 elements", "9,216 elements"),
        of_pixel,
        steps="apply compute_at of Apad_shared to rx, split ax0 by [8, None] and ax1 by "
        "[8, None, 4], bind ax0_0 to threadIdx.y and ax1_0 to threadIdx.x, vectorize ax1_2",
        why="of the 9 taps around the corner 4 are inside the picture: 4 x 16 channels x 64 "
        "pictures. For the others the condition fails, and zeros are stored with no load.",
        asked={
            "B": f"{NEIGHBOURS}, {TAPS}, rc_1 8, f_2 8, n_2 8",
            "B_local": f"{NEIGHBOURS}, ax0 8, ax1 8",
            "Apad_shared": f"{NEIGHBOURS}, {TAPS}, ax0_0 8 threadIdx.y, ax0_1 1, "
            "ax1_0 8 threadIdx.x, ax1_1 2, ax1_2 4",
            "W_shared": WHOLE["W_shared"],
            "Apad_shared_local": f"{NEIGHBOURS}, {TAPS}, rc_1 8, ax0 8",
            "W_shared_local": f"{NEIGHBOURS}, {TAPS}, rc_1 8, ax0 8",
        },
        slips=other_pixels,
    ),
    "conv_turns": how_many(
        "turns of a read",
        "with two virtual threads along n, how many turns does a warp's read of Apad_shared take?",
        ("1 turn", "2 turns", "4 turns", "8 turns"),
        turns,
        steps="bind f_1 to vthread.y and n_1 to vthread.x, then apply compute_at of Apad_shared "
        "and of W_shared to rx",
        why="threadIdx.x is now 4 cells apart, not 8: the eight threads of a row read cells 0, 4, "
        "8, … 28, which lie in eight banks. The other virtual thread does the same 32 cells on.",
        asked={
            "B": f"{STRIDED}, {TAPS}, rc_1 8, f_3 4, n_3 4",
            "B_local": f"{STRIDED}, ax0 4, ax1 4",
            "Apad_shared": f"{STRIDED}, {TAPS}, ax0 8, ax1 64",
            "W_shared": f"{STRIDED}, {TAPS}, ax0 8, ax1 64",
            "Apad_shared_local": f"{STRIDED}, {TAPS}, rc_1 8, ax0 4",
            "W_shared_local": f"{STRIDED}, {TAPS}, rc_1 8, ax0 4",
        },
        others=wider_tiles,
    ),
}

ROWS = "i 16 blockIdx.x, j 16 threadIdx.x"
TILES = "i_0 4 blockIdx.y, j_0 2 blockIdx.x"
TOGETHER = f"{TILES}, ax0_ax1_fused_0 2, ax0_ax1_fused_1 32 threadIdx.x"

OWN_OPERATOR = {
    "blur_whole": how_many(
        "loads of both kernels",
        "with a kernel for each stage, how many elements do the two load from global memory in "
        "all?",
        ("480 elements", "1,152 elements", "1,632 elements", "2,304 elements"),
        loads_in_all,
        steps="bind i to blockIdx.x and j to threadIdx.x, in both stages",
        why="H has 18 x 16 cells, since B needs two rows more than it has: 288 x 3 = 864 loads of "
        "A. B has 16 x 16 cells: 256 x 3 = 768 loads of H.",
        asked={"H": "i 18 blockIdx.x, j 16 threadIdx.x", "B": ROWS},
        others=other_stages("whole"),
    ),
    "blur_again": how_many(
        "loads without H",
        "after compute_inline, how many elements does the one kernel load from global memory in "
        "all?",
        ("480 elements", "1,152 elements", "1,632 elements", "2,304 elements"),
        loads_in_all,
        steps="apply compute_inline to block H",
        why="each output adds up three sums of three: 256 x 9. H is neither stored nor loaded any "
        "more, and each of its sums is computed three times.",
        asked={"B": ROWS},
        others=other_stages("again"),
    ),
    "blur_tile": how_many_loads(
        "A",
        "once a block keeps its part of H and its threads compute that together, how many loads "
        "from A does one block make?",
        (60, 96, 144, 4608),
        by="block",
        others=lambda: {
            "if each thread computed all of the block's part of H": staged(BLUR, "each"),
            "if the block kept its part of A, too": staged(BLUR, "both"),
        },
        slips=parts_of_a_block,
        steps="set_scope of H to shared, compute_at of H to j_0, fuse ax0 and ax1, split by "
        "[None, 32], and bind the inner loop to threadIdx.x",
        threads=2,
        stage="H",
        why={144: "4 x 8 outputs need 6 x 8 cells of H, and each of those 48 adds up three of A."},
        asked={"H": TOGETHER, "B": f"{TILES}, i_1_j_1_fused 32 threadIdx.x"},
    ),
    "blur_both": how_many_loads(
        "A",
        "with a copy of A in shared memory, too, fetched together, how many loads from A does one "
        "block make?",
        (32, 48, 60, 144),
        by="block",
        others=lambda: {"if it kept its part of H alone": staged(BLUR, "tile")},
        slips=parts_of_a_block,
        steps="apply cache_read (A, shared) to block H, compute_at of A_shared to j_0, then fuse, "
        "split by [None, 32] and bind as before",
        threads=3,
        stage="A_shared",
        why={60: "4 x 8 outputs need 6 x 10 elements of A, and each is fetched once."},
        asked={
            "A_shared": TOGETHER,
            "H": TOGETHER,
            "B": f"{TILES}, i_1_j_1_fused 32 threadIdx.x",
        },
    ),
}

LESSONS: dict[str, dict[str, Question]] = {
    "00_gpu": {},
    "01_vector_add": VECTOR_ADD,
    "02_window_sum": WINDOW_SUM,
    "03_local_blocking": LOCAL_BLOCKING,
    "04_shared_blocking": SHARED_BLOCKING,
    "06_convolution": CONVOLUTION,
    "07_own_operator": OWN_OPERATOR,
}
QUESTIONS: dict[str, Question] = {
    name: question for asked in LESSONS.values() for name, question in asked.items()
}
