"""A kernel that is broken on purpose, and where what is missing goes: each choice runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import traitlets

from workbench.diag import Fail, preformatted
from workbench.widgets import static
from workbench.widgets.ask.asked import part
from workbench.widgets.small import Small, script, style


class RepairView(Small):
    """The `lines` of a kernel, with a choice of the `gaps`, lines ahead of which `put`, one of
    `puts`, can stand; at first in that of `choice`.

    `look` takes a line of them, or None for no gap, and what is put there, and returns what is seen
    then: a sentence `said` and more of it, `detail`, whether all is right, `ok`, the lines that are
    `lit`, and of a race the `picture` of both orders, as plain data, or None.
    """

    _esm = script("repair.js", static.broken_script())
    _css = style("repair.css", static.broken_style())
    kind = "repair"

    heading = traitlets.Unicode().tag(sync=True)
    lines: Any = traitlets.List().tag(sync=True)
    gaps: Any = traitlets.List().tag(sync=True)
    puts: Any = traitlets.List().tag(sync=True)
    put = traitlets.Unicode().tag(sync=True)
    choice: Any = traitlets.Int(allow_none=True, default_value=None).tag(sync=True)
    seen: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        heading: str,
        lines: Sequence[str],
        gaps: Sequence[int],
        puts: Sequence[str],
        look: Callable[[int | None, str], Mapping[str, Any]],
        choice: int | None = None,
        put: str = "",
    ) -> None:
        self._look = look
        put = put or next(iter(puts), "")
        shown = {"heading": heading, "lines": list(lines), "gaps": list(gaps), "puts": list(puts)}
        super().__init__(**shown, put=put, choice=choice, seen=dict(look(choice, put)))
        self.on_msg(self._on_message)

    def _on_message(self, _: object, message: Mapping[str, Any], __: object) -> None:
        try:
            line = None if message.get("line") is None else part(message, "line", int)
            self._put(line, part({"put": self.put, **message}, "put", str))
        except Fail as fail:  # what no page of ours sends
            self.seen = {**self.seen, "said": fail.headline}

    def _put(self, line: int | None, put: str) -> None:
        if line is not None and line not in self.gaps:
            raise Fail(f"Can't put anything ahead of line {line}", hint="choose one of the gaps")
        if self.puts and put not in self.puts:
            raise Fail(f"Can't put {put[:40]!r} anywhere", hint=f"choose of {', '.join(self.puts)}")
        seen = dict(self._look(line, put))
        self.choice, self.put, self.seen = line, put, seen

    def inner(self) -> str:
        """The lines, each with its number, and what is seen of them."""
        return (
            f"<p>{escape(self.heading)}</p>{preformatted(self._numbered())}"
            f"<p>{escape(self.seen['said'])}</p>{preformatted(self._told())}"
            "<p>To mend it, run the cells down to this one.</p>"
        )

    def _numbered(self) -> str:
        return "\n".join(f"{number:>4} | {line}" for number, line in enumerate(self.lines, 1))

    def _told(self) -> str:
        picture = self.seen["picture"]
        return "\n".join(filter(None, (self.seen["detail"], picture and picture["full"])))

    def __repr__(self) -> str:
        return "\n".join((self.heading, self._numbered(), self.seen["said"], self._told())).rstrip()
