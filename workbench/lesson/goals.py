"""What the goals of exercises ask for, measured on the program and its kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from math import prod
from typing import Literal

from workbench import insight, lower, target
from workbench.diag import Fail, Refusal, count_text
from workbench.draw.pictures import GPU
from workbench.insight import Counts
from workbench.ir import (
    Barrier,
    BufferLoad,
    BufferStore,
    For,
    Kernel,
    PrimFunc,
    Stmt,
    WaitGroup,
    once,
    stmts_of,
    walk,
)
from workbench.lower import shared_memory
from workbench.lower.warp_calls import TILE


@dataclass(frozen=True, slots=True)
class Measure:
    """What is asked for, in words; `found` says whether a program does it, and what it does.

    `why` says what it is good for, whatever the program.
    """

    aim: str
    found: Callable[[PrimFunc], tuple[bool, str]]
    why: str


def kernels(func: PrimFunc, on: str = "") -> tuple[Kernel, ...]:
    """The launches of the program on a target, by default the least that has what it asks for.

    Raises Fail where there are none.
    """
    return _lowered(func, on or lower.least_target(func)).kernels


@once  # an exercise measures several things of one program
def _lowered(func: PrimFunc, on: str) -> lower.Lowered:
    try:
        return lower.lower(func, target.get(on))
    except Refusal as refusal:
        raise Fail(refusal.headline, hint=refusal.hint, detail=refusal.detail) from None


@once
def counts(func: PrimFunc) -> Counts:
    """Exact counts over all launches."""
    return insight.counts(kernels(func))


def blocks(func: PrimFunc) -> int:
    """The blocks of all launches."""
    return sum(prod(kernel.grid) for kernel in kernels(func))


def shared_bytes(func: PrimFunc, on: str = "") -> int:
    """The most shared memory that a block of a launch takes on a target."""
    return max(map(shared_memory.shared_bytes, kernels(func, on)))


def threads_between(least: int, most: int, multiple: int) -> Measure:
    """Threads of a block within limits, and whole warps."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        sizes = [prod(kernel.block) for kernel in kernels(func)]
        ok = all(least <= size <= most and size % multiple == 0 for size in sizes)
        return ok, " and ".join(count_text(size, "thread") for size in sizes)

    why = (
        "A GPU runs the threads of a block in warps, groups of 32; a warp that is not full costs "
        "as much as a full one."
    )
    return Measure(f"{least} to {most} threads in a block, a multiple of {multiple}", found, why)


def at_least_blocks(least: int) -> Measure:
    """Enough blocks to keep several multiprocessors busy."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        sizes = [prod(kernel.grid) for kernel in kernels(func)]
        return min(sizes) >= least, " and ".join(count_text(size, "block") for size in sizes)

    why = (
        "A GPU has many multiprocessors, and each block runs on one of them: several blocks can "
        "keep several busy."
    )
    return Measure(f"at least {least} blocks", found, why)


def at_most_loads(scope: str, each: float, cells: int, why: str) -> Measure:
    """Few elements loaded from a memory for each of the output's `cells`."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        loads = sum(t.loads for t in counts(func).traffic if t.scope == scope)
        return loads <= each * cells, f"{loads / cells:.2f} ({loads:,} in all)"

    return Measure(f"at most {each:g} {scope} loads for each output", found, why)


def at_most_one_store(scope: str, cells: int) -> Measure:
    """Each of the output's `cells` stored once to a memory."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        stores = sum(t.stores for t in counts(func).traffic if t.scope == scope)
        return stores <= cells, f"{stores / cells:g} ({stores:,} in all)"

    why = "A sum that stays in a register until it is done is written once."
    return Measure(f"at most 1 {scope} store for each output", found, why)


def global_loads(func: PrimFunc) -> int:
    """How many elements the kernels load from global memory in all."""
    return sum(t.loads for t in counts(func).traffic if t.scope == "global")


def traffic(func: PrimFunc) -> int:
    """How many elements the kernels load from global memory and store to it, in all.

    >>> lesson.traffic(bound.func)
    16
    """
    return sum(t.loads + t.stores for t in counts(func).traffic if t.scope == "global")


def at_most_traffic(most: int, of: str, why: str) -> Measure:
    """Few elements loaded from global memory and stored to it; `of` says what `most` is."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        moved = traffic(func)
        return moved <= most, f"{moved:,}"

    return Measure(f"at most {most:,} global loads and stores, {of}", found, why)


def at_most_barriers(each: int) -> Measure:
    """Few barriers for each block."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        counted = [insight.counts((kernel,)) for kernel in kernels(func)]
        most = max(count.barriers / max(count.blocks, 1) for count in counted)
        return most <= each, f"{most:g} for each block"

    why = "At a barrier all threads of a block wait for the last of them."
    return Measure(f"at most {count_text(each, 'barrier')} for each block", found, why)


def fetched_ahead() -> Measure:
    """Tiles that come to registers ahead of the work, and from there to shared memory behind it."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        loops = (node for k in kernels(func) for node in walk(k.body) if isinstance(node, For))
        turns = [stmts_of(loop.body) for loop in loops]
        turns = [turn for turn in turns if any(isinstance(stmt, Barrier) for stmt in turn)]
        if not turns:
            return False, "no loop waits at a barrier"
        done = [what for what, _ in groupby(filter(None, map(_done, turns[-1])))]
        return done == ["loads", "works", "stores"], f"a turn {', then '.join(done)}"

    why = (
        "A load takes hundreds of cycles. A thread waits for it where it uses what was loaded: the "
        "later that is, the more work is done in the meantime."
    )
    return Measure("the next tile on its way to registers while this one is used", found, why)


def _done(stmt: Stmt) -> str:
    """What a statement of a turn does with tiles, "" where it is nothing."""
    read = {node.buffer.scope for node in walk(stmt) if isinstance(node, BufferLoad)}
    written = {node.buffer.scope for node in walk(stmt) if isinstance(node, BufferStore)}
    if "shared" in written:
        return "loads to shared memory" if "global" in read else "stores"
    return "loads" if "global" in read else "works" if "shared" in read else ""


def reads_in_one_turn() -> Measure:
    """No warp's read of shared memory that asks one bank for two numbers."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        uses = [u for u in insight.conflicts(kernels(func)).uses if u.access == "read"]
        if not uses:
            return False, "nothing is read from shared memory"
        worst = max(uses, key=lambda use: (use.wavefronts - use.least, use.wavefronts))
        if worst.wavefronts == worst.least:  # a vector takes one for each of its numbers
            return True, f"1 wavefront for {worst.buffer}"
        return False, f"{count_text(worst.wavefronts, 'wavefront')} for {worst.buffer}"

    why = "A bank serves one number at a time: while another waits for it, the warp waits."
    return Measure("1 wavefront for each of a warp's reads of shared memory", found, why)


def no_waits_for_banks() -> Measure:
    """No wavefront of shared memory beyond those that the bytes of a request take."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        uses = insight.conflicts(kernels(func)).uses
        if not uses:
            return False, "nothing is in shared memory"
        worst = max(uses, key=lambda use: (use.wavefronts - use.least, use.wavefronts))
        taken = (
            f"{count_text(worst.wavefronts, 'wavefront')} for a {worst.access} of {worst.buffer}"
        )
        fewest = worst.wavefronts == worst.least
        return fewest, f"{taken}, {'the least' if fewest else f'where {worst.least} would do'}"

    why = "A bank serves one number at a time: while another waits for it, the warp waits."
    return Measure("no wavefront of shared memory for a bank that is taken", found, why)


def groups_under_way(func: PrimFunc) -> int:
    """The most groups of copies that a thread leaves under way where it waits; 0 without a wait."""
    every = (node for kernel in kernels(func) for node in walk(kernel.body))
    return max((node.count for node in every if isinstance(node, WaitGroup)), default=0)


def copies_under_way(least: int) -> Measure:
    """Asynchronous copies of later tiles that go on while a tile is used."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        left = groups_under_way(func)
        return left >= least, f"at most {count_text(left, 'group')} left under way at a wait"

    why = (
        "A copy takes hundreds of cycles: with another tile on its way beside the next one, "
        "there are two turns for that."
    )
    group = count_text(least, "group")
    return Measure(f"at least {group} of copies left under way where a thread waits", found, why)


def on_tensor_cores(call: Literal["mma_sync", "mma.sync"] = "mma_sync") -> Measure:
    """Every product of the program done by a call of a warp on tiles: of wmma, or by lanes."""
    name = {"mma_sync": "tvm_mma_sync", "mma.sync": "ptx_mma"}[call]

    def found(func: PrimFunc) -> tuple[bool, str]:
        built = kernels(func)
        calls = insight.calls_of_warps(built, name)
        tensor, work = 2 * calls * TILE**3, counts(func).work
        return tensor == work, f"{tensor / work:.0%} of {work:,} operations in {calls:,} calls"

    does = "by two mma.sync " if call == "mma.sync" else ""
    why = (
        f"A Tensor Core multiplies whole tiles: a call does 4,096 products {does}where a warp "
        "would take 128 instructions."
    )
    return Measure(f"all products in calls of {call}", found, why)


def registers_of_sums(func: PrimFunc) -> int:
    """How many registers of each thread hold the sums of its warp, in fragments of ``wmma``."""
    held = insight.fragments(kernels(func))
    return sum(f.tiles * f.registers for f in held if f.scope == "wmma.accumulator")


def at_most_registers_of_sums(most: int) -> Measure:
    """Few registers for the sums of a warp's tiles."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        held = registers_of_sums(func)
        return 0 < held <= most, f"{held:,}" if held else "no sums in fragments"

    why = (
        "A thread has 255 registers at most, and a multiprocessor 65,536 for all of its threads: "
        "the more each takes, the fewer warps run there at once."
    )
    return Measure(f"at most {most} registers of each thread for the sums of its warp", found, why)


def at_most_shared(most: int) -> Measure:
    """Little shared memory for each block."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        used = shared_bytes(func)
        return used <= most, f"{used:,} bytes"

    why = (
        "The blocks on one multiprocessor divide its shared memory: the less each takes, the more "
        "of them can run there."
    )
    return Measure(f"at most {most:,} bytes of shared memory for each block", found, why)


@once
def microseconds(func: PrimFunc, gpu: str = GPU) -> float | None:
    """The modelled time on a GPU, by default that of the lessons; None where there is none."""
    return insight.modelled(kernels(func, gpu), target.get(gpu)).us


def at_most_modelled(most: float, gpu: str = GPU) -> Measure:
    """Little modelled time on a GPU, by default an H200, in µs."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        us = microseconds(func, gpu)
        return us is not None and us <= most, "no modelled time" if us is None else f"{us:.2f} µs"

    why = "It is the time that the program's own loads, turns and waits come to on that GPU."
    return Measure(f"at most {most:.2f} µs on {target.get(gpu).title}, modelled", found, why)
