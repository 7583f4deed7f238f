"""Frames one after the other, in a notebook: what needs no Python once it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import traitlets

from workbench.widgets.small import Small, script, style


class Player(Small):
    """Plays `frames`, pairs of a picture as SVG and a sentence that says the same."""

    _esm = script("player.js")
    _css = style("player.css")
    kind = "player"

    name = traitlets.Unicode().tag(sync=True)
    frames: Any = traitlets.List().tag(sync=True)

    def __init__(self, name: str, frames: Sequence[tuple[str, str]]) -> None:
        super().__init__(name=name, frames=[list(frame) for frame in frames])

    def inner(self) -> str:
        """The sentences, folded: they tell how it goes on."""
        items = "".join(f"<li>{escape(sentence)}</li>" for _, sentence in self.frames)
        return f"<details><summary>{escape(self.name)}</summary><ul>{items}</ul></details>"

    def __repr__(self) -> str:
        return f"{self.name} ({len(self.frames)} pictures, one for each time)"
