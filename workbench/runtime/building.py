"""build: a scheduled program becomes kernels that can be read, run and timed.

The file is not called so: a package that loads names late would have the module for the function.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Protocol, runtime_checkable

from workbench import check, codegen, script
from workbench import target as targets
from workbench.check import Finding
from workbench.check.schedulable import check_arguments
from workbench.diag import Fail, Refusal
from workbench.ir import (
    BlockRealize,
    For,
    IRModule,
    Kernel,
    Node,
    PrimFunc,
    SymbolicFunc,
    is_warp_call,
    walk_statements,
)
from workbench.lower import (
    Fault,
    Lowered,
    faults,
    findings,
    inline_tensor_intrinsics,
    lower,
    open_blocks,
    with_fault,
)
from workbench.lower.shared_memory import refuse_too_large
from workbench.runtime.built import Built
from workbench.runtime.compiler import compiler
from workbench.schedule import ScheduleError, ScheduleWarning
from workbench.script.writer import string
from workbench.target import Target

REFUSED = "Can't build this: "  # before what is wrong with the program, in most refusals


@runtime_checkable
class Scheduled(Protocol):
    """What has a program to build: a Schedule."""

    @property
    def func(self) -> PrimFunc:
        """The program."""


def build(program: Scheduled | PrimFunc | IRModule, target: str | Target = "cuda") -> Built:
    """The kernels of `program` on `target`, a name of the catalogue such as "nvidia/tesla-t4".

    Raises ScheduleError where the program has no valid kernel there, and TargetError for a name
    that is not in the catalogue; issues a ScheduleWarning for each way in which it wastes work.

    >>> kernel = wb.build(bound, target="cuda")
    >>> kernel.grid, kernel.block
    ((2, 1, 1), (4, 1, 1))
    """
    gpu = targets.get(target)
    _refuse_broken(program)
    whole = function_of(program)
    func = open_blocks(whole)
    try:
        check_arguments(whole)
        passed = _passed(check.check_program(inline_tensor_intrinsics(func), gpu))
        lowered = lower(func, gpu)
        passed += _passed(findings(lowered, gpu))
        source = _source(lowered.kernels, gpu)
    except Refusal as refusal:
        raise _refused(refusal, whole, f"wb.build({func.name}, target={gpu.name!r})") from None
    for finding in passed:
        warning = Fail(
            finding.headline,
            where=_marked(whole, finding.nodes),
            detail=finding.detail,
            hint=finding.hint,
        )
        warnings.warn(ScheduleWarning(str(warning)), stacklevel=2)
    return Built(whole, gpu, lowered, source)


def unproved(program: Scheduled, target: Target) -> Lowered:
    """The kernels that `build` would make of `program`, for who only counts what they do.

    What `build` proves of a program is left out, such as that no threads get in each other's way:
    that is a quarter of its work, and a search runs few of the candidates that it ranks. Raises
    ScheduleError where it cannot be lowered.
    """
    whole = function_of(program)
    try:
        return lower(open_blocks(whole), target)
    except Refusal as refusal:
        raise _refused(refusal, whole, f"wb.build({whole.name}, target={target.name!r})") from None


def break_it(kernel: Built, fault: str | Fault) -> Built:
    """`kernel` with one thing wrong on purpose, such as "barrier 1": no GPU runs it.

    Kinds are "barrier", "wait" and "guard", which are then missing, "bound", a loop of one turn
    more, "stride", one cell too short, each with its number in the text of the kernel, and "copy"
    with the name of a buffer that has two, used in turn. Of several kernels one is named behind:
    "barrier 1 of main_kernel_1". The program stays as it is: a fault is no
    step of its history. Raises Fail, which tells what there is, for what the kernel has not.

    >>> broken = wb.runtime.break_it(kernel, "stride 1")
    >>> try:
    ...     run = broken.emulate(A, B)
    ... except wb.EmulationError as error:
    ...     print(error.headline.partition(":")[0])
    Race on B[3]
    """
    there = () if kernel.target.is_cpu else faults(kernel.lowered)
    named = {str(one): one for one in there}
    found = named.get(str(fault))
    if found is None:
        raise Fail(
            f"Can't break {kernel.func.name} by {fault}: its kernel has no such thing",
            hint=f"there are: {_counted(there)}" if there else "it must be a GPU's",
        )
    return with_kernels(kernel, with_fault(kernel.lowered, found, kernel.target))


def _counted(there: Sequence[Fault]) -> str:
    """Faults as they are named, those with numbers from the first to the last."""
    last = {(fault.kernel, fault.kind): fault for fault in there if not fault.buffer}
    counted = [
        str(f) if f.number == 1 else f"{f.kind} 1 to {str(f).removeprefix(f'{f.kind} ')}"
        for f in last.values()
    ]
    return ", ".join([*counted, *(str(fault) for fault in there if fault.buffer)])


def with_kernels(built: Built, lowered: Lowered) -> Built:
    """`built` with other kernels for its program, and their text, which no compiler takes."""
    text = _source(lowered.kernels, built.target)
    return Built(built.func, built.target, lowered, f"#error broken on purpose\n{text}")


def _refuse_broken(program: object) -> None:
    """Refuse what `break_it` returned: its program would be built, which is right."""
    if isinstance(program, Built) and program.lowered.fault:
        raise ScheduleError(
            f"Can't build {program.func.name}: its kernel is broken on purpose, no GPU runs it",
            detail=program.lowered.fault,
            hint="kernel.emulate(...) shows what is wrong; build the program, kernel.func",
        )


def rebuild(built: Built, target: str | Target) -> Built:
    """The program of `built` on another target: only what can differ there is done anew.

    Raises as `build` does; issues no warning, which `build` has done.
    """
    gpu, func = targets.get(target), built.func
    _refuse_broken(built)
    if gpu.is_cpu or built.target.is_cpu:
        return build(func, gpu)  # of which warnings come, that are another device's
    same_vectors = gpu.max_vector_bytes == built.target.max_vector_bytes
    exchanged_alike = check.exchanged_alike(built.lowered.func, gpu, built.target)
    statements = (node for kernel in built.kernels for node in walk_statements(kernel.body))
    if not (same_vectors and exchanged_alike) or any(map(is_warp_call, statements)):
        return build(func, gpu)  # lowering asks a target nothing else
    try:
        _passed(check.check_limits(built.lowered.func, gpu))
        for kernel in built.kernels:
            refuse_too_large(kernel, gpu)
        source = codegen.source(built.kernels, gpu)
    except Refusal as refusal:
        raise _refused(refusal, func, f"wb.build({func.name}, target={gpu.name!r})") from None
    return Built(func, gpu, built.lowered, source)


def _source(kernels: Sequence[Kernel], gpu: Target) -> str:
    """The text, for a CPU as its compiler here can have cores share loops out."""
    loops = (
        node for kernel in kernels for node in walk_statements(kernel.body) if isinstance(node, For)
    )
    if gpu.is_cpu and any(loop.kind == "parallel" for loop in loops):
        found = compiler()
        return codegen.source(kernels, gpu, found.cores_by if found else "openmp")
    return codegen.source(kernels, gpu)


def _passed(found: list[Finding]) -> list[Finding]:
    """`found`, which are warnings; raises Refusal for the first that is an error."""
    for finding in found:
        if finding.kind == "error":
            raise finding.as_refusal()
    return found


def _refused(refusal: Refusal, func: PrimFunc, asked: str) -> ScheduleError:
    headline = refusal.headline
    if not headline.startswith("Can't"):
        headline = f"{REFUSED}{headline}"
    return ScheduleError(
        headline,
        asked=asked,
        where=partial(_marked, func, refusal.at),
        detail=refusal.detail,
        hint=refusal.hint,
        act=refusal.act,
    )


def function_of(
    program: Scheduled | PrimFunc | IRModule | SymbolicFunc, act: str = "build"
) -> PrimFunc:
    """The one function of `program`. Raises ScheduleError, which names `act`, where it is none."""
    if isinstance(program, PrimFunc):
        return program
    if isinstance(program, SymbolicFunc):
        headline, hint = program.refusal(act)
        raise ScheduleError(headline, hint=hint)
    if isinstance(program, IRModule):
        if len(program.functions) == 1:
            return program.functions[0]
        names = ", ".join(func.name for func in program.functions)
        raise ScheduleError(
            f"Can't {act} a module of {len(program.functions)} functions at once",
            detail=f"it has {names}",
            hint=f"pass one of them: module[{string(program.functions[0].name)}]",
        )
    if isinstance(program, Scheduled):
        return program.func
    raise ScheduleError(
        f"Can't {act} a {type(program).__name__}: it is not a program",
        hint="pass a Schedule, or a function made with @T.prim_func.",
    )


def _marked(func: PrimFunc, places: tuple[object, ...]) -> str:
    """The text of `func` with `places` marked; those of opened blocks, see `open_blocks`, too."""
    own = {_kept(n): n for n in walk_statements(func.body) if isinstance(n, (For, BlockRealize))}
    nodes = [
        own.get(_kept(place), place) if isinstance(place, (For, BlockRealize)) else place
        for place in places
        if isinstance(place, Node)
    ]
    return script.mark_nodes(func, nodes) if nodes else ""


def _kept(stmt: For | BlockRealize) -> Node:
    """What a loop or a block keeps in a program that is made of the one it stands in."""
    return stmt.loop_var if isinstance(stmt, For) else stmt.block.id
