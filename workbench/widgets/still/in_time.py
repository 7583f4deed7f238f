"""A launch in time on a saved page: each block and warp of it, with examples of what these ask."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench import draw
from workbench.diag import Fail
from workbench.draw.requests import SCOPES, requests_picture
from workbench.history.history import HistoryNode
from workbench.insight.requests import Requests
from workbench.insight.warp_steps import Issue
from workbench.ir import Kernel
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.page import node_picture
from workbench.widgets.page.pictures import Kept

EXAMPLES = 3  # requests of an access that have pictures: what else asks as they do is told by them
MOST = 1 << 16  # bytes of what tells blocks and warps of a program; warps beyond are left out


def levels_in_time(node: HistoryNode, desk: Desk) -> tuple[list[Any], dict[str, Any]]:
    """What `saved.js` shows of the kernels of a program, and the pictures that it names.

    Of each kernel: its `grid` and the `threads` of a block, the picture of its `block`, which is
    that of all, and of each of its `warps` a number among `kinds`, null where there was no room:
    warps that take as long for everything are of a kind. A kind has its `picture`, and for each
    sort of its track the number of an access among `accesses` that it `asks` by, null where there
    is none. An access has the `period` of its requests and `examples` of them: what the `lanes`
    want, the picture, and `at` which place it is. There is null for a kernel of which data or sizes
    decide when its warps do what, and nothing where there is no kernel.
    """
    kept = Kept(desk.gpu)
    try:
        kernels = kept.kernels(desk.at(node.func))
    except Fail:
        return [], {}
    told = _Told(node, desk, kept)
    return [told.kernel(number, kernel) for number, kernel in enumerate(kernels)], told.pictures


class _Told:
    """Tells the kernels of a program one after the other, as long as there is room."""

    def __init__(self, node: HistoryNode, desk: Desk, kept: Kept) -> None:
        self.node, self.desk, self.func, self.kept = node, desk, desk.at(node.func), kept
        self.pictures: dict[str, Any] = {}
        self.size = 0

    def kernel(self, number: int, kernel: Kernel) -> dict[str, Any] | None:
        """One kernel."""
        block = f"timeline:kernel={number},block=0"
        try:
            of = self.kept.block_time(self.func, number).kinds
        except Fail:
            return None
        if not self.takes(block):
            return None
        requests = self.kept.warp_time(self.func, number, 0).requests
        accesses = {issue: k for k, issue in enumerate(requests)}
        kinds = []
        for warp in (of.index(kind) for kind in range(max(of) + 1)):
            time = self.kept.warp_time(self.func, number, warp)
            picture = f"{block},warp={warp}"
            if not self.takes(picture):
                break
            asks = [None if issue is None else accesses.get(issue) for issue in time.issued]
            kinds.append({"picture": picture, "asks": asks})
        return {
            "grid": [int(size) for size in kernel.grid],
            "threads": [*kernel.block],
            "block": block,
            "warps": [kind if kind < len(kinds) else None for kind in of],
            "kinds": kinds,
            "accesses": self.accesses(f"request:kernel={number}", requests),
        }

    def takes(self, name: str) -> bool:
        """Whether there is room for a picture, of which a script draws what moves; it is kept."""
        made = node_picture(name, self.desk, self.node)
        fits = self.fits([made["track"], made["asked"]])
        if fits:
            self.pictures[name] = {**made, "strips": ["", *made["strips"][1:]]}
        return fits

    def accesses(self, head: str, requests: Mapping[Issue, Requests]) -> list[dict[str, Any]]:
        """Examples of the requests of each access, the first ones of all ahead of further ones."""
        found = [one.examples(EXAMPLES) for one in requests.values()]
        told: list[list[dict[str, Any]]] = [[] for _ in found]
        for k in range(EXAMPLES):
            for access, (of, examples) in enumerate(zip(requests.values(), found, strict=True)):
                if k >= len(examples):
                    continue
                at, lanes = examples[k]
                name = f"{head},access={access},example={k}"
                example = {"lanes": lanes, "picture": name, "at": dict(at)}
                if self.fits(example):
                    self.pictures[name] = _picture(of, at)
                    told[access].append(example)
        return [
            {"period": of.period, "examples": those}
            for of, those in zip(requests.values(), told, strict=True)
        ]

    def fits(self, told: Any) -> bool:
        """Whether there is room for that, too; then it is taken."""
        size = len(json.dumps(told, separators=(",", ":")))
        if self.size + size > MOST:
            return False
        self.size += size
        return True


def _picture(requests: Requests, at: Mapping[str, int]) -> dict[str, Any]:
    """The request that is made there."""
    name = next(name for name, scope in SCOPES.items() if scope == requests.access.buffer.scope)
    return draw.plain(requests_picture(name, [requests], [], at))
