"""faults: lowered kernels that are broken on purpose, for learners to mend; no GPU runs them.

A fault is a mark on what was lowered, never a step: the program stays as it is, and right. It is
put in once barriers are in place, for a program that has it would get others; then the passes
behind them run as always. What is put in by its line stands in the kernel as it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from workbench.diag import Refusal
from workbench.ir import (
    Barrier,
    BufferLoad,
    BufferStore,
    Kernel,
    Node,
    SeqStmt,
    Stmt,
    WaitGroup,
    const,
    replace_node,
    rewrite,
    seq,
    walk,
)
from workbench.lower.insert_barriers import insert_barriers
from workbench.lower.pipeline import KERNEL_PASSES, Lowered, Pass, passed
from workbench.lower.shrink_buffers import with_buffers
from workbench.script import show_spans
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Fault:
    """What is missing: a barrier or a wait for copies, by its `number` in the text from 0 on.

    Or of a `buffer` that has two copies, used in turn, the second one.
    """

    kind: Literal["barrier", "wait", "copy"]
    number: int = 0
    buffer: str = ""


def with_fault(lowered: Lowered, fault: Fault, target: Target) -> Lowered:
    """`lowered`, of one kernel and made for `target`, with a fault in that.

    Raises ValueError where the kernel has no such thing to take away.
    """
    names = [step.name for step in lowered.history]
    done = lowered.history[: names.index(insert_barriers.__name__) + 1]
    (kernel,) = done[-1].after
    assert isinstance(kernel, Kernel)
    made = _without_copy(kernel, fault.buffer) if fault.kind == "copy" else _without(kernel, fault)
    history = [*done, Pass("with_fault", f"Take away a {fault.kind}.", (kernel,), (made,))]
    behind = KERNEL_PASSES[KERNEL_PASSES.index(insert_barriers) + 1 :]
    history += passed(behind, (made,), target)
    (last,) = history[-1].after
    assert isinstance(last, Kernel)
    return Lowered(lowered.func, (_each_its_own(last),), tuple(history), fault.kind)


def _without(kernel: Kernel, fault: Fault) -> Kernel:
    kind, numbers = {"barrier": Barrier, "wait": WaitGroup}[fault.kind], count()

    def visit(node: Node) -> Node | None:
        return None if isinstance(node, kind) and next(numbers) == fault.number else node

    body = rewrite(kernel.body, visit)
    if body is kernel.body:
        raise ValueError(f"{kernel.name} has no {fault.kind} {fault.number}")
    return replace(kernel, body=body)


def _without_copy(kernel: Kernel, name: str) -> Kernel:
    (old,) = (b for b, whole in kernel.views if whole.name == name and b in kernel.allocs)
    if len(old.shape) < 2 or old.shape[0] != 2:
        raise ValueError(f"{name} has no second copy")
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


def put_ahead(lowered: Lowered, line: int, *stmts: Stmt) -> Lowered:
    """The kernel of `lowered`, which has a fault, with `stmts` ahead of what begins in a line.

    It is marked as before. Raises Refusal for a line in which no statement begins.
    """
    (kernel,) = lowered.kernels
    printed = show_spans(kernel)
    begins: dict[int, Stmt] = {}
    for node in walk(kernel.body):
        if isinstance(node, Stmt) and node in printed.spans:
            begins.setdefault(printed.spans[node].line, node)
    at = begins.get(line)
    if at is None:
        raise Refusal(
            f"Can't put anything ahead of line {line}: no statement begins there",
            hint=f"name a line of the kernel's text, from {min(begins)} to {max(begins)}",
        )
    body = replace_node(kernel.body, at, seq(*stmts, at))
    return replace(lowered, kernels=(replace(kernel, body=body),))
