"""Small views of the lessons, each with its own script, and what they share."""

from __future__ import annotations

from importlib.resources import files
from secrets import token_hex
from typing import Any

import anywidget
import traitlets

from workbench.widgets import static
from workbench.widgets.ask.setup import before_a_class
from workbench.widgets.threads import hear_where_asked


def script(name: str, *lab: str) -> str:
    """The module of a view, behind what it has of the `lab`: it cannot import beside itself."""
    return "\n".join((*lab, static.reveal_script(), _read("view.js"), _read(name)))


def style(name: str, *lab: str) -> str:
    """The style sheet of a view."""
    return "\n".join((*lab, _read(name), _read("lecture.css"), static.words_style()))


def _read(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")


class Small(anywidget.AnyWidget):
    """A view with a form without a script, which stays in the notebook.

    Its elements have the class `wb-kind`, and `data-own` where it is shown.
    """

    kind = ""
    own = traitlets.Unicode().tag(sync=True)
    lecture = traitlets.Bool().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(own=token_hex(8), lecture=before_a_class(), **traits)
        hear_where_asked(self)

    def inner(self) -> str:
        """It as HTML without a script."""
        raise NotImplementedError

    def _ipython_display_(self, **_: Any) -> None:
        """The form without a script, which stays in the notebook, and the view that hides it."""
        from IPython.display import publish_display_data

        publish_display_data({"text/plain": repr(self), "text/html": self.still()})
        bundle = self._repr_mimebundle_()
        data, meta = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        publish_display_data({**data, "text/plain": "", "text/html": ""}, meta)

    def still(self) -> str:
        """`inner`, hidden where the view is shown; a view's error is hidden where it is not."""
        view, own = f".wb-{self.kind}", f'[data-own="{self.own}"]'
        cell = f".jp-OutputArea-child:has({view}-still)"
        hides = (
            f"body:has({view}{own}) {view}-still{own},"
            f"{cell}:has(+ .jp-OutputArea-child {view}),"
            f"{cell} + .jp-OutputArea-child:not(:has({view})){{display:none}}"
        )
        box = f'<div class="wb-{self.kind}-still" data-own="{self.own}">'
        return f"<style>{hides}</style>{box}{self.inner()}</div>"
