"""A link's lab with a browser's own Python behind it: in and out go texts, of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from workbench.history.errors import ScheduleError
from workbench.schedule.link import open
from workbench.widgets.ask.asked import CHOSEN
from workbench.widgets.ask.session import Session
from workbench.widgets.ask.setup import Options
from workbench.widgets.page.collecting import collecting_later
from workbench.widgets.page.texts import refusal
from workbench.widgets.run.jobs import Job, Jobs
from workbench.widgets.run.runner import Runner

Tell = Callable[[str], object]


class Waiting(Jobs):
    """Jobs where there are no threads: one waits until `work` does it."""

    _job: Job | None = None

    @property
    def running(self) -> bool:
        return self._job is not None

    def _start(self, job: Job) -> None:
        self._job = job

    def work(self) -> None:
        """Do the job that waits, if one does."""
        job, self._job = self._job, None
        if job is not None:
            self._do(job)


class Played:
    """The session of a link's lab, for the page at `address`, to which `tell` brings texts.

    Each has what changed under "told", by the names of a lab's traits, what a lab hears besides
    under "said", and under "link" one that opens where the lab stands now. "chose" names what the
    page has chosen, if it is the answer to that.
    """

    def __init__(self, link: str, address: str, tell: Tell) -> None:
        """Open `link`. Raises ScheduleError as `workbench.open` does."""
        self._tell = tell
        self._jobs = Waiting(Runner(), self._pass_on)
        self._session = Session(open(link), self._jobs, Options(address=address))
        self._pass_on()

    def answer(self, asked: str) -> None:
        """Do what the page asks: a "message" of the lab, or what was "chosen" in it."""
        what = json.loads(asked)
        with collecting_later():
            if "chosen" in what:
                taken = self._session.choose(what["chosen"])
                names = CHOSEN if taken is None else taken
                stands = {name: self._session.state[name] for name in names}
                self._pass_on({"answered": True}, stands, [*what["chosen"]])
            else:
                self._pass_on(self._session.hear(what["message"]))
        self._jobs.work()

    def _pass_on(
        self,
        said: Mapping[str, Any] | None = None,
        stands: Mapping[str, Any] | None = None,
        chose: Sequence[str] | None = None,
    ) -> None:
        """Tell what changed, and how what the page `chose` stands: it may have left that since."""
        changed = self._session.changes()
        made = ""
        if "at" in changed:
            with suppress(ScheduleError):  # of more than a link holds there is none
                made = self._session.link()
        told = {**changed, **(stands or {})}
        news = {"told": told, "said": said, "link": made, "chose": chose}
        self._tell(json.dumps(news, separators=(",", ":")))


def begin(link: str, address: str, tell: Tell) -> Played | None:
    """The session of `link`, once `tell` has what it shows; None: it was told why there is none."""
    try:
        return Played(link, address, tell)
    except ScheduleError as error:
        tell(json.dumps({"refused": refusal(error)}))
        return None
