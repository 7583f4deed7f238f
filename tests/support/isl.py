"""isl as a referee: whether integers meet conditions is decided there exactly, for any size.

Its answers are those of the integer set library (S. Verdoolaege, ICMS 2010), on systems of linear
equations and inequalities with floor division. Outside of that are division that truncates, types
that wrap around, products of variables, and what is in memory. Work is limited by isl's own count
of operations, so that an answer is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from workbench import arith
from workbench.access.accesses import Access
from workbench.access.meet import Question
from workbench.ir import BinOp, Const, Expr, For, Not, Var, free_vars

OPERATIONS = 2_000_000  # about a second

_AS_WRITTEN = {"+": "+", "-": "-", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "=",
               "and": "and", "or": "or"}  # fmt: skip


class OutsideError(Exception):
    """What isl has no words for."""


def load_isl() -> Any:
    """The package, or the test is skipped."""
    return pytest.importorskip("islpy", reason="islpy is not installed: pip install '.[isl]'")


def written(e: Expr, names: Mapping[Var, str]) -> str:
    """`e` in isl's words, its variables by `names`."""
    match e:
        case Const(value=value):
            return str(value).lower()
        case Var():
            return names[e]
        case Not(a):
            return f"(not {written(a, names)})"
        case BinOp("!=", a, b):
            return f"(not ({written(a, names)} = {written(b, names)}))"
        case BinOp("*", a, Const(value=times)) | BinOp("*", Const(value=times), a):
            return f"({times} * {written(a, names)})"
        case BinOp("//", a, Const(value=int(by))) if by > 0:
            return f"floor({written(a, names)} / {by})"
        case BinOp("%", a, Const(value=int(by))) if by > 0:
            return f"({written(a, names)} mod {by})"
        case BinOp(op, a, b) if op in _AS_WRITTEN:
            return f"({written(a, names)} {_AS_WRITTEN[op]} {written(b, names)})"
    raise OutsideError(f"isl has no words for {e}")


def never(isl: Any, conditions: Iterable[str], names: Iterable[str]) -> bool | None:
    """Whether no integers meet all of `conditions`; None where that takes too long."""
    text = f"{{ [{', '.join(names)}] : {' and '.join(conditions)} }}"
    context = isl.Context()
    context.set_max_operations(OPERATIONS)
    try:
        return bool(isl.Set.read_from_str(context, text).is_empty())
    except isl.Error as error:
        assert "maximal number of operations" in str(error), f"{error}: {text}"
        return None


def _named(variables: Iterable[Var], letter: str) -> dict[Var, str]:
    return {var: f"{letter}{number}" for number, var in enumerate(variables)}


def _ends(names: Mapping[Var, str], dom: arith.Bounds) -> list[str]:
    return [f"{dom[v][0]} <= {name} <= {dom[v][1]}" for v, name in names.items()]


def _differ(one: Sequence[str], other: Sequence[str]) -> str:
    return "(" + " or ".join(f"not ({a} = {b})" for a, b in zip(one, other, strict=True)) + ")"


def is_injective(isl: Any, indices: Sequence[Expr], dom: arith.Bounds, where: Expr) -> bool | None:
    """As `arith.is_injective`, where `dom` has all variables."""
    ways = _named(dom, "a"), _named(dom, "b")
    conditions = [end for names in ways for end in (*_ends(names, dom), written(where, names))]
    for index in indices:
        conditions.append(" = ".join(written(index, names) for names in ways))
    conditions.append(_differ(*([*names.values()] for names in ways)))
    return never(isl, conditions, (name for names in ways for name in names.values()))


def never_meets(isl: Any, a: Access[For], b: Access[For], question: Question) -> bool | None:
    """Whether `a` and `b` never meet."""
    dom = question.known.dom
    asked = {v for group in question.differ for e in group for v in free_vars(e)}
    used = sorted(a.variables() | b.variables() | asked, key=lambda var: var.name)
    own = [v for v in used if v in question.own]
    same = _named([v for v in used if v not in question.own], "s")
    ways = same | _named(own, "a"), same | _named(own, "b")
    conditions = [end for names in ways for end in _ends(names, dom)]
    for side, names in zip((a, b), ways, strict=True):
        conditions += [written(guard, names) for guard in side.guards]
    for x, m, y, n in zip(a.indices, a.sizes, b.indices, b.sizes, strict=True):
        one, other = written(x, ways[0]), written(y, ways[1])
        conditions.append(f"{other} - {m} < {one} < {other} + {n}")
    for group in question.differ:
        conditions.append(_differ(*([written(e, names) for e in group] for names in ways)))
    return never(isl, conditions, dict.fromkeys(name for way in ways for name in way.values()))
