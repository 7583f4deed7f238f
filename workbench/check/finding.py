"""What the checker finds wrong or wasteful in a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.diag import Act, Refusal
from workbench.ir import Node


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found, told as a refusal is: what, where (`nodes`), what was seen, what to do.

    An "error" would give wrong results or no kernel at all; a "warning" costs time or memory, and
    `detail` says how much. Where what to do is a step, `act` is that.
    """

    headline: str
    nodes: tuple[Node, ...]
    hint: str
    detail: str = ""
    kind: Literal["error", "warning"] = "error"
    act: Act | None = None

    def as_refusal(self) -> Refusal:
        """The finding as the refusal of a step or a build."""
        return Refusal(self.headline, *self.nodes, hint=self.hint, detail=self.detail, act=self.act)
