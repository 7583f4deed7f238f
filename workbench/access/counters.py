"""Loops that count together: `a * 4 + b`, its digits, and where a T.where stops it.

It has no algebra of its own: sums are those of `arith`. What it asks of them is more than that they
tell loops apart (`arith.is_injective`, where factors may leave gaps): the sum counts 0, 1, 2, ….
Then it, or each of its digits, is as good as a loop, and stands as a variable with bounds in what
is asked next. That `arith` cannot do by itself: bounds are of variables, and a predicate bounds a
sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from workbench import arith
from workbench.access.units import short
from workbench.arith import Bounds, SizedEnds, conjuncts, joined
from workbench.arith.canonical import Sum
from workbench.ir import (
    TRUE,
    BinOp,
    BlockRealize,
    Const,
    Expr,
    Node,
    Size,
    SizeVar,
    Var,
    const,
    dtypes,
    free_vars,
    rebuild,
    size_expr,
    substitute,
    walk,
)


def counted(
    realize: BlockRealize, inner: Bounds, digits: bool = False
) -> tuple[BlockRealize, Bounds]:
    """`realize` told by one variable for each counter that its predicate stops, and its bounds.

    ``T.where(a * 128 + b < 130)`` with `a` and `b` in `inner` says that the two loops count to
    130; with `digits`, so do those of a loop, ``T.where(a * 2 + f // 4 < 3)``, each of which is a
    variable then. What is left of the predicate is that of the result.
    """
    conditions = conjuncts(realize.predicate)
    count = stopped_digits if digits else stopped
    values, inner, left, _ = count(realize.iter_values, conditions, inner)
    return replace(realize, iter_values=tuple(values), predicate=joined(left)), inner


def stopped_digits(
    values: Sequence[Expr], conditions: Sequence[Expr], inner: Bounds
) -> tuple[list[Expr], Bounds, list[Expr], dict[Var, Expr]]:
    """As `stopped`, with a variable for each digit of a loop that goes into `conditions`, too."""
    told = [*values, *(short(condition, {}) for condition in conditions)]
    if conditions:
        told, inner = untangled(told, inner)
    return stopped(told[: len(values)], told[len(values) :], inner)


def stopped(
    values: Sequence[Expr], conditions: Iterable[Expr], inner: Bounds
) -> tuple[list[Expr], Bounds, list[Expr], dict[Var, Expr]]:
    """`values`, bounds and what is left of `conditions`, with a variable for each stopped counter.

    The last result is what each counts, in the loops of `inner`; its value tells those of all of
    them, which are used no more.
    """
    values, counters = list(values), dict[Var, Expr]()
    waiting, left = _open(conditions, inner), list[Expr]()
    while waiting:
        condition, *waiting = waiting
        found = _counter(condition, inner)
        if found is not None:
            expr, stop = found
            counter = Var("n", expr.dtype)
            changed = [_told_by(e, expr, counter) for e in (*values, *left, *waiting)]
            now = {v for e in changed for v in variables(e)}
            if counter in now and not variables(expr) & now:
                inner = {v: ends for v, ends in inner.items() if v not in variables(expr)}
                inner[counter] = _ends_before(stop, counter)
                counters[counter] = substitute(expr, counters)
                values, left = changed[: len(values)], []
                # with those before: they may count the counter
                waiting = _open(changed[len(values) :], inner)
                continue
        left.append(condition)
    return values, inner, left, counters


def _open(conditions: Iterable[Expr], inner: Bounds) -> list[Expr]:
    """Those of `conditions` that are not proved to hold in all turns of `inner`."""
    known = arith.Simplifier(inner)
    return [condition for condition in conditions if not arith.proved(condition, known)]


def _told_by(e: Expr, counted: Expr, counter: Var) -> Expr:
    """`e` with `counter` for what it counts, also where that is written out in a longer sum."""
    found = put(e, counted, counter)
    loops = variables(counted)
    if not loops & variables(found):
        return found
    factors = arith.linear(counted, loops)
    unit = next((v for v, factor in factors[0].items() if factor == 1), None) if factors else None
    if unit is None:
        return found
    solved = counter - substitute(counted, {unit: const(0, unit.type)})
    told = arith.simplify(substitute(found, {unit: solved}))
    return found if loops & variables(told) else told


def limited(
    values: Sequence[Expr], conditions: Iterable[Expr], own: Bounds
) -> tuple[list[Expr], Bounds]:
    """`values` and bounds that `conditions` narrow, for what holds at most: a box around them.

    A sum need not count here: what ``i * 128 + j < 130`` bounds is a variable of its own with that
    bound, for which one of the sum is solved.
    """
    values = list(values)
    for condition in conditions:
        if set(free_vars(condition)) <= own.keys():
            narrowed = arith.narrow(own, condition)
            own = narrowed if all(low <= high for low, high in narrowed.values()) else own
        match condition:
            case BinOp("<" | "<=" as op, total, limit) if set(free_vars(total)) <= own.keys():
                if not isinstance(limit, Const) and not arith.by_sizes(limit):
                    continue
                affine = arith.linear(total, own)
                ends = arith.bounds(total, own)
            case _:
                continue
        factors = affine[0] if affine is not None and ends is not None else {}
        unit = next((var for var, factor in factors.items() if factor == 1), None)
        if len(factors) > 1 and ends is not None and unit is not None:
            whole = Var("n", unit.type)
            value = whole - substitute(total, {unit: const(0, unit.type)})
            values = [substitute(one, {unit: value}) for one in values]
            last = limit - (op == "<")
            if isinstance(last, Const):
                own = {**own, whole: (ends[0], max(ends[0], int(last.value)))}
            else:
                own = {**own, whole: SizedEnds(ends[0], ends[1], last)}
    return values, own


def one_to_one(values: Sequence[Expr], inner: Bounds, dom: Bounds, predicate: Expr = TRUE) -> bool:
    """Whether it is proved that no two assignments of `inner` give the same `values`.

    `dom` bounds the other variables, which stay as they are.
    """
    values, inner, left, _ = stopped(values, conjuncts(predicate), inner)
    used = {v for value in values for v in variables(value)}
    outer = {v: ends for v, ends in dom.items() if v in used and v not in inner}
    known = {**outer, **inner}
    held = joined(c for c in left if variables(c) <= known.keys())
    return arith.is_injective([*outer, *values], known, held) is True


def _ends_before(stop: Expr, counter: Var) -> tuple[int, int]:
    """The values of a counter that stops ahead of `stop`."""
    if isinstance(stop, Const):
        return 0, int(stop.value) - 1
    most = arith.bounds(stop, {})
    assert most is not None, "sizes have bounds"
    return arith.ends_of(const(0, counter.type), stop, 0, most[1] - 1)


def _counter(condition: Expr, inner: Bounds) -> tuple[Expr, Expr] | None:
    """`e` and `n` of a condition ``e < n`` whose `e` counts through loops of `inner`."""
    match condition:
        case BinOp("<", BinOp("//", expr, Const(value=int(step))), Const(value=int(stop))):
            whole = stop * step if step > 0 else 0
            fits = 0 < whole <= dtypes.limits(expr.dtype)[1]
            return _counter(expr < const(whole, expr.dtype), inner) if fits else None
        case BinOp("<", expr, stop) if isinstance(stop, Const) or arith.by_sizes(stop):
            size = count_of(expr, inner)
            if isinstance(size, int) and isinstance(stop, Const):
                return (expr, stop) if 0 < int(stop.value) <= size else None
            far = size is not None and arith.prove(stop <= size, {})
            return (expr, stop) if far and arith.prove(stop >= 0, {}) else None
    return None


def count_of(expr: Expr, inner: Bounds) -> Size | None:
    """How far `expr` counts, 0, 1, 2, …, as the loops of `inner` run; None where it does not.

    Sizes tell it where they tell how often the slowest of the loops runs.
    """
    used = variables(expr)
    found = arith.linear(expr, used) if used and used <= set(inner) else None
    if found is None:
        return _count_of_rows(expr, inner)
    if not isinstance(found[1], Const) or found[1].value != 0:
        return None
    step: Size = 1
    for var, factor in sorted(found[0].items(), key=lambda item: item[1]):
        ends = inner[var]
        if ends == (0, 0):
            continue
        if not isinstance(step, int) or factor != step or ends[0] != 0:
            return None
        if isinstance(ends, SizedEnds):
            step = arith.simplify((ends.last + 1) * step)
        else:
            step *= ends[1] + 1
    return step


def rows_in(expr: Expr) -> Iterator[tuple[Expr, Expr, Expr]]:
    """Each `a`, `width` and `b` of which `expr` is ``a * width + b``; sizes tell the width."""
    if not _has_sizes(expr):
        return
    known = arith.Simplifier({})
    total = known.sum_of(expr)
    for digit, factor in total.digits.items():
        found = known.row_of(digit)
        if found is not None and factor > 0:
            rest = total.plus(Sum({digit: factor}), -1)
            row, cell = (known.expr_of(part, expr.dtype) for part in (found[0], rest))
            yield row, found[1] * factor, cell


def _count_of_rows(expr: Expr, inner: Bounds) -> Size | None:
    """As `count_of`, of rows of a width that sizes tell, each as long as that."""
    for row, width, cell in rows_in(expr):
        counts = count_of(row, inner), count_of(cell, inner)
        if None not in counts and variables(row).isdisjoint(variables(cell)):
            rows, cells = (size_expr(count, expr.dtype) for count in counts)
            if arith.equal(cells, width) and arith.prove(rows >= 0, {}):
                return arith.simplify(rows * width)
    return None


def untangled(values: Sequence[Expr], inner: Bounds) -> tuple[list[Expr], Bounds]:
    """`values` with a variable of its own for each digit that ``//`` and ``%`` take of a counter.

    Of ``f // 3`` and ``f % 3`` with `f` counting to 18, the digits are 0 … 5 and 0 … 2; of rows
    whose width sizes tell, row and cell.
    """
    result, inner = _rows_untangled(values, inner)
    for source, steps in _tangles(result).items():
        size = count_of(source, inner)
        cuts = [1, *sorted(steps)]
        if not isinstance(size, int) or any(
            b % a for a, b in zip(cuts, [*cuts[1:], size], strict=True)
        ):
            continue
        counter = Var("n", source.dtype)
        changed = [put(v, source, counter) for v in result]
        if any(variables(source) & variables(v) for v in changed):
            continue
        digits = {Var("d", source.dtype): step for step in cuts}
        ends = [b // a for a, b in zip(cuts, [*cuts[1:], size], strict=True)]
        inner = {**inner, **{d: (0, n - 1) for d, n in zip(digits, ends, strict=True)}}
        total = sum((d * step for d, step in digits.items()), start=const(0, source.dtype))
        short = arith.Simplifier(inner).simplify
        result = [short(substitute(v, {counter: total})) for v in changed]
    return result, inner


def _rows_untangled(values: Sequence[Expr], inner: Bounds) -> tuple[list[Expr], Bounds]:
    """As `untangled`, of ``f // width`` and ``f % width`` where sizes tell the width."""
    result = list(values)
    for source, width in _by_width(values):
        rows = _number_of_rows(count_of(source, inner), width)
        if rows is None:
            continue
        row, cell = Var("row", source.dtype), Var("cell", source.dtype)
        changed = [put(put(v, source // width, row), source % width, cell) for v in result]
        if not any(variables(source) & variables(v) for v in changed):
            inner = {v: ends for v, ends in inner.items() if v not in variables(source)}
            inner |= {row: _ends_before(rows, row), cell: _ends_before(width, cell)}
            result = changed
    return result, inner


def _has_sizes(e: Expr) -> bool:
    return any(isinstance(v, SizeVar) for v in free_vars(e))


def _by_width(values: Sequence[Expr]) -> list[tuple[Expr, Expr]]:
    """What is divided in `values` by a width that sizes tell, with that width."""
    nodes = (node for value in values if _has_sizes(value) for node in walk(value))
    return [(n.a, n.b) for n in nodes if isinstance(n, BinOp) and n.op in ("//", "%")
            and arith.by_sizes(n.b) and not arith.by_sizes(n.a)]  # fmt: skip


def _number_of_rows(count: Size | None, width: Expr) -> Expr | None:
    """How many rows of `width` make up `count`; None where it is not told as a product."""
    match count:
        case BinOp("*", a, b):
            for rows, each in ((a, b), (b, a)):
                if arith.equal(each, width) and all(arith.prove(n >= 0, {}) for n in (rows, each)):
                    return rows
    return None


def rows_counted(values: Sequence[Expr], inner: Bounds) -> tuple[list[Expr], Bounds]:
    """`values` with a variable of its own for each that counts rows whose width sizes tell."""
    result, inner = list(values), dict(inner)
    for k, value in enumerate(values):
        others = {v for other in (*values[:k], *values[k + 1 :]) for v in variables(other)}
        size = _count_of_rows(value, inner) if others.isdisjoint(variables(value)) else None
        if size is not None:
            result[k] = counter = Var("n", value.dtype)
            inner = {v: ends for v, ends in inner.items() if v not in variables(value)}
            inner[counter] = _ends_before(size, counter)
    return result, inner


def _tangles(values: Sequence[Expr]) -> dict[Expr, set[int]]:
    """What ``//`` and ``%`` are taken of in `values`, and by how much."""
    found: dict[Expr, set[int]] = {}
    known = arith.anywhere()
    for node in (n for value in values for n in walk(value)):
        match node:
            case BinOp("//" | "%", source, Const(value=step)) if isinstance(step, int):
                outer = 1
                while isinstance(source, BinOp) and source.op == "//":
                    if not isinstance(source.b, Const):
                        break
                    outer *= int(source.b.value)
                    source = source.a
                same = next((s for s in found if arith.same(s, source, known)), source)
                found.setdefault(same, set()).update({outer, outer * step} - {1})
    return found


def put(value: Expr, old: Expr, new: Expr) -> Expr:
    """`value` with every part equal to `old` replaced by `new`."""
    used, known = variables(old), arith.anywhere()

    def visit(node: Node) -> Node:
        if not isinstance(node, Expr):
            return rebuild(node, visit)
        own = variables(node)
        if not used <= own:
            return node  # nor does a part of it use all of them
        return new if used == own and arith.same(node, old, known) else rebuild(node, visit)

    return visit(value)  # type: ignore[return-value]


def variables(e: Expr) -> set[Var]:
    """The variables in an expression."""
    return set(free_vars(e))


def in_turn(realize: BlockRealize, dom: Bounds) -> tuple[list[Expr], Bounds] | None:
    """The values of the iterators by digits that take their turns as loops would, and their bounds.

    `dom` are the loops around, outermost first. None where some count together, but not in the
    order in which they run.
    """
    values, found, _, counters = stopped(realize.iter_values, conjuncts(realize.predicate), dom)
    divided = [*_tangles(values), *(source for source, _ in _by_width(values))]
    sources = [one for one in divided if count_of(one, found) is not None]
    together = [*counters.values(), *(substitute(one, counters) for one in sources)]
    return untangled(values, found) if all(_runs_in_order(e, dom) for e in together) else None


def _runs_in_order(counter: Expr, dom: Bounds) -> bool:
    """Whether `counter` grows as the loops of `dom` run, outermost first."""
    found = arith.linear(counter, variables(counter))
    turning = [v for v, (low, high) in dom.items() if low < high]
    if found is None:  # rows, of which the cells run inside
        rows = next(rows_in(counter), None)
        if rows is None:
            return False
        row, _, cell = rows
        ends = [k for k, v in enumerate(turning) if v in variables(row)]
        begins = [k for k, v in enumerate(turning) if v in variables(cell)]
        nested = max(ends, default=-1) < min(begins, default=len(turning))
        return nested and _runs_in_order(row, dom) and _runs_in_order(cell, dom)
    factors = [found[0][v] for v in turning if v in found[0]]
    return factors == sorted(factors, reverse=True)
