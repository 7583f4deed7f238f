"""A launch in time, in a notebook: what needs no Python once it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import traitlets

from workbench.diag import Fail
from workbench.widgets import static
from workbench.widgets.ask.asked import part
from workbench.widgets.small import Small, script, style


class Player(Small):
    """Plays `track`, as `Track.plain` gives it; `told` are sentences that say the same.

    `lanes` is a picture of a block's warps, as SVG. Ahead of playing, `asked` has a question for a
    time, "text", the time that is right, "at", and what is "told" then; "given" is what was guessed
    before, if anything. `keep` takes a guess, and returns what is to be told of that.
    """

    _esm = script("player.js", static.timeline_script())
    _css = style("player.css", static.timeline_style())
    kind = "player"

    name = traitlets.Unicode().tag(sync=True)
    track: Any = traitlets.Dict().tag(sync=True)
    lanes = traitlets.Unicode().tag(sync=True)
    asked: Any = traitlets.Dict(allow_none=True).tag(sync=True)

    def __init__(
        self,
        name: str,
        track: Mapping[str, Any],
        told: Sequence[str],
        lanes: str,
        asked: Mapping[str, Any] | None = None,
        keep: Callable[[int], str] | None = None,
    ) -> None:
        super().__init__(name=name, track=dict(track), lanes=lanes, asked=asked and dict(asked))
        self.told, self._keep = tuple(told), keep
        self.on_msg(self._on_message)

    def _on_message(self, _: object, message: Mapping[str, Any], __: object) -> None:
        try:
            time = part(message, "time", int)
        except Fail:  # what no page of ours sends
            return
        asks = self.asked and self.asked.get("given") is None
        if asks and 0 <= time <= self.track["length"]:
            kept = self._keep(time) if self._keep else ""
            self.asked = {**self.asked, "given": time, "kept": kept}  # a page that is loaded again

    def inner(self) -> str:
        """The warps, and the sentences, folded: they tell how it goes on."""
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.told)
        told = f"<details><summary>{escape(self.name)}</summary><ul>{items}</ul></details>"
        return f"{told}{self.lanes}"

    def __repr__(self) -> str:
        return f"{self.name} ({len(self.told)} times at which something begins or ends)"
