"""occupancy: how many blocks and warps of a kernel a multiprocessor can hold at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from workbench.diag import count_text
from workbench.insight.page import Kind, Table
from workbench.ir import Kernel, refuse_sizes
from workbench.lower.shared_memory import shared_bytes
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Limit:
    """How many blocks one resource of a multiprocessor has room for."""

    resource: str
    needed: int
    available: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks and warps resident on one multiprocessor; `limited_by` names the tightest resource.

    `fraction` is resident warps over the most that a multiprocessor holds. Registers are not
    known before a compiler has run: they are no limit here. `waves` is how many times the whole GPU
    is filled (0.0 where the number of multiprocessors is unknown).
    """

    kernel: str
    target: str
    blocks_per_sm: int
    warps_per_sm: int
    max_warps_per_sm: int
    fraction: float
    limited_by: str
    limits: tuple[Limit, ...]
    waves: float
    caption: str
    table: Table
    kind: Kind = "modelled"


def occupancy(kernel: Kernel, target: Target) -> Occupancy | None:
    """How full one multiprocessor of `target` can be with `kernel`; None where nobody knows.

    Apple's GPUs, for one, do not say how many threads a core holds.
    """
    refuse_sizes(kernel, "count or draw")
    if target.max_threads_per_sm is None or target.max_blocks_per_sm is None:
        return None
    warps = -(-prod(kernel.block) // target.warp_size)
    shared = shared_bytes(kernel)
    most_warps = target.max_threads_per_sm // target.warp_size
    limits = [
        Limit("warps", warps, most_warps, most_warps // warps),
        Limit("blocks", 1, target.max_blocks_per_sm, target.max_blocks_per_sm),
    ]
    if shared and target.shared_bytes_per_sm is not None:
        room = target.shared_bytes_per_sm
        limits.append(Limit("bytes of shared memory", shared, room, room // shared))
    tightest = min(limits, key=lambda limit: limit.blocks)
    blocks = tightest.blocks
    fraction = blocks * warps / most_warps
    at_once = blocks * (target.sm_count or 1)
    waves = prod(kernel.grid) / at_once if at_once and target.sm_count else 0.0
    caption = (
        f"One multiprocessor of {target.title} holds {count_text(blocks, 'block')} of "
        f"{count_text(warps, 'warp')}: {fraction:.0%} of its warps; "
        f"{tightest.resource} are the limit."
    )
    rows = tuple((x.resource, x.needed, x.available, x.blocks) for x in limits)
    table = Table(("resource", "needed by a block", "there is", "blocks"), rows)
    return Occupancy(
        kernel.name,
        target.name,
        blocks,
        blocks * warps,
        most_warps,
        fraction,
        tightest.resource,
        tuple(limits),
        waves,
        caption,
        table,
    )
