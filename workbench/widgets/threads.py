"""Which thread of a kernel hears what a view asks."""

from __future__ import annotations

from typing import Any


def hear_where_asked(view: Any) -> None:
    """Have what the browser asks of a widget come to the thread that it is sent to.

    JupyterLab asks a thread beside that of the cells. ipykernel 7.4 gives what is asked to the
    thread instead that sent the view something last (`_reply_subshell_for` in its
    `comm/comm.py`): if that was a running cell's, a click waits for the end of the cell, as does
    the stop of a search.
    """
    if hasattr(view.comm, "_reply_subshell_for"):
        view.comm._reply_subshell_for = lambda _, asked: asked
