"""banks: which bank of shared memory each lane of a warp asks, and in how many wavefronts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from workbench import insight
from workbench.diag import Fail, count_text
from workbench.draw import BEYOND, banks_scene, svg_in_text
from workbench.insight import BankUse, Requests, Wavefront, wavefronts_of
from workbench.ir import PrimFunc
from workbench.lesson.goals import kernels
from workbench.runtime.building import function_of
from workbench.schedule import Schedule

MOST_LANES = 4  # of one word that are named
WIDE = 700.0  # px of the picture, in which every lane has room


@dataclass(frozen=True, slots=True)
class Banks:
    """The worst request of all warps for one access to shared memory; `rows` are its wavefronts.

    In a notebook a picture, printed a text.
    """

    requests: Requests
    rows: tuple[Wavefront, ...]

    @property
    def caption(self) -> str:
        """What is asked, and how many wavefronts it takes."""
        asked = f"{self.requests.which}, {self.requests.text}"
        taken = count_text(len(self.rows), "wavefront")
        told = "Columns are banks, rows wavefronts by number; at boxes stand the lanes served."
        beyond = any(not row.needed for row in self.rows)
        return f"{asked}: {taken}. {told}{f' {BEYOND}' if beyond else ''}"

    def __repr__(self) -> str:
        lines = [self.caption]
        for row in self.rows:
            served = (f"{bank}: {_named(lanes)}" for bank, lanes in sorted(row.banks.items()))
            lines.append(f"{_label(row)} | {' | '.join(served)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        lanes = self.requests.lanes(self.requests.worst)
        scene = banks_scene(self.requests, lanes, wide=WIDE)
        said = f"<p>{escape(self.caption)} <em>modelled</em></p>"
        drawing = svg_in_text(scene, repr(self))
        return f'<div style="overflow-x:auto" tabindex="0">{drawing}</div>{said}'


def banks(program: Schedule | PrimFunc, buffer: str, access: str = "read") -> Banks:
    """Which banks a warp asks when it reads (or writes, by `access`) `buffer` in shared memory.

    Of several such accesses the one that takes most wavefronts. Raises Fail where there is none.

    >>> i_0, i_1 = sch.split("i", [2, 4])
    >>> copy = sch.cache_read("B", 0, "shared")
    >>> sch.compute_at(copy, i_0)
    >>> for loop in (i_1, sch.get_loops(copy)[-1]):
    ...     sch.bind(loop, "threadIdx.x")
    >>> print(str(lesson.banks(sch, "A_shared")).splitlines()[1])
    wavefront 1 | 0: 0 | 1: 1 | 2: 2 | 3: 3
    """
    func = function_of(program, "show banks of")
    found, _ = insight.requests_of(kernels(func), "shared")
    wanted = [one for one in found if (one.buffer, one.kind) == (buffer, access)]
    if not wanted:
        raise Fail(
            f"Can't show banks: no warp {access}s {buffer} in shared memory",
            hint="name a buffer of the scope shared, once its kernel builds",
        )
    most = max(wanted, key=lambda one: one.worst_cost)
    return Banks(most, wavefronts_of(most.lanes(most.worst)))


def most_wavefronts(func: PrimFunc, buffer: str) -> int:
    """The wavefronts that the worst read of `buffer`, in shared memory, takes."""
    return max(use.wavefronts for use in _uses(func, buffer, "read"))


def sectors_of(func: PrimFunc, buffer: str) -> int:
    """The sectors that a load of `buffer`, in global memory, touches, on average of all warps."""
    requests = insight.coalescing(kernels(func)).requests
    return round(max(r.sectors for r in requests if (r.buffer, r.access) == (buffer, "read")))


def _uses(func: PrimFunc, buffer: str, access: str) -> list[BankUse]:
    uses = insight.conflicts(kernels(func)).uses
    return [use for use in uses if (use.buffer, use.access) == (buffer, access)]


def _label(row: Wavefront) -> str:
    """Which wavefront it is, of which lanes where not all are served together."""
    part = "" if row.last - row.first == 31 else f"lanes {row.first}–{row.last}, "
    return f"{part}wavefront {row.number + 1}"


def _named(lanes: Sequence[int]) -> str:
    """The lanes of one word, those beyond `MOST_LANES` by their number."""
    if len(lanes) <= MOST_LANES:
        return " ".join(map(str, lanes))
    return f"{' '.join(map(str, lanes[: MOST_LANES - 1]))} +{len(lanes) - MOST_LANES + 1}"
