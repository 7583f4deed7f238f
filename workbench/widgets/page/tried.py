"""What a lab shows of a program that is only tried: its text and its picture."""

from __future__ import annotations

from typing import Any

from workbench.history.history import HistoryNode
from workbench.ir import BlockId, Buffer, Var
from workbench.ir.places import places
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.lines import Lines
from workbench.widgets.page.names import Keys, buffers_of, names_of
from workbench.widgets.page.page import shown_picture, steps_to
from workbench.widgets.page.pictures import picture_name
from workbench.widgets.page.texts import program_lines, text_pane
from workbench.widgets.page.view import View


def tried_page(
    node: HistoryNode, at: HistoryNode, view: View, desk: Desk, held: Var | None = None
) -> dict[str, Any]:
    """The open panes of the program of `node`, told apart from that of `at`, which is shown.

    Its lines are its own, not among those that the lab keeps. A loop, block or buffer that stands
    where another one stood before has the key of that one, so that it stays marked. `held` is the
    loop whose number is tried. What an open question hides is hidden.
    """
    keys, lines = _keys(node, at, desk), Lines()
    names = names_of(node.func, keys)
    if view.program == "tensorir":
        pane: dict[str, Any] = program_lines(at.func, node.func, keys, lines, by_name=True)
    else:
        pane = text_pane(view.program, node, keys, names, lines)
    picture = picture_name(node.func, view, desk.gpu, at.func)
    asked = desk.question.cell if desk.question else None
    steps = steps_to(node, picture) if picture else ()
    made = picture and shown_picture(picture, desk, node.func, asked, at.func, steps)
    return {
        "names": names.about,
        # without what would be gone: lines stay where they are while a number is dragged
        "text": {"label": "the program that it would be", "now": True, **pane},
        "lines": lines.all,
        "picture": made or None,
        "held": None if held is None else keys.of(held),
    }


def _keys(node: HistoryNode, at: HistoryNode, desk: Desk) -> Keys:
    """The lab's keys, with those of the present for what a replayed step made once more."""
    keys = desk.keys.copy()
    now, then = node.path(), at.path()
    for new, old in zip(now, then, strict=False):
        if new is not old:
            for made, before in zip(_made(new), _made(old), strict=False):
                keys.take(made, before)
    return keys


def _made(node: HistoryNode) -> list[Var | BlockId | Buffer]:
    """The loops, blocks and buffers that are new in the program of a node, in its order."""
    assert node.parent is not None
    known, before = places(node.func), node.parent.places[node.func_name]
    loops = [var for var in known.loops if var not in before.loops]
    blocks = [key for key in known.blocks if key not in before.blocks]
    old = set(buffers_of(before.func))
    return [*loops, *blocks, *(b for b in buffers_of(node.func) if b not in old)]
