"""The view of a search: what it is told as trials end, and what it opens when it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Self

from workbench import draw
from workbench.diag import Fail, count_text
from workbench.insight.launched import rates_of
from workbench.tuning import Ended, Progress, Stopped, Tried, Watch, best_of
from workbench.widgets.ask.asked import part
from workbench.widgets.small.search import SearchView
from workbench.widgets.widget import Lab

APART = 0.25  # s at least from message to message
SHARE = 0.1  # of a search's time, at most, goes into telling its view


def watch(tried: Tried, of: int) -> Watch:
    """What shows a search of `of` trials while it runs, in the cell that runs it."""
    return Watching(tried, of)


def show_search(tried: Tried) -> None:
    """Show what a search tried in the cell that runs."""
    with Watching(tried, 0):
        pass


class Watching:
    """A view of `tried`, of `of` trials, which follows a search until that is through."""

    def __init__(self, tried: Tried, of: int) -> None:
        self.tried = tried
        self.of = of
        self.running = True
        self.stopping = False
        self.begun = self.sent = monotonic()
        self.first = len(tried.lines.outcomes)  # of a search that goes on, what was there before
        self.known = 0  # of the trials that ended, how many the view has
        self.took = 0.0  # s, to tell it the last time
        func, device = tried.search.program.name, tried.lines.header.device
        self.view = SearchView(f"Trials of {func} on {device}", self._asked)
        self._labs: list[Lab] = []

    # --- while the search runs -------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._show()
        self._tell()  # which times the vendor's library first, where it is here
        self.begun = monotonic()
        return self

    def __call__(self, progress: Progress) -> None:
        """Tell the view of a trial, with those that ended since the last time it was told."""
        self.tried.learn(progress.candidate)
        if monotonic() - self.sent >= max(APART, self.took / SHARE):
            self._tell()
        if self.stopping:
            raise Stopped

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> bool:
        """The search is through, or was interrupted, which is how a notebook stops a cell."""
        self.running = False
        self._tell()
        self.view.whole()
        self._publish(update=True)
        return isinstance(error, (KeyboardInterrupt, Stopped)) and bool(self.tried.lines.outcomes)

    def _tell(self) -> None:
        """Send what is new, all in one message."""
        self.sent = monotonic()
        lines = self.tried.lines
        ended = lines.ended
        of = max(self.of, len(lines.trials)) if self.running else 0
        vendor, choices = self.tried.vendor, self.tried.choices
        grounds = {
            name: draw.search_ground(ended, of, name, vendor).plain() for name in draw.SEARCH_VIEWS
        }
        new = list(lines.outcomes)[self.known :]  # in the order in which they ended
        self.known += len(new)
        told = [Ended(lines.trials[k], lines.outcomes[k]) for k in new if k in lines.trials]
        rows = draw.point_rows(told, choices)
        self.view.tell(rows, self._told(ended, of), grounds, [choice.name for choice in choices])
        self.took = monotonic() - self.sent

    def _told(self, ended: Sequence[Ended], of: int) -> dict[str, Any]:
        """What is told of the search as a whole."""
        best = best_of(ended)
        return {
            "count": len(ended),
            "of": of,
            "running": self.running,
            "caption": self._far(ended, of) if self.running else draw.search_caption(ended),
            "best": best.trial.number if best else None,
            "how": ended[0].outcome.how if ended else "",
            "table": draw.table_html(draw.best_table(ended, self.tried.choices)),
            "reasons": draw.table_html(draw.reasons_table(self.tried.lines)),
        }

    def _far(self, ended: Sequence[Ended], of: int) -> str:
        """How far the search is, how long it goes on as it went so far, and what it has found."""
        new = len(ended) - self.first
        seconds = (self.sent - self.begun) / new * (of - len(ended)) if new else 0.0
        left = f"about {seconds:.0f}\N{NO-BREAK SPACE}s left" if new else "making the next ones"
        return f"{len(ended)} of {count_text(of, 'trial')}, {left}; {draw.best_text(ended)}."

    # --- the cell's outputs ----------------------------------------------------------------------

    def _show(self) -> None:
        from IPython.display import publish_display_data

        self._publish(update=False)
        bundle = self.view._repr_mimebundle_()
        data, meta = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        publish_display_data({**data, "text/plain": "", "text/html": ""}, meta)
        place = {"display_id": self.view.beside}
        publish_display_data({"text/plain": "", "text/html": ""}, transient=place)

    def _publish(self, update: bool) -> None:
        """The form without a script, which stays in the notebook."""
        from IPython.display import publish_display_data

        lines, choices = self.tried.lines, self.tried.choices
        vendor = self.tried.vendor if update else None
        of = self.of if self.running else 0
        picture = draw.search_picture(lines, of=of, vendor=vendor, choices=choices)
        self.view.keep(picture, draw.table_html(draw.reasons_table(lines)))
        data = {"text/plain": repr(self.view), "text/html": self.view.still()}
        publish_display_data(data, transient={"display_id": self.view.own}, update=update)

    # --- what a page asks ------------------------------------------------------------------------

    def _asked(self, do: str, message: Mapping[str, Any]) -> None:
        if do == "stop":
            self.stopping = True
            return
        if self.running:
            raise Fail("Can't do that while the search runs", hint="stop it, or wait")
        if do == "open":
            self._open(part(message, "trial", int), part(message, "compare", bool))
        else:
            self.view.ablation = draw.plain(draw.ablation_picture(self.tried.ablation()))

    def _open(self, number: int, compare: bool) -> None:
        """A lab of a trial's steps, with the best's as another branch, in the same cell."""
        from IPython.display import publish_display_data

        schedule, best = self.tried.beside(number)
        model = self.tried.search.model
        lab = Lab(schedule, target=model.name if rates_of(model) else draw.GPU)
        if compare and best is not None:
            lab.against = best.id
        for old in self._labs:
            old.close()
        self._labs = [lab]
        bundle = lab._repr_mimebundle_()
        data, meta = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        place = {"display_id": self.view.beside}
        publish_display_data({**data, "text/plain": repr(lab)}, meta, transient=place, update=True)
        self.view.said = f"Trial {number} is open in the lab below."
