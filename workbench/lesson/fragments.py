"""fragments: the tiles that a warp holds together, and what is known of who holds what."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from workbench import draw, insight
from workbench.diag import Fail, count_text
from workbench.draw import Picture, fragments_scene, svg_in_text
from workbench.insight import Fragments
from workbench.ir import PrimFunc
from workbench.lesson.goals import kernels
from workbench.runtime.building import function_of
from workbench.schedule import Schedule

_LAYOUT = (
    "Which cells of a tile a thread holds, the hardware decides, and wmma does not tell: each call "
    "takes what another one left."
)


@dataclass(frozen=True, slots=True)
class Held:
    """The fragments of a program: in a notebook a picture, printed a text."""

    parts: tuple[Fragments, ...]

    @property
    def caption(self) -> str:
        """How many there are, what they take, and what is not known of them."""
        tiles = sum(part.tiles for part in self.parts)
        registers = sum(part.tiles * part.registers for part in self.parts)
        return (
            f"A warp holds {count_text(tiles, 'fragment')} of 16 x 16 cells, in "
            f"{count_text(registers, 'register')} of each of its 32 threads. {_LAYOUT}"
        )

    def __repr__(self) -> str:
        lines = [self.caption]
        for part in self.parts:
            each = f"{count_text(part.tiles, 'tile')} of {part.dtype}"
            calls = f"written by {_named(part.filled)}, read by {_named(part.used)}"
            held = f"{count_text(part.registers, 'register')} a thread for each"
            lines.append(f"{part.buffer} ({part.scope}): {each}, {held}; {calls}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        drawing = svg_in_text(fragments_scene(self.parts), repr(self))
        rows = "<br>".join(escape(line) for line in repr(self).splitlines()[1:])
        said = f"<p>{escape(self.caption)} <em>counted</em></p><p>{rows}</p>"
        return f'<div style="overflow-x:auto" tabindex="0">{drawing}</div>{said}'


@dataclass(frozen=True, slots=True)
class HeldByLanes:
    """The tiles of a call that goes by lanes: in a notebook a picture, printed a text."""

    picture: Picture

    def __repr__(self) -> str:
        return self.picture.full

    def _repr_html_(self) -> str:
        first, *rest = self.picture.strips
        drawing = svg_in_text(first, repr(self)) + "".join(svg_in_text(one) for one in rest)
        said = f"<p>{escape(self.picture.caption)} <em>{self.picture.kind}</em></p>"
        return f'<div style="overflow-x:auto" tabindex="0">{drawing}</div>{said}'


def _named(calls: tuple[str, ...]) -> str:
    return " and ".join(calls) or "nothing"


def fragments(
    program: Schedule | PrimFunc, call: int | None = None, lane: int | None = None
) -> Held | HeldByLanes:
    """The fragments that each warp of a program holds, and which calls write and read them.

    Where calls go by lanes (``mma.sync``, ``ldmatrix``), which lane holds which cell in the `call`
    of that number, in program order, by default a product; the cells of a `lane` stand out. Raises
    Fail where there is no fragment, and where ``wmma`` is used and builds no kernel; ValueError for
    a call or a lane that there is not.

    >>> try:
    ...     lesson.fragments(bound)
    ... except Exception as refused:
    ...     print(refused)
    Can't show fragments: no warp of this program holds one.
    do:    keep tiles in wmma.matrix_a, wmma.matrix_b or wmma.accumulator, and tensorize them
    """
    func = function_of(program, "show fragments of")
    if draw.Source().lane_calls(func):
        named = {draw.CALL: call, draw.LANE: lane}
        select = {axis: number for axis, number in named.items() if number is not None}
        return HeldByLanes(draw.picture_of(func, "fragments", select=select))
    found = insight.fragments(kernels(func))
    if not found:
        raise Fail(
            "Can't show fragments: no warp of this program holds one",
            hint="keep tiles in wmma.matrix_a, wmma.matrix_b or wmma.accumulator, and tensorize "
            "them",
        )
    return Held(found)
