"""What is built for any size, as it is launched at the sizes of one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from workbench.check.outside import outside_errors
from workbench.diag import Refusal
from workbench.emulate.sizes import divides_at_first, refuse_division, sizes_of
from workbench.ir import (
    Kernel,
    PrimFunc,
    Sized,
    SizeVar,
    sizes_used,
)
from workbench.lower.flatten_buffers import counts_in_32_bits
from workbench.runtime.arguments import signature
from workbench.runtime.errors import ArgumentError
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class AtSizes:
    """A program and its kernels with numbers for sizes.

    `given` has, for each kernel, the numbers that it is launched with behind its arrays, each with
    its type.
    """

    func: PrimFunc
    kernels: tuple[Kernel, ...]
    given: tuple[tuple[tuple[int, str], ...], ...]


def at_sizes(
    func: PrimFunc, kernels: Sequence[Kernel], target: Target, arrays: Sequence[Any]
) -> AtSizes:
    """`func` and its `kernels` at the sizes of `arrays`; kernels of empty grids are left out.

    The kernels are those that were built: nothing is lowered anew. Raises ArgumentError where
    arrays do not agree, a reduction has nothing to reduce, a grid is larger than the target takes,
    or 32 bits do not count so far.
    """
    if not func.sizes:
        return AtSizes(func, tuple(kernels), tuple(() for _ in kernels))
    try:
        values = sizes_of(func, arrays)
        told = ", ".join(f"{size.name} = {value}" for size, value in values.items())
        program, made = _with_numbers(func, kernels, values)
        for finding in outside_errors(func, values):
            hint = "pass arrays with which each index is inside its buffer"
            raise Refusal(f"with {told}, {finding.headline}", detail=finding.detail, hint=hint)
        launched = [(kernel, numbers) for kernel, numbers in made if prod(numbers.grid)]
        for _, numbers in launched:
            _check(numbers, target, told)
    except Refusal as refusal:
        raise ArgumentError(
            f"Can't call {func.name}: {refusal.headline}",
            asked=signature(func),
            detail=refusal.detail,
            hint=refusal.hint,
            act=refusal.act,
        ) from None
    return AtSizes(
        program,
        tuple(numbers for _, numbers in launched),
        tuple(tuple((values[n], n.type) for n in sizes_used(kernel)) for kernel, _ in launched),
    )


def _with_numbers(
    func: PrimFunc, kernels: Sequence[Kernel], values: Mapping[SizeVar, int]
) -> tuple[PrimFunc, list[tuple[Kernel, Kernel]]]:
    """`func` and each kernel with that kernel of these numbers, refused where one divides by 0."""
    at = Sized(values)
    try:
        program = at.of(func)
        if divides_at_first(program.body, {}):
            raise ZeroDivisionError
        return program, [(kernel, at.of(kernel)) for kernel in kernels]
    except ZeroDivisionError:
        raise refuse_division(values) from None


def _check(kernel: Kernel, target: Target, told: str) -> None:
    for axis, blocks, most in zip("xyz", kernel.grid, target.max_grid, strict=True):
        if blocks > most:
            raise Refusal(
                f"with {told}, it has {blocks} blocks along {axis}; {target.title} takes {most}",
                hint="pass smaller arrays, or let each block do more",
            )
    if not counts_in_32_bits(kernel):
        raise Refusal(
            f"with {told}, its indices pass 2^31, and it counts in 32 bits",
            hint="build func.specialize(...) for sizes so large: its offsets have 64 bits",
        )
