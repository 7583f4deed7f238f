"""Tuple reductions: blocks whose stores together are one update of several values, as in argmax.

The state is one cell in each of several buffers, and an instance of the block makes f(state, terms)
of it, for a *combiner* f. Such updates keep their order. They may be bracketed anew where f is
associative, so that parts can be made side by side, and come in any order where f commutes, too.
Both are known of f alone:

- *Choices* compare what is in the state with what comes in, and take one or the other, as argmax
  does. What they give depends only on which of the values compared are the larger ones; so that f
  is tried on all ways to order those of three tuples, which is a proof.
- *Known combiners*, Welford's mean and variance and the sums of online softmax, are found by their
  values: expressions of + - * / and of exp that agree with the known one at many random points,
  computed without rounding, are equal. They are associative and commute, up to rounding.

Parts start from where the whole starts. That is right where the start can come in once more and
change nothing, which is asked of f as well.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

from workbench.access.units import same_cell
from workbench.access.updates import reads, starts_of
from workbench.arith import Simplifier
from workbench.arith.content import content
from workbench.ir import (
    BinOp,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    Node,
    Not,
    Select,
    SeqStmt,
    Stmt,
    Var,
    binary,
    cast,
    children,
    const,
    dtypes,
    free_vars,
    once,
    rebuild,
    rewrite,
    seq,
    substitute,
    walk,
)

Numbers = tuple[Any, ...]
Step = tuple[int, Expr]  # the value that comes into which place of the state

_MOST = 3  # values of a choice: all ways to order those of three tuples are tried
_POINTS = 8  # at which a known combiner is compared, for each way to order what it compares


class Unlike(Exception):
    """An expression is none that a combiner is made of."""


@cache
def lhs(place: int, dtype: str) -> Var:
    """What stands for a value of the state."""
    return Var(f"lhs{place}", dtype)


@cache
def rhs(place: int, dtype: str) -> Var:
    """What stands for a value that comes in."""
    return Var(f"rhs{place}", dtype)


def constant(e: Expr) -> Any:
    """The number that `e` is, None for what is no constant."""
    return e.value if isinstance(e, Const) else None


@dataclass(frozen=True)
class Combiner:
    """f of two tuples, `lhs` and `rhs`, as steps: one after the other changes the state.

    `key` is equal for equal functions. `update` is f of what one instance of a block brings, in the
    words of the program. `starts` tells of the numbers of a start, None for what is no constant,
    whether it can come in again, behind anything, and change nothing; `wanted`, which do.
    """

    key: tuple[object, ...]
    types: tuple[str, ...]
    steps: tuple[Step, ...]
    update: tuple[Step, ...]
    associates: bool
    commutes: bool
    starts: Callable[[Sequence[Any]], bool]
    wanted: str

    def numbers(self, state: Sequence[Any], coming: Sequence[Any]) -> Numbers:
        """f of plain numbers."""
        values = zip(self.types, state, coming, strict=True)
        env: dict[Var, Any] = {}
        for k, (dtype, old, new) in enumerate(values):
            env |= {lhs(k, dtype): old, rhs(k, dtype): new}
        return _run(self.steps, self.types, env)


@dataclass(frozen=True)
class TupleUpdate:
    """What the stores of a block do together: `terms` come into their cells, the state."""

    combiner: Combiner
    stores: tuple[BufferStore, ...]
    terms: tuple[Expr, ...]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers of the state."""
        return tuple(store.buffer for store in self.stores)

    @property
    def ordered(self) -> bool:
        """Whether updates must come in their order."""
        return not self.combiner.commutes

    def add(self, cells: Sequence[BufferLoad]) -> Stmt:
        """Add what one instance brings to `cells`, in the words of the program."""
        return _stores(self.combiner.update, self.combiner.types, cells, self.terms)

    def join(self, cells: Sequence[BufferLoad], parts: Sequence[Expr]) -> Stmt:
        """Combine `cells` with `parts`, which follow them."""
        return _stores(self.combiner.steps, self.combiner.types, cells, parts)


def _stores(
    steps: Sequence[Step], types: Sequence[str], cells: Sequence[BufferLoad], new: Sequence[Expr]
) -> Stmt:
    values: dict[Var, Expr] = {}
    for k, (dtype, cell, term) in enumerate(zip(types, cells, new, strict=True)):
        values |= {lhs(k, dtype): cell, rhs(k, dtype): term}
    return seq(*[
        BufferStore(cells[k].buffer, substitute(value, values), cells[k].indices)
        for k, value in steps
    ])  # fmt: skip


# --- what a block does ----------------------------------------------------------------------------


@once
def tuple_update(block: Block) -> TupleUpdate | None:
    """The update that the stores of `block` are together; None where they are no known one.

    Also None for several updates that are independent of each other: each is a sum of its own.
    """
    body = block.body
    if not isinstance(body, SeqStmt) or block.alloc_buffers:
        return None
    stores = [s for s in body.stmts if isinstance(s, BufferStore)]
    buffers = [store.buffer for store in stores]
    if len(stores) < len(body.stmts) or len(set(buffers)) < len(stores) or len(stores) > _MOST:
        return None
    if any(reads(index, buffers) for store in stores for index in store.indices):
        return None
    for make in (_choice, _known_parts, _known):
        try:
            return make(stores, _in_holes(stores))
        except Unlike:
            continue
    return None


def tuple_starts(block: Block) -> tuple[Expr, ...] | None:
    """What the init of `block` puts into the cells of its `tuple_update`, see `starts_of`."""
    found = tuple_update(block)
    return None if found is None else starts_of(block, found.stores)


def _in_holes(stores: Sequence[BufferStore]) -> list[Expr]:
    """The values that are stored, with `lhs` in the place of the state."""
    places = {store.buffer: k for k, store in enumerate(stores)}

    def change(node: Node) -> Node:
        if not isinstance(node, BufferLoad) or node.buffer not in places:
            return node
        place = places[node.buffer]
        if not same_cell(node.indices, stores[place].indices):
            raise Unlike
        return lhs(place, node.buffer.type)

    return [rewrite(store.value, change) for store in stores]


def _holes(types: Sequence[str]) -> dict[Var, int]:
    return {lhs(k, dtype): k for k, dtype in enumerate(types)}


# --- choices --------------------------------------------------------------------------------------


class _Choice:
    """Reads values that are one of the state's or the one that comes in for it."""

    def __init__(self, types: Sequence[str]) -> None:
        self.types = types
        self.places = _holes(types)
        self.terms: dict[int, Expr] = {}
        self.sure: set[int] = set()  # the terms that are computed in any case
        self.known = Simplifier({})

    def value(self, e: Expr, k: int, sure: bool) -> Expr:
        """`e`, which is the value at `k` or what comes in for it, with `rhs` for the latter."""
        used = self.places.keys() & set(free_vars(e))
        if not used:
            return self.term(e, k, sure)
        match e:
            case Var() if self.places[e] == k:
                return e
            case Select(condition, a, b):
                test = self.condition(condition, sure)
                return Select(test, self.value(a, k, sure), self.value(b, k, sure))
            case Call("if_then_else", (condition, a, b)):
                test = self.condition(condition, sure)
                sides = (self.value(a, k, False), self.value(b, k, False))
                return Call("if_then_else", (test, *sides), e.type)
            case BinOp("min" | "max", a, b):
                return binary(e.op, self.value(a, k, sure), self.value(b, k, sure))
        raise Unlike

    def term(self, e: Expr, k: int, sure: bool) -> Expr:
        before = self.terms.setdefault(k, e)
        if self.known.number(before) != self.known.number(e):
            raise Unlike
        if sure:
            self.sure.add(k)
        return rhs(k, self.types[k])

    def condition(self, e: Expr, sure: bool) -> Expr:
        match e:
            case BinOp("and" | "or", a, b):  # the second one may not be computed
                return binary(e.op, self.condition(a, sure), self.condition(b, False))
            case Not(a):
                return Not(self.condition(a, sure))
            case BinOp("<" | "<=" | ">" | ">=" | "==" | "!=", a, b):
                places = {self.places[v] for v in free_vars(e) if v in self.places}
                if len(places) == 1:
                    (k,) = places
                    return binary(e.op, self.value(a, k, sure), self.value(b, k, sure))
        raise Unlike


def _choice(stores: Sequence[BufferStore], values: Sequence[Expr]) -> TupleUpdate:
    types = tuple(store.buffer.type for store in stores)
    read = _Choice(types)
    steps = tuple((k, read.value(value, k, True)) for k, value in enumerate(values))
    if len(read.terms) < len(stores):
        raise Unlike
    if any(k not in read.sure and _may_fail(term) for k, term in read.terms.items()):
        raise Unlike
    if all({*free_vars(value)} <= {lhs(k, types[k]), rhs(k, types[k])} for k, value in steps):
        raise Unlike  # independent of each other
    table = _table(steps, types)
    again = _comes_again(table)
    associates, commutes = _associates(table), _commutes(table)
    combiner = Combiner(
        ("choice", table),
        types,
        tuple((k, rewrite(value, _both_sides)) for k, value in steps),
        steps,
        associates,
        commutes,
        lambda _: again,
        wanted="of equal values let the first one stay, as T.Select(v >= x, …) does",
    )
    terms = tuple(read.terms[k] for k in range(len(stores)))
    return TupleUpdate(combiner, tuple(stores), terms)


def _both_sides(e: Node) -> Node:
    """Of results of others both sides of a choice may be computed."""
    return Select(*e.args) if isinstance(e, Call) else e


def _may_fail(e: Expr) -> bool:
    """Whether a guard may keep `e` from leaving a buffer, or from a division by zero."""
    divides = ("//", "%", "/")
    return any(
        isinstance(n, BufferLoad) or (isinstance(n, BinOp) and n.op in divides) for n in walk(e)
    )


# A choice as what it takes, by how the values of the state stand to those that come in: (1, 0) is
# where the first is larger, the second equal; of those that are larger or smaller, the new one?
_Table = tuple[tuple[tuple[int, ...], tuple[bool, ...]], ...]


def _table(steps: Sequence[Step], types: Sequence[str]) -> _Table:
    found = []
    for signs in product((-1, 0, 1), repeat=len(types)):
        env: dict[Var, Any] = {}
        for k, (dtype, sign) in enumerate(zip(types, signs, strict=True)):
            env |= {lhs(k, dtype): sign, rhs(k, dtype): 0}
        result = _run(steps, types, env)
        new = tuple(r == 0 and s != 0 for r, s in zip(result, signs, strict=True))
        found.append((signs, new))
    return tuple(found)


def _chosen(table: Mapping[Numbers, tuple[bool, ...]], a: Numbers, b: Numbers) -> Numbers:
    signs = tuple((x > y) - (x < y) for x, y in zip(a, b, strict=True))
    return tuple(y if new else x for x, y, new in zip(a, b, table[signs], strict=True))


def _tuples(table: _Table, how_many: int) -> list[Numbers]:
    """Tuples with all the values that tell how `how_many` are ordered."""
    return [*product(range(how_many), repeat=len(table[0][0]))]


@cache
def _associates(table: _Table) -> bool:
    known, every = dict(table), _tuples(table, 3)
    f = {(a, b): _chosen(known, a, b) for a, b in product(every, every)}
    return all(f[f[a, b], c] == f[a, f[b, c]] for a, b, c in product(every, every, every))


@cache
def _commutes(table: _Table) -> bool:
    known, every = dict(table), _tuples(table, 2)
    return all(_chosen(known, a, b) == _chosen(known, b, a) for a, b in product(every, every))


@cache
def _comes_again(table: _Table) -> bool:
    """Whether a start that comes in once more, behind anything, changes nothing."""
    known, every = dict(table), _tuples(table, 2)
    pairs = ((a, _chosen(known, a, b)) for a, b in product(every, every))
    return all(_chosen(known, both, a) == both for a, both in pairs)


# --- known combiners ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Known:
    """A combiner of several values by name, as `update` of a state by one number `x`.

    `terms` are the values that `x` brings; `steps` combine two states; a state is in the order of
    `values`, all floats but for the counts. `compares` is which value `x` is compared with.
    """

    name: str
    update: Callable[[Numbers, Any, Callable[[Any], Any]], Numbers]
    terms: Callable[[Expr, Sequence[str]], tuple[Expr, ...]]
    steps: Callable[[Sequence[Expr], Sequence[Expr]], tuple[Step, ...]]
    starts: Callable[[Sequence[Any]], bool]
    wanted: str
    values: int
    compares: int | None


def _welford_steps(a: Sequence[Expr], b: Sequence[Expr]) -> tuple[Step, ...]:
    dtype = a[1].dtype
    ours, theirs = cast(dtype, a[0]), cast(dtype, b[0])
    every = binary("max", cast(dtype, a[0] + b[0]), const(1, dtype))  # of no values, no 0 / 0
    apart = b[1] - a[1]
    return (
        (2, a[2] + b[2] + apart * apart * ours * theirs / every),
        (1, a[1] + apart * theirs / every),
        (0, a[0] + b[0]),
    )


def _softmax_steps(a: Sequence[Expr], b: Sequence[Expr]) -> tuple[Step, ...]:
    dtype = a[0].dtype
    most = binary("max", a[0], b[0])
    ours, theirs = (Call("exp", (side[0] - most,), dtype) for side in (a, b))
    return (1, a[1] * ours + b[1] * theirs), (0, most)


_KNOWN = (
    _Known(
        "the count, mean and sum of squares of Welford",
        lambda s, x, exp: (
            s[0] + 1,
            s[1] + (x - s[1]) / (s[0] + 1),
            s[2] + (x - s[1]) ** 2 * s[0] / (s[0] + 1),
        ),
        lambda x, types: (const(1, types[0]), x, const(0, types[2])),
        _welford_steps,
        lambda starts: all(start == 0 for start in starts),
        "let T.init() store 0 to each of them",
        values=3,
        compares=None,
    ),
    _Known(
        "the maximum and sum of online softmax",
        lambda s, x, exp: (
            max(s[0], x),
            s[1] * exp(s[0] - max(s[0], x)) + exp(x - max(s[0], x)),
        ),
        lambda x, types: (x, const(1, types[1])),
        _softmax_steps,
        lambda starts: starts[1] == 0 and starts[0] is not None and math.isfinite(starts[0]),
        "let T.init() store T.min_value of its type to the maximum, and 0 to the sum",
        values=2,
        compares=0,
    ),
)


def _found(
    known: _Known, stores: Sequence[BufferStore], update: tuple[Step, ...], terms: Sequence[Expr]
) -> TupleUpdate:
    """The update that brings `terms`; `stores` are in the order of the known one."""
    types = tuple(store.buffer.type for store in stores)
    sides = ([side(k, t) for k, t in enumerate(types)] for side in (lhs, rhs))
    combiner = Combiner(
        (known.name,), types, known.steps(*sides), update, True, True, known.starts, known.wanted
    )  # fmt: skip
    return TupleUpdate(combiner, tuple(stores), tuple(terms))


def _known_parts(stores: Sequence[BufferStore], values: Sequence[Expr]) -> TupleUpdate:
    """What combines results, as `join` writes it."""
    for known in _KNOWN:
        if known.values != len(stores):
            continue
        for order in permutations(range(len(stores))):
            types = [stores[k].buffer.type for k in order]
            if not _fits(types):
                continue
            sides = ([side(k, t) for k, t in enumerate(types)] for side in (lhs, rhs))
            steps = known.steps(*sides)
            if [order[k] for k, _ in steps] != [*range(len(stores))]:
                continue
            renamed = _renamed(stores, order)
            bound = _Bound(types)
            if all(bound.same(step, substitute(values[order[k]], renamed)) for k, step in steps):
                terms = [bound.values[rhs(k, t)] for k, t in enumerate(types)]
                return _found(known, [stores[k] for k in order], steps, terms)
    raise Unlike


def _fits(types: Sequence[str]) -> bool:
    """Whether values of these types can be those of a known combiner: floats, a count first."""
    return all(map(dtypes.is_float, types[1:])) and types[0] != "bool"


def _renamed(stores: Sequence[BufferStore], order: Sequence[int]) -> dict[Var, Expr]:
    """The state in the order of the stores -> the state in another order."""
    types = [store.buffer.type for store in stores]
    return {lhs(k, types[k]): lhs(place, types[k]) for place, k in enumerate(order)}


class _Bound:
    """What stands in an expression where another one has `rhs`."""

    def __init__(self, types: Sequence[str]) -> None:
        self.open = {rhs(k, dtype) for k, dtype in enumerate(types)}
        self.state = _holes(types).keys()
        self.values: dict[Var, Expr] = {}
        self.known = Simplifier({})

    def same(self, pattern: Node, e: Node) -> bool:
        """Whether `e` is `pattern` with something in the place of each `rhs`."""
        if isinstance(pattern, Var) and pattern in self.open:
            if not isinstance(e, Expr) or self.state & set(free_vars(e)):
                return False
            before = self.values.setdefault(pattern, e)
            return self.known.number(before) == self.known.number(e)
        below, others = children(pattern), children(e)
        if not below or len(below) != len(others):
            return self.known.number(pattern) == self.known.number(e)
        zeros = (content(node, lambda _: 0) for node in (pattern, e))
        label, other = zeros
        return label == other and all(map(self.same, below, others))


def _known(stores: Sequence[BufferStore], values: Sequence[Expr]) -> TupleUpdate:
    """What adds one number to a state, however it is written."""
    types = [store.buffer.type for store in stores]
    x, values = _one_term(values, _holes(types))
    for known, order in product(_KNOWN, permutations(range(len(stores)))):
        ordered = [types[k] for k in order]
        if known.values != len(stores) or not _fits(ordered):
            continue
        renamed = {**_renamed(stores, order), _X: _X}
        place = {k: at for at, k in enumerate(order)}
        steps = tuple((place[k], substitute(e, renamed)) for k, e in enumerate(values))
        if _agrees(known, steps, ordered):
            at = next(k for k, term in enumerate(known.terms(_X, ordered)) if term is _X)
            hole: dict[Var, Expr] = {_X: rhs(at, ordered[at])}
            update = tuple((k, substitute(e, hole)) for k, e in steps)
            return _found(known, [stores[k] for k in order], update, known.terms(x, ordered))
    raise Unlike


_X = Var("x", "float32")  # what comes in


def _one_term(values: Sequence[Expr], state: Mapping[Var, int]) -> tuple[Expr, list[Expr]]:
    """The one thing that comes in, and `values` with `_X` in its place."""
    number = Simplifier({}).number
    found: list[Expr] = []

    def change(e: Expr) -> Expr:
        if isinstance(e, Const) or e in state:
            return e
        if state.keys() & set(free_vars(e)):
            return rebuild(e, lambda part: change(part) if isinstance(part, Expr) else part)
        found.append(e)
        return _X

    changed = [change(value) for value in values]
    if len({*map(number, found)}) != 1 or not dtypes.is_float(found[0].dtype):
        raise Unlike
    return found[0], changed


def _agrees(known: _Known, steps: Sequence[Step], types: Sequence[str]) -> bool:
    """Whether `steps` make what `known` does of numbers.

    Both are quotients of sums of products of the values and of powers of e. Two of those that are
    not the same agree at next to no point; in the place of e stands any fraction, so that powers
    are exact. What is compared is tried in each order.
    """
    for node in (n for _, e in steps for n in walk(e)):
        if isinstance(node, BinOp) and node.op in _CHOOSING:
            may = known.compares
            if may is None or not set(children(node)) <= {_X, lhs(may, types[may])}:
                return False
        if isinstance(node, Cast) and not dtypes.is_float(node.type):
            return False
    draw = random.Random(0)
    for sign in (-1, 0, 1) * _POINTS:
        x = Fraction(draw.randint(-60, 60))
        state = [Fraction(draw.randint(1, 10**6)) for _ in types]
        if known.compares is not None:
            state[known.compares] = x + sign * draw.randint(1, 60)
        power = _power_of(Fraction(draw.randint(2, 10**3), draw.randint(1, 10**3)))
        env = {_X: x, **{lhs(k, t): state[k] for k, t in enumerate(types)}}
        try:
            if _run(steps, types, env, power) != known.update(tuple(state), x, power):
                return False
        except (Unlike, ZeroDivisionError):
            return False
    return True


def _power_of(base: Fraction) -> Callable[[Any], Any]:
    def power(exponent: Fraction) -> Fraction:
        if exponent.denominator != 1 or abs(exponent) > 10**3:
            raise Unlike
        return base ** int(exponent)

    return power


# --- numbers --------------------------------------------------------------------------------------


def _exp(x: float) -> float:
    return math.exp(min(x, 700.0))


def _run(
    steps: Sequence[Step],
    types: Sequence[str],
    env: Mapping[Var, Any],
    exp: Callable[[Any], Any] = _exp,
) -> Numbers:
    """The state after `steps`; without rounding for another `exp` than that of floats."""
    now = dict(env)
    for k, value in steps:
        now[lhs(k, types[k])] = _value(value, now, exp)
    return tuple(now[lhs(k, dtype)] for k, dtype in enumerate(types))


def _value(e: Expr, env: Mapping[Var, Any], exp: Callable[[Any], Any]) -> Any:
    match e:
        case Const(value):
            return value if exp is _exp else Fraction(value)
        case Var():
            return env[e]
        case BinOp(op, a, b) if op in _OPERATORS:
            return _OPERATORS[op](_value(a, env, exp), _value(b, env, exp))
        case Not(a):
            return not _value(a, env, exp)
        case Cast(_, a):
            return _value(a, env, exp)
        case Select(test, a, b) | Call("if_then_else", (test, a, b)):
            return _value(a if _value(test, env, exp) else b, env, exp)
        case Call("exp", (a,)):
            return exp(_value(a, env, exp))
    raise Unlike


_CHOOSING = ("<", "<=", ">", ">=", "==", "!=", "min", "max")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "min": min,
    "max": max,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}
