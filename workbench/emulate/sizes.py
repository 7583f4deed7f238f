"""The sizes of a program as the shapes of arrays tell them, held equal among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.arith import linear, simplify
from workbench.arith.normal import MOST
from workbench.diag import Refusal
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    Call,
    Const,
    Expr,
    For,
    IfThenElse,
    IterVar,
    Node,
    PrimFunc,
    Select,
    Sized,
    SizeVar,
    Var,
    children,
    const,
    dtypes,
    free_vars,
    substitute,
    walk,
)
from workbench.script.memory import size_text

Told = tuple[Expr, int, str]  # a dimension, how long it is, and of which array


def sizes_of(func: PrimFunc, arrays: Sequence[Any]) -> dict[SizeVar, int]:
    """The number of each size of `func`, as the shapes of `arrays` tell it.

    What is no array, or has another number of dimensions, tells nothing. Raises Refusal where two
    arrays tell different numbers, where none tells one, and where a reduction has nothing to do.
    """
    told = [
        (n, int(count), f"{buffer.name}.shape[{axis}]")
        for buffer, given in zip(func.params, arrays, strict=False)
        if len(shape := _shape_of(given)) == len(buffer.shape)
        for axis, (n, count) in enumerate(zip(buffer.shape, shape, strict=True))
        if isinstance(n, Expr)
    ]
    found = _solve_all(told)
    for size in func.sizes:
        if size not in found:
            _check_divides(told, found, size)
            numbers = ", ".join(f'"{other.name}": 1024' for other in func.sizes)
            hint = f"give a number: func.specialize({{{numbers}}})"
            raise Refusal(f"no array tells the size `{size.name}`", hint=hint)
    values = {size: found[size][0] for size in func.sizes}
    for size, value in values.items():
        if not 0 <= value <= MOST:
            hint = f"pass arrays whose sizes are 0 to {MOST}"
            raise Refusal(f"the size `{size.name}` is {value}", hint=hint)
    _check_equal(told, found, values)
    _check_reductions(func, values)
    return values


def refuse_division(values: Mapping[SizeVar, int]) -> Refusal:
    """The refusal of `values` with which a dimension, or a number of turns, divides by 0."""
    told = ", ".join(f"{size.name} = {value}" for size, value in values.items())
    return Refusal(
        f"with {told}, it divides by 0",
        hint="pass arrays with which nothing is divided by 0",
    )


def divides_at_first(node: Node, at: Mapping[Var, Expr]) -> bool:
    """Whether `node` surely divides by 0 in the first turn of all loops in it; `at` are variables.

    A processor stops there. What stands under a condition that data decide is not told.
    """
    match node:
        case For(var, low, extent, body=body):
            if any(divides_at_first(end, at) for end in (low, extent)):
                return True
            turns = _here(extent, at)
            runs = isinstance(turns, Const) and turns.value > 0
            return runs and divides_at_first(body, {**at, var: _here(low, at)})
        case BlockRealize(predicate=predicate, block=block):
            if any(divides_at_first(e, at) for e in (*node.iter_values, predicate)):
                return True
            inner = {**at, **{v: _here(e, at) for v, e in node.bindings.items()}}
            parts = [part for part in (block.init, block.body) if part is not None]
            runs = _is(True, predicate, at)
            return runs and any(divides_at_first(part, inner) for part in parts)
        case IfThenElse(c, yes, no) | Select(c, yes, no) | Call("if_then_else", (c, yes, no)):
            taken = yes if _is(True, c, at) else no if _is(False, c, at) else None
            return divides_at_first(c, at) or (taken is not None and divides_at_first(taken, at))
        case BinOp("and" | "or", a, _):
            return divides_at_first(a, at)
        case BinOp("//" | "%", _, b) if _is(0, b, at):
            return True
    return any(divides_at_first(child, at) for child in children(node))


def _is(value: int, e: Expr, at: Mapping[Var, Expr]) -> bool:
    """Whether `e` is known to be `value`, a number or a truth."""
    found = _here(e, at)
    return isinstance(found, Const) and found.value == value and not dtypes.is_float(found.type)


def _here(e: Expr, at: Mapping[Var, Expr]) -> Expr:
    """`e` with the variables `at`; as it is where a part of it that is not reached divides by 0."""
    try:
        return substitute(e, at)
    except ZeroDivisionError:
        return e


def _shape_of(given: Any) -> tuple[int, ...]:
    shape = getattr(given, "shape", None)
    return tuple(shape) if isinstance(shape, (tuple, list)) else ()


def _solve_all(told: Sequence[Told]) -> dict[SizeVar, tuple[int, str]]:
    """Each size with its number and which array told it; those first that stand alone."""
    found: dict[SizeVar, tuple[int, str]] = {}
    news = True
    while news:
        news = False
        for n, count, place in sorted(told, key=lambda one: not isinstance(one[0], SizeVar)):
            known: dict[Var, Expr] = {v: const(value, v.type) for v, (value, _) in found.items()}
            solved = _solved(substitute(n, known), count)
            if solved is not None:
                found[solved[0]] = solved[1], place
                news = True
    return found


def _check_divides(
    told: Iterable[Told], found: Mapping[SizeVar, tuple[int, str]], size: SizeVar
) -> None:
    """Refuse a dimension that would tell `size`, were it as long as it is for one of its values."""
    known: dict[Var, Expr] = {v: const(value, v.type) for v, (value, _) in found.items()}
    for n, count, place in told:
        factors = linear(substitute(n, known), [size])
        if factors is None or not isinstance(factors[1], Const) or not factors[0].get(size):
            continue
        raise Refusal(
            f"{place} is {count}, which is no `{size_text(n)}`",
            detail=", ".join(f"{v.name} = {found[v][0]}" for v in found if v in free_vars(n)),
            hint=f"pass arrays that fit some `{size.name}`",
        )


def _solved(n: Expr, count: int) -> tuple[SizeVar, int] | None:
    """The size that ``n = count`` tells, where `n` has one alone, as ``n * 2 + 1``."""
    unknown = [v for v in free_vars(n) if isinstance(v, SizeVar)]
    factors = linear(n, unknown) if len(unknown) == 1 else None
    if factors is None or not isinstance(factors[1], Const):
        return None
    factor = factors[0].get(unknown[0], 0)
    rest = count - int(factors[1].value)
    return (unknown[0], rest // factor) if factor and rest % factor == 0 else None


def _check_equal(
    told: Iterable[Told], found: dict[SizeVar, tuple[int, str]], values: dict[SizeVar, int]
) -> None:
    at = Sized(values)
    for n, count, place in told:
        try:
            wanted: int | None = at.number(n)
        except ZeroDivisionError:
            wanted = None
        if wanted == count:
            continue
        by = [f"{v.name} = {found[v][0]} by {found[v][1]}" for v in found if v in free_vars(n)]
        own = f" by {found[n][1]}" if isinstance(n, SizeVar) else ""
        raise Refusal(
            f"`{size_text(n)}` is {wanted}{own}, and {count} by {place}",
            detail="" if own else ", ".join(by),
            hint="pass arrays whose sizes agree",
        )


def _check_reductions(func: PrimFunc, values: dict[SizeVar, int]) -> None:
    """Refuse a reduction over nothing: it has no first turn, in which T.init would run."""
    at = Sized(values)
    for block in (node for node in walk(func.body) if isinstance(node, Block)):
        for it in block.iter_vars if block.init is not None else ():
            if it.kind == "reduce" and _is_empty(at.of(it)):
                told = ", ".join(f"{size.name} = {value}" for size, value in values.items())
                ahead = f'sch.decompose_reduction("{block.name}", …)'
                raise Refusal(
                    f"with {told}, `{block.name}` has nothing to reduce",
                    hint=f"pass arrays with something to reduce, or start it ahead: {ahead}",
                )


def _is_empty(it: IterVar) -> bool:
    extent = simplify(it.dom.extent)
    return isinstance(extent, Const) and extent.value < 1
