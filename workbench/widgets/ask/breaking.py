"""A session's broken kernel: a mark on what a program is lowered to, and no step of a history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.diag import Fail
from workbench.history.history import HistoryNode
from workbench.widgets.ask.asked import part
from workbench.widgets.page.broken import Broken, broken_by, found, offers, shown
from workbench.widgets.page.desk import Desk
from workbench.widgets.run.runner import Found

MENDED = "Mended: with {put} ahead of line {line} every value is right, and no thread waits more."


class Breaking:
    """The kernel that is broken `now`, if one is, and what a browser gets of it, `shown`.

    That is of the node "at"; it has "offers", what can be broken there, once these were asked for.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.now: Broken | None = None
        self.shown: dict[str, Any] = {}

    def offer(self, node: HistoryNode) -> None:
        """Tell what can be broken in the kernel of a node. Raises Fail while a question is open."""
        if self._desk.open:
            raise Fail("Can't break the kernel yet: the lab's question is open", hint="answer it")
        self.shown = {**self.shown, "at": node.id, **offers(self._desk.at(node.func))}

    def begin(self, node: HistoryNode, fault: str) -> str:
        """Break it; returns what is said. Raises Fail for a fault that there cannot be."""
        self.offer(node)
        self.now = broken_by(self._desk.at(node.func), fault)
        self.shown = {**self.shown, **shown(self.now, self._desk)}
        return str(self.shown["told"])

    def mend(self) -> None:
        """Take the fault away."""
        self.now, self.shown = None, {}

    def follow(self, at: int) -> None:
        """A lab that stands elsewhere shows another kernel, which is whole."""
        if self.shown.get("at", at) != at:
            self.mend()

    def tried(self, message: Mapping[str, Any]) -> Broken:
        """The broken kernel with what is missing ahead of the "line" of a message, None: nowhere.

        Raises Fail where no kernel is broken, and for what is no gap.
        """
        if self.now is None:
            raise Fail("Can't look for a fault: the kernel is not broken", hint="break it first")
        line = message.get("line", self.now.choice)
        return self.now.at_gap(None if line is None else part({"line": line}, "line", int))

    def runs(self, tried: Broken) -> None:
        """That is run now."""
        self.now = tried
        self.shown = {**self.shown, "choice": tried.choice, "found": None}

    def came(self, tried: Broken, result: Found) -> str | None:
        """Show what its run came to, and return what is said.

        Mends it where all is right and no thread waits more often than it has to. None where the
        kernel is another one meanwhile.
        """
        if self.now is not tried:
            return None
        if result.ok and tried.choice is not None and not tried.beyond:
            self.mend()
            return MENDED.format(put=tried.put, line=tried.choice)
        made = found(tried, result.said, result.ok, result.fail, result.orders)
        self.shown = {**self.shown, "found": made}
        return str(made["said"])
