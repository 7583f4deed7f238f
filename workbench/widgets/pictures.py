"""The pictures of a program as plain data: markup that `draw` made, captions and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import draw, insight
from workbench.diag import Fail
from workbench.draw import Picture
from workbench.draw.who import labels_of
from workbench.insight import Memory, Tiles, Who
from workbench.ir import PrimFunc, stores
from workbench.schedule.history import HistoryNode
from workbench.widgets.memo import memo
from workbench.widgets.texts import refusal

ROLES = {"block": "block", "thread": "thread", "reduce": "reduction step", "serial": "step"}


def who_of(func: PrimFunc, buffer: str) -> Who:
    """Who computes each cell of `buffer`."""
    return memo(func, f"who {buffer}", lambda: insight.who(func, buffer))


def memory_of(func: PrimFunc) -> Memory:
    """Which buffer lives where and what crosses the levels."""
    return memo(func, "memory", lambda: insight.memory(func))


def tiles_of(func: PrimFunc, select: Mapping[str, int]) -> Tiles:
    """What the selection touches of each buffer."""
    return memo(func, f"tiles {sorted(select.items())}", lambda: insight.tiles(func, select))


def written(func: PrimFunc) -> list[str]:
    """The buffers that the program writes: its outputs first, in the order of the parameters."""
    names = dict.fromkeys(store.buffer.name for store in stores(func.body))
    outputs = [b.name for b in func.params if b.name in names]
    return [*outputs, *(name for name in names if name not in outputs)]


def axes_of(func: PrimFunc) -> list[dict[str, Any]]:
    """What the slider of the tiling picture can select."""
    return [
        {"key": axis.key, "extent": axis.extent, "label": _axis_label(axis.role, axis.key)}
        for axis in tiles_of(func, {}).axes
    ]


def _axis_label(role: str, key: str) -> str:
    return f"{ROLES.get(role, role)} ({key})"


def picture_pane(
    name: str,
    node: HistoryNode,
    asked: tuple[str, tuple[int, ...]] | None = None,
    before: HistoryNode | None = None,
) -> dict[str, Any]:
    """The picture `name`: "who:C", "memory", or "tiles:blockIdx.x:3".

    Cells that differ from those of the program of `before` are marked; `asked` is ringed.
    """
    kind, *rest = name.split(":")
    try:
        if kind == "who":
            return plain(_who(node, rest[0], asked, before))
        if kind == "memory":
            return plain(draw.memory_picture(memory_of(node.func)))
        select = {rest[0]: int(rest[1])} if rest else {}
        return plain(draw.tiles_picture(tiles_of(node.func, select)))
    except Fail as fail:
        return {"refusal": refusal(fail)}


def _who(
    node: HistoryNode,
    buffer: str,
    asked: tuple[str, tuple[int, ...]] | None,
    before: HistoryNode | None,
) -> Picture:
    now = who_of(node.func, buffer)
    labels: dict[tuple[int, ...], str] = {}
    if before is not None and buffer in written(before.func):
        labels = labels_of(who_of(before.func, buffer))
    cell = asked[1] if asked and asked[0] == buffer else None
    return draw.who_picture(now, labels, cell)


def plain(picture: Picture) -> dict[str, Any]:
    """A picture as the browser gets it."""
    return {
        "strips": list(picture.strips),
        "caption": picture.caption,
        "table": draw.table_html(picture.table),
        "kind": picture.kind,
    }
