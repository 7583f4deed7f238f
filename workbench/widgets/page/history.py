"""The tree of a history as rows, and each of its nodes in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from workbench.diag import visible
from workbench.history.history import History, HistoryNode
from workbench.ir import BlockId, Const, PrimFunc, Var
from workbench.ir.places import places

_rows: WeakKeyDictionary[HistoryNode, dict[str, Any]] = WeakKeyDictionary()


def tree(history: History) -> list[dict[str, Any]]:
    """The nodes in reading order: each with what follows it first, then its branches, set in."""
    rows: list[dict[str, Any]] = []
    waiting = [(history.root, 0)]
    while waiting:
        node, indent = waiting.pop()
        rows.append(_row(node, indent))
        below = [(child, indent + _is_branch(child)) for child in node.children]
        waiting.extend(reversed(below))
    return rows


def _is_branch(node: HistoryNode) -> bool:
    """Whether another step was taken before it where it starts."""
    return node.parent is not None and node is not node.parent.children[0]


def _row(node: HistoryNode, indent: int) -> dict[str, Any]:
    """What the tree says of a node; of that, only its mark changes."""
    row, mark = _rows.get(node), visible(node.mark)
    if row is None or row["mark"] != mark:
        row = _rows[node] = {
            "id": node.id,
            "parent": node.parent.id if node.parent else None,
            "indent": indent,
            "branch": _is_branch(node),
            "label": node.label,
            "mark": mark,
            "said": said(node),
        }
    return row


def said(node: HistoryNode) -> str:
    """One sentence that announces the node."""
    if node.step is None:
        return "The program as it was written."
    made: dict[tuple[Var | BlockId, ...], list[Var | BlockId]] = {}  # what it made, and of what
    for old, new in node.became.items():
        made.setdefault(new, []).append(old)
    pairs = [
        (_named(node.before, olds), _named(node.func, list(new)))
        for new, olds in made.items()
        if new
    ]
    became = [f"{old} became {new}" for old, new in pairs if old != new]
    became += _bound(node)
    return f"Step {node.id}, {node.label}{': ' + '; '.join(became) if became else ''}."


UNITS = {"blockIdx": "block", "threadIdx": "thread", "vthread": "virtual thread"}


def _bound(node: HistoryNode) -> list[str]:
    """What a bind did: it makes nothing new, and is the step that says who does the work."""
    if node.before is None:
        return []
    old, new = (places(func).loops for func in (node.before, node.func))
    bound = [one for one in new if one in old and new[one].thread != old[one].thread]
    units = [(one, UNITS[str(new[one].thread).partition(".")[0]]) for one in bound]
    return [f"each turn of {_key_name(node.func, one)} is now a {unit}" for one, unit in units]


def _named(func: PrimFunc | None, keys: Sequence[Var | BlockId]) -> str:
    """Loops and blocks by name, loops with how often they run."""
    return _listed([_key_name(func, key) for key in keys])


def _key_name(func: PrimFunc | None, key: Var | BlockId) -> str:
    if isinstance(key, Var):
        loop = places(func).loops.get(key) if func else None
        times = f" ({loop.extent.value}×)" if loop and isinstance(loop.extent, Const) else ""
        return f"{key.name}{times}"
    realize = places(func).blocks.get(key) if func else None
    return realize.block.name if realize else "a block"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
