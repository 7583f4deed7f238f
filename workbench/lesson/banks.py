"""banks: which bank of shared memory each lane of a warp asks, and how many turns that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from workbench import insight
from workbench.diag import Fail, count_text
from workbench.draw import Rect, Scene, Words, svg_in_text
from workbench.draw.scene import Shape
from workbench.insight import BankUse
from workbench.insight.wavefronts import BANKS, WORD
from workbench.ir import PrimFunc
from workbench.lesson.goals import kernels
from workbench.runtime.building import function_of
from workbench.schedule import Schedule

SIDE, LINE, LEFT, TOP = 23, 13, 70, 20  # px: a bank, a line of lanes, what stands before and above
MOST_LANES = 4  # of one word that are named

Lanes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the lanes that each bank serves in it, by the bank; `label` says which turn."""

    label: str
    served: Mapping[int, Lanes]


@dataclass(frozen=True, slots=True)
class Banks:
    """The worst request of all warps for one access to shared memory, turn by turn.

    In a notebook a picture, printed a text.
    """

    use: BankUse
    rows: tuple[Turn, ...]

    @property
    def caption(self) -> str:
        """What is asked, and how many turns it takes."""
        asked = f"{self.use.which}, {self.use.text}"
        turns = count_text(len(self.rows), "turn")
        return f"{asked}: {turns}. Columns are banks, numbers in boxes the lanes that are served."

    def __repr__(self) -> str:
        lines = [self.caption]
        for row in self.rows:
            served = (f"{bank}: {_named(lanes)}" for bank, lanes in sorted(row.served.items()))
            lines.append(f"{row.label} | {' | '.join(served)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        drawing = svg_in_text(_picture(self.rows), repr(self))
        said = f"<p>{escape(self.caption)} <em>modelled</em></p>"
        return f'<div style="overflow-x:auto" tabindex="0">{drawing}</div>{said}'


def banks(program: Schedule | PrimFunc, buffer: str, access: str = "read") -> Banks:
    """Which banks a warp asks when it reads (or writes, by `access`) `buffer` in shared memory.

    Of several such accesses the one that takes most turns. Raises Fail where there is none.

    >>> i_0, i_1 = sch.split("i", [2, 4])
    >>> copy = sch.cache_read("B", 0, "shared")
    >>> sch.compute_at(copy, i_0)
    >>> for loop in (i_1, sch.get_loops(copy)[-1]):
    ...     sch.bind(loop, "threadIdx.x")
    >>> print(str(lesson.banks(sch, "A_shared")).splitlines()[1])
    turn 1 | 0: 0 | 1: 1 | 2: 2 | 3: 3
    """
    func = function_of(program, "show banks of")
    uses = _uses(func, buffer, access)
    if not uses:
        raise Fail(
            f"Can't show banks: no warp {access}s {buffer} in shared memory",
            hint="name a buffer of the scope shared, once its kernel builds",
        )
    use = max(uses, key=lambda use: use.wavefronts)
    return Banks(use, _rows(use))


def turns_of(func: PrimFunc, buffer: str) -> int:
    """The turns that the worst read of `buffer`, in shared memory, takes."""
    return max(use.wavefronts for use in _uses(func, buffer, "read"))


def sectors_of(func: PrimFunc, buffer: str) -> int:
    """The sectors that a load of `buffer`, in global memory, touches, on average of all warps."""
    requests = insight.coalescing(kernels(func)).requests
    return round(max(r.sectors for r in requests if (r.buffer, r.access) == (buffer, "read")))


def _uses(func: PrimFunc, buffer: str, access: str) -> list[BankUse]:
    uses = insight.conflicts(kernels(func)).uses
    return [use for use in uses if (use.buffer, use.access) == (buffer, access)]


def _rows(use: BankUse) -> tuple[Turn, ...]:
    """The turns of the request, of the lanes that are served together after each other."""
    wide = max(1, use.bytes_per_lane // WORD)
    rows: list[Turn] = []
    for first in range(0, len(use.words), use.together):
        lanes = range(first, first + use.together)
        asked: dict[int, list[int]] = {}  # the lanes of a word
        for lane in lanes:
            start = use.words[lane]
            for word in () if start is None else range(start, start + wide):
                asked.setdefault(word, []).append(lane)
        turns: list[dict[int, Lanes]] = []
        for word, those in asked.items():
            bank = word % BANKS
            turn = next((turn for turn in turns if bank not in turn), None)
            if turn is None:
                turns.append(turn := {})
            turn[bank] = tuple(those)
        part = f"lanes {lanes[0]}–{lanes[-1]}, " if len(lanes) < len(use.words) else ""
        rows += [Turn(f"{part}turn {k + 1}", turn) for k, turn in enumerate(turns)]
    return tuple(rows)


def _named(lanes: Sequence[int]) -> str:
    """The lanes of one word, those beyond `MOST_LANES` by their number."""
    if len(lanes) <= MOST_LANES:
        return " ".join(map(str, lanes))
    return f"{' '.join(map(str, lanes[: MOST_LANES - 1]))} +{len(lanes) - MOST_LANES + 1}"


# --- the picture ----------------------------------------------------------------------------------


def _picture(rows: Sequence[Turn]) -> Scene:
    """A column for each bank, a band for each turn; in each box the lanes that it serves then."""
    shapes: list[Shape] = [Words("bank", 0, TOP - 6, anchor="start")]
    shapes += [Words(str(bank), _middle(bank), TOP - 6) for bank in range(BANKS)]
    y = TOP
    for row in rows:
        high = LINE * max(len(_named(lanes).split()) for lanes in row.served.values()) + 8
        for k, line in enumerate(row.label.split(", "), 1):
            shapes.append(Words(line, 0, y + LINE * k, anchor="start"))
        for bank in range(BANKS):
            role = "time" if bank in row.served else "grid"
            shapes.append(Rect(LEFT + bank * SIDE, y, SIDE, high, role))
            for k, lane in enumerate(_named(row.served.get(bank, ())).split(), 1):
                shapes.append(Words(lane, _middle(bank), y + LINE * k))
        y += max(high, 2 * LINE) + 4
    return Scene(LEFT + BANKS * SIDE + 1, y, tuple(shapes))


def _middle(bank: int) -> float:
    return LEFT + (bank + 0.5) * SIDE
