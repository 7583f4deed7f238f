"""The way from a scheduled program to kernels, as a list of named passes that one can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from weakref import ref

from workbench.ir import Kernel, PrimFunc, remembered
from workbench.lower.drop_blocks import drop_blocks
from workbench.lower.flatten_buffers import flatten_buffers
from workbench.lower.inject_software_pipeline import inject_software_pipeline
from workbench.lower.inject_virtual_threads import inject_virtual_threads
from workbench.lower.inline_iterators import inline_iterators
from workbench.lower.inline_tensor_intrinsics import inline_tensor_intrinsics
from workbench.lower.insert_barriers import insert_barriers
from workbench.lower.lower_cross_thread_reductions import lower_cross_thread_reductions
from workbench.lower.make_function import make_function
from workbench.lower.permute_layouts import permute_layouts
from workbench.lower.share_loops import share_loops
from workbench.lower.shared_memory import refuse_too_large
from workbench.lower.shrink_buffers import shrink_buffers
from workbench.lower.split_kernels import split_kernels
from workbench.lower.unroll_into_vectors import unroll_into_vectors
from workbench.lower.unroll_registers import unroll_registers
from workbench.lower.vectorize_loops import vectorize_loops
from workbench.lower.warp_calls import check_warp_calls
from workbench.target import Target

# First inline_tensor_intrinsics, where there are some, lower_cross_thread_reductions,
# inline_iterators and split_kernels, which make kernels of a program; then, in this order:
KERNEL_PASSES: tuple[Callable[[Kernel, Target], Kernel], ...] = (
    shrink_buffers,
    inject_software_pipeline,
    permute_layouts,
    drop_blocks,
    inject_virtual_threads,
    insert_barriers,
    flatten_buffers,
    vectorize_loops,
    unroll_registers,
)
WHERE_ASKED = (permute_layouts,)  # passes that are told of only where they do something
# Of what inline_iterators and make_function leave for a CPU:
CPU_PASSES: tuple[Callable[[Kernel, Target], Kernel], ...] = (
    shrink_buffers,
    drop_blocks,
    share_loops,
    unroll_into_vectors,
    flatten_buffers,
)


@dataclass(frozen=True, slots=True)
class Pass:
    """One step of lowering: its name, what it does in one sentence, and what it made of what.

    `before` and `after` hold the program as long as it is one, then its kernels.
    """

    name: str
    doc: str
    before: tuple[PrimFunc | Kernel, ...]
    after: tuple[PrimFunc | Kernel, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Lowered:
    """The kernels of `func`, to be launched in this order, and how they came about.

    `fault` says what was taken away on purpose (see `faults`): such kernels are read and emulated,
    and no GPU runs them. It is "" in what `lower` makes.
    """

    func: PrimFunc
    kernels: tuple[Kernel, ...]
    history: tuple[Pass, ...]
    fault: str = ""


def lower(func: PrimFunc, target: Target) -> Lowered:
    """The kernels that `func` becomes on `target`, one for each nest of loops under its root.

    On a CPU it is one function. Raises Refusal where there is no valid kernel. What was made before
    is returned again as long as somebody has it: a lesson, its lab and its checks ask for the same.
    """
    known = remembered(func).setdefault("lowered", {})
    asked, made = known.get(target.name, (None, None))
    found: Lowered | None = made() if made and asked is target else None
    if found is None:
        found = _lowered(func, target)
        known[target.name] = target, ref(found)
    return found


def _lowered(func: PrimFunc, target: Target) -> Lowered:
    kernels, history = first_kernels(func, target)
    history += passed(CPU_PASSES if target.is_cpu else KERNEL_PASSES, kernels, target)
    kernels = history[-1].after  # type: ignore[assignment]  # programs are passed no more
    for kernel in kernels:
        check_warp_calls(kernel, target)
    for kernel in () if target.is_cpu else kernels:
        refuse_too_large(kernel, target)
    return Lowered(func, kernels, tuple(history))


def first_kernels(func: PrimFunc, target: Target) -> tuple[tuple[Kernel, ...], list[Pass]]:
    """The kernels of `func` before any pass of kernels, and how they came about."""
    program, history = inline_tensor_intrinsics(func), list[Pass]()
    if program is not func:
        history.append(_passed(inline_tensor_intrinsics, (func,), (program,)))
    if not target.is_cpu:
        before, program = program, lower_cross_thread_reductions(program, target)
        history.append(_passed(lower_cross_thread_reductions, (before,), (program,)))
    inlined = inline_iterators(program)
    history.append(_passed(inline_iterators, (program,), (inlined,)))
    make = make_function if target.is_cpu else split_kernels
    kernels = make(inlined)
    history.append(_passed(make, (inlined,), kernels))
    return kernels, history


def passed(
    steps: Sequence[Callable[[Kernel, Target], Kernel]], kernels: tuple[Kernel, ...], target: Target
) -> Iterator[Pass]:
    """What each of `steps` makes of what the one before it made."""
    for step in steps:
        done = tuple(step(kernel, target) for kernel in kernels)
        if step in WHERE_ASKED and done == kernels:
            continue
        yield _passed(step, kernels, done)
        kernels = done


def _passed(
    step: Callable[..., object],
    before: tuple[PrimFunc | Kernel, ...],
    after: tuple[PrimFunc | Kernel, ...],
) -> Pass:
    doc = (step.__doc__ or "").split("\n")[0]
    return Pass(step.__name__, doc, before, after)
