"""lane_terms: what each lane of a warp asks for, as terms that a browser works out, too.

An address is a term over the thread, the block and the turns of loops: a number, the name of an
axis or a loop, or an operator with its operands, as lists that JSON has. `widgets/static/lanes.js`
works out the same. What data decide is no term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from workbench.arith.evaluate import OPERATORS
from workbench.insight.accesses import Access
from workbench.insight.page import Point
from workbench.insight.warps import lane_bytes
from workbench.insight.wavefronts import WARP
from workbench.ir import BinOp, Call, Cast, Const, Expr, Not, Ramp, Select, Var, dtypes

Term: TypeAlias = "int | str | list[Any]"

ELEMENT = "element"  # of a vector whose elements do not lie side by side: one request each

_KNOWN = ("+", "-", "*", "//", "%", "min", "max", "<", "<=", ">", ">=", "==", "!=")  # to lanes.js
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    op: OPERATORS[op] for op in _KNOWN
} | dict.fromkeys(("and", "or"), lambda _, b: bool(b))


class UntoldError(Exception):
    """There is no term: data decide, or numbers that no index has."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the lanes of a warp ask for by one access, which moves `bytes_each` bytes a lane.

    `address` is in bytes from the start of the buffer, for the lanes for which all of `guards`
    hold; None where data decide about either.
    """

    bytes_each: int
    address: Term | None
    guards: tuple[Term, ...]

    def plain(self) -> list[Any] | None:
        """It as `lanes.js` takes it; None where data decide."""
        return None if self.address is None else [self.bytes_each, self.address, [*self.guards]]

    def lanes(
        self, block: Point, threads: Point, warp: int, turns: Mapping[str, int]
    ) -> tuple[int | None, ...]:
        """The address of each lane of a warp of a `block`, which has so many `threads` each way.

        None where the lane is idle, or there is no such thread. `turns` has a number for each loop
        around. Only where there is an address.
        """
        assert self.address is not None
        wide, high, deep = threads
        at: dict[str, int] = {f"blockIdx.{axis}": n for axis, n in zip("xyz", block, strict=True)}
        at |= turns
        found: list[int | None] = []
        for number in range(warp * WARP, (warp + 1) * WARP):
            place = number % wide, number // wide % high, number // (wide * high)
            at |= {f"threadIdx.{axis}": n for axis, n in zip("xyz", place, strict=True)}
            awake = number < wide * high * deep and all(worked_out(g, at) for g in self.guards)
            found.append(worked_out(self.address, at) if awake else None)
        return tuple(found)


def asked(access: Access, names: Mapping[Var, str]) -> Asked:
    """What lanes ask for by `access`, in which loops and axes have these `names`."""
    size, index = dtypes.itemsize(access.buffer.type), access.indices[0]
    base = index.base if isinstance(index, Ramp) else index
    try:
        address: Term = ["*", term(base, names), size]
        if isinstance(index, Ramp) and index.stride != 1:
            address = ["+", address, ["*", ELEMENT, index.stride * size]]
        guards = tuple(term(guard, names) for guard in access.guards)
    except UntoldError:
        return Asked(lane_bytes(access), None, ())
    return Asked(lane_bytes(access), address, guards)


def term(e: Expr, names: Mapping[Var, str]) -> Term:
    """An index or a condition as a term. Raises UntoldError where it is none."""
    match e:
        case Const(value=value) if not isinstance(value, float):
            return int(value)
        case Var() if e in names:
            return names[e]
        case BinOp(op, a, b) if op in _OPERATORS:
            return [op, term(a, names), term(b, names)]
        case Not(a):
            return ["==", term(a, names), 0]
        case Cast(value=value) if not dtypes.is_float(e.dtype):
            return term(value, names)
        case Select(condition, yes, no) | Call("if_then_else", (condition, yes, no)):
            return ["?", *(term(part, names) for part in (condition, yes, no))]
    raise UntoldError


def worked_out(told: Term, at: Mapping[str, int]) -> int:
    """The value of a term where axes and loops have the numbers `at`; a condition's is 0 or 1."""
    if isinstance(told, int):
        return told
    if isinstance(told, str):
        return at[told]
    op, first, *rest = told
    if op == "?":
        return worked_out(rest[0] if worked_out(first, at) else rest[1], at)
    a = worked_out(first, at)
    if op in ("and", "or") and bool(a) == (op == "or"):
        return int(op == "or")  # what the other side says is not asked: it may divide by 0
    return int(_OPERATORS[op](a, worked_out(rest[0], at)))
