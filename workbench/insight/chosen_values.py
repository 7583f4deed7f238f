"""chosen_values: which values of axes a selection names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import TypeAlias

Selection: TypeAlias = Mapping[str, "int | Sequence[int]"]


def chosen_values(extents: Mapping[str, int], select: Selection) -> dict[str, int]:
    """The axes that `select` chooses and their values, of axes with so many values.

    `block` and `thread` take (x, y, z). Raises ValueError for another axis or value.
    """
    wanted: dict[str, int] = {}
    for name, at in select.items():
        if not isinstance(at, Iterable):
            at = (at,)
        if not at or not all(isinstance(number, Integral) for number in at):
            raise ValueError(f"{name} takes a whole number, not {select[name]!r}; 0 is the first")
        axes = [f"{name}Idx.{axis}" for axis in "xyz"] if name in ("block", "thread") else [name]
        bound = [axis for axis in axes if axis in extents]
        if len(at) == 1 and len(bound) == 1:
            axes = bound  # block=3 where only blockIdx.y is bound
        if len(at) > len(axes):
            raise ValueError(f"{name} takes {len(axes)} numbers at most, not {len(at)}; x, y, z")
        given = {a: int(v) for a, v in zip(axes, at, strict=False)}
        wanted |= {a: v for a, v in given.items() if a in extents or v or not bound}
    for key, number in wanted.items():
        if key not in extents:
            has = f"it has: {', '.join(extents)}" if extents else "it has no loops"
            raise ValueError(f"the program has no axis {key!r}; {has}")
        if not 0 <= number < extents[key]:
            last = extents[key] - 1
            raise ValueError(
                f"{key} runs from 0 to {last}, not to {number}; choose one of these values"
            )
    return wanted
