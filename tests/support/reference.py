"""A second, plain way to run a program by its meaning, to hold the emulator against.

One loop iteration after the other, one cell at a time, in Python; it shares nothing with
``workbench.emulate`` or ``workbench.arith``. It also holds every access against the regions that
the blocks around it declare, and every iterator against its domain.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.ir import (
    MATHS,
    BinOp,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    For,
    IfThenElse,
    Node,
    Not,
    PrimFunc,
    Select,
    SeqStmt,
    Var,
)

Env = dict[Var, Any]
Place = tuple[int, ...]
Code = Callable[[Env, "Memory"], Any]


class WrongAccess(AssertionError):
    """A cell outside its buffer or outside a declared region, or read before it was written."""


class Memory(dict[Buffer, dict[Place, Any]]):
    """What every written cell holds, and what the blocks that run now said they touch."""

    def __init__(self, cells: dict[Buffer, dict[Place, Any]]) -> None:
        super().__init__(cells)
        self.homes: dict[Buffer, int] = {}  # how many blocks were around where it is allocated
        self.declared: list[tuple[str, dict[Buffer, list[range]], dict[Buffer, list[range]]]] = []

    def check(self, buffer: Buffer, place: Place, is_write: bool) -> None:
        """Raise WrongAccess where a block around did not declare this access."""
        for block, reads, writes in self.declared[self.homes.get(buffer, 0) :]:
            if buffer.scalar and not is_write:
                continue
            told = _holds(writes.get(buffer), place)
            if not told and (is_write or not _holds(reads.get(buffer), place)):
                act = "writes" if is_write else "reads"
                raise WrongAccess(f"{block} {act} {buffer.name}{list(place)}, not as declared")


def _holds(sides: Sequence[range] | None, place: Place) -> bool:
    """Whether a box, where there is one, holds a place."""
    return bool(sides) and all(map(operator.contains, sides or (), place))


def run(func: PrimFunc, args: Sequence[np.ndarray[Any, Any]]) -> None:
    """Run `func` on one array a parameter; what it writes is written in place."""
    memory = Memory(
        {
            buffer: {index: value.item() for index, value in np.ndenumerate(array)}
            for buffer, array in zip(func.params, args, strict=True)
        }
    )
    for buffer in func.root.alloc_buffers:
        memory[buffer] = {}
    _statement(func.root.body)({}, memory)
    for buffer, array in zip(func.params, args, strict=True):
        for index, value in memory[buffer].items():
            array[index] = value


def _statement(stmt: Node) -> Code:
    match stmt:
        case SeqStmt(stmts):
            parts = [_statement(s) for s in stmts]
            return lambda env, memory: [part(env, memory) for part in parts]
        case For():
            return _loop(stmt)
        case IfThenElse(condition, then_case, else_case):
            test, yes = _expression(condition), _statement(then_case)
            no = _statement(else_case) if else_case else lambda env, memory: None
            return lambda env, memory: (yes if test(env, memory) else no)(env, memory)
        case BlockRealize():
            return _realize(stmt)
        case BufferStore(buffer, value, indices):
            what, where = _expression(value), _place(buffer, indices)

            def store(env: Env, memory: Memory) -> None:
                place = where(env, memory)
                memory.check(buffer, place, is_write=True)
                memory.setdefault(buffer, {})[place] = what(env, memory)

            return store
    raise TypeError(f"a program holds no {type(stmt).__name__}")


def _loop(loop: For) -> Code:
    first, count, body = _expression(loop.min), _expression(loop.extent), _statement(loop.body)

    def iterate(env: Env, memory: Memory) -> None:
        start, inside = first(env, memory), dict(env)
        for value in range(start, start + count(env, memory)):
            inside[loop.loop_var] = value
            body(inside, memory)

    return iterate


def _realize(realize: BlockRealize) -> Code:
    block = realize.block
    holds = _expression(realize.predicate)
    values = [_expression(value) for value in realize.iter_values]
    variables = [iterator.var for iterator in block.iter_vars]
    starts = {i.var: _expression(i.dom.min) for i in block.iter_vars if i.kind == "reduce"}
    doms = [(_expression(i.dom.min), _expression(i.dom.extent)) for i in block.iter_vars]
    init = _statement(block.init) if block.init else None
    body = _statement(block.body)
    boxes = [_boxes(regions) for regions in (block.reads, block.writes)]
    own = set(block.alloc_buffers)

    def realization(env: Env, memory: Memory) -> None:
        if not holds(env, memory):
            return
        inside = dict(env)
        inside.update(zip(variables, [value(env, memory) for value in values], strict=True))
        for (first, count), var in zip(doms, variables, strict=True):
            if not 0 <= inside[var] - first(env, memory) < count(env, memory):
                raise WrongAccess(f"{block.name}: {var.name} = {inside[var]} leaves its domain")
        for buffer in own:
            memory[buffer] = {}
            memory.homes[buffer] = len(memory.declared) + 1
        memory.declared.append((block.name, *(box(inside, memory) for box in boxes)))
        if init and all(inside[var] == start(env, memory) for var, start in starts.items()):
            init(inside, memory)
        body(inside, memory)
        memory.declared.pop()

    return realization


def _boxes(regions: Sequence[BufferRegion]) -> Code:
    """The declared regions, as one range a dimension."""
    sides = [
        (region.buffer, [(_expression(r.min), _expression(r.extent)) for r in region.region])
        for region in regions
    ]

    def boxes(env: Env, memory: Memory) -> dict[Buffer, list[range]]:
        found = {}
        for buffer, ends in sides:
            pairs = [(first(env, memory), count(env, memory)) for first, count in ends]
            found[buffer] = [range(first, first + count) for first, count in pairs]
        return found

    return boxes


def _place(buffer: Buffer, indices: Sequence[Expr]) -> Code:
    """The place in `buffer` that the indices name."""
    where = [_expression(index) for index in indices]
    sides = [range(size) for size in buffer.shape]

    def place(env: Env, memory: Memory) -> Place:
        found = tuple([int(index(env, memory)) for index in where])
        if not all(map(operator.contains, sides, found)):
            raise WrongAccess(f"{buffer.name}{list(found)} is outside {buffer.shape}")
        return found

    return place


def _expression(e: Expr) -> Code:
    match e:
        case Const(value):
            return lambda env, memory: value
        case Var():
            return lambda env, memory: env[e]
        case BufferLoad(buffer, indices):
            where = _place(buffer, indices)

            def load(env: Env, memory: Memory) -> Any:
                place = where(env, memory)
                memory.check(buffer, place, is_write=False)
                try:
                    return memory[buffer][place]
                except KeyError:
                    raise WrongAccess(f"{buffer.name}{list(place)} was never written") from None

            return load
        case Select(condition, yes, no) | Call("if_then_else", (condition, yes, no)):
            test, a, b = (_expression(part) for part in (condition, yes, no))
            return lambda env, memory: (a if test(env, memory) else b)(env, memory)
        case Not(a):
            inner = _expression(a)
            return lambda env, memory: not inner(env, memory)
        case Cast(kind, value):
            inner = _expression(value)
            return lambda env, memory: _rounded(inner(env, memory), kind)
        case BinOp():
            return _binary(e)
        case Call(op, args, kind):
            parts, apply = [_expression(arg) for arg in args], _MATHS[op]
            return lambda env, memory: _rounded(apply(*(p(env, memory) for p in parts)), kind)
    raise TypeError(f"a program holds no {type(e).__name__}")


_MATHS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in MATHS if hasattr(math, name)},
    "abs": abs,
    "exp10": lambda x: 10.0**x,
    "nearbyint": round,
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
}

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def _binary(e: BinOp) -> Code:
    a, b, kind = _expression(e.a), _expression(e.b), e.dtype
    if e.op == "and":
        return lambda env, memory: bool(a(env, memory)) and bool(b(env, memory))
    if e.op == "or":
        return lambda env, memory: bool(a(env, memory)) or bool(b(env, memory))
    apply = _OPERATORS[e.op]
    if kind in ("bool", "int32", "int64"):  # the programs here do not overflow
        return lambda env, memory: apply(a(env, memory), b(env, memory))
    return lambda env, memory: _rounded(apply(a(env, memory), b(env, memory)), kind)


def _rounded(value: Any, kind: str) -> Any:
    """`value` as `kind` holds it."""
    if kind == "bool":
        return bool(value)
    if kind.startswith(("int", "uint")):
        whole = int(value) & ((1 << int(kind.lstrip("uint"))) - 1)
        signed = kind.startswith("int") and whole >> (int(kind[3:]) - 1)
        return whole - (1 << int(kind[3:])) if signed else whole
    return np.dtype(kind).type(value).item()
