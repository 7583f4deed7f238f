"""A curve that a learner draws on a ground before the real one is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import traitlets

from workbench.diag import Fail, prose
from workbench.widgets import static
from workbench.widgets.ask.asked import part
from workbench.widgets.small import Small, script, style


class CurveView(Small):
    """Handles on the `ground`, an SVG, one at each of `spots`: a number of trials, and its px.

    `scale` is base and factor, in px, of the logarithm of a value, and `ends` are its least and
    most. `values` stand at the handles; each is at most the one before, since the best never gets
    worse. `keep` takes them once, and returns what is said then: `told`.
    """

    _esm = script("curve.js")
    _css = style("curve.css", static.search_style())
    kind = "curve"

    heading = traitlets.Unicode().tag(sync=True)
    ground = traitlets.Unicode().tag(sync=True)
    spots: Any = traitlets.List().tag(sync=True)
    scale: Any = traitlets.List().tag(sync=True)
    ends: Any = traitlets.List().tag(sync=True)
    values: Any = traitlets.List().tag(sync=True)
    told = traitlets.Unicode().tag(sync=True)

    def __init__(self, heading: str, keep: Callable[[Sequence[float]], str], **traits: Any) -> None:
        self._keep = keep
        super().__init__(heading=heading, **traits)
        self.on_msg(self._on_message)

    def _on_message(self, _: object, message: dict[str, Any], __: object) -> None:
        try:
            values = part(message, "values", list)
            self.told = prose(self._keep(values))
            self.values = list(values)
        except Fail as fail:  # what no page of ours sends
            self.heading = prose(fail.headline)

    def inner(self) -> str:
        """The heading, and what to do."""
        return f"<p>{escape(self.heading)}</p><p>To draw it, run the cells down to this one.</p>"

    def __repr__(self) -> str:
        return self.told or self.heading
