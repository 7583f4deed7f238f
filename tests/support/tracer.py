"""Every access of a program, thread by thread and step by step, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from workbench.arith import evaluate
from workbench.ir import (
    THREAD_AXES,
    BinOp,
    Block,
    BlockRealize,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Expr,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    attrs_dict,
    children,
    free_vars,
    walk,
)


@dataclass(frozen=True)
class Event:
    """One load or store: where, by whom, at which step of its thread, in which loops.

    A loop over virtual threads that does not tell what is done is none of them. What a warp does in
    one call is by the first of its 32 threads, in one step.
    """

    buffer: str
    index: tuple[int, ...]
    writes: bool
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    time: int
    stage: str
    loops: tuple[tuple[Var, int], ...]


def is_called(block: Block) -> bool:
    """Whether a call of a warp does `block`: by the name of its intrinsic."""
    name = str(dict(attrs_dict(block.annotations)).get("tensor_intrin", ""))
    return name.startswith(("mma_", "wmma_", "simdgroup_"))


def trace(func: PrimFunc) -> list[Event]:
    """All that `func` touches when every thread of each nest runs all of the nest."""
    body = func.root.body
    events: list[Event] = []
    start = 0
    for nest in body.stmts if isinstance(body, SeqStmt) else (body,):
        sizes = _sizes(nest)
        length = 0
        for place in product(*(range(sizes.get(axis, 1)) for axis in THREAD_AXES)):
            thread = _Thread(dict(zip(THREAD_AXES, place, strict=True)), start)
            thread.run(nest, {}, "")
            events += thread.events
            length = max(length, thread.time - start)
        start += length
    return events


def _sizes(nest: Stmt) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for node in walk(nest):
        if isinstance(node, For) and node.thread in THREAD_AXES:
            assert isinstance(node.extent, Const)
            sizes[node.thread] = max(sizes.get(node.thread, 0), int(node.extent.value))
    return sizes


class _Thread:
    def __init__(self, place: dict[str, int], time: int) -> None:
        self.place, self.time = place, time
        self.loops: list[tuple[Var, int]] = []
        self.events: list[Event] = []
        self.called = False  # in a call of a warp, which is one step
        self.quiet = False  # time passes, but nothing happens
        self.copies: list[tuple[Var, int]] = []  # loops over virtual threads, and which it is
        self.told: dict[Var, set[Var]] = {}  # of an iterator, the loops that say what it is
        self.decided: list[set[Var]] = []  # the loops that say which conditions around hold
        self.untold: set[Var] = set()  # the loops of copies that do not say what is done

    def run(self, stmt: Stmt, env: dict[Var, Any], stage: str) -> None:
        match stmt:
            case SeqStmt():
                for part in stmt.stmts:
                    self.run(part, env, stage)
            case For():
                self._loop(stmt, env, stage)
            case IfThenElse():
                self._alike(stmt.condition)
                self._loads(stmt.condition, env, stage)
                self.decided.append(self._loops_of(stmt.condition))
                holds = bool(evaluate(stmt.condition, env))
                start = self.time
                self._in_case(holds, stmt.then_case, env, stage)
                end = self.time
                if stmt.else_case is not None:
                    self.time = start
                    self._in_case(not holds, stmt.else_case, env, stage)
                self.time = max(self.time, end)
                self.decided.pop()
            case BlockRealize() if is_called(stmt.block) and not self.called:
                if self.place["threadIdx.x"] == 0:
                    self.called = True
                    self._realize(stmt, env)
                    self.called = False
                self.time += 1
            case BlockRealize():
                self._realize(stmt, env)
            case BufferStore():
                self._alike(stmt)
                self._loads(stmt.value, env, stage)
                for index in stmt.indices:
                    self._loads(index, env, stage)
                self._note(stmt, env, stage)
                self.time += not self.called

    def _in_case(self, holds: bool, stmt: Stmt, env: dict[Var, Any], stage: str) -> None:
        before, self.quiet = self.quiet, self.quiet or not holds
        self.run(stmt, env, stage)
        self.quiet = before

    def _loop(self, loop: For, env: dict[Var, Any], stage: str) -> None:
        first, count = int(evaluate(loop.min, env)), int(evaluate(loop.extent, env))
        if loop.virtual:
            self._copies(loop, range(first, first + count), env, stage)
            return
        if loop.thread is not None:
            at = self.place[loop.thread]
            self._in_case(at < count, loop.body, {**env, loop.loop_var: first + at}, stage)
            return
        for k in range(first, first + count):
            self.loops.append((loop.loop_var, k - first))
            self.run(loop.body, {**env, loop.loop_var: k}, stage)
            self.loops.pop()

    def _copies(self, loop: For, turns: range, env: dict[Var, Any], stage: str) -> None:
        """All virtual threads, in step: what none has a part in is done by the first."""
        start = end = self.time
        for k, turn in enumerate(turns):
            self.time = start
            self.loops.append((loop.loop_var, k))
            self.copies.append((loop.loop_var, k))
            self.run(loop.body, {**env, loop.loop_var: turn}, stage)
            self.copies.pop()
            self.loops.pop()
            end = max(end, self.time)
        self.time = end

    def _loops_of(self, *nodes: Node) -> set[Var]:
        """The loops that say what `nodes` do."""
        return {v for node in nodes for var in free_vars(node) for v in self.told.get(var, {var})}

    def _alike(self, node: Node) -> None:
        used = self._loops_of(node).union(*self.decided)
        self.untold = {var for var, _ in self.copies if var not in used}

    def _realize(self, realize: BlockRealize, env: dict[Var, Any]) -> None:
        block = realize.block
        before = self.quiet
        if not evaluate(realize.predicate, env):
            self.quiet = True
        values = [evaluate(v, env) for v in realize.iter_values]
        inside = dict(env)
        inside.update(zip((i.var for i in block.iter_vars), values, strict=True))
        for i, value in zip(block.iter_vars, realize.iter_values, strict=True):
            self.told[i.var] = self._loops_of(value)
        self.decided.append(self._loops_of(realize.predicate))
        if block.init is not None:
            first = all(
                inside[i.var] == evaluate(i.dom.min, inside)
                for i in block.iter_vars
                if i.kind == "reduce"
            )
            now = self.time  # setting the start takes no step of its own
            reduced = (i.var for i in block.iter_vars if i.kind == "reduce")
            self.decided.append(self._loops_of(*reduced))
            self._in_case(first, block.init, inside, block.name)
            self.decided.pop()
            self.time = now
        self.run(block.body, inside, block.name)
        self.decided.pop()
        self.quiet = before

    def _loads(self, expr: Node, env: dict[Var, Any], stage: str) -> None:
        if isinstance(expr, Call) and expr.op == "if_then_else":
            self._loads(expr.args[0], env, stage)
            self._loads(expr.args[1 if evaluate(expr.args[0], env) else 2], env, stage)
            return
        if isinstance(expr, BinOp) and expr.op in ("and", "or"):
            self._loads(expr.a, env, stage)
            if bool(evaluate(expr.a, env)) == (expr.op == "and"):
                self._loads(expr.b, env, stage)
            return
        for child in children(expr):
            if isinstance(child, Expr):
                self._loads(child, env, stage)
        if isinstance(expr, BufferLoad):
            self._note(expr, env, stage)

    def _note(self, access: BufferLoad | BufferStore, env: dict[Var, Any], stage: str) -> None:
        if self.quiet or any(k and var in self.untold for var, k in self.copies):
            return  # another copy has done it already
        place = [self.place[axis] for axis in THREAD_AXES]
        index = tuple(int(evaluate(i, env)) for i in access.indices)
        self.events.append(
            Event(
                access.buffer.name,
                index,
                isinstance(access, BufferStore),
                tuple(place[:3]),
                tuple(place[3:]),
                self.time,
                stage,
                tuple(turn for turn in self.loops if turn[0] not in self.untold),
            )
        )
