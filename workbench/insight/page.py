"""What every picture's data has in common: its kind of number, its table, its regions of cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["modelled", "counted", "emulated", "measured", "recorded"]
"""Where a number comes from: a data sheet and the program, counting, a run on the emulator, a
device, an earlier run."""

KIND_WORDS: dict[str, str] = {
    "modelled": "worked out from the program and a GPU's data sheet",
    "counted": "from the program's loops, not measured on a GPU",
    "emulated": "from a run on the emulator, not on a GPU",
    "measured": "measured on the device named",
    "recorded": "measured earlier, on the device and day named",
}

Point: TypeAlias = tuple[int, ...]

Region: TypeAlias = tuple[tuple[int, int, int], ...]
"""Cells of a buffer: (start, count, step) for each dimension; the cells are their product."""


@dataclass(frozen=True, slots=True)
class Table:
    """The facts of a picture as rows; every row has one entry a column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
