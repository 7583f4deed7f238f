"""resting: the threads of a launch that store no cell of a buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from workbench.insight.names import unit_forms
from workbench.insight.page import Point
from workbench.insight.spread import along_axes, holding
from workbench.insight.stored import MOST_LANES, Stored
from workbench.ir import Var, free_vars

MOST_LISTED = 64


@dataclass(frozen=True, slots=True)
class Idle:
    """A thread that computes no cell; `label` and `forms` as those of a cell."""

    label: str
    block: Point | None
    thread: Point | None
    forms: tuple[tuple[str, ...], ...]


class Resting:
    """The threads, in the order of their numbers, for which none of the stores of a launch runs.

    None is told where several launches store the buffer, or there are too many to look at.
    """

    def __init__(self, stores: Sequence[Stored]) -> None:
        self.of = stores[-1]
        self.units = self.of.units
        one_launch = all(store.units == self.units for store in stores)
        lanes = [_resting(store) for store in stores] if self.units and one_launch else []
        self.lanes = reduce(np.logical_and, lanes) if lanes else np.zeros((), dtype=bool)
        self.count = int(self.lanes.sum())

    def listed(self) -> tuple[Idle, ...]:
        """The first MOST_LISTED of them."""
        found = []
        for lane in np.argwhere(self.lanes)[:MOST_LISTED].tolist() if self.count else ():
            at = {unit.var: value for unit, value in zip(self.units, lane, strict=True)}
            block, thread = self.of.place(at)
            forms = tuple(
                unit_forms(unit, place, self.of.bound[unit])
                for unit, place in (("block", block), ("thread", thread))
                if place is not None
            )
            found.append(Idle(", ".join(part[0] for part in forms), block, thread, forms))
        return tuple(found)

    def within(self, values: Mapping[Var, int]) -> int:
        """How many there are in the block of these `values`."""
        if not self.count:
            return 0
        return int(
            self.lanes[tuple(values.get(unit.var, slice(None)) for unit in self.units)].sum()
        )


def _resting(store: Stored) -> Any:
    """For which threads of its launch a store runs with no loop value: an axis for each unit."""
    own, extents = {unit.var for unit in store.units}, store.extents
    guarded = {v for guard in store.store.guards for v in free_vars(guard)}
    serial = [v for v, n in extents.items() if n > 1 and v not in own]
    within = [v for v in serial if v in guarded]  # the others run whatever their value is
    sizes = [u.extent for u in store.units] + [extents[v] for v in within]
    if not guarded or prod(sizes) > MOST_LANES:
        return np.zeros((), dtype=bool)
    env: dict[Var, Any] = dict.fromkeys(extents, np.int64(0))
    env |= zip([*(u.var for u in store.units), *within], along_axes(sizes), strict=True)
    runs = holding(store.held, env, tuple(sizes))
    return ~runs.any(axis=tuple(range(len(store.units), len(sizes))))
