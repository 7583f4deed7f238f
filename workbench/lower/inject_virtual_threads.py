"""inject_virtual_threads: the copies inside a thread, in step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from workbench.access.accesses import accesses, by_buffer
from workbench.access.pipelines import copied
from workbench.diag import Refusal
from workbench.ir import (
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    SeqStmt,
    Stmt,
    Var,
    binary,
    const,
    copy_fresh,
    free_vars,
    is_warp_call,
    replace_node,
    seq,
    substitute,
    substitute_cells,
    walk,
    walk_statements,
)
from workbench.lower.drop_blocks import drop_blocks
from workbench.lower.shrink_buffers import with_buffers
from workbench.target import Target

_UNROLLED = 16  # TVM's: as many copies, or more, become a loop


def inject_virtual_threads(kernel: Kernel, target: Target) -> Kernel:
    """Do each statement for all virtual threads before the next one; each has its own registers.

    As TVM does it: what depends on a virtual thread is repeated for each, in the smallest statement
    around it, and local arrays that are used inside only get a place for each. What depends on none
    is done once. So a copy goes through its statements in their order, and none is ahead of others
    where threads wait: a barrier between two statements stands between those of all copies.
    """
    virtual = [n for n in walk_statements(kernel.body) if isinstance(n, For) and n.virtual]
    if not virtual:
        return kernel
    while virtual:
        kernel = _injected(kernel, virtual[-1])  # the last one holds no other
        virtual = [n for n in walk_statements(kernel.body) if isinstance(n, For) and n.virtual]
    return drop_blocks(kernel, target)  # conditions that hold for one copy, or for none


def own_copies(kernel: Kernel) -> dict[Buffer, int]:
    """How many there will be of a local array, where virtual threads have it each for itself."""
    counts: dict[Buffer, int] = {}
    for loop in (n for n in walk_statements(kernel.body) if isinstance(n, For) and n.virtual):
        for buffer in _own(kernel, loop):
            counts[buffer] = counts.get(buffer, 1) * _count(loop)
    return counts


def _injected(kernel: Kernel, loop: For) -> Kernel:
    copies = _Copies(loop, _count(loop), _own(kernel, loop))
    views = dict(kernel.views)
    body = replace_node(kernel.body, loop, copies.spread(loop.body, views))
    return with_buffers(kernel, copies.copied, body)


def _count(loop: For) -> int:
    """How many virtual threads it is. Raises Refusal where that is no number."""
    if not isinstance(loop.extent, Const):
        raise Refusal(
            f"Can't launch the kernel: `{loop.loop_var.name}` on {loop.thread} varies in size",
            loop.loop_var,
            hint="bind a loop whose extent is a number",
        )
    return int(loop.extent.value)


def _own(kernel: Kernel, loop: For) -> set[Buffer]:
    """The local arrays that each virtual thread of `loop` has for itself."""
    return _depending(loop, _inside(kernel, loop))


def _inside(kernel: Kernel, loop: For) -> set[Buffer]:
    """The local arrays that are used in `loop` only: each virtual thread can have its own."""
    every, within = (
        Counter(n.buffer for n in walk(part) if isinstance(n, (BufferLoad, BufferStore)))
        for part in (kernel.body, loop.body)
    )
    return {b for b, count in within.items() if b.scope == "local" and every[b] == count}


def _depending(loop: For, own: set[Buffer]) -> set[Buffer]:
    """Of `own`, those that hold what depends on the virtual thread, if only through others."""
    stores = [access for access in accesses(loop.body) if access.writes]
    found: set[Buffer] = set()
    while True:
        more = {
            access.buffer
            for access in stores
            if access.buffer in own - found
            and any(
                _depends(part, loop.loop_var, found)
                for part in (access.node, *access.guards, *_ends(access.loops))
            )
        }
        if not more:
            return found
        found |= more


def _ends(loops: Collection[For]) -> list[Expr]:
    return [end for loop in loops for end in (loop.min, loop.extent)]


def _depends(node: Node, var: Var, copied: Collection[Buffer]) -> bool:
    """Whether `node` uses a virtual thread's number, or an array that each has for itself."""
    return var in free_vars(node) or any(
        n.buffer in copied for n in walk(node) if isinstance(n, (BufferLoad, BufferStore))
    )


def _opens(loop: For) -> bool:
    """Whether each turn of a loop is done for all copies: not of a vector, or of a warp's call."""
    return loop.kind != "vectorized" and not is_warp_call(loop)


class _Copies:
    """The statements of one loop over virtual threads; `own` are the arrays that each has."""

    def __init__(self, loop: For, count: int, own: Collection[Buffer]) -> None:
        self.loop, self.var, self.count = loop, loop.loop_var, count
        self.copied = {buffer: copied(buffer, count) for buffer in own}

    def depends(self, *nodes: Node) -> bool:
        return any(_depends(node, self.var, self.copied) for node in nodes)

    def spread(self, stmt: Stmt, views: dict[Buffer, Buffer]) -> Stmt:
        """`stmt` for all copies, each statement in it as often as it has to be."""
        match stmt:
            case SeqStmt(stmts):
                return seq(*(self.spread(one, views) for one in stmts))
            case For() if _opens(stmt) and not self.depends(stmt.min, stmt.extent):
                return replace(stmt, body=self.spread(stmt.body, views))
            case IfThenElse(condition, then_case, else_case) if not self.depends(condition):
                otherwise = None if else_case is None else self.spread(else_case, views)
                return IfThenElse(condition, self.spread(then_case, views), otherwise)
        if not self.depends(stmt):
            return stmt
        self._refuse_waiting(stmt, views)
        loops = any(isinstance(n, For) and _opens(n) for n in walk_statements(stmt))
        loops = loops and not is_warp_call(stmt)
        if self.count < _UNROLLED and not loops:
            turns = (const(turn, self.var.type) for turn in range(self.count))
            return seq(*(self._copy(copy_fresh(stmt)[0], turn) for turn in turns))
        turn = Var(self.var.name, self.var.type)
        ends = const(0, turn.type), const(self.count, turn.type)
        return For(turn, *ends, "serial", self._copy(stmt, turn))

    def _copy(self, stmt: Stmt, turn: Expr) -> Stmt:
        """`stmt` as the virtual thread `turn`, counted from 0, does it."""

        own = substitute_cells(stmt, self.copied, lambda _: (turn,))
        return substitute(own, {self.var: binary("+", self.loop.min, turn)})

    def _refuse_waiting(self, stmt: Stmt, views: dict[Buffer, Buffer]) -> None:
        """Refuse what each copy does whole, where threads may have to wait for each other in it."""
        for buffer, found in by_buffer(accesses(stmt)).items():
            if buffer.scope != "shared" or len({id(access.store) for access in found}) == 1:
                continue
            if any(access.writes for access in found):
                name = self.var.name
                raise Refusal(
                    f"Can't run this on a GPU: copies inside a thread would wait at {buffer.name}, "
                    "one after the other",
                    self.var,
                    views[buffer],
                    hint=f"take the condition only around the store, or keep `{name}` serial",
                    detail=f"a condition or the ends of a loop depend on `{name}`, so that each "
                    "virtual thread does all in it before the next one begins",
                )
