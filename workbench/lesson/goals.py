"""What the goals of exercises measure, read off the program and its kernels."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from workbench import insight, lower, target
from workbench.diag import Fail, Refusal
from workbench.insight import Counts
from workbench.ir import Kernel, PrimFunc, dtypes

Found = Callable[[PrimFunc], tuple[bool, str]]


def kernels(func: PrimFunc) -> tuple[Kernel, ...]:
    """The launches of the program. Raises Fail where there are none."""
    try:
        return lower.lower(func, target.get("cuda")).kernels
    except Refusal as refusal:
        raise Fail(refusal.headline, hint=refusal.hint, detail=refusal.detail) from None


def counts(func: PrimFunc) -> Counts:
    """Exact counts over all launches."""
    return insight.counts(kernels(func))


def threads_between(least: int, most: int, multiple: int) -> Found:
    """Threads of a block within limits, and whole warps."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        sizes = [prod(kernel.block) for kernel in kernels(func)]
        ok = all(least <= size <= most and size % multiple == 0 for size in sizes)
        return ok, f"{' and '.join(map(str, sizes))} threads in a block"

    return found


def at_least_blocks(least: int) -> Found:
    """Enough blocks to keep several multiprocessors busy."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        sizes = [prod(kernel.grid) for kernel in kernels(func)]
        return min(sizes) >= least, f"{' and '.join(map(str, sizes))} blocks"

    return found


def at_most_idle(most: int) -> Found:
    """Few threads of the launch that have nothing to do."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        total = sum(prod(k.grid) * prod(k.block) for k in kernels(func))
        cells = prod(func.params[-1].shape)
        idle = max(total - cells, 0)
        return idle <= most, f"{total} threads for {cells} cells: {idle} idle"

    return found


def at_most_loads(scope: str, most: int, cells: int) -> Found:
    """Few elements loaded from a memory, over the whole run."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        loads = sum(t.loads for t in counts(func).traffic if t.scope == scope)
        return loads <= most, f"{loads:,} {scope} loads, {loads / cells:.2f} for each output cell"

    return found


def at_most_stores(scope: str, most: int) -> Found:
    """Few elements stored to a memory, over the whole run."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        stores = sum(t.stores for t in counts(func).traffic if t.scope == scope)
        return stores <= most, f"{stores:,} {scope} stores"

    return found


def at_most_barriers(each: int) -> Found:
    """Few barriers for each block."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        count = counts(func)
        ok = count.barriers <= each * count.blocks
        return ok, f"{count.barriers / max(count.blocks, 1):g} barriers for each block"

    return found


def at_most_shared(most: int) -> Found:
    """Little shared memory for each block."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        used = max(
            sum(prod(b.shape) * dtypes.itemsize(b.type) for b in k.allocs if b.scope == "shared")
            for k in kernels(func)
        )
        return used <= most, f"{used:,} bytes of shared memory for each block"

    return found
