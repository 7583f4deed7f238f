"""How wide a band of memory's picture is, by bytes or by time, and where a copy is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2
from typing import NamedTuple, TypeAlias

from workbench.draw.colours import heat, how_long
from workbench.draw.scene import longest
from workbench.insight import At
from workbench.insight.lanes import Band, Lane
from workbench.insight.launched import us_text

WING = 4.0  # px of a head beside its band
THINNEST, THICKEST = 2.0, 22.0  # px of a band
HAIR = 1.5  # px of one that takes next to no time
LOOP = 52.0  # px of where a copy is made, at most


Moved: TypeAlias = "Mapping[tuple[str, bool], float]"
"""The µs of the loads (True) and stores of each buffer, as `Modelled.moved` has them."""


@dataclass(frozen=True, slots=True)
class Times:
    """How wide bands are by their modelled times: `widest` µs are as wide as any gets.

    `before` are those of the step before, None where they are not known; `longest` µs, those of
    what is busy longest now, have the deepest fill.
    """

    now: Moved
    before: Moved | None
    widest: float
    longest: float

    def width(self, us: float) -> float:
        return min(max(THICKEST * us / self.widest, HAIR), THICKEST)


def thickness(size: int) -> float:
    """How many px wide a band of so many bytes is, the same in all pictures."""
    return min(max(log2(size) / 2 - 2, THINNEST), THICKEST) if size > 0 else THINNEST


class Weight(NamedTuple):
    """How wide a band is in px, and was, None where that is the same.

    And its fill, and its time in words, of which one that takes next to none has none; None where
    it is drawn by its bytes.
    """

    wide: float
    was: float | None
    fill: str
    time: str | None

    @property
    def reach(self) -> float:
        """How far it goes to either side of its middle."""
        return max(self.wide, self.was or 0.0) / 2

    @property
    def half(self) -> float:
        """The same with its head."""
        return max(self.reach, self.wide / 2 + WING)


def weight_of(lane: Lane, band: Band, times: Times | None) -> Weight:
    """By its bytes or its time, which bands of one buffer and way share by their bytes."""
    if times is None:
        was = None if band.before is None else thickness(band.before)
        return Weight(thickness(band.bytes), was, heat(band.reuse) if band.load else "stored", None)
    key = band.buffer, band.load
    alike = sum(other.bytes for other in lane.bands if (other.buffer, other.load) == key)
    share = band.bytes / alike if alike else 1.0
    us = times.now.get(key, 0.0) * share
    wide = times.width(us)
    was = times.width(times.before.get(key, 0.0) * share) if times.before is not None else wide
    before = was if abs(was - wide) >= 1 else None
    return Weight(wide, before, how_long(us, times.longest), us_text(us) if us else "")


def at_words(at: At) -> str:
    """Where a copy is made, on its band: a name that has no room there is told by its line."""
    return longest((f"at {at.loop}", f"at line {at.line}"), LOOP) or f"line {at.line}"


def done(at: At) -> str:
    return f"in each turn of {at.loop}" if at.doer == "turn" else f"by each {at.doer} of {at.loop}"
