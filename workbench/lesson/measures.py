"""What questions ask of programs, by the words that the lessons' files have for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf, prod

from workbench import insight, script, target
from workbench.check.kernels import extent_of
from workbench.diag import Fail, count_text
from workbench.ir import Buffer, For, Kernel, PrimFunc, dtypes, walk
from workbench.ir.equal import structural_hash
from workbench.lesson.banks import most_wavefronts, sectors_of
from workbench.lesson.edge import fetching_again, idle_threads
from workbench.lesson.faults import fault
from workbench.lesson.goals import (
    blocks,
    counts,
    global_loads,
    groups_under_way,
    kernels,
    microseconds,
    registers_of_sums,
    shared_bytes,
)
from workbench.lesson.machine import Launch, idle_lanes, length, start_of
from workbench.lesson.predict import (
    load_times,
    loads,
    loads_of,
    nests,
    reads_of_block,
    times,
    use_times,
    who_is,
)
from workbench.lesson.trials import lines_of
from workbench.lower.warp_calls import WARP, WarpCall, warp_call, warp_calls
from workbench.schedule import Schedule


def cell_of(of: str) -> tuple[str, tuple[int, ...]]:
    """The buffer and the index that "C[2, 5]" names."""
    buffer, _, index = of.partition("[")
    return buffer, tuple(int(k) for k in re.findall(r"\d+", index))


def threads_in_all(func: PrimFunc) -> int:
    """The threads of all blocks."""
    return sum(prod(kernel.grid) * prod(kernel.block) for kernel in kernels(func))


def _threads_of_a_block(func: PrimFunc) -> int:
    (kernel,) = kernels(func)
    return prod(kernel.block)


def _loads_an_output(func: PrimFunc, of: str) -> str:
    return f"{counts(func).loads_per_output:g} loads"


def _loads_in_hundredths(func: PrimFunc, of: str) -> str:
    return f"{global_loads(func) / prod(func.params[-1].shape):.2f} loads"


def _elements_of_a_thread(func: PrimFunc, of: str) -> str:
    return f"{counts(func).traffic[0].loads // threads_in_all(func)} elements"


def _barriers(func: PrimFunc, of: str) -> str:
    """At how many barriers one block waits."""
    counted = counts(func)
    return times(counted.barriers // counted.blocks)


def _turns_of_the_loop(func: PrimFunc, of: str) -> int:
    """How often the kernel's loop `of` counts: of a pipeline, only the turns that have it all."""
    loops = (node for kernel in kernels(func) for node in walk(kernel.body))
    found = [node for node in loops if isinstance(node, For) and node.loop_var.name == of]
    return sum(map(extent_of, found))


def _questions_of_the_padding(func: PrimFunc, of: str) -> str:
    """How often it is asked whether a number of A is inside, by the loops around its reads."""
    around = nests(func)
    block = next(name for name in ("Apad", "Apad_shared", "B") if name in around)
    extents = {}  # a thread's axis may be that of two loops
    for loop in around[block].split(", "):
        name, extent, *axis = loop.split()
        extents[axis[0] if axis else name] = int(extent)
    return times(prod(extents.values()))


def _registers_of_the_sums(func: PrimFunc, of: str) -> str:
    """How many registers of each thread hold the sums of its warp, in fragments."""
    by_lanes = sum(_registers(buffer) for buffer in _held_by_lanes(func)[0])
    return count_text(by_lanes + registers_of_sums(func), "register")


def _loop_of_an_intrinsic(func: PrimFunc, of: str) -> str:
    """The outermost loop that `tensorize` takes with the intrinsic of that name.

    A name that several loops have is not taken.
    """
    sch = Schedule(func)
    for name in (node.loop_var.name for node in walk(func.body) if isinstance(node, For)):
        with suppress(Fail):
            sch.tensorize(name, of)
            return f"loop {name}"
    return "no loop"


def _registers_of_the_factors(func: PrimFunc, of: str) -> str:
    """How many registers of each thread hold the factors of its warp, where they go by lanes."""
    return count_text(sum(map(_registers, _held_by_lanes(func)[1])), "register")


def _held_by_lanes(func: PrimFunc) -> tuple[list[Buffer], list[Buffer]]:
    """The arrays in "warp" memory: of sums, and of what is multiplied."""
    every = [(kernel, buffer) for kernel in kernels(func) for buffer in kernel.allocs]
    held = [(kernel, buffer) for kernel, buffer in every if buffer.tag == "warp"]
    sums = [b for kernel, b in held if any(c.to.buffer is b for c in _products(kernel))]
    return sums, [buffer for _, buffer in held if buffer not in sums]


def _products(kernel: Kernel) -> Iterator[WarpCall]:
    calls = (warp_call(loop) for loop in warp_calls(kernel))
    return (call for call in calls if call.name == "ptx_mma")


def _registers(buffer: Buffer) -> int:
    """Registers of 4 bytes that each thread has of an array of a warp."""
    return prod(buffer.shape) * dtypes.itemsize(buffer.type) // (WARP * 4)


def _holder(func: PrimFunc, of: str) -> str:
    """Which thread of a warp holds a cell of a tile, such as "C_warp[9, 5]", in which register."""
    buffer, cell = cell_of(of)
    tiles = (tile for call in insight.lane_calls(func) for tile in call.tiles)
    tile = next(tile for tile in tiles if tile.buffer == buffer)
    lane, number = tile.held[cell[0], cell[1]]
    return f"thread {lane}, register {number // tile.packed}"


def _least_milliseconds(func: PrimFunc, of: str) -> str:
    """The time for a convolution's operations at the peak of the GPU `of`: 3 x 3 taps of A."""
    peak = target.get(of).peak_flops
    assert peak is not None
    products = prod(func.params[-1].shape) * 9 * func.params[0].shape[2]
    return f"{2 * products / peak * 1e3:.2f} ms"


MEASURES: Mapping[str, Callable[[PrimFunc, str], str]] = {
    "who": lambda func, of: who_is(func, *cell_of(of)),
    "block and thread": lambda func, of: who_is(func, *cell_of(of)).partition(", time")[0],
    "blocks": lambda func, of: f"{blocks(func):,} blocks",
    "threads": lambda func, of: f"{threads_in_all(func)} threads",
    "idle threads": lambda func, of: f"{idle_threads(func)} threads",
    "idle lanes": lambda func, of: idle_lanes(_threads_of_a_block(func)),
    "threads that load twice": lambda func, of: f"{fetching_again(func)} threads",
    "loads": lambda func, of: loads(loads_of(func, of) if of else global_loads(func)),
    "loads of a block": lambda func, of: load_times(func, of, "block"),
    "loads an output": _loads_an_output,
    "loads an output, in hundredths": _loads_in_hundredths,
    "loads an output, threads of a block": lambda func, of: (
        f"{_loads_an_output(func, of)}, {_threads_of_a_block(func)} threads"
    ),
    "elements in all": lambda func, of: f"{global_loads(func):,} elements",
    "elements an output": lambda func, of: f"{counts(func).loads_per_output:g} elements",
    "elements of a thread": _elements_of_a_thread,
    "elements of the first block": lambda func, of: (
        f"{reads_of_block(func, of, (0, 0, 0)):,} elements"
    ),
    "uses of a thread": lambda func, of: use_times(func, of, "thread"),
    "barriers": _barriers,
    "turns of the loop": lambda func, of: count_text(_turns_of_the_loop(func, of), "turn"),
    "shared bytes": lambda func, of: f"{shared_bytes(func):,} bytes",
    "sectors of a warp": lambda func, of: count_text(sectors_of(func, of), "sector"),
    "wavefronts of a warp": lambda func, of: count_text(most_wavefronts(func, of), "wavefront"),
    "calls of a warp": lambda func, of: times(insight.calls_of_a_warp(kernels(func), of)),
    "registers of the sums": _registers_of_the_sums,
    "registers of the factors": _registers_of_the_factors,
    "loop of an intrinsic": _loop_of_an_intrinsic,
    "groups under way": lambda func, of: count_text(groups_under_way(func), "group"),
    "who holds": _holder,
    "questions of the padding": _questions_of_the_padding,
    "least milliseconds": _least_milliseconds,
    "fault": lambda func, of: fault(func),
}
"""Of a program; `of` is a cell, a buffer, a call or a GPU, or "" where nothing is named."""

OF_LAUNCHES: Mapping[str, Callable[[Launch, str], str]] = {
    "start of a block": lambda launch, of: start_of(int(of), launch.blocks, launch.machine),
    "length": lambda launch, of: length(launch.blocks, launch.machine),
}
"""Of a launch on a machine in small; `of` is the number of a block."""


def _fewest_loads(among: Mapping[str, PrimFunc]) -> str:
    return min(among, key=lambda words: counts(among[words]).loads_per_output or 0)


def _too_much_shared_memory(among: Mapping[str, PrimFunc]) -> str:
    most = target.get("cuda").max_shared_bytes
    large = "nvidia/h100"  # which has room for what is too much elsewhere
    (truth,) = (words for words, func in among.items() if shared_bytes(func, large) > most)
    return truth


def _shortest(among: Mapping[str, PrimFunc]) -> str:
    return min(among, key=lambda words: microseconds(among[words]) or inf)


def _shortest_recorded(among: Mapping[str, PrimFunc]) -> str:
    """By the times of a lesson's space, the one in which all of them are."""
    for lines in map(lines_of, RECORDED):
        program = script.parse(lines.header.program)
        name = program.name if isinstance(program, PrimFunc) else ""
        known = {one.trial.program: one.seconds for one in lines.ended}
        own = {words: structural_hash(replace(func, name=name)) for words, func in among.items()}
        if known.keys() >= set(own.values()):
            return min(own, key=lambda words: known[own[words]])
    raise Fail("Can't tell which was the fastest: no record has them all")


RECORDED = ("05_let_the_machine_search", "12_auto_scheduling")
"""Lessons of whose space all was run."""

AMONG: Mapping[str, Callable[[Mapping[str, PrimFunc]], str]] = {
    "fewest loads": _fewest_loads,
    "shortest modelled time": _shortest,
    "shortest recorded time": _shortest_recorded,
    "too much shared memory": _too_much_shared_memory,
}
"""Which of several programs, by their words."""

TOLD_BY: Mapping[str, str] = {"shortest recorded time": "the record"}
"""What tells the answer, where the programs themselves do not."""
