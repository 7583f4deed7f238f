"""sample: run a few blocks of a large kernel and hold what they write against a reference."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.emulate.errors import EmulationError
from workbench.emulate.run import Run, run
from workbench.ir import Buffer, Kernel

Arrays = Sequence[np.ndarray[Any, Any]]


def sample(
    kernel: Kernel,
    args: Arrays,
    reference: Callable[..., object],
    *,
    blocks: Sequence[int] | None = None,
    count: int = 4,
    seed: int = 0,
    tolerance: float = 1e-4,
    params: Sequence[Buffer] | None = None,
    progress: Callable[[int, int], None] | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """Run `blocks` of `kernel` on `args` and compare every element that they write.

    `reference` is called with copies of `args` and writes its results into them, as the kernel
    does. Without `blocks` the first, the last and others drawn by `seed` run, `count` in all.
    Floats may differ by `tolerance` of the larger value, all else must be equal. Raises
    EmulationError as `run` does, and where an element is not what the reference says.
    """
    chosen = _drawn(kernel, count, seed) if blocks is None else blocks
    wanted = [np.copy(a) for a in args]
    reference(*wanted)
    done = run([kernel], args, params=params, blocks=chosen, progress=progress, stop=stop)
    names = [p.name for p in params] if params is not None else _names(kernel)
    for name, got, right in zip(names, args, wanted, strict=True):
        if name in done.written:
            _compare(name, got, right, done.written[name], tolerance)
    return done


def _names(kernel: Kernel) -> list[str]:
    viewed = dict(kernel.views)
    return [viewed.get(p, p).name for p in kernel.params]


def _drawn(kernel: Kernel, count: int, seed: int) -> list[int]:
    total = int(np.prod(kernel.grid, dtype=np.int64))
    if total <= count:
        return list(range(total))
    between = np.random.default_rng(seed).choice(total - 2, max(count - 2, 0), replace=False) + 1
    return sorted({0, total - 1, *(int(b) for b in between)})


def _compare(
    name: str, got: np.ndarray[Any, Any], right: np.ndarray[Any, Any], where: Any, tolerance: float
) -> None:
    if np.issubdtype(got.dtype, np.floating):
        close = np.isclose(got, right, rtol=tolerance, atol=tolerance * 1e-2, equal_nan=True)
    else:
        close = np.equal(got, right)
    bad = np.argwhere(np.logical_and(where.reshape(got.shape), np.logical_not(close)))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        at = f"{name}[{', '.join(map(str, index))}]"
        raise EmulationError(
            f"Wrong result: {at} is {got[index]}, the reference says {right[index]}",
            detail=f"{len(bad)} of the {int(where.sum())} elements of {name} that ran differ",
            hint="look at the block that writes this element; a smaller size is easier to follow.",
        )
