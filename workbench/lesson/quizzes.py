"""Questions on programs that no lesson has shown: two at a lesson's begin, three at its end.

Choices are what the measure finds for the program and for others like it, so that the answer and
what is said of each wrong one are computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from workbench import target
from workbench.diag import count_text
from workbench.ir import PrimFunc
from workbench.lesson.banks import turns_of
from workbench.lesson.convolutions import convolution, one_output_each, tiled_convolution
from workbench.lesson.edge import fetching_again, idle_threads
from workbench.lesson.goals import blocks, counts, global_loads, kernels, shared_bytes
from workbench.lesson.machine import Machine, idle_lanes, length, start_of, stays
from workbench.lesson.predict import (
    Measure,
    load_times,
    loads,
    loads_of,
    nests,
    reads_of_block,
    times,
    use_times,
    who_is,
    why_who,
    would_be_right,
)
from workbench.lesson.programs import (
    Ways,
    bound,
    elementwise,
    fetched,
    product,
    smoothed,
    staged,
    stages,
    strided,
    tiled,
    window,
)
from workbench.runtime.build import build
from workbench.script import show
from workbench.widgets.page.question import NOT_SURE, Verdict


@dataclass(frozen=True, slots=True)
class Item:
    """One question on the `code` that stands with it, in the language `shown`."""

    text: str
    shown: str
    code: str
    choices: tuple[str, ...]
    verdict: Verdict


def item(
    text: str,
    func: PrimFunc,
    measure: Measure,
    why: Callable[[PrimFunc], str],
    others: Mapping[str, PrimFunc],
    *,
    seen: PrimFunc | None = None,
    cuda: bool = False,
) -> Item:
    """A question about `func`, shown as TensorIR, as CUDA, or as the program `seen` before it.

    `others` are programs that make other choices right, by the words that say so.
    """
    code = build(func, "cuda").source if cuda else show(seen or func)
    return asked(text, code, measure(func), why(func), would_be_right(measure, others), cuda=cuda)


def asked(
    text: str, code: str, truth: str, why: str, wrong: Mapping[str, str], *, cuda: bool = False
) -> Item:
    """A question whose choices are the truth and what is `wrong`, each with what is said of it."""
    choices = sorted({truth, *wrong}, key=lambda choice: (_number(choice), choice))
    verdict = Verdict(truth, why, {choice: wrong[choice] for choice in wrong if choice != truth})
    return Item(text, "CUDA" if cuda else "TensorIR", code, (*choices, NOT_SURE), verdict)


def _number(choice: str) -> list[int]:
    """By the numbers in it; "once" is 1."""
    found = re.findall(r"\d+", choice.replace(",", ""))
    return [int(number) for number in found] or [1]


EXCHANGED = ("threadIdx.x", "blockIdx.x")


def who_item(start: PrimFunc, factors: tuple[int | None, int], cell: int, *more: int) -> Item:
    """Who computes a cell of Y, after other splits, with the axes exchanged, before any step."""
    func, (buffer,) = bound(start, factors), "Y"
    others = {f"with {n} threads in a block": bound(start, (None, n)) for n in more}
    others["if the two axes were exchanged"] = bound(start, factors, EXCHANGED)
    return item(
        f"Who computes {buffer}[{cell}]?",
        func,
        lambda func: who_is(func, buffer, (cell,)),
        lambda func: why_who(func, buffer, (cell,)),
        others,
    )


def launched(func: PrimFunc) -> int:
    """The threads of all blocks."""
    return sum(prod(kernel.grid) * prod(kernel.block) for kernel in kernels(func))


def sizes(func: PrimFunc) -> str:
    """ "4 blocks of 32 threads are 128"."""
    (kernel,) = kernels(func)
    grid, block = prod(kernel.grid), prod(kernel.block)
    return f"{grid} blocks of {block} threads are {grid * block:,}"


def with_threads(start: PrimFunc, *numbers: int) -> dict[str, PrimFunc]:
    """The loop of `start` bound with other numbers of threads."""
    return {f"with {n} threads in a block": bound(start, (None, n)) for n in numbers}


# --- on lesson 0: a machine in small -------------------------------------------------------------


def starts(text: str, code: str, block: int, of: int, has: Machine, *more: Machine) -> Item:
    """When a block starts; `more` are machines on which other choices are right."""
    wrong = {
        start_of(block, of, other): f"“{start_of(block, of, other)}” would be right {_on(other)}."
        for other in more
    }
    stay = stays(of, has)[block]
    places = has.multiprocessors * has.room
    rounds = count_text(block // places, "round")
    why = (
        f"there is room for {places} blocks at a time, and a round takes {has.steps} steps. Block "
        f"{block} finds room after {rounds}, on multiprocessor {stay.multiprocessor}."
    )
    return asked(text, code, start_of(block, of, has), why, wrong, cuda=True)


def _on(machine: Machine) -> str:
    each = "one block" if machine.room == 1 else f"{machine.room} blocks"
    count = machine.multiprocessors
    return f"on {count_text(count, 'multiprocessor')} with room for {each} each"


def header(length: int, threads: int) -> str:
    """The first lines of a launch's CUDA, and that there are more."""
    source = build(bound(elementwise(length), (None, threads)), "cuda").source
    return "\n".join([*source.splitlines()[:4], "  // … what each thread does"])


def gpu_0() -> Sequence[Item]:
    """When a block begins that finds no room at first."""
    return (
        starts(
            "Two multiprocessors have room for one block each, and a block takes 4 time steps. "
            "When does block 4 of this launch start? (The first two start at time 0.)",
            header(512, 64),
            4,
            8,
            Machine(2),
            Machine(1),
            Machine(2, room=2),
            Machine(8),
        ),
    )


def room_0() -> Sequence[Item]:
    """What more room on each multiprocessor changes."""
    code, has = header(512, 64), Machine(2, room=2)
    others = (Machine(2), Machine(1), Machine(8))
    return (
        starts(
            "Two multiprocessors have room for two blocks each. When does block 4 start?",
            code,
            4,
            8,
            has,
            *others,
        ),
        asked(
            "How long does the whole launch take?",
            code,
            length(8, has),
            "four blocks run at a time, so eight take two rounds of 4 steps.",
            {length(8, m): f"“{length(8, m)}” would be right {_on(m)}." for m in others},
            cuda=True,
        ),
    )


def end_0() -> Sequence[Item]:
    """On queues, groups of 32, and the last blocks of a launch."""
    threads = 80
    others = {
        idle_lanes(n): f"“{idle_lanes(n)}” would be right of {n} threads." for n in (96, 70, 65)
    }
    lanes = "a warp has 32 lanes, and 80 threads take three warps: 96 lanes."
    has, blocks = Machine(4), 17
    lengths = {
        length(n, m): f"“{length(n, m)}” would be right {words}."
        for n, m, words in (
            (16, has, "of 16 blocks"),
            (blocks, Machine(17), "if all blocks had room at once"),
            (blocks, Machine(1), "on one multiprocessor"),
        )
    }
    tail = "16 blocks fill four multiprocessors four times; block 16 is alone in a fifth round."
    return (
        starts(
            "Three multiprocessors have room for one block each, and a block takes 4 time steps. "
            "When does block 4 start?",
            header(256, 32),
            4,
            8,
            Machine(3),
            Machine(2),
            Machine(8),
            Machine(1),
        ),
        asked(
            "How many lanes of a block's warps have no thread to run?",
            header(800, threads),
            idle_lanes(threads),
            lanes,
            others,
            cuda=True,
        ),
        asked(
            "Four multiprocessors have room for one block each, and a block takes 4 steps. How "
            "long does this launch take?",
            header(17 * 64, 64),
            length(blocks, has),
            tail,
            lengths,
            cuda=True,
        ),
    )


# --- on lesson 1 ----------------------------------------------------------------------------------


def end_1() -> Sequence[Item]:
    """On splits, binds and edges."""
    double = elementwise(24, "A[vi] * T.float32(2)", "Y", "double")
    hundred = elementwise(100, "A[vi] + X[vi]", "Y")
    thousand = elementwise(1000, "A[vi]", "Y", "copy")
    steps = bound(thousand, (None, 96))
    return (
        who_item(double, (6, 4), 13, 6, 8),
        item(
            "How many threads of this launch have nothing to do?",
            bound(hundred, (None, 32)),
            lambda func: f"{idle_threads(func)} threads",
            lambda func: (
                f"{sizes(func)}, and there are 100 cells: the condition in the text lets "
                f"the last {idle_threads(func)} do nothing."
            ),
            with_threads(hundred, 25, 40, 48),
            cuda=True,
        ),
        item(
            "This program gets `sch.split(i, factors=[None, 96])`; the outer loop is bound to "
            "`blockIdx.x`, the inner one to `threadIdx.x`. How many blocks are there?",
            steps,
            lambda func: f"{blocks(func)} blocks",
            lambda func: f"{sizes(func)}, enough for 1,000; one block less would be too few.",
            {
                "after `sch.split(i, factors=[96, None])`, with the same binds": bound(
                    thousand, (96, None)
                ),
                **with_threads(thousand, 100, 64),
            },
            seen=thousand,
        ),
    )


def begin_2() -> Sequence[Item]:
    """On lesson 1: who does what, and how many there are."""
    difference = elementwise(40, "A[vi] - X[vi]", "Y", "difference")
    square = elementwise(200, "A[vi] * A[vi]", "Y", "square")
    return (
        who_item(difference, (None, 16), 37, 8, 20),
        item(
            "How many threads does this launch start, in all blocks together?",
            bound(square, (None, 64)),
            lambda func: f"{launched(func)} threads",
            lambda func: f"{sizes(func)}. Those past the 200 cells start, too, and do nothing.",
            with_threads(square, 50, 32, 96),
            cuda=True,
        ),
    )


# --- on lesson 2 ----------------------------------------------------------------------------------


def by_block(func: PrimFunc) -> str:
    """How many loads from A one block makes."""
    return load_times(func, "A", "block")


def alone(start: PrimFunc, threads: int, *, also: int) -> dict[str, PrimFunc]:
    """A window with no copy, with a copy by each thread, by all together, and in other blocks."""
    return {
        "if there were no copy": bound(start, (None, threads)),
        "if each thread fetched all that its block needs": fetched(start, threads, together=False),
        "if the threads of a block fetched together": fetched(start, threads),
        f"with {also} threads in a block that fetch together": fetched(start, also),
    }


def end_2() -> Sequence[Item]:
    """On copies in shared memory, and who makes them."""
    strided, five, three = window(256, 4, 2), window(512, 5), window(512, 3)
    return (
        item(
            "How many loads from A does one block make?",
            fetched(strided, 32),
            by_block,
            lambda func: (
                "the copy's inner loop is bound to the threads, so each cell is fetched "
                f"once: {by_block(func)}. Outputs begin two cells apart, and the last reads four."
            ),
            alone(strided, 32, also=64),
        ),
        item(
            "How many threads of a block load from A twice?",
            fetched(five, 64),
            lambda func: f"{fetching_again(func)} threads",
            lambda func: (
                "64 outputs need 68 cells. Each thread fetches one in the first round; "
                f"the condition lets the first {fetching_again(func)} fetch another."
            ),
            {f"with a window of {n}": fetched(window(512, n), 64) for n in (3, 9, 17)},
            cuda=True,
        ),
        item(
            "In this program, blocks of 128 threads are to fetch A together. How many loads from "
            "A do all blocks make together then?",
            fetched(three, 128),
            lambda func: loads(loads_of(func, "A")),
            lambda func: (
                f"4 blocks, and {by_block(func)} for each: its own 128 cells, and two "
                "that its neighbour fetches as well."
            ),
            alone(three, 128, also=64),
            seen=three,
        ),
    )


def begin_3() -> Sequence[Item]:
    """On lessons 1 and 2."""
    edge, short = elementwise(150, "A[vi] + X[vi]", "Y"), window(128, 3)
    return (
        item(
            "How many threads of this launch have nothing to do?",
            bound(edge, (None, 32)),
            lambda func: f"{idle_threads(func)} threads",
            lambda func: f"{sizes(func)}, for 150 cells.",
            with_threads(edge, 25, 64, 48, 40),
            cuda=True,
        ),
        item(
            "How many loads from A does one block make?",
            fetched(short, 32, together=False),
            by_block,
            lambda func: (
                "the loop over the cells of the copy stands inside the loop over threads "
                "and is not bound: each of the 32 threads copies all 34."
            ),
            alone(short, 32, also=64),
        ),
    )


# --- on lesson 3 ----------------------------------------------------------------------------------


def uses(buffer: str) -> Measure:
    """How often one thread uses each element of `buffer`."""
    return lambda func: use_times(func, buffer, "thread")


def with_tiles(
    start: PrimFunc, *tiles: tuple[int, int], threads: tuple[int, int], copies: str = ""
) -> dict[str, PrimFunc]:
    """A product with other tiles of outputs for a thread."""
    return {
        f"with {r} x {c} outputs for a thread": tiled(start, (r, c), threads, 2, copies=copies)
        for r, c in tiles
    }


def loads_each(func: PrimFunc) -> str:
    """The loads of global memory for each output."""
    return f"{counts(func).loads_per_output:g} loads"


def by_thread(func: PrimFunc) -> str:
    """How many elements one thread loads from global memory."""
    return f"{counts(func).traffic[0].loads // launched(func)} elements"


def end_3() -> Sequence[Item]:
    """On tiles of outputs, in a product with B the other way around."""
    start = product(12, 12, 6, term="A[vi, vk] * B[vj, vk]")
    wide = product(64, 64, 16, term="A[vi, vk] * B[vj, vk]")
    return (
        item(
            "How often does one thread use each element of A that it needs?",
            tiled(start, (3, 2), (2, 3), 2),
            uses("A"),
            lambda func: (
                "the thread has 3 rows of 2 outputs, and an element of A belongs to one "
                f"row: {uses('A')(func)}. An element of B belongs to one column: {uses('B')(func)}."
            ),
            with_tiles(start, (2, 3), (1, 1), (3, 6), threads=(2, 1)),
        ),
        item(
            "How many elements of A and B does one thread load from global memory, in all?",
            tiled(start, (2, 3), (3, 2), 2, copies="local"),
            by_thread,
            lambda func: (
                "for each of the 6 steps of k, 2 elements of A and 3 of B go to local "
                "memory; the products read them there."
            ),
            {
                "if it loaded both for each of its products": tiled(start, (2, 3), (3, 2), 2),
                **with_tiles(start, (1, 1), (3, 3), threads=(2, 2), copies="local"),
            },
            cuda=True,
        ),
        best_tile(wide, ((1, 16), (2, 8), (4, 4)), (2, 2)),
    )


def best_tile(start: PrimFunc, tiles: Sequence[tuple[int, int]], threads: tuple[int, int]) -> Item:
    """Which of the tiles for a thread loads fewest elements of `start` for each output."""
    loads = {
        f"{r} x {c}": counts(tiled(start, (r, c), threads, 2, copies="local")).loads_per_output
        for r, c in tiles
    }
    truth = min(loads, key=lambda tile: loads[tile] or 0)
    told = {tile: f"{tile} loads {each:g} elements for each output" for tile, each in loads.items()}
    return asked(
        "Each thread of this product is to compute 16 outputs, and to keep what it loads for one "
        "k. Which tile, in rows x columns, loads fewest elements for each output?",
        show(start),
        truth,
        f"r x c outputs take r elements of A and c of B for one k: {'; '.join(told.values())}.",
        {tile: f"{said}, {truth} loads {loads[truth]:g}." for tile, said in told.items()},
    )


def real_3() -> Sequence[Item]:
    """What threads with tiles load, at lesson 3's real size."""
    start = product(1024, 1024, 1024)
    return (
        item(
            "Each thread takes 8 x 8 outputs, in blocks of 8 x 8 threads, and keeps what it loads "
            "for one k. How many loads of A and B does that make for each output of this product?",
            tiled(start, (8, 8), (8, 8), 4, copies="local"),
            loads_each,
            lambda func: (
                "for one k, 8 elements of A and 8 of B serve 64 outputs: 16 / 64 for each "
                "of them, and k has 1024 steps."
            ),
            {
                "without tiles, and with the sum in a register": tiled(start, (1, 1), (8, 8), 4),
                "with 4 x 4 outputs for a thread": tiled(
                    start, (4, 4), (16, 16), 4, copies="local"
                ),
                "if the block's 64 threads fetched together": tiled(
                    start, (8, 8), (8, 8), 4, copies="together"
                ),
            },
            seen=start,
        ),
    )


def four_3() -> Sequence[Item]:
    """What a smaller tile for each thread costs, at lesson 3's real size."""
    start = product(1024, 1024, 1024)

    def tiles(v: int, threads: int) -> PrimFunc:
        return tiled(start, (v, v), (threads, threads), 4, copies="local")

    def found(func: PrimFunc) -> str:
        (kernel,) = kernels(func)
        return f"{loads_each(func)}, {prod(kernel.block)} threads"

    return (
        item(
            "4 x 4 outputs for a thread that keeps what it loads, in blocks of 64 x 64: how "
            "many loads does that make for each output, and how many threads in a block?",
            tiles(4, 16),
            found,
            lambda func: (
                "4 + 4 elements serve 16 outputs for one k, so 8 / 16 in each of 1024 steps: twice "
                "as many as with 8 x 8. And 64 x 64 outputs, 16 for each thread, take 256 of them."
            ),
            {
                "with 8 x 8 outputs for a thread": tiles(8, 8),
                "in blocks of 32 x 32 outputs": tiles(4, 8),
                "with 2 x 2 outputs for a thread": tiles(2, 32),
            },
            seen=start,
        ),
    )


def edge_3() -> Sequence[Item]:
    """What lesson 3's tiles cost over the edge."""
    start = product(8, 8, 8)
    return (
        item(
            "Each thread takes 2 x 2 outputs and keeps what it loads for one k. Blocks of 3 x 3 "
            "threads are to cover these 8 x 8 outputs: four blocks of 6 x 6. With 2 x 2 threads it "
            "was 8 loads for each output. How many now?",
            tiled(start, (2, 2), (3, 3), 2, copies="local"),
            loads_each,
            lambda func: (
                "a thread right of the last column has no outputs; but the copy to A_local asks "
                "for the row only, and is made for nothing. Below the last row, B_local is."
            ),
            {
                "if the tile were 4 x 4": tiled(start, (4, 4), (2, 2), 2, copies="local"),
                "if the tiles divided the matrix": tiled(start, (2, 2), (2, 2), 2, copies="local"),
                "if it loaded both for each of its products": tiled(start, (2, 2), (3, 3), 2),
            },
            seen=start,
        ),
    )


def begin_4() -> Sequence[Item]:
    """On lessons 2 and 3."""
    nine, start = window(320, 9), product(16, 16, 8)
    return (
        item(
            "How many threads of a block load from A twice?",
            fetched(nine, 40),
            lambda func: f"{fetching_again(func)} threads",
            lambda func: (
                f"40 outputs need 48 cells: one for each thread, and {fetching_again(func)} more."
            ),
            {f"with a window of {n}": fetched(window(320, n), 40) for n in (3, 5, 17)},
            cuda=True,
        ),
        item(
            "How often does one thread use each element of B that it needs?",
            tiled(start, (4, 2), (2, 2), 2),
            uses("B"),
            lambda func: (
                "an element of B belongs to one column of outputs, and the thread has "
                f"4 in each: {uses('B')(func)}. Of A, {uses('A')(func)}."
            ),
            with_tiles(start, (2, 4), (1, 1), (8, 2), threads=(2, 2)),
        ),
    )


# --- on lesson 4 ----------------------------------------------------------------------------------


def real_4() -> Sequence[Item]:
    """What a block of 64 x 64 outputs loads, at lesson 4's real size."""
    start, tile = product(1024, 1024, 1024), (8, 8)
    return (
        item(
            "Blocks of 64 x 64 outputs fetch tiles of A and of B together. How many loads of "
            "global memory does that make for each output of this product?",
            tiled(start, tile, (8, 8), 8, copies="together"),
            loads_each,
            lambda func: (
                "for one k a block fetches 64 elements of A and 64 of B, for 64 x 64 "
                "outputs: 2 / 64 for each of them, and k has 1024 steps."
            ),
            {
                "if each thread kept its own 8 x 8 tile's rows and columns": tiled(
                    start, tile, (8, 8), 8, copies="local"
                ),
                "with blocks of 128 x 128 outputs": tiled(
                    start, tile, (16, 16), 8, copies="together"
                ),
                "if every product loaded both of its factors": tiled(start, tile, (8, 8), 8),
            },
            seen=start,
        ),
    )


def tiles_4() -> Sequence[Item]:
    """What decides the loads of lesson 4's candidates, and which of them does not build."""
    start = product(1024, 1024, 1024)
    return (
        item(
            "Blocks of 128 x 128 outputs fetch together. How many loads of global memory does that "
            "make for each output?",
            tiled(start, (8, 8), (16, 16), 8, copies="together"),
            loads_each,
            lambda func: "2 / 128 for each of 1024 steps of k, whatever `tile_k` is.",
            {
                f"with blocks of {tile * threads} x {tile * threads}": tiled(
                    start, (tile, tile), (threads, threads), 8, copies="together"
                )
                for tile, threads in ((2, 8), (4, 8), (8, 8))
            },
            seen=start,
        ),
        too_large(start, ((8, 8, 8), (4, 16, 16), (8, 16, 16), (16, 16, 32))),
    )


def too_large(start: PrimFunc, sizes: Sequence[tuple[int, int, int]]) -> Item:
    """Which of the sizes (outputs of a thread, threads, steps of k) takes too much for a block."""
    takes = {
        f"({tile}, {tile}, {threads}, {threads}, {depth})": shared_bytes(
            tiled(start, (tile, tile), (threads, threads), depth, copies="together")
        )
        for tile, threads, depth in sizes
    }
    most = target.get("cuda").max_shared_bytes
    (truth,) = (name for name, size in takes.items() if size > most)
    told = {name: f"{name} takes {size:,} bytes" for name, size in takes.items()}
    return asked(
        f"A block may have {most // 1024} KiB of shared memory. Which of these tile sizes "
        "(tile_local_y, tile_local_x, tile_block_y, tile_block_x, tile_k) does not build?",
        show(start),
        truth,
        f"{told[truth]}, 4 for each of tile_k steps of the rows and columns of a block's outputs; "
        f"{most // 1024} KiB are {most:,}.",
        {name: f"{said} of the {most:,} that there are." for name, said in told.items()},
    )


def waits(func: PrimFunc) -> str:
    """At how many barriers one block waits."""
    found = counts(func)
    return times(found.barriers // found.blocks)


def bytes_each(func: PrimFunc) -> str:
    """The shared memory of a block."""
    return f"{shared_bytes(func):,} bytes"


def small_blocks(start: PrimFunc) -> Item:
    """How much shared memory a block takes."""
    return item(
        "Blocks of this product are to have 8 x 16 outputs, with tiles of A and of B in shared "
        "memory, 4 steps of k at a time. How much shared memory does a block take?",
        tiled(start, (2, 2), (4, 8), 4, copies="together"),
        bytes_each,
        lambda func: "4 steps of k for 8 rows and 16 columns are 4 x 24 numbers, of 4 bytes each.",
        {
            f"with {rows} x {columns} outputs and {depth} steps of k": tiled(
                start, (2, 2), (rows // 2, columns // 2), depth, copies="together"
            )
            for rows, columns, depth in ((8, 8, 4), (8, 16, 8), (4, 4, 4))
        },
        seen=start,
    )


def end_4() -> Sequence[Item]:
    """On tiles in shared memory, in a product with B the other way around."""
    start = product(16, 16, 16, term="A[vi, vk] * B[vj, vk]")
    long = product(16, 16, 24, term="A[vi, vk] * B[vj, vk]")
    tile, threads = (2, 2), (2, 4)
    depths = {
        f"with {depth} steps of k in a tile": tiled(long, tile, threads, depth, copies="together")
        for depth in (4, 8, 12)
    }
    return (
        item(
            "How many loads from A does one block make?",
            tiled(start, tile, threads, 4, copies="together"),
            by_block,
            lambda func: (
                "its outputs lie in 4 rows of A, each 16 long, and the threads fetch each "
                f"element once: {by_block(func)}."
            ),
            {
                "if each thread fetched the whole tile": tiled(
                    start, tile, threads, 4, copies="each"
                ),
                "if each thread kept what it loads itself": tiled(
                    start, tile, threads, 4, copies="local"
                ),
                "with 8 rows of outputs for a block": tiled(
                    start, tile, (4, 4), 4, copies="together"
                ),
            },
        ),
        item(
            "How often does a block wait at a barrier, in all?",
            tiled(long, tile, threads, 6, copies="together"),
            waits,
            lambda func: (
                "the loop over k_0 has 4 turns, and two barriers in each: all have "
                "fetched, all have read."
            ),
            depths,
            cuda=True,
        ),
        small_blocks(long),
    )


# --- on lesson 6 ----------------------------------------------------------------------------------


def begin_6() -> Sequence[Item]:
    """On lessons 3 and 4."""
    start, long = product(20, 20, 6), product(16, 16, 40)
    tile, threads = (2, 2), (2, 4)
    return (
        item(
            "How often does one thread use each element of A that it needs?",
            tiled(start, (2, 5), (2, 2), 2),
            uses("A"),
            lambda func: (
                "the thread has 2 rows of 5 outputs, and an element of A belongs to one row: "
                f"{uses('A')(func)}. An element of B belongs to one column: {uses('B')(func)}."
            ),
            with_tiles(start, (5, 2), (1, 1), (4, 10), threads=(2, 2)),
        ),
        item(
            "How often does a block wait at a barrier, in all?",
            tiled(long, tile, threads, 8, copies="together"),
            waits,
            lambda func: "the loop over k_0 has 5 turns, and two barriers in each.",
            {
                f"with {depth} steps of k in a tile": tiled(
                    long, tile, threads, depth, copies="together"
                )
                for depth in (4, 10, 20)
            },
            cuda=True,
        ),
    )


def asks(func: PrimFunc) -> str:
    """How often it is asked whether a number of A is inside, by the loops around its reads."""
    around = nests(func)
    block = next(name for name in ("Apad", "Apad_shared", "B") if name in around)
    extents = {}  # a thread's axis may be that of two loops
    for loop in around[block].split(", "):
        name, extent, *axis = loop.split()
        extents[axis[0] if axis else name] = int(extent)
    return times(prod(extents.values()))


def padding_6() -> Sequence[Item]:
    """Where the condition of the padding costs least."""
    start = convolution(4, 16, 64, 64)
    inlined = one_output_each(start)
    return (
        item(
            "How often do the threads of this program ask whether a number of A is inside its "
            "picture?",
            inlined,
            asks,
            lambda func: (
                "the condition stands in the sum: 4 x 4 x 64 x 64 outputs, each of 3 x 3 x 16 "
                "products, and it is asked for every one."
            ),
            {
                "for a copy of A with its border, made before the sum: once for each of its cells, "
                "which then go through global memory": start,
                "for a fetch to shared memory, in which the 64 filters of a block share what one "
                "of its threads has asked": tiled_convolution(start),
            },
        ),
    )


def real_6() -> Sequence[Item]:
    """How many barriers stand in lesson 6's kernel at its real size."""
    start = convolution(14, 256, 512, 256)
    return (
        item(
            "Blocks of 64 filters x 64 pictures fetch 8 channels of one tap at a time. At how many "
            "barriers does a block of this convolution wait, in all?",
            tiled_convolution(start),
            waits,
            lambda func: (
                "256 channels are 32 steps of 8, each with 9 taps: 288 fetches, and two barriers "
                "for each."
            ),
            {
                f"with {step} channels at a time": tiled_convolution(start, step=step)
                for step in (4, 16, 32)
            },
            seen=start,
        ),
    )


def roof_6() -> Sequence[Item]:
    """The least time of lesson 6's convolution on an H200."""
    start, card = convolution(14, 256, 512, 256), target.get("nvidia/h200")
    assert card.peak_flops is not None and card.bandwidth is not None
    products = prod(start.params[-1].shape) * 9 * 256
    roof = 2 * products / card.peak_flops
    inside = ((3 * 14 - 2) / (3 * 14)) ** 2  # a row misses a tap at each of its ends
    moved = sum(4 * prod(buffer.shape) for buffer in start.params) / card.bandwidth
    return (
        asked(
            f"An {card.title} does at most {card.peak_flops / 1e12:g} float32 operations in a "
            "picosecond: a product is one, an addition another. In what time could it do all of "
            "this convolution's, at best?",
            show(start),
            milli(roof),
            f"{products / 1e9:.3g} billion products, and an addition for each: "
            f"{2 * products / 1e9:.4g} billion operations.",
            {
                milli(roof / 2): f"“{milli(roof / 2)}” counts a product and its addition as one "
                "operation.",
                milli(roof * inside): f"“{milli(roof * inside)}” leaves out the products with a "
                "zero of the padding: this program does them all.",
                milli(moved): f"“{milli(moved)}” is what its memory needs to move each array once.",
            },
        ),
    )


def milli(seconds: float) -> str:
    """A time in milliseconds."""
    return f"{seconds * 1e3:.2f} ms"


def bank_turns(func: PrimFunc) -> str:
    """The turns that a warp's read of B_shared takes."""
    return count_text(turns_of(func, "B_shared"), "turn")


def strided_cell(start: PrimFunc, cell: int) -> Item:
    """Who computes a cell of Y where threads have strided cells."""
    return item(
        f"Who computes Y[{cell}]?",
        strided(start, [2, 2, 4, 2]),
        lambda func: who_is(func, "Y", (cell,)).partition(", time")[0],
        lambda func: (
            "a block has 16 cells: 8 of the first virtual threads, then 8 of the second. Y[13] is "
            "cell 5 of the second 8, and thread 2 has cells 4 and 5 of each."
        ),
        {
            "without virtual threads, with four neighbours for a thread": strided(
                start, [2, 1, 4, 4]
            ),
            "with four virtual threads, of one cell each": strided(start, [2, 4, 4, 1]),
            "with eight threads in a block": strided(start, [2, 1, 8, 2]),
        },
    )


def first_loads(func: PrimFunc) -> Item:
    """What the first block of five taps, with zeros before the first place, loads."""
    loads = [f"{reads_of_block(func, 'A', (place, 0, 0)):,} elements" for place in range(3)]
    return asked(
        "How many elements does block 0 load from A?",
        show(func),
        loads[0],
        "of its 5 taps 2 lie before the first place, where the condition fails: 3 taps of 64 "
        "signals.",
        {
            loads[1]: f"“{loads[1]}” would be right of block 1, with 4 taps inside.",
            loads[2]: f"“{loads[2]}” would be right of block 2, with all 5 taps inside.",
        },
    )


def end_6() -> Sequence[Item]:
    """On strided cells, banks and padding."""
    start = product(8, 256, 8)
    return (
        strided_cell(elementwise(32, "A[vi] * T.float32(2)", "Y", "double"), 13),
        item(
            "How many turns does a warp's read of B_shared take?",
            tiled(start, (2, 8), (4, 8), 4, copies="together"),
            bank_turns,
            lambda func: (
                "the eight threads of a row read B_shared 8 cells apart: cells 0, 8, … 56. Cells "
                "0 and 32 lie in one bank, 8 and 40 in another."
            ),
            {
                f"with {v} neighbours in a row for each thread": tiled(
                    start, (2, v), (4, 8), 4, copies="together"
                )
                for v in (4, 16, 32)
            },
            cuda=True,
        ),
        first_loads(smoothed(8, 5, 64)),
    )


# --- on lesson 7: operators of several stages ----------------------------------------------------


def begin_7() -> Sequence[Item]:
    """On lessons 2 and 4."""
    strided, start = window(128, 4, 2), product(32, 32, 12)
    depths = {
        f"with {depth} steps of k in a tile": tiled(start, (2, 2), (4, 8), depth, copies="together")
        for depth in (2, 4, 6)
    }
    return (
        item(
            "How many loads from A does one block make?",
            fetched(strided, 16),
            by_block,
            lambda func: (
                "16 outputs begin two cells apart, and the last of them reads four: 15 x 2 + 4 "
                "cells, each fetched once by the threads together."
            ),
            alone(strided, 16, also=32),
        ),
        item(
            "How often does a block wait at a barrier, in all?",
            tiled(start, (2, 2), (4, 8), 3, copies="together"),
            waits,
            lambda func: "k_0 has 4 turns with a tile each, and two barriers in each turn.",
            depths,
            cuda=True,
        ),
    )


def ways(start: PrimFunc, *hows: Ways, tile: tuple[int, int] = (4, 8)) -> dict[str, PrimFunc]:
    """Two stages by what becomes of H."""
    told: dict[Ways, str] = {
        "whole": "if H were stored whole, by a kernel of its own",
        "again": "if H were computed again wherever it is read",
        "each": "if each thread computed all of the block's part of H",
        "tile": "if the block kept its part of H alone",
        "both": "if the block kept its part of A, too",
    }
    return {told[how]: staged(start, how, tile) for how in hows}


def real_7() -> Sequence[Item]:
    """What lesson 7's blur loads at its real size."""
    start = stages(1024, 1024, (1, 1, 1), (1, 1, 1))

    def each(func: PrimFunc) -> str:
        return f"{global_loads(func) / 1024**2:.2f} loads"

    return (
        item(
            "Blocks of 32 x 32 outputs are to keep their parts of H and of A in shared memory. How "
            "many loads of global memory does that make for each output?",
            staged(start, "both", (32, 32)),
            each,
            lambda func: (
                "32 x 32 outputs need 34 x 34 elements of A, and each is fetched once: 1,156 for "
                "1,024 outputs."
            ),
            {
                **ways(start, "tile", "again", tile=(32, 32)),
                "with blocks of 8 x 8 outputs": staged(start, "both", (8, 8)),
            },
            seen=start,
        ),
    )


def end_7() -> Sequence[Item]:
    """On stages with other windows: four cells along a row, then two down a column."""
    flat, tall = stages(16, 32, (1, 1), (1, 1, 1, 1)), stages(32, 32, (1, 1, 1, 1, 1), (1, 1))

    def in_all(func: PrimFunc) -> str:
        return f"{global_loads(func):,} loads"

    return (
        item(
            "How many elements does this program load from global memory, in all its kernels?",
            staged(flat, "whole"),
            in_all,
            lambda func: (
                "H has 17 x 32 cells, each of four elements of A: 2,176 loads. B has 16 x 32, each "
                "of two cells of H: 1,024."
            ),
            ways(flat, "again", "tile", "both"),
        ),
        item(
            "How many loads from A does one block make?",
            staged(tall, "both"),
            by_block,
            lambda func: (
                "4 x 8 outputs need 8 x 8 cells of H, since five rows go into each, and those need "
                "8 x 9 elements of A, each fetched once."
            ),
            ways(tall, "again", "each", "tile"),
            cuda=True,
        ),
        item(
            "Blocks of 4 x 8 outputs are to keep their parts of H and of A in shared memory. How "
            "much of it does a block take?",
            staged(tall, "both"),
            bytes_each,
            lambda func: "8 x 8 cells of H and 8 x 9 elements of A are 136 numbers, of 4 bytes.",
            {
                **ways(tall, "tile"),
                "if H had no more rows than B": staged(stages(32, 32, (1,), (1, 1)), "both"),
                "with 8 x 8 outputs": staged(tall, "both", (8, 8)),
            },
            seen=tall,
        ),
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """The quiz of one place: the lesson that asks it, how many questions, and what makes them."""

    lesson: str
    count: int
    made: Callable[[], Sequence[Item]]


QUIZZES: Mapping[str, Asked] = {
    "00_gpu": Asked("00_gpu", 1, gpu_0),
    "00_end": Asked("00_gpu", 3, end_0),
    "00_room": Asked("00_gpu", 2, room_0),
    "01_end": Asked("01_vector_add", 3, end_1),
    "02_begin": Asked("02_window_sum", 2, begin_2),
    "02_end": Asked("02_window_sum", 3, end_2),
    "03_begin": Asked("03_local_blocking", 2, begin_3),
    "03_real": Asked("03_local_blocking", 1, real_3),
    "03_four": Asked("03_local_blocking", 1, four_3),
    "03_edge": Asked("03_local_blocking", 1, edge_3),
    "03_end": Asked("03_local_blocking", 3, end_3),
    "04_begin": Asked("04_shared_blocking", 2, begin_4),
    "04_real": Asked("04_shared_blocking", 1, real_4),
    "04_tiles": Asked("04_shared_blocking", 2, tiles_4),
    "04_end": Asked("04_shared_blocking", 3, end_4),
    "06_begin": Asked("06_convolution", 2, begin_6),
    "06_padding": Asked("06_convolution", 1, padding_6),
    "06_real": Asked("06_convolution", 1, real_6),
    "06_roof": Asked("06_convolution", 1, roof_6),
    "06_end": Asked("06_convolution", 3, end_6),
    "07_begin": Asked("07_own_operator", 2, begin_7),
    "07_real": Asked("07_own_operator", 1, real_7),
    "07_end": Asked("07_own_operator", 3, end_7),
}
