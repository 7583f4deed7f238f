"""occupancy: how many blocks and warps of a kernel a multiprocessor holds at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from workbench.diag import count_text
from workbench.insight.compiled import compiled
from workbench.insight.page import Kind, Table
from workbench.insight.recorded import counted
from workbench.ir import Kernel, refuse_sizes
from workbench.lower.keep_values import keep_values
from workbench.lower.shared_memory import shared_bytes
from workbench.target import Target

Span: TypeAlias = tuple[int, int]
"""The least and the most that a number can be, over the registers that a thread may have."""

LAUNCH = "blocks of the launch"


@dataclass(frozen=True, slots=True)
class Limit:
    """For how many blocks one resource of a multiprocessor has room.

    Of what a block `needed`, so many are `reserved`, which it cannot use itself.
    """

    resource: str
    needed: Span
    available: int
    blocks: Span
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks and warps on one multiprocessor while the whole GPU has work.

    Pairs are the least and the most that a number can be: before a compiler has run, `registers`,
    those of a thread, are anything from 1 to the most with which a block still runs, or surely the
    most, where a thread keeps more numbers than that. A
    multiprocessor has `room` for so many blocks; `blocks_per_sm` are there on average, fewer than
    that where the launch has too few. `fraction` is resident warps over the most that a
    multiprocessor holds. `limited_by` names what stands in the way of more, a resource or "blocks
    of the launch", if that is the same whatever the registers are; else it is "". `waves` is how
    many times the whole GPU is filled by all `blocks` of the launch. Where nobody knows how many
    `multiprocessors` there are, both are 0, and the launch is no limit. `lanes` are those of a
    block's warps that have a thread, and all of them.
    """

    kernel: str
    target: str
    registers: Span
    room: Span
    blocks_per_sm: tuple[float, float]
    max_warps_per_sm: int
    fraction: tuple[float, float]
    limited_by: str
    limits: tuple[Limit, ...]
    waves: tuple[float, float]
    blocks: int
    multiprocessors: int
    lanes: tuple[int, int]
    caption: str
    table: Table
    kind: Kind = "modelled"


def occupancy(kernel: Kernel, target: Target, registers: int | None = None) -> Occupancy | None:
    """How full one multiprocessor of `target` is with `kernel`; None where nobody knows.

    `registers` are those of a thread as a compiler tells them, `Built.registers` or `cuobjdump
    -res-usage` say; by default those that were recorded with this kernel on a GPU of this
    architecture, else they are a range. Apple's GPUs, for one, do not say how many threads a core
    holds.
    """
    refuse_sizes(kernel, "count or draw")
    most_warps = target.max_warps_per_sm
    if most_warps is None or target.max_blocks_per_sm is None:
        return None
    warps = -(-prod(kernel.block) // target.warp_size)
    known, recorded = None if registers else counted(kernel), ""
    if known is not None and known.arch == target.arch:
        registers, recorded = known.registers, f"{known.compiler}, {known.source}"
    most = _most_registers(target, warps)
    least = most if compiled(keep_values(kernel)).spilled else 1
    span = (registers, registers) if registers else (least, most)
    limits = tuple(_limits(kernel, target, warps, span))
    low, high = (min(limit.blocks[end] for limit in limits) for end in (0, 1))
    blocks = prod(kernel.grid)
    there = blocks / target.sm_count if target.sm_count else float(high)
    resident = min(low, there), min(high, there)
    fraction = resident[0] * warps / most_warps, resident[1] * warps / most_warps
    waves = tuple(there / room if room and target.sm_count else 0.0 for room in (high, low))
    limited_by = LAUNCH if there < low else _limit(limits, low)
    rows = [(x.resource, _text(x.needed), x.available, _text(x.blocks)) for x in limits]
    if target.sm_count:
        rows.append((LAUNCH, "1", blocks, f"{there:.3g}"))
    table = Table(("resource", "needed by a block", "there is", "blocks"), tuple(rows))
    why = f"{limited_by} are the limit" if limited_by else "a compiler decides, by registers"
    if limited_by == LAUNCH:  # whether that is a fault the modelled time tells
        why = f"the launch has {blocks:,} for {target.sm_count} multiprocessors"
    caption = f"{_caption(target, warps, (low, high), fraction)}; {why}."
    lanes = prod(kernel.block), warps * target.warp_size
    if lanes[0] < lanes[1]:
        caption += f" {lanes[1] - lanes[0]} of {lanes[1]} lanes of a block's warps have no thread."
    if recorded:
        caption += f" A thread has {count_text(span[0], 'register')} ({recorded})."
    return Occupancy(
        kernel.name,
        target.name,
        span,
        (low, high),
        resident,
        most_warps,
        fraction,
        limited_by,
        limits,
        (waves[0], waves[1]),
        blocks,
        target.sm_count or 0,
        lanes,
        caption,
        table,
    )


def _limits(kernel: Kernel, target: Target, warps: int, registers: Span) -> Iterator[Limit]:
    """What a multiprocessor has, and for how many blocks of so many `warps` that is enough."""
    most_warps, most_blocks = target.max_warps_per_sm, target.max_blocks_per_sm
    assert most_warps is not None and most_blocks is not None
    yield Limit("warps", (warps, warps), most_warps, (most_warps // warps,) * 2)
    yield Limit("blocks", (1, 1), most_blocks, (most_blocks, most_blocks))
    shared, room = shared_bytes(kernel), target.shared_bytes_per_sm
    if shared and room is not None:
        unit = target.shared_bytes_unit or 1
        reserved = target.shared_bytes_reserved or 0
        needed = -(-(shared + reserved) // unit) * unit
        blocks = (room // needed,) * 2
        yield Limit("bytes of shared memory", (needed, needed), room, blocks, reserved)
    if target.registers_per_sm is not None:
        few, many = registers
        needs = _of_warp(target, few) * warps, _of_warp(target, many) * warps
        blocks = _by_registers(target, warps, many), _by_registers(target, warps, few)
        yield Limit("registers", needs, target.registers_per_sm, blocks)


def _of_warp(target: Target, registers: int) -> int:
    """The registers that a warp takes whose threads have so many each."""
    unit = target.registers_unit or 1
    return -(-registers * target.warp_size // unit) * unit


def _by_registers(target: Target, warps: int, registers: int) -> int:
    """For how many blocks of so many warps there are registers.

    A multiprocessor's warps are shared out to its parts, and each part has its own registers.
    """
    parts, there = target.registers_parts or 1, target.registers_per_sm or 0
    if registers > (target.max_registers_per_thread or registers):
        return 0
    return there // parts // _of_warp(target, registers) * parts // warps


def _most_registers(target: Target, warps: int) -> int:
    """The most registers of a thread with which a block of so many warps runs."""
    most = target.max_registers_per_thread or 1
    return next((n for n in range(most, 1, -1) if _by_registers(target, warps, n)), 1)


def _limit(limits: tuple[Limit, ...], low: int) -> str:
    """The first resource that has room for as few blocks as any has, whatever the registers are."""
    return next((x.resource for x in limits if x.blocks == (low, low)), "")


def _text(span: tuple[int, int]) -> str:
    low, high = sorted(span)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _caption(target: Target, warps: int, room: Span, fraction: tuple[float, float]) -> str:
    held = count_text(room[0], "block") if room[0] == room[1] else f"{_text(room)} blocks"
    low, high = (f"{part:.0%}" for part in fraction)
    full = low if low == high else f"{low} to {high}"
    return (
        f"One multiprocessor of {target.title} has room for {held} of {count_text(warps, 'warp')}, "
        f"and {full} of its warps are there"
    )
