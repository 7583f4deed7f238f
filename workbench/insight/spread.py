"""The loops around an access cut into digits, so that what is independent is looked at apart."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from workbench.arith import reads_memory
from workbench.arith.content import content
from workbench.emulate.expressions import Expressions
from workbench.emulate.kernels.affine import Digit, Digits, Form
from workbench.insight.accesses import Access
from workbench.ir import Expr, Node, Ramp, Var, free_vars, walk

T = TypeVar("T")

_EVALUATE = Expressions()


def value(expr: Expr, env: Mapping[Var, Any]) -> Any:
    """`expr` over the arrays in `env`; it must not read memory."""
    with np.errstate(all="ignore"):
        return _EVALUATE.value(expr, env, None)


def along_axes(sizes: Iterable[int]) -> tuple[Any, ...]:
    """For each size the numbers below it, along an axis of its own."""
    known = tuple(sizes)
    last = len(known) - 1
    # a browser's Python counts in 32 bits if it is told nothing, and addresses may have more
    return tuple(
        np.arange(n, dtype=np.int64).reshape((1,) * k + (n,) + (1,) * (last - k))
        for k, n in enumerate(known)
    )


def holding(guards: Iterable[Expr], env: Mapping[Var, Any], shape: tuple[int, ...]) -> Any:
    """Where all of `guards` hold, which no data decide, as an array of `shape`."""
    keep = np.ones(shape, dtype=bool)
    for guard in guards:
        keep &= np.asarray(value(guard, env), dtype=bool)
    return keep


def width(access: Access) -> int:
    """The length of the vector that it is, 1 for a single element."""
    return max((n.lanes for n in walk(access.node) if isinstance(n, Ramp)), default=1)


def neighbours(access: Access) -> Var | None:
    """The variable of the innermost loop whose turns touch neighbours, cells or vectors of them."""
    of = spread(access)
    own = {var: loop.var for var, loop in zip(of.extents, access.loops, strict=True)}
    digits = [
        d for d, step in of.forms[-1].terms.items() if isinstance(d, Digit) and step == of.width
    ]
    beside = {digit.var for digit in digits if digit.stride == 1}
    return next((own[var] for var in reversed(of.extents) if var in beside), None)


@dataclass(frozen=True, slots=True)
class Group:
    """Dimensions of an index and conditions that share digits, and these digits."""

    digits: frozenset[Digit]
    dims: tuple[int, ...]
    guards: tuple[Expr, ...]


class Spread:
    """Accesses that are alike: their index as forms over digits of the loops around.

    It is told in the variables of one of them; `within` brings values of another's to these.
    `known` is what was found out, for it is the same for all of them.
    """

    def __init__(self, access: Access) -> None:
        self.known: dict[Hashable, Any] = {}
        self.shape = access.buffer.shape
        self.ramp = next((i for i in access.indices[:1] if isinstance(i, Ramp)), None)
        self.virtual = [loop.var for loop in access.loops if loop.role == "virtual"]
        self.bases = [i.base if isinstance(i, Ramp) else i for i in access.indices]
        self.reads_memory = [reads_memory(base) for base in self.bases]
        self.guards = [guard for guard in access.guards if not reads_memory(guard)]
        self.width = width(access)
        self.extents = {loop.var: loop.extent for loop in access.loops}
        self.cut = Digits(self.extents, {})
        self.cut.cut_for(self.bases)
        self.forms: list[Form] = [self.cut.form(base) for base in self.bases]
        self._dims = [self._digits_of(form, base) for form, base in self._pairs()]
        self._guards = [self._all_digits(guard) for guard in self.guards]
        self.asked = frozenset(var for guard in self.guards for var in free_vars(guard))
        self._groups: dict[tuple[frozenset[Var], bool], list[Group]] = {}

    def _pairs(self) -> Iterable[tuple[Form, Expr]]:
        return zip(self.forms, self.bases, strict=True)

    def _all_digits(self, expr: Expr) -> frozenset[Digit]:
        return frozenset(d for v in free_vars(expr) for d in self.cut.of.get(v, ()))

    def _digits_of(self, form: Form, base: Expr) -> frozenset[Digit]:
        if form.rest:
            return self._all_digits(base)
        return frozenset(d for d in form.terms if isinstance(d, Digit))

    def free(self, fixed: Mapping[Var, int]) -> list[Digit]:
        """The digits of the loops that run; one that is always 0 needs no axis of an array."""
        running = [var for var in self.extents if var not in fixed]
        return [d for var in running for d in self.cut.of[var] if d.size > 1]

    def groups(self, fixed: Mapping[Var, int], *, only_guards: bool = False) -> list[Group]:
        """Dimensions and conditions that share a running digit, together."""
        key = frozenset(self.extents.keys() & fixed.keys()), only_guards
        if key not in self._groups:
            self._groups[key] = self._grouped(frozenset(self.free(fixed)), only_guards)
        return self._groups[key]

    def _grouped(self, free: frozenset[Digit], only_guards: bool) -> list[Group]:
        items = [Group(d & free, (), (g,)) for d, g in zip(self._guards, self.guards, strict=True)]
        if not only_guards:
            items = [Group(d & free, (k,), ()) for k, d in enumerate(self._dims)] + items
        groups: list[Group] = []
        for item in items:
            merged, apart = item, []
            for group in groups:
                if group.digits & item.digits:
                    merged = Group(
                        merged.digits | group.digits,
                        tuple(sorted(group.dims + merged.dims)),
                        group.guards + merged.guards,
                    )
                else:
                    apart.append(group)
            groups = [*apart, merged]
        return groups

    def values(self, digits: Collection[Digit], fixed: Mapping[Var, int]) -> dict[Digit, Any]:
        """Every digit as an array: `digits` along an axis each, the others as numbers."""
        found: dict[Digit, Any] = {
            digit: fixed.get(digit.var, 0) // digit.stride % digit.size
            for group in self.cut.of.values()
            for digit in group
        }
        return found | dict(zip(digits, along_axes(d.size for d in digits), strict=True))

    def index(self, dim: int, values: Mapping[Digit, Any]) -> Any:
        """The index in dimension `dim`; of a vector, where it starts."""
        form = self.forms[dim]
        if form.rest:
            return np.asarray(value(self.bases[dim], self.variables(values)))
        total: Any = np.int64(form.const)
        for digit, factor in form.terms.items():
            assert isinstance(digit, Digit)
            total = total + factor * values[digit]
        return np.asarray(total)

    def variables(self, values: Mapping[Digit, Any]) -> dict[Var, Any]:
        """Every loop variable, put together from its digits."""
        return {
            var: np.asarray(sum(values[d] * d.stride for d in digits), dtype=np.int64)
            for var, digits in self.cut.of.items()
        }


_SPREADS: WeakKeyDictionary[Access, tuple[Spread, dict[Var, Var]]] = WeakKeyDictionary()
_ALIKE: WeakValueDictionary[Hashable, Spread] = WeakValueDictionary()  # steps leave most as it was


def spread(access: Access) -> Spread:
    """The digits of `access`, worked out once for all that are like it."""
    return _known(access)[0]


def within(access: Access, values: Mapping[Var, T]) -> dict[Var, T]:
    """`values` of variables around `access`, by the variables of its spread; in their order."""
    own = _known(access)[1]
    return {own[var]: value for var, value in values.items() if var in own}


def _known(access: Access) -> tuple[Spread, dict[Var, Var]]:
    """The spread of `access`, and which of its variables each loop's is."""
    known = _SPREADS.get(access)
    if known is None:
        key = _likeness(access)
        of = _ALIKE.get(key) or _ALIKE.setdefault(key, Spread(access))
        own = {loop.var: var for loop, var in zip(access.loops, of.extents, strict=True)}
        known = _SPREADS[access] = of, own
    return known


def _likeness(access: Access) -> Hashable:
    """What makes accesses alike: variables of loops by their places, and how often these run."""
    places: dict[Node, int] = {loop.var: k for k, loop in enumerate(access.loops)}

    def by_place(node: Node) -> Hashable:
        place = places.get(node)
        return content(node, by_place) if place is None else place

    loops = tuple((loop.extent, loop.role == "virtual") for loop in access.loops)
    parts = (access.indices, access.guards)
    return (
        access.buffer.shape,
        width(access),
        loops,
        *(tuple(map(by_place, part)) for part in parts),
    )
