"""The terms that a program's cells hold at the end: what a program means, at small sizes.

A program is run by its meaning, loop by loop; but a cell holds, instead of a number, the *term*
that computes it: the expression that was stored, each load replaced by the term of the write that
it gets. A cell of an argument that nobody wrote holds ``held``; one of an allocation, ``nothing``.
Two programs mean the same if the terms of all cells of their arguments are the same, where

- a copy is the term that it copies, so caches and layouts change nothing;
- ``C[i] = C[i] op e`` with ``op`` one of + * min max adds ``e`` to the *multiset* of the updates
  of one reduction (a set for min and max), so their order does not matter; neutral updates vanish,
  and a nested reduction that starts from the neutral element, or for min and max where the outer
  one starts, dissolves into the outer one;
- updates of several cells by one combiner (`combiners`) keep their order; a nested one with the
  same combiner and start dissolves into the outer one, where the combiner associates;
- threads that share such a reduction out (`cross_thread`) start it before any of them adds to it;
- everything else keeps its order, operands included.

So a program that is wrong but gives the right numbers by luck is told from a right one, and a sum
in another order is not blamed. Each term also carries the number that it is for the data given:
indices, conditions and extents that depend on data are decided by it, so more than one set of data
should be tried where there are such. An argument of integers that decides indices holds plain
numbers: ``p[n[i]]`` is then what the writer of that cell stored, also where that writer is inlined
and computes with ``n[i]`` itself. Equal terms are one object (hash consing), which makes comparing
them free however large they are.
"""

from __future__ import annotations

import itertools
import math
import operator
import random
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.access.combiners import Combiner, TupleUpdate, tuple_update
from workbench.access.cross_thread import Reduction, reduction_in
from workbench.arith import loop_bounds
from workbench.ir import (
    MATHS,
    REINTERPRET,
    SHIFTS,
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
    Range,
    Select,
    SeqStmt,
    Size,
    Var,
    dtypes,
    in_width,
    refuse_sizes,
    stores,
    walk,
)
from workbench.ir.places import places

Number = bool | int | float
Cell = tuple[int, ...]
Data = Sequence[Mapping[Cell, Number]]  # of each parameter, what each of its cells holds at first
Order = Callable[[For, range], Sequence[int]]

_NEUTRAL: dict[str, Number] = {"+": 0, "*": 1, "min": math.inf, "max": -math.inf}


class Invalid(Exception):
    """A program that has no meaning: it leaves a buffer, or uses a cell that nobody wrote."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """`kind` of `parts`: other terms, names, numbers. `value` is what it is for the data given."""

    kind: str
    parts: tuple[Any, ...]
    value: Number | None


@dataclass(slots=True)
class Terms:
    """Makes terms, equal ones once; programs that are compared share one of these."""

    known: dict[tuple[str, tuple[Any, ...]], Term] = field(default_factory=dict)
    numbers: dict[Number, Term] = field(default_factory=dict)
    nothing: Term = field(default_factory=lambda: Term("nothing", (), None))

    def make(self, kind: str, parts: tuple[Any, ...], value: Number | None) -> Term:
        """The one term of these parts."""
        found = self.known.get((kind, parts))
        if found is None:
            found = self.known[kind, parts] = Term(kind, parts, value)
        return found

    def number(self, value: Number) -> Term:
        """A number that depends on no data. 1, 1.0 and True are one: types stand in casts."""
        if value != value:
            return self.make("number", ("nan",), value)
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = Term("number", (value,), value)
        return found

    def apply(self, op: str, args: Sequence[Term], compute: Callable[..., Number]) -> Term:
        """`op` of terms: a number where all are; nothing where one is."""
        kinds = {arg.kind for arg in args}
        if "nothing" in kinds:
            return self.nothing
        try:
            value = compute(*[arg.value for arg in args])
        except (ValueError, OverflowError):  # of a float that is infinite or no number
            value = math.nan
        if kinds == {"number"}:
            return self.number(value)
        return self.make(op, tuple(args), value)

    def update(self, op: str, old: Term, new: Term, value: Number) -> Term:
        """What a cell that held `old` holds after ``cell = cell op new``."""
        if old.kind == f"reduce {op}":
            start, updates = old.parts[0], Counter(dict(old.parts[1]))
        else:
            start, updates = old, Counter()
        again = op in ("min", "max") and new.kind == f"reduce {op}" and new.parts[0] is start
        if again or (new.kind == f"reduce {op}" and _is_neutral(op, new.parts[0])):
            updates.update(dict(new.parts[1]))
        elif not _is_neutral(op, new):
            updates[new] += 1
        if op in ("min", "max"):  # the same update again changes nothing
            updates = Counter(set(updates))
        if not updates:
            return start
        return self.make(f"reduce {op}", (start, frozenset(updates.items())), value)

    def tuple_update(
        self, f: Combiner, old: tuple[Term, ...], new: tuple[Term, ...]
    ) -> tuple[Term, ...]:
        """What the cells that held `old` hold after `new` came in."""
        if any(term.kind == "nothing" for term in (*old, *new)):
            return (self.nothing,) * len(old)
        start, updates = _fold(f, old) or (old, ())
        more = _fold(f, new) or (start, (new,))
        if f.starts([term.value for term in start]):
            if new == start:  # comes in once more
                return old
            updates += more[1] if more[0] == start else (new,)
        else:
            updates += (new,)
        try:
            values = f.numbers([t.value for t in old], [t.value for t in new])
        except (ValueError, OverflowError, ZeroDivisionError):
            values = (math.nan,) * len(old)
        told = frozenset(Counter(updates).items()) if f.commutes else updates
        fold = self.make("fold", (f.key, start, told), None)
        return tuple(self.make("of fold", (fold, k), v) for k, v in enumerate(values))


_Updates = tuple[tuple[Term, ...], ...]


def _fold(f: Combiner, cells: tuple[Term, ...]) -> tuple[tuple[Term, ...], _Updates] | None:
    """The start and the updates of which `cells` are the results, None if they are no such."""
    fold = cells[0].parts[0] if cells[0].kind == "of fold" else None
    whole = (("of fold", (fold, k)) for k in range(len(cells)))
    if fold is None or fold.parts[0] != f.key:
        return None
    if any((t.kind, t.parts) != one for t, one in zip(cells, whole, strict=True)):
        return None
    _, start, updates = fold.parts
    return start, _in_turn(updates)


def _in_turn(updates: _Updates | frozenset[tuple[tuple[Term, ...], int]]) -> _Updates:
    """The updates of a fold, of which those of a combiner that commutes are a multiset."""
    return updates if isinstance(updates, tuple) else (*Counter(dict(updates)).elements(),)


def _is_neutral(op: str, term: Term) -> bool:
    lowest = op == "max" and term.value is not None and term.value <= -3.4e38
    highest = op == "min" and term.value is not None and term.value >= 3.4e38
    return term.kind == "number" and (term.value == _NEUTRAL[op] or lowest or highest)


def in_order(loop: For, values: range) -> Sequence[int]:
    """Every loop in its own order."""
    return values


def shuffled(seed: int) -> Order:
    """Loops whose iterations have no order, of threads, lanes or parallel ones, in another one."""
    draw = random.Random(seed)

    def order(loop: For, values: range) -> Sequence[int]:
        if loop.kind in ("serial", "unrolled"):
            return values
        return values[::-1] if seed == 0 else draw.sample(values, len(values))

    return order


def random_data(func: PrimFunc, seed: int) -> Data:
    """Small whole numbers for every parameter; those of integers may serve as indices."""
    refuse_sizes(func, "draw data for")
    draw = random.Random(seed)
    data: list[dict[Cell, Number]] = []
    for buffer in func.params:
        low = -3 if dtypes.is_float(buffer.type) else 0
        high = 1 if buffer.type == "bool" else 3
        cells = itertools.product(*(range(size) for size in buffer.shape))
        data.append({cell: draw.randint(low, high) for cell in cells})
    return data


def deciding(func: PrimFunc) -> frozenset[int]:
    """The parameters of integers that decide which cells are touched, if only through others."""
    touched = [i for n in walk(func) if isinstance(n, (BufferLoad, BufferStore)) for i in n.indices]
    touched += [v for n in walk(func) if isinstance(n, BlockRealize) for v in n.iter_values]
    found: set[Buffer] = set()
    more = {buffer for index in touched for buffer in _loaded(index)}
    while more:
        found |= more
        more = {b for s in stores(func) if s.buffer in found for b in _loaded(s.value)} - found
    params = enumerate(func.params)
    return frozenset(k for k, p in params if p in found and dtypes.is_int(p.type))


def meaning(
    func: PrimFunc,
    data: Data,
    terms: Terms,
    order: Order = in_order,
    numbers: frozenset[int] = frozenset(),
) -> list[dict[Cell, Term]]:
    """The terms of the cells of each parameter after `func` ran on `data`.

    `order` gives the order in which a loop takes its values; a loop of threads, lanes or parallel
    iterations must mean the same in every order. `numbers` are the parameters that hold plain
    numbers. Raises Invalid.
    """
    refuse_sizes(func, "run")
    run = _Run(terms, order, func)
    for k, (buffer, cells) in enumerate(zip(func.params, data, strict=True)):
        run.memory[buffer] = {
            cell: terms.number(value) if k in numbers else terms.make("held", (k, cell), value)
            for cell, value in cells.items()
        }
    for buffer in func.root.alloc_buffers:
        run.memory[buffer] = {}
    run.statement(func.root.body, {})
    return [run.memory[buffer] for buffer in func.params]


def difference(a: PrimFunc, b: PrimFunc, data: Data, order: Order = in_order) -> str:
    """The first cell in which two programs differ, with what each makes of it; "" if none.

    `order` is that of the loops of `b`. Raises Invalid where one of them has no meaning.
    """
    terms, numbers = Terms(), deciding(a)
    before = meaning(a, data, terms, numbers=numbers)
    after = meaning(b, data, terms, order, numbers)
    for buffer, cells, others in zip(a.params, before, after, strict=True):
        for cell, term in cells.items():
            if term is not others[cell]:
                first, second = (text(t, a.params) for t in (term, others[cell]))
                return f"{buffer.name}{list(cell)} was {first}, and is {second}"
    return ""


def text(term: Term, params: Sequence[Buffer], longest: int = 200) -> str:
    """A term as people read it; `params` name the cells that are held."""

    def show(t: Term) -> str:
        if t.kind == "held":
            return f"{params[t.parts[0]].name}{list(t.parts[1])}"
        if t.kind == "number":
            return f"{t.value:g}"
        if t.kind.startswith("reduce "):
            updates = sorted((show(update), count) for update, count in t.parts[1])
            told = [one if count == 1 else f"{count} times {one}" for one, count in updates]
            return f"({show(t.parts[0])} {t.kind[7:]}= {', '.join(told)})"
        if t.kind == "of fold":
            _, start, updates = t.parts[0].parts
            told = ["/".join(map(show, one)) for one in (start, *_in_turn(updates))]
            if not isinstance(updates, tuple):
                told[1:] = sorted(told[1:])
            return f"({told[0]} then {', '.join(told[1:])})[{t.parts[1]}]"
        parts = ", ".join(show(p) if isinstance(p, Term) else str(p) for p in t.parts)
        return f"{t.kind}({parts})" if t.parts else t.kind

    shown = show(term)
    return shown if len(shown) <= longest else shown[:longest] + "…"


class _Run:
    """One run: what the cells hold, and how expressions and statements change that."""

    def __init__(self, terms: Terms, order: Order, func: PrimFunc) -> None:
        self.terms = terms
        self.order = order
        self.known = places(func)
        self.shared: dict[For, Reduction | None] = {}  # that of each loop, see `shared_out`
        self.in_order: set[For] = set()  # loops of threads whose parts are put together in order
        self.memory: dict[Buffer, dict[Cell, Term]] = {}
        self.outermost: dict[Buffer, int] = {}  # of a buffer, how many blocks are around its own
        self.declared: list[tuple[str, dict[Buffer, list[range]], dict[Buffer, list[range]]]] = []
        self.started: set[BlockRealize] = set()  # reductions of whose updates this is a part

    # --- statements ---

    def statement(self, stmt: Node, env: dict[Var, Term]) -> None:
        match stmt:
            case SeqStmt(stmts):
                for one in stmts:
                    self.statement(one, env)
            case For():
                self.loop(stmt, env)
            case IfThenElse(condition, then_case, else_case):
                if self.whole(condition, env):
                    self.statement(then_case, env)
                elif else_case is not None:
                    self.statement(else_case, env)
            case BlockRealize():
                self.realize(stmt, env)
            case BufferStore():
                self.store(stmt, env)
            case _:
                raise TypeError(f"a program holds no {type(stmt).__name__}")

    def loop(self, loop: For, env: dict[Var, Term]) -> None:
        found = self.shared_out(loop)
        if found is None or found.realize in self.started:
            self.turns(loop, env)
            return
        self.start(found.loops, found.realize, env)
        self.started.add(found.realize)
        if found.update is not None and found.update.ordered:
            self.in_order.update(found.threads)
        self.turns(loop, env)
        self.started.remove(found.realize)

    def shared_out(self, loop: For) -> Reduction | None:
        """The reduction in `loop` that threads share out, and start before any of them adds."""
        if loop not in self.shared:
            found = reduction_in(loop)
            if found is not None and found.threads and found.block.init is not None:
                around = loop_bounds([*self.known.all_loops_above(loop), loop])
                first = found.loops[0] is loop
                self.shared[loop] = found if first and not found.why_not(around) else None
            else:
                self.shared[loop] = None
        return self.shared[loop]

    def start(self, loops: Sequence[For], realize: BlockRealize, env: dict[Var, Term]) -> None:
        """Start the reduction wherever `loops` do, and run nothing else in them."""
        if not loops:
            self.realize(realize, env, alone=True)
            return
        loop, *inner = loops
        start = self.whole(loop.min, env)
        for value in range(start, start + self.whole(loop.extent, env)):
            self.start(inner, realize, {**env, loop.loop_var: self.terms.number(value)})

    def turns(self, loop: For, env: dict[Var, Term]) -> None:
        start = self.whole(loop.min, env)
        order = in_order if loop in self.in_order else self.order
        for value in order(loop, range(start, start + self.whole(loop.extent, env))):
            self.statement(loop.body, {**env, loop.loop_var: self.terms.number(value)})

    def realize(self, realize: BlockRealize, env: dict[Var, Term], *, alone: bool = False) -> None:
        """Run an instance of a block; `alone`: its init, where that is due, and no more."""
        block = realize.block
        if not self.whole(realize.predicate, env):
            return
        inside = dict(env)
        starts = True
        for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True):
            inside[iterator.var] = self.terms.number(self.whole(value, env))
        for iterator in block.iter_vars:
            at = inside[iterator.var].value
            first = self.whole(iterator.dom.min, inside)
            assert at is not None
            if not 0 <= at - first < self.whole(iterator.dom.extent, inside):
                raise Invalid(f"{block.name}: {iterator.var.name} = {at} leaves its domain")
            starts &= iterator.kind != "reduce" or at == first
        for buffer in block.alloc_buffers:  # every instance of a block has its own
            self.memory[buffer] = {}
            self.outermost[buffer] = len(self.declared) + 1
        reads = block.reads
        if alone:  # what the body reads may be told by cells that are not yet written
            reads = tuple(r for r in reads if block.init and _reads(block.init, r.buffer))
        boxes = (self.boxes(reads, inside), self.boxes(block.writes, inside))
        self.declared.append((block.name, *boxes))
        if block.init is not None and starts and realize not in self.started:
            self.statement(block.init, inside)
        update = None if alone else tuple_update(block)
        if update is not None and update.combiner.associates:
            self.tuple_update(update, inside)
        elif not alone:
            self.statement(block.body, inside)
        self.declared.pop()

    def store(self, stmt: BufferStore, env: dict[Var, Term]) -> None:
        cell = self.cell(stmt.buffer, stmt.indices, env)
        self.check_declared(stmt.buffer, cell, writing=True)
        self.memory[stmt.buffer][cell] = self.stored(stmt, cell, env)

    def tuple_update(self, update: TupleUpdate, env: dict[Var, Term]) -> None:
        cells = [self.cell(store.buffer, store.indices, env) for store in update.stores]
        new = tuple(self.value(term, env) for term in update.terms)
        held = zip(update.buffers, cells, strict=True)
        old = tuple(self.memory[buffer].get(cell, self.terms.nothing) for buffer, cell in held)
        now = self.terms.tuple_update(update.combiner, old, new)
        for buffer, cell, term in zip(update.buffers, cells, now, strict=True):
            self.check_declared(buffer, cell, writing=True)
            self.memory[buffer][cell] = term

    def stored(self, stmt: BufferStore, cell: Cell, env: dict[Var, Term]) -> Term:
        """What a store puts into `cell`: a copy, an update of a reduction, or a new term."""
        value = stmt.value
        if isinstance(value, BinOp) and value.op in _NEUTRAL:
            for own, other in ((value.a, value.b), (value.b, value.a)):
                if self.is_cell(own, stmt.buffer, cell, env) and not _reads(other, stmt.buffer):
                    old, new = self.value(own, env), self.value(other, env)
                    if "nothing" in (old.kind, new.kind):
                        break
                    compute = _OPERATORS[value.op]
                    result = _rounded(compute(old.value, new.value), value.dtype)
                    return self.terms.update(value.op, old, new, result)
        term = self.value(value, env)
        if isinstance(value, BufferLoad) and term.kind == "nothing":
            raise Invalid(f"{stmt.buffer.name}{list(cell)} is a copy of what nobody wrote")
        return term

    def is_cell(self, e: Expr, buffer: Buffer, cell: Cell, env: dict[Var, Term]) -> bool:
        if not isinstance(e, BufferLoad) or e.buffer is not buffer:
            return False
        return self.cell(buffer, e.indices, env) == cell

    # --- places ---

    def whole(self, e: Expr, env: dict[Var, Term]) -> int:
        """The number that an index, an extent or a condition is."""
        if isinstance(e, Var):
            value = env[e].value
        else:
            value = e.value if isinstance(e, Const) else self.value(e, env).value
        if value is None:
            raise Invalid("an index, extent or condition depends on what nobody wrote")
        return int(value)

    def cell(self, buffer: Buffer, indices: Sequence[Expr], env: dict[Var, Term]) -> Cell:
        cell = tuple([self.whole(index, env) for index in indices])
        if not all(0 <= k < size for k, size in zip(cell, buffer.shape, strict=True)):
            raise Invalid(f"{buffer.name}{list(cell)} is outside {buffer.shape}")
        return cell

    def boxes(
        self, regions: Sequence[BufferRegion], env: dict[Var, Term]
    ) -> dict[Buffer, list[range]]:
        """The declared regions, one range a dimension."""
        return {
            region.buffer: [
                self.declared_range(r, size, env)
                for r, size in zip(region.region, region.buffer.shape, strict=True)
            ]
            for region in regions
        }

    def declared_range(self, r: Range, size: Size, env: dict[Var, Term]) -> range:
        """What `r` declares of a dimension: all of it where its ends have no meaning.

        As in A[n[v]] that is read under a condition, in an iteration in which v is outside of n.
        """
        try:
            first, count = self.whole(r.min, env), self.whole(r.extent, env)
        except Invalid:
            return range(size)
        return range(first, first + count)

    def check_declared(self, buffer: Buffer, cell: Cell, writing: bool) -> None:
        """Raise Invalid where a block around did not declare this access."""
        for block, reads, writes in self.declared[self.outermost.get(buffer, 0) :]:
            told = _holds(writes.get(buffer), cell)
            if not told and (writing or not _holds(reads.get(buffer), cell)):
                act = "writes" if writing else "reads"
                raise Invalid(f"{block} {act} {buffer.name}{list(cell)}, which it does not declare")

    # --- values ---

    def value(self, e: Expr, env: dict[Var, Term]) -> Term:
        """The term of an expression."""
        match e:  # the most frequent kinds first
            case Var():
                return env[e]
            case Const(value):
                return self.terms.number(value)
            case BinOp(op, a, b):
                return self.binary(e, op, a, b, env)
            case BufferLoad(buffer, indices):
                cell = self.cell(buffer, indices, env)
                if not buffer.scalar:
                    self.check_declared(buffer, cell, writing=False)
                return self.memory[buffer].get(cell, self.terms.nothing)
            case Call("if_then_else", (condition, yes, no)):
                return self.choice(condition, yes, no, env)
            case Select(condition, yes, no):
                parts = [self.value(part, env) for part in (condition, yes, no)]
                if parts[0].kind == "number":
                    return parts[1] if parts[0].value else parts[2]
                return self.terms.apply("select", parts, lambda c, a, b: a if c else b)
            case Not(a):
                return self.terms.apply("not", [self.value(a, env)], lambda x: not x)
            case Cast(dtype, value):
                return self.cast(dtype, self.value(value, env))
            case Call(op, (bits,), dtype) if op == REINTERPRET:
                name, source = f"{op} {bits.dtype} {dtype}", bits.dtype
                values = [self.value(bits, env)]
                return self.terms.apply(name, values, lambda x: _reinterpreted(x, source, dtype))
            case Call(op, args, dtype):
                values = [self.value(arg, env) for arg in args]
                return self.terms.apply(op, values, lambda *x: _rounded(_maths(op, *x), dtype))
        raise TypeError(f"a program holds no {type(e).__name__}")

    def binary(self, e: BinOp, op: str, a: Expr, b: Expr, env: dict[Var, Term]) -> Term:
        left = self.value(a, env)
        if op in ("and", "or") and left.kind == "number":  # the right side may not be evaluated
            return left if bool(left.value) == (op == "or") else self.value(b, env)
        right = self.value(b, env)
        if op in ("//", "%") and right.value == 0:
            raise Invalid(f"{op} divides by zero")
        if op in SHIFTS and right.value is not None and not in_width(right.value, e.dtype):
            raise Invalid(f"{op} shifts {e.dtype} by {right.value}")
        compute = _OPERATORS[op]
        if left.kind == right.kind == "number" and type(left.value) is type(right.value) is int:
            return self.terms.number(_rounded(compute(left.value, right.value), e.dtype))  # quick
        return self.terms.apply(op, [left, right], lambda x, y: _rounded(compute(x, y), e.dtype))

    def choice(self, condition: Expr, yes: Expr, no: Expr, env: dict[Var, Term]) -> Term:
        """Of an if_then_else only the branch that is taken is evaluated."""
        test = self.value(condition, env)
        if test.value is None:
            raise Invalid("a condition depends on what nobody wrote")
        chosen = self.value(yes if test.value else no, env)
        if test.kind == "number" or chosen.kind == "nothing":
            return chosen
        return self.terms.make("if", (test, bool(test.value), chosen), chosen.value)

    def cast(self, dtype: str, term: Term) -> Term:
        if term.kind == "number":
            assert term.value is not None
            return self.terms.number(_rounded(term.value, dtype))
        return self.terms.apply(f"cast {dtype}", [term], lambda x: _rounded(x, dtype))


def _holds(box: Sequence[range] | None, cell: Cell) -> bool:
    """Whether `cell` is in a declared box, which is None where none was declared."""
    return box is not None and all(map(operator.contains, box, cell))


def _loaded(e: Node) -> set[Buffer]:
    return {n.buffer for n in walk(e) if isinstance(n, BufferLoad)}


def _reads(e: Node, buffer: Buffer) -> bool:
    return buffer in _loaded(e)


def _rounded(value: Number, dtype: str) -> Number:
    """`value` as `dtype` holds it; floats stay as they are, since data are small integers."""
    if dtype == "bool":
        return bool(value)
    if not dtypes.is_int(dtype):
        return float(value)
    low, high = dtypes.limits(dtype)
    return (int(value) - low) % (high - low + 1) + low


_FORMATS = {"float16": "<e", "float32": "<f", "bfloat16": "<f", "float64": "<d"}


def _reinterpreted(value: Number, source: str, target: str) -> Number:
    """The bits of a float as an integer, or back; a bfloat16 is the upper half of a float32."""
    if source in _FORMATS:
        packed = struct.pack(_FORMATS[source], value)
        return int.from_bytes(packed[-dtypes.BITS[source] // 8 :], "little")
    packed = int(value).to_bytes(dtypes.BITS[target] // 8, "little")
    size = struct.calcsize(_FORMATS[target])
    (made,) = struct.unpack(_FORMATS[target], packed.rjust(size, b"\0"))
    return float(made)


def _divided(a: float, b: float) -> float:
    return a / b if b else math.nan


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
}


_MATHS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in MATHS if hasattr(math, name)},
    "exp10": lambda x: 10.0**x,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "abs": abs,
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
    "nearbyint": round,
}


def _maths(name: str, *args: Any) -> Any:
    """The function, and NaN where it has no value: terms are compared, so any number will do."""
    try:
        return _MATHS[name](*args)
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan
