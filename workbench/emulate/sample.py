"""sample: run a few blocks of a large kernel and hold what they write against a reference."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate.arrays import Arguments
from workbench.emulate.compare import Wrong, expected, first_wrong, rounding
from workbench.emulate.errors import EmulationError, explain
from workbench.emulate.kernels.plan import source_of, written_by
from workbench.emulate.kernels.run import Run, run
from workbench.ir import Buffer, Kernel
from workbench.ir.dtypes import is_float

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
    """Run `blocks` of `kernel` on the arrays `args` and compare every element that they write.

    `reference` is called with copies of `args` and writes its results into them, as the kernel
    does. Without `blocks` the first, the last and others drawn by `seed` run, `count` in all.
    Floats may differ by `tolerance`, or by what their type rounds to if that is more (see
    `first_wrong`); all else must be equal. Raises EmulationError as `run` does, where an element
    is not what the reference says, and where the reference fails.

    >>> def reference(A, B):
    ...     B[:] = A + 1
    >>> emulate.sample(kernel.kernels[0], [A, B], reference).blocks
    2
    """
    chosen = draw_blocks(kernel, count, seed) if blocks is None else blocks
    buffers = params if params is not None else [source_of(kernel, p) for p in kernel.params]
    outputs = {source_of(kernel, b) for b in written_by(kernel)}
    try:
        Arguments(buffers, args, outputs)  # before the reference sees them
    except Refusal as refusal:
        raise explain(refusal, kernel) from None
    wanted = expected(reference, buffers, args, outputs)
    done = run([kernel], args, params=params, blocks=chosen, progress=progress, stop=stop)
    for param, got, right in zip(buffers, args, wanted.arrays, strict=True):
        if param.name not in done.written:
            continue
        ran = done.written[param.name]
        allowed = max(tolerance, rounding(param.dtype)) if is_float(param.dtype) else 0.0
        wrong = first_wrong(param.name, param.dtype, got, right, tolerance=allowed, among=ran)
        if wrong is not None:
            wanted.refuse_untouched(param, wrong)
            raise _tell_difference(param, wrong, int(ran.sum()))
    return done


def draw_blocks(kernel: Kernel, count: int = 4, seed: int = 0) -> list[int]:
    """The numbers of `count` blocks, in order: the first, the last, and others drawn by `seed`.

    >>> emulate.draw_blocks(kernel.kernels[0], count=2)
    [0, 1]
    """
    total = prod(kernel.grid)
    if total <= count:
        return list(range(total))
    between = np.random.default_rng(seed).choice(total - 2, max(count - 2, 0), replace=False) + 1
    return sorted({0, total - 1, *(int(b) for b in between)})


def _tell_difference(param: Buffer, wrong: Wrong, ran: int) -> EmulationError:
    return EmulationError(
        f"Wrong result: {wrong.cell} is {wrong.got}, the reference says {wrong.want}",
        detail=f"{wrong.count} of the {ran} elements of {param.name} that ran differ",
        hint="look at the block that writes this element; a smaller size is easier to follow.",
    )
