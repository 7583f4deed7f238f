"""What a lab keeps back while its question is open: all that would answer it shows "?"."""

from __future__ import annotations

from typing import Any, Literal

from workbench.ir import For, PrimFunc, walk
from workbench.widgets.page.question import Question

Told = Literal["who", "counts"]
"""What a place of a lab tells of a program: who computes which cell, or how much of anything."""

MARK = "?"
UNTIL = f"{MARK} Answer the question first."

PICTURE: dict[str, Any] = {
    "strips": [],
    "caption": UNTIL,
    "table": "",
    "line": "",
    "kind": "hidden",
    "about": "it would tell the answer",
    "levels": [],
    "slides": None,
    "fields": None,
}
"""What stands in the place of a picture."""


def tells(question: Question, func: PrimFunc, what: Told) -> bool:
    """Whether what is told of `func` would answer `question`, or narrow its choices.

    Blocks and threads do all once a loop is bound to them. Before, nobody has a number yet, and a
    question about a cell has nothing to fear; loads and barriers are counted of any program, and
    the steps asked about may leave them as they are.
    """
    return (what == "counts" and question.cell is None) or any(
        isinstance(node, For) and node.thread is not None for node in walk(func.body)
    )
