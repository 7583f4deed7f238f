"""A session where no Python answers: its last page without a script, and a page that steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.draw.pictures import NEARER
from workbench.history.history import History
from workbench.history.write_whole import NotWritten, write_whole
from workbench.ir.places import places
from workbench.widgets.ask.session import SHOWN, Session
from workbench.widgets.page.collecting import collecting_later
from workbench.widgets.page.history import tree
from workbench.widgets.page.page import page_trait
from workbench.widgets.page.view import View
from workbench.widgets.still.static_form import WITHOUT_SCRIPT, offline_page, run_again, still
from workbench.widgets.still.tries import Held, Vary, held, tries
from workbench.widgets.still.whole import whole

Progress = Callable[[int, int], None]
LARGEST = 20_000  # loops and blocks of all programs: a page of half a minute
EACH = 14  # as many take as long as any program does besides
STEPS = 50  # of those that lead to a program, and are written out, so many take as long as one


def last_page(session: Session) -> str:
    """What is shown as HTML that needs no script."""
    todo = run_again(session.cursor.node.id, session.keeping.lasts)
    return still(session.cursor.node, session.view, session.state, todo)


def write_html(session: Session, path: str | Path, progress: Progress, vary: Vary) -> None:
    """Write one offline page that still steps through every program of the history.

    `progress` hears after each program how many of how many are done. Raises NotWritten, an
    OSError, where that fails, and where the page would be too large, and Fail for numbers to `vary`
    that `held` refuses; what was at `path` is then as it was.
    """
    _check_size(session.history)
    numbers = held(session, vary)
    with collecting_later(kept=True):
        write_whole(path, _written(session, progress, numbers))


def _check_size(history: History) -> None:
    """Refuse a history of which a page would take minutes, and gigabytes."""
    work = 0
    for node in history:
        known = [places(func) for func in node.mod.functions]
        parts = sum(len(one.loops) + len(one.blocks) for one in known)
        work += EACH + parts + node.depth // STEPS
    if work > LARGEST:
        raise NotWritten(
            f"Can't write a page of this history: it has room for about "
            f"{len(history) * LARGEST // work:,} of its {len(history):,} programs",
            detail="a page shows each program in every pane, and this one would take minutes",
            hint="lab.save(path) writes any history, which wb.load reads; for a page, take the "
            "steps that matter on a new schedule",
        )


def _view(view: View) -> dict[str, Any]:
    """What a page opens with; what else is chosen the pages themselves say."""
    opens = {"program": view.program, "machine": view.machine}
    if view.machine != "timeline":
        return opens
    select = {axis: value for axis, value in view.select.items() if axis in NEARER}
    return {**opens, "level": view.level, "select": select}


def _written(session: Session, progress: Progress, numbers: Held) -> str:
    """The page as text."""
    state = {name: session.state[name] for name in SHOWN}
    setup, view, desk = state["setup"], session.view, session.desk
    state |= whole(session.cursor.fork(), view, desk, setup["panes"], session.state, progress)
    if numbers:
        shown = page_trait(str(session.at))
        tried, pictures = tries(session, numbers)
        pictures = {**state[shown]["pictures"], **pictures}
        state[shown] = {**state[shown], "tries": tried, "pictures": pictures}
    state |= {"lines": desk.lines.all, "tree": tree(session.history)}
    state["view"] = _view(view)
    state["broken"] = {}  # it is no step: a page shows what the program does
    state["setup"] = {**setup, "offline": True, "own": "page"}  # the only lab on it
    without = still(session.history[session.at], view, state, WITHOUT_SCRIPT)
    return offline_page(setup["title"], state, without)
