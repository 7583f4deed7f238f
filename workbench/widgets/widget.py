"""wb.lab: a session in a notebook. The browser's messages go in, and what they change goes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Literal, SupportsIndex

import anywidget
import traitlets

from workbench import draw
from workbench.diag import size_text
from workbench.history.history import HistoryNode
from workbench.history.link import ADDRESS
from workbench.ir import IRModule, PrimFunc
from workbench.schedule import Schedule
from workbench.widgets import static
from workbench.widgets.ask.asked import CHOSEN
from workbench.widgets.ask.session import SHOWN, Session
from workbench.widgets.ask.setup import Options
from workbench.widgets.page.collecting import collecting_later
from workbench.widgets.page.offers import Given
from workbench.widgets.page.question import Question, Task
from workbench.widgets.page.view import read_view
from workbench.widgets.run.inputs import check_inputs
from workbench.widgets.run.jobs import Jobs
from workbench.widgets.run.runner import Runner
from workbench.widgets.still import cells, offline, static_form
from workbench.widgets.threads import hear_where_asked


class Lab(anywidget.AnyWidget):
    """The view of a session: everything shown is in the traits, so a saved page steps by itself.

    `at`, `against`, `place` and `view` are also set by the browser, which asks for all else by
    messages. Each page and each comparison is in a trait of its own, `page_3` or `compare_0_3`,
    that comes with it: a click sends what it shows and not all that was shown before. It takes the
    `Options` of a lab.
    """

    _esm = static.script()
    _css = static.style()
    _watched: tuple[Callable[[], None], ...] = ()

    setup = traitlets.Dict().tag(sync=True)
    tree: Any = traitlets.List().tag(sync=True)
    lines: Any = traitlets.List().tag(sync=True)
    at = traitlets.Int().tag(sync=True)
    against = traitlets.Int(-1).tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    status = traitlets.Dict().tag(sync=True)
    answers = traitlets.Dict().tag(sync=True)
    call = traitlets.Dict().tag(sync=True)
    broken = traitlets.Dict().tag(sync=True)
    coded = traitlets.Int().tag(sync=True)
    cell = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        schedule: Schedule,
        *,
        inputs: Mapping[str, Any] | None = None,
        reference: Callable[..., object] | None = None,
        **options: Any,
    ) -> None:
        check_inputs(inputs, reference, schedule.mod)
        self.jobs = Jobs(Runner(inputs or {}, reference), self._pass_on)
        self.session = Session(schedule, self.jobs, Options(**options), inputs)
        self.cursor, self.history = self.session.cursor, self.session.history
        self._sending = False  # the traits follow the session, and not the session the traits
        self._still = ""  # the page without a script where the lab is displayed, else ""
        super().__init__(**{name: self.session.state[name] for name in SHOWN})
        hear_where_asked(self)
        self._pass_on()
        watched = [self.history.observe(self._on_step)]
        if self.session.desk.task is not None:  # a check grades what code makes
            watched.append(schedule.observe(self._on_code))
        self._watched = tuple(watched)
        self.session.keeping.observe(self._on_step)
        self.on_msg(self._on_message)
        self.observe(self._on_choice, names=list(CHOSEN))

    # --- from the browser and from cells ---------------------------------------------------------

    @contextmanager
    def _turn(self) -> Iterator[Session]:
        """The session, while no run says how far it is; what changes meanwhile is sent."""
        with self.jobs.turn, collecting_later():
            yield self.session
            self._pass_on()

    def set_state(self, sync_data: Mapping[str, Any]) -> None:
        """Take what the browser chose; all else is Python's."""
        with self._turn() as session:
            taken = session.choose(sync_data)
            if taken is None:
                self.send_state(list(CHOSEN))  # what stands, for the browser to show again
            else:
                with self._following():
                    super().set_state(taken)
        self._answer()

    @traitlets.validate("view")
    def _check_view(self, proposal: Any) -> Any:
        read_view(proposal.value)
        return proposal.value

    def _on_choice(self, _: object) -> None:
        with self.jobs.turn:  # another thread may be sending what a click changed
            if not self._sending:
                with self._turn() as session:
                    session.follow({name: getattr(self, name) for name in CHOSEN})

    def _on_message(self, _: object, message: Mapping[str, Any], __: object) -> None:
        if isinstance(message, Mapping) and message.get("do") == "again":
            # its page was loaded anew, without the outputs of its cell
            self.send({"still": self._still, "id": self.model_id})
            return
        with self._turn() as session:
            said = session.hear(message)
        if said is not None:
            self.send(said)

    def _answer(self) -> None:
        """Tell the browser that what it asked is done, also where that changed nothing."""
        self.send({"answered": True})

    def _on_code(self, node: HistoryNode) -> None:
        with self._turn() as session:
            session.went(node)

    def _on_step(self, _: object = None) -> None:
        with self._turn() as session:
            session.stepped()

    # --- to the browser --------------------------------------------------------------------------

    @contextmanager
    def _following(self) -> Iterator[None]:
        before, self._sending = self._sending, True
        try:
            yield
        finally:
            self._sending = before

    def _pass_on(self) -> None:
        """Send what changed in the session: lines before the pages that are made of them."""
        changed = self.session.changes()
        new = {name: value for name, value in changed.items() if not self.has_trait(name)}
        with self._following():
            if new:
                self.lines = self.session.state["lines"]
                self.add_traits(**{n: traitlets.Dict(v).tag(sync=True) for n, v in new.items()})
            with self.hold_sync():
                for name in changed.keys() - new.keys():
                    setattr(self, name, changed[name])
        if changed.keys() - {"status", "tree", "lines", "broken", "coded"}:
            self._renew()

    def run(self, on: Literal["gpu", "cpu"] = "gpu") -> Mapping[str, Any]:
        """Run the program that the lab stands at, wait for it, and return what came out.

        Without a GPU its kernels are emulated; on the CPU it is compiled as C.
        """
        with self._turn() as session:
            session.ask({"do": "run", "on": on})
        self.jobs.wait()
        return self.session.page.get("run", {})

    def link(self) -> str:
        """A link that opens at the program that the lab shows: `wb.open` makes a schedule of it.

        The program that the history began with and the steps that lead there are all in the link,
        behind its ``#``, with their names; no answers, and no other branch. Raises ScheduleError
        for more than 500 steps or 256 KiB.
        """
        with self.jobs.turn:
            return self.session.link()

    def save(self, path: str | Path) -> None:
        """Write the whole history and the answers to `path`; `wb.load` reads it.

        Raises NotWritten, an OSError, where that fails; ScheduleError for a file of something else.
        """
        self.session.keeping.save(path)

    def to_html(
        self, path: str | Path, *, vary: Mapping[str, Iterable[SupportsIndex]] | None = None
    ) -> None:
        """Write one offline page that still steps through every program of the history.

        `vary` has by the name of a loop how often it is to run, such as `{"i_2": [4, 8, 16]}`: the
        program that is shown is tried so, and in the page that number can be dragged, or moved by a
        slider, from one of these values to the next; one that is refused says why. A split must
        have made the loop, and a page has room for 16 tried programs.

        Prints how far it is, if it takes longer than a second, then where the page is, and how
        large. Raises NotWritten, an OSError, where that fails, and for a history whose page would
        take minutes, and Fail for what cannot be varied; then, and after an interrupt, what was at
        `path` is as it was.

        >>> import contextlib
        >>> lab = wb.lab(bound)
        >>> with contextlib.redirect_stdout(None):
        ...     lab.to_html("add.html", vary={"i_1": [2, 4, 8]})
        >>> lab.close()
        """
        begun, told = monotonic(), False

        def progress(done: int, every: int) -> None:
            nonlocal told
            if monotonic() - begun > 1:
                told = True
                print(f"\r{done:,} of {every:,} programs; interrupt to stop", end="", flush=True)

        offline.write_html(self.session, path, progress, vary or {})
        written = Path(path).resolve()
        if told:
            print("\r", end="")
        print(f"The lab is written to {written} ({size_text(written.stat().st_size)}).")

    # --- the cell's outputs ----------------------------------------------------------------------

    def _ipython_display_(self, **_: Any) -> None:
        """Two outputs: the page without a script, which stays in the notebook, and the view.

        A notebook shows only a view's error where its Python is gone, whatever stands beside it
        in one output.
        """
        from IPython.display import publish_display_data

        self._still = offline.last_page(self.session)
        cells.show(self)
        self._publish(update=False)
        bundle = self._repr_mimebundle_()
        data, meta = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        publish_display_data({**data, "text/plain": "", "text/html": ""}, meta)

    def _renew(self) -> None:
        """The page without a script follows what is shown."""
        if self._still and self._still != (now := offline.last_page(self.session)):
            self._still = now
            self._publish(update=True)

    def _publish(self, update: bool) -> None:
        from IPython.display import publish_display_data

        data = {"text/plain": repr(self), "text/html": self._still}
        publish_display_data(data, transient={"display_id": self.setup["own"]}, update=update)

    def close(self) -> None:
        """Close the view; the history is kept and no longer watched."""
        for unobserve in self._watched:
            unobserve()
        self._watched = ()  # a widget closes again when it is collected
        super().close()

    def __repr__(self) -> str:
        return static_form.summary(self.cursor.node, self.session.desk)


def lab(
    schedule: Schedule | PrimFunc | IRModule,
    *,
    actions: Sequence[str] | None = None,
    arguments: Given | None = None,
    panes: Sequence[str] | None = None,
    inputs: Mapping[str, Any] | None = None,
    reference: Callable[..., object] | None = None,
    question: Question | None = None,
    task: str | Task | None = None,
    costs: Sequence[str] | None = None,
    target: str = draw.GPU,
    height: int | None = None,
    autosave: str | Path | None = None,
    address: str = ADDRESS,
) -> Lab:
    """A lab over `schedule`'s history, with its own cursor; a program gets a schedule of its own.

    Of a module it shows the function that the step changed, and works on that.

    `actions` and `panes` name what is offered at once ("split"; "TensorIR", "loops", "CUDA",
    "Metal", "OpenCL", "Code", "who", "memory", "tiles", "pipeline", "sectors", "banks",
    "occupancy", "timeline", "roofline", "fragments"), panes in that order; the rest is under
    "more". `arguments` is what the forms of verbs hold at first, by verb and name of the argument,
    such as `{"split": {"factors": [2, 4]}}` (of one place, "split i"), and the rest nothing; by
    default they hold what is possible, and on an exercise's schedule nothing.
    `inputs` (arrays by parameter name; those of a program for any size tell its sizes, at which it
    is counted, drawn and run) and `reference` (a function that writes the expected
    outputs) are for running; `question` is asked first, and what would answer it is hidden until
    it is. `task` says in a line what to do; given an exercise, its goals stand there, ticked as
    far as the program reaches them. `costs` names at most four counts to show, those of
    `lesson.compare` ("global loads an output"), "idle threads", "wavefronts a shared read", "global
    sectors" or "shared wavefronts" (in all, as written, and told beside what a compiler
    issues), by default those that matter most to the program; "modelled time" beside them, which is
    there by default, is a bar in µs of the `target` that opens what they go to and what would help;
    with "guess first" there, each step asks what its time will be before it is shown. The `target`
    is also the GPU of occupancy and roofline. A lab fits the panel of its notebook; where the page
    does not tell how much of it is seen, as in Colab, it is `height` pixels tall, by default 640. A
    cell that runs again offers to go on where its lab stood. With `autosave`, a path, every step is
    kept in that file beside what it holds, and a later lab offers to go on from there; on an
    exercise's schedule that is so without it, too. A file that holds something else is left alone,
    and another beside it used. *link*, as `lab.link()`, makes a link to `address`, by default the
    project's page, that opens at the program that is shown; to a play.html, which `workbench play`
    writes, it opens in any browser.

    Raises Fail for an action, an argument, a pane, a cost or an input that there is not, for more
    than four costs, for a `question` of a cost that is not among them, for a `target` of which
    nobody knows how fast it is, for an array that does not fit its parameter, for a `height` of
    less than 440, where `autosave` is no path, and where `address` is none.

    >>> lab = wb.lab(sch, actions=["split", "bind"], panes=["who"])
    >>> lab.close()
    """
    if not isinstance(schedule, Schedule):
        schedule = Schedule(schedule)
    return Lab(
        schedule,
        actions=actions,
        arguments=arguments,
        panes=panes,
        inputs=inputs,
        reference=reference,
        question=question,
        task=task,
        costs=costs,
        target=target,
        height=height,
        autosave=autosave,
        address=address,
    )
