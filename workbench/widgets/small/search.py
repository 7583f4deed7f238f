"""A search in a notebook: every trial a point, seen while it runs, and still there afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import traitlets

from workbench import draw
from workbench.diag import Fail, prose
from workbench.widgets import static
from workbench.widgets.ask.asked import part
from workbench.widgets.small import Small, script, style

Asked = Callable[[str, Mapping[str, Any]], None]
"""Does what a page asks, one of `ASKS`; may raise Fail."""

WHY = "how candidates ended, and why"
ASKS = ("stop", "open", "ablation")


class SearchView(Small):
    """The trials of a search, as `rows` of `draw.point_rows`, on the `grounds` of each view.

    While a search runs, rows are sent as messages and kept in the trait, which is sent as a whole
    when it is through: a page that was loaded meanwhile asks for what it misses. `told` says how
    far it is, `ablation` is the picture of one. What is asked by a page goes to `asked`.
    """

    _esm = script("search.js")
    _css = style("search.css", static.search_style())
    kind = "search"

    heading = traitlets.Unicode().tag(sync=True)
    choices: Any = traitlets.List().tag(sync=True)
    grounds: Any = traitlets.Dict().tag(sync=True)
    rows: Any = traitlets.List().tag(sync=True)
    told: Any = traitlets.Dict().tag(sync=True)
    ablation: Any = traitlets.Dict().tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)

    def __init__(self, heading: str, asked: Asked) -> None:
        self._asked = asked
        self._picture = ""  # of the whole, for where no script runs
        super().__init__(heading=heading)
        self.on_msg(self._on_message)

    @property
    def beside(self) -> str:
        """The name of the output of the same cell in which a lab opens."""
        return f"{self.own}-lab"

    def tell(
        self,
        rows: Sequence[Sequence[Any]],
        told: Mapping[str, Any],
        grounds: Mapping[str, Any],
        choices: Sequence[str],
    ) -> None:
        """Send further rows, in one message with all that they change."""
        before = len(self.rows)
        self.rows.extend(rows)  # without a message of all of them
        news: dict[str, Any] = {"from": before, "rows": list(rows), "told": told}
        with self.hold_trait_notifications():
            for name, value in (("grounds", dict(grounds)), ("choices", list(choices))):
                if value != getattr(self, name):
                    news[name] = value
                    self._trait_values[name] = value
            self._trait_values["told"] = dict(told)
        self.send(news)

    def whole(self) -> None:
        """Send all as traits: what is saved with a notebook."""
        self.send_state(["rows", "grounds", "choices", "told"])

    def _on_message(self, _: object, message: Mapping[str, Any], __: object) -> None:
        self.said = ""
        try:
            do = part(message, "do", str)
            if do == "rows":
                self.whole()
            elif do in ASKS:
                self._asked(do, message)
        except Fail as fail:
            self.said = prose(fail.headline)
        except Exception as error:
            self.said = prose(f"{type(error).__name__}: {error}")
            raise
        finally:
            self.send({"answered": True})

    def inner(self) -> str:
        """The picture of all trials with the table of the best, and why others failed."""
        return f"<p>{escape(self.heading)}</p>{self._picture}"

    def keep(self, picture: draw.Picture, reasons: str) -> None:
        """Have the picture stand where no script runs."""
        said = "<br>".join(map(prose, picture.full.splitlines()))
        drawn = draw.svg_in_text(picture.strips[0], picture.full)
        folded = (("the best as a table", draw.table_html(picture.table)), (WHY, reasons))
        tables = (f"<details><summary>{title}</summary>{rows}</details>" for title, rows in folded)
        self._picture = f"<div>{drawn}</div><p>{said}</p>{''.join(tables)}"

    def __repr__(self) -> str:
        return f"{self.heading}: {self.told.get('caption', '')}"
