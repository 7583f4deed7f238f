"""faults: lowered kernels that are broken on purpose, for learners to mend; no GPU runs them.

A fault is a mark on what was lowered, never a step: the program stays as it is, and right. It is
put in once barriers are in place, for a program that has it would get others, and a wrong stride
once buffers have one; then the passes behind run as always. What is put in by its line stands in
the kernel as it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, TypeAlias, get_args

from workbench.arith import simplify
from workbench.diag import Refusal
from workbench.ir import (
    Barrier,
    BinOp,
    BufferLoad,
    BufferStore,
    Const,
    For,
    IfThenElse,
    Kernel,
    Node,
    SeqStmt,
    Stmt,
    WaitGroup,
    const,
    expressions_in,
    replace_node,
    rewrite,
    seq,
    walk,
    walk_statements,
)
from workbench.lower.flatten_buffers import flatten_buffers
from workbench.lower.insert_barriers import insert_barriers
from workbench.lower.pipeline import KERNEL_PASSES, Lowered, Pass, passed
from workbench.lower.shrink_buffers import with_buffers
from workbench.script import show_spans
from workbench.target import Target

Kind: TypeAlias = Literal["barrier", "wait", "copy", "guard", "bound", "stride"]
# What is told of a kernel that has it.
TOLD: dict[Kind, str] = {
    "barrier": "a barrier is missing",
    "wait": "a wait for copies is missing",
    "copy": "a second copy of a buffer is missing",
    "guard": "a condition around a statement is missing",
    "bound": "a loop takes one turn too many",
    "stride": "a stride in an index is one cell too short",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong: a kind of thing, by its `number` in the text from 1 on.

    A barrier, a wait for copies or a condition that is missing; a loop that takes a turn more; an
    index with a stride that is a cell too short. Or of a `buffer` that has two copies, used in
    turn, the second one is missing. Where a program has several kernels, `kernel` is the name of
    the one that has it.
    """

    kind: Kind
    number: int = 1
    buffer: str = ""
    kernel: str = ""

    def __str__(self) -> str:
        whose = f" of {self.kernel}" if self.kernel else ""
        return f"{self.kind} {self.buffer or self.number}{whose}"


def faults(lowered: Lowered) -> tuple[Fault, ...]:
    """All that can be put into a kernel of `lowered`, kind by kind in the order of its text."""
    before = {kind: _as_it_was(lowered, kind)[1] for kind in get_args(Kind)}
    found = []
    for k, name in enumerate(_names(lowered)):
        for kind, kernels in before.items():
            if kind == "copy":
                found += [Fault(kind, 1, buffer, name) for buffer in _twice(kernels[k])]
            else:
                count = sum(1 for _ in _places(kernels[k], kind))
                found += [Fault(kind, number, "", name) for number in range(1, count + 1)]
    return tuple(found)


def _names(lowered: Lowered) -> list[str]:
    """Of each kernel what a fault calls it: nothing, if there is no other."""
    names = [kernel.name for kernel in lowered.kernels]
    return names if len(names) > 1 else [""]


def number_of(lowered: Lowered, kernel: str) -> int:
    """Which of its kernels has that name, "" for the only one. Raises ValueError where none has."""
    names = _names(lowered)
    if kernel not in names:
        raise ValueError(f"{lowered.func.name} has no kernel {kernel!r}")
    return names.index(kernel)


def stand(lowered: Lowered) -> tuple[tuple[Kernel, ...], dict[Fault, tuple[Stmt, str]]]:
    """The kernels of `lowered`, no statement twice, and where in them each of `faults` is.

    That is the statement which it takes away or makes wrong, with the name of the buffer whose
    stride is meant, or of the loop. One of which is not known what passes made of it is left out,
    as is a second copy, which no one statement has.
    """
    kernels = tuple(map(_each_its_own, lowered.kernels))
    found = dict[Fault, tuple[Stmt, str]]()
    for kind in get_args(Kind):
        every = zip(_names(lowered), _as_it_was(lowered, kind)[1], kernels, strict=True)
        for kernel, before, now in every if kind != "copy" else ():
            became = _became(before, now)
            holds = {n: one for one in _statements(before) for n in (one, *expressions_in(one))}
            for number, (node, _) in enumerate(_places(before, kind), 1):
                stmt = became.get(holds[node])
                if stmt is not None:
                    found[Fault(kind, number, "", kernel)] = stmt, _name(node)
    return kernels, found


def _name(node: Node) -> str:
    """Of an access the name of its buffer, of a loop its own."""
    if isinstance(node, (BufferLoad, BufferStore)):
        return node.buffer.name
    return node.loop_var.name if isinstance(node, For) else ""


def _statements(kernel: Kernel) -> Iterator[Stmt]:
    """Those of `kernel` that do something, outer ones first."""
    every = walk_statements(kernel.body)
    return (one for one in every if isinstance(one, Stmt) and not isinstance(one, SeqStmt))


def _became(before: Kernel, after: Kernel) -> dict[Stmt, Stmt]:
    """What passes made of the statements of `before`: those of one kind, of loops of one variable,
    stay in their order, and if one is gone it is not known which.
    """

    def sorts(kernel: Kernel) -> dict[object, list[Stmt]]:
        found: dict[object, list[Stmt]] = {}
        for one in _statements(kernel):
            found.setdefault(one.loop_var if isinstance(one, For) else type(one), []).append(one)
        return found

    now = sorts(after)
    pairs = ((old, now.get(sort, [])) for sort, old in sorts(before).items())
    return {
        a: b for old, new in pairs if len(old) == len(new) for a, b in zip(old, new, strict=True)
    }


def with_fault(lowered: Lowered, fault: Fault, target: Target) -> Lowered:
    """`lowered`, made for `target`, with a fault in one of its kernels.

    Raises ValueError where the kernel has no such thing, and where there is no such kernel.
    """
    done, kernels = _as_it_was(lowered, fault.kind)
    k = number_of(lowered, fault.kernel)
    broken = _without_copy if fault.kind == "copy" else _broken
    made = (*kernels[:k], broken(kernels[k], fault), *kernels[k + 1 :])
    told = TOLD[fault.kind] + (f" in {fault.kernel}" if fault.kernel else "")
    history = [*done, Pass("with_fault", f"Break it: {told}.", kernels, made)]
    names = [step.__name__ for step in KERNEL_PASSES]
    behind = KERNEL_PASSES[names.index(done[-1].name) + 1 :]
    history += passed(behind, made, target)
    return Lowered(lowered.func, _kernels_of(history[-1]), tuple(history), told)


def _kernels_of(step: Pass) -> tuple[Kernel, ...]:
    """The kernels that a pass made, in which no statement stands at two places."""
    return tuple(_each_its_own(one) for one in step.after if isinstance(one, Kernel))


def _as_it_was(lowered: Lowered, kind: Kind) -> tuple[tuple[Pass, ...], tuple[Kernel, ...]]:
    """The passes ahead of where such a fault is put in, and the kernels that they made."""
    last = flatten_buffers if kind == "stride" else insert_barriers
    names = [step.name for step in lowered.history]
    done = lowered.history[: names.index(last.__name__) + 1]
    return done, _kernels_of(done[-1])


def _broken(kernel: Kernel, fault: Fault) -> Kernel:
    found = next(islice(_places(kernel, fault.kind), fault.number - 1, None), None)
    if found is None:
        raise ValueError(f"{kernel.name} has no {fault}")
    old, new = found
    return replace(kernel, body=replace_node(kernel.body, old, new))


def _places(kernel: Kernel, kind: Kind) -> Iterator[tuple[Node, Node | None]]:
    """Where such a fault can be put in, in the order of the text, and what stands there then."""
    for node in walk(kernel.body):
        made = _WRONG[kind](node)
        if made is not node:
            yield node, made


def _unguarded(node: Node) -> Node | None:
    return node.then_case if isinstance(node, IfThenElse) and node.else_case is None else node


def _longer(node: Node) -> Node | None:
    if isinstance(node, For) and node.kind == "serial" and isinstance(node.extent, Const):
        return replace(node, extent=const(int(node.extent.value) + 1, node.extent.dtype))
    return node


def _shorter(node: Node) -> Node | None:
    """An access whose largest stride is one less."""
    if not isinstance(node, (BufferLoad, BufferStore)):
        return node
    (index,) = node.indices
    most = max(map(_stride, walk(index)))
    if most < 2:
        return node

    def visit(part: Node) -> Node:
        if isinstance(part, BinOp) and _stride(part) == most:
            return replace(part, b=const(most - 1, part.b.dtype))
        return part

    return replace(node, indices=(simplify(rewrite(index, visit)),))


def _stride(node: Node) -> int:
    """The number by which an index is multiplied; 0 for all else."""
    factor = node.b if isinstance(node, BinOp) and node.op == "*" else None
    return int(factor.value) if isinstance(factor, Const) else 0


_WRONG: dict[Kind, Callable[[Node], Node | None]] = {
    "barrier": lambda node: None if isinstance(node, Barrier) else node,
    "wait": lambda node: None if isinstance(node, WaitGroup) else node,
    "guard": _unguarded,
    "bound": _longer,
    "stride": _shorter,
}


def _twice(kernel: Kernel) -> list[str]:
    """The buffers of the kernel that have two copies, used in turn."""
    pairs = [(b, whole) for b, whole in kernel.views if b in kernel.allocs]
    return [whole.name for b, whole in pairs if len(b.shape) > len(whole.shape) and b.shape[0] == 2]


def _without_copy(kernel: Kernel, fault: Fault) -> Kernel:
    (old,) = (b for b, whole in kernel.views if whole.name == fault.buffer and b in kernel.allocs)
    if len(old.shape) < 2 or old.shape[0] != 2:
        raise ValueError(f"{fault.buffer} has no second copy")
    new = replace(old, shape=(1, *old.shape[1:]))

    def visit(node: Node) -> Node:
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer is old:
            return replace(node, buffer=new, indices=(const(0, "int32"), *node.indices[1:]))
        return node

    return with_buffers(kernel, {old: new}, rewrite(kernel.body, visit))


def _each_its_own(kernel: Kernel) -> Kernel:
    """`kernel` in which no statement stands at two places."""

    def visit(node: Node) -> Node:
        return replace(node) if isinstance(node, Stmt) and not isinstance(node, SeqStmt) else node

    return replace(kernel, body=rewrite(kernel.body, visit))


def missing(whole: Lowered, fault: Fault) -> Stmt | None:
    """The barrier or wait of a kernel of `whole` that a fault takes away; None for other kinds.

    It is what `put_ahead` puts back.
    """
    sort = {"barrier": Barrier, "wait": WaitGroup}.get(fault.kind)
    if sort is None:
        return None
    kernel = whole.kernels[number_of(whole, fault.kernel)]
    every = [one for one in _statements(kernel) if isinstance(one, sort)]
    return every[fault.number - 1]


def put_ahead(lowered: Lowered, at: int | Stmt, *stmts: Stmt, name: str = "") -> Lowered:
    """`lowered`, which has a fault, with `stmts` ahead of a statement of the kernel of that name.

    `at` is that, or a line of the kernel's text, in which it is the outermost that begins. The
    kernel is marked as before. Raises Refusal for a line in which no statement begins.
    """
    k = number_of(lowered, name)
    kernel = lowered.kernels[k]
    if isinstance(at, int):
        begins = _begins(kernel)
        if at not in begins:
            raise Refusal(
                f"Can't put anything ahead of line {at}: no statement begins there",
                hint=f"name a line of the kernel's text, from {min(begins)} to {max(begins)}",
            )
        at = begins[at]
    made = replace(kernel, body=replace_node(kernel.body, at, seq(*stmts, at)))
    return replace(lowered, kernels=(*lowered.kernels[:k], made, *lowered.kernels[k + 1 :]))


def gaps(lowered: Lowered) -> tuple[int, ...]:
    """The lines of the kernel of `lowered` ahead of which `put_ahead` puts something, in order."""
    (kernel,) = lowered.kernels
    return tuple(sorted(_begins(kernel)))


def _begins(kernel: Kernel) -> dict[int, Stmt]:
    """The outermost statement that begins in each line of the kernel's text."""
    printed = show_spans(kernel)
    begins: dict[int, Stmt] = {}
    for node in _statements(kernel):
        if node in printed.spans:
            begins.setdefault(printed.spans[node].line, node)
    return begins


def waits(stmt: Stmt) -> int:
    """How often a thread comes to a barrier, or to a wait for its copies."""
    match stmt:
        case SeqStmt(stmts):
            return sum(map(waits, stmts))
        case For(extent=Const(value=count)):
            return int(count) * waits(stmt.body)
        case IfThenElse(_, then_case, else_case):
            return max(waits(then_case), waits(else_case) if else_case else 0)
    return isinstance(stmt, (Barrier, WaitGroup))
