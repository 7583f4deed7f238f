"""served: what serves one request: banks wavefront by wavefront, or the sectors that are fetched.

By the rules of `wavefronts` and `sectors`, which count the same without saying who is served when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.insight.requests import Lanes
from workbench.insight.sectors import SECTOR
from workbench.insight.warps import IDLE
from workbench.insight.wavefronts import BANKS, WORD, lanes_together


@dataclass(frozen=True, slots=True)
class Wavefront:
    """One serving of banks: the lanes that each bank serves in it, by the bank.

    They are among the lanes `first` to `last`, which are served together; `number` counts their
    wavefronts from 0. With fewer than those that are `needed`, banks could not serve as many words.
    """

    first: int
    last: int
    number: int
    needed: bool
    banks: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Sector:
    """A sector of 32 bytes that is fetched, or stored, the `number`-th of the buffer.

    `lanes` want something of it: the bytes `wanted`, as (start, end) from the sector's start.
    """

    number: int
    lanes: tuple[int, ...]
    wanted: tuple[tuple[int, int], ...]


def wavefronts_of(lanes: Lanes) -> tuple[Wavefront, ...]:
    """How banks serve a request to shared memory, of the lanes that go together after each other.

    Which of two words that meet in a bank is served first nobody tells; here it is that of the
    lower lane.
    """
    row = np.array([[IDLE if a is None else a for a in lanes.addresses]])
    together = int(lanes_together(row, lanes.bytes_per_lane, writes=lanes.writes)[0])
    found: list[Wavefront] = []
    for first in range(0, len(lanes.addresses), together):
        asked = _words(lanes, range(first, first + together))
        turns: list[dict[int, tuple[int, ...]]] = []
        for word, those in asked.items():
            turn = next((turn for turn in turns if word % BANKS not in turn), None)
            if turn is None:
                turns.append(turn := {})
            turn[word % BANKS] = tuple(those)
        needed = -(-len(asked) // BANKS)
        found += [
            Wavefront(first, first + together - 1, k, k < needed, turn)
            for k, turn in enumerate(turns)
        ]
    return tuple(found)


def _words(lanes: Lanes, group: range) -> dict[int, list[int]]:
    """Which lanes of a group want each word."""
    asked: dict[int, list[int]] = {}
    for lane in group:
        start = lanes.addresses[lane]
        if start is not None:
            for word in range(start // WORD, (start + lanes.bytes_per_lane - 1) // WORD + 1):
                asked.setdefault(word, []).append(lane)
    return asked


def sectors_of(lanes: Lanes) -> tuple[Sector, ...]:
    """The sectors that a request to global memory touches, in the order of their addresses."""
    whose: dict[int, dict[int, None]] = {}
    wanted: dict[int, set[int]] = {}
    for lane, start in enumerate(lanes.addresses):
        for byte in () if start is None else range(start, start + lanes.bytes_per_lane):
            whose.setdefault(byte // SECTOR, {})[lane] = None
            wanted.setdefault(byte // SECTOR, set()).add(byte % SECTOR)
    return tuple(Sector(n, tuple(whose[n]), _spans(wanted[n])) for n in sorted(whose))


def _spans(numbers: set[int]) -> tuple[tuple[int, int], ...]:
    """Numbers as (start, end) of those that follow each other."""
    spans: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number:
            spans[-1] = (spans[-1][0], number + 1)
        else:
            spans.append((number, number + 1))
    return tuple(spans)
