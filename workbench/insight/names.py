"""Words for cells, regions, blocks and threads, as captions and tables use them."""

from __future__ import annotations

from functools import lru_cache

from workbench.insight.page import Point, Region


def point_text(buffer: str, index: Point) -> str:
    """A cell.

    >>> point_text("C", (1, 5))
    'C[1, 5]'
    """
    return f"{buffer}[{', '.join(str(i) for i in index)}]"


def region_text(buffer: str, region: Region) -> str:
    """Cells, with the end left out and the step where it is not 1, as Python slices say it.

    >>> region_text("A", ((0, 130, 1), (4, 1, 1), (0, 3, 2)))
    'A[0:130, 4, 0:5:2]'
    """
    parts = []
    for start, count, step in region:
        if count == 1:
            parts.append(str(start))
        else:
            end = start + (count - 1) * step + 1
            parts.append(f"{start}:{end}" + (f":{step}" if step != 1 else ""))
    return f"{buffer}[{', '.join(parts)}]"


_SHORT = {"block": "b", "warp": "w", "thread": "th"}


@lru_cache(4096)
def unit_forms(unit: str, place: Point, axes: str) -> tuple[str, ...]:
    """A block, warp or thread in words, and shorter, along the axes that tell which it is.

    >>> unit_forms("block", (1, 0, 0), "x")
    ('block 1', 'b 1')
    >>> unit_forms("block", (1, 2, 0), "xy")
    ('block (x=1, y=2)', 'block 1,2', 'b 1,2')
    >>> unit_forms("warp", (0, 0, 0), "")
    ('one warp',)
    """
    if not axes:
        return (f"one {unit}",)
    at = {axis: place["xyz".index(axis)] for axis in axes}
    numbers = ",".join(map(str, at.values()))
    words = (f"{unit} {numbers}", f"{_SHORT[unit]} {numbers}")
    if len(axes) == 1:
        return words
    return f"{unit} ({', '.join(f'{axis}={number}' for axis, number in at.items())})", *words


def time_forms(first: int, last: int) -> tuple[str, ...]:
    """Steps in words, and shorter.

    >>> time_forms(40, 47)
    ('time steps 40 to 47', 't 40–47')
    """
    if first == last:
        return f"time step {first}", f"t {first}"
    return f"time steps {first} to {last}", f"t {first}–{last}"
