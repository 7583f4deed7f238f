"""How deeply a program may be nested: its trees are walked by recursion."""

from __future__ import annotations

import sys

from workbench.ir.nodes import Node
from workbench.ir.visit import children

DEEPEST = 1000
"""The most levels of one expression or statement: a sum of 1,000 terms has that many."""

# A walk takes up to five calls a level, and the caller (a notebook's kernel, a test) has its own
# below. Python's default of 1,000 calls would stop at a sum of 200 terms; the stack itself has
# room: a level takes under a kilobyte of it, and the least that a thread is given is 512 KiB.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10 * DEEPEST))


def too_deep(root: Node) -> bool:
    """Whether something in `root` lies more than `DEEPEST` levels below it."""
    level = [root]
    for _ in range(DEEPEST):
        level = [child for node in level for child in children(node)]
        if not level:
            return False
    return True
