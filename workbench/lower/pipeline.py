"""The way from a scheduled program to kernels, as a list of named passes that one can read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.ir import Kernel, PrimFunc
from workbench.lower.drop_blocks import drop_blocks
from workbench.lower.flatten_buffers import flatten_buffers
from workbench.lower.inline_iterators import inline_iterators
from workbench.lower.split_kernels import split_kernels
from workbench.target import Target

PROGRAM_PASSES: tuple[Callable[[PrimFunc], PrimFunc], ...] = (
    inline_iterators,
    drop_blocks,
)
KERNEL_PASSES: tuple[Callable[[Kernel, Target], Kernel], ...] = (flatten_buffers,)


@dataclass(frozen=True, slots=True)
class Pass:
    """One step of lowering: its name, what it does in one sentence, and what it made of what.

    `before` and `after` hold the program as long as it is one, then its kernels.
    """

    name: str
    doc: str
    before: tuple[PrimFunc | Kernel, ...]
    after: tuple[PrimFunc | Kernel, ...]


@dataclass(frozen=True, slots=True)
class Lowered:
    """The kernels of `func`, to be launched in this order, and how they came about."""

    func: PrimFunc
    kernels: tuple[Kernel, ...]
    history: tuple[Pass, ...]


def lower(func: PrimFunc, target: Target) -> Lowered:
    """The kernels that `func` becomes on `target`, one for each nest of loops under its root.

    Raises Refusal where there is no valid kernel.
    """
    history: list[Pass] = []

    def record(step: Callable[..., object], before: tuple, after: tuple) -> None:
        doc = (step.__doc__ or "").split("\n")[0]
        history.append(Pass(step.__name__, doc, before, after))

    current = func
    for program_pass in PROGRAM_PASSES:
        changed = program_pass(current)
        record(program_pass, (current,), (changed,))
        current = changed
    kernels = split_kernels(current)
    record(split_kernels, (current,), kernels)
    for kernel_pass in KERNEL_PASSES:
        lowered = tuple(kernel_pass(kernel, target) for kernel in kernels)
        record(kernel_pass, kernels, lowered)
        kernels = lowered
    return Lowered(func, kernels, tuple(history))
