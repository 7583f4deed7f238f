"""wb.lab: the history of a schedule, its pages, and what can be done next, in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from threading import RLock, Thread
from typing import Any

import anywidget
import traitlets

from workbench.diag import Fail
from workbench.ir import BlockId, IRModule, PrimFunc, Var
from workbench.schedule import Schedule
from workbench.schedule.history import HistoryNode
from workbench.schedule.primitive import REGISTRY
from workbench.schedule.write_whole import write_whole
from workbench.widgets import offers, saved, static, static_form
from workbench.widgets.asked import CHOSEN, chosen, part, typed
from workbench.widgets.compare import comparison, functions, title
from workbench.widgets.inputs import check_inputs
from workbench.widgets.page import Desk, page, said, tree, verdicts
from workbench.widgets.question import Question, along
from workbench.widgets.run import Progress, Runner
from workbench.widgets.setup import device_text, known, question_data, split_panes
from workbench.widgets.texts import refusal
from workbench.widgets.view import read_view
from workbench.widgets.whole import compare_trait, page_trait, whole


def _nothing() -> None:
    """What stops the watching where there is none."""


class Lab(anywidget.AnyWidget):
    """A view of a schedule's history with a cursor of its own.

    Everything shown is in the traits, so that a saved page steps without Python. `at` is the node,
    `against` the one it is compared with (-1: none), `place` the key of the chosen loop or block;
    these and `view` are also set by the browser, which asks for all else by messages. Each page
    and each comparison is in a trait of its own, `page_3` or `compare_0_3`, that comes with it:
    a click sends what it shows and not all that was shown before.
    """

    _esm = static.script()
    _css = static.style()
    _unobserve: Callable[[], None] = staticmethod(_nothing)

    setup = traitlets.Dict().tag(sync=True)
    tree: Any = traitlets.List().tag(sync=True)
    lines: Any = traitlets.List().tag(sync=True)
    at = traitlets.Int().tag(sync=True)
    against = traitlets.Int(-1).tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    status = traitlets.Dict().tag(sync=True)
    answers = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        schedule: Schedule,
        *,
        actions: Sequence[str] | None = None,
        panes: Sequence[str] | None = None,
        inputs: Mapping[str, Any] | None = None,
        reference: Callable[..., object] | None = None,
        question: Question | None = None,
        autosave: str | Path | None = None,
    ) -> None:
        known(actions, REGISTRY, "action")
        check_inputs(inputs, reference, schedule.mod)
        program, machine = split_panes(panes)
        self.cursor = schedule.fork()
        self.history = schedule.history
        desk = self._desk = Desk(actions, along(question, self.history))
        self._runner = Runner(inputs or {}, reference)
        self._running: Thread | None = None
        self._turn = RLock()  # a run tells how far it is while clicks are answered
        self._settled = True
        self._own = token_hex(8)  # names the page without a script
        self._still = ""  # which stands where the lab is displayed; "" while it is nowhere
        self.pages: dict[str, dict[str, Any]] = {}  # by node
        self.compares: dict[str, dict[str, Any]] = {}  # by two nodes, "0:3"
        file = autosave or self.history.kept_in
        self._kept = saved.kept(file, self.history) if file else None
        here = self.cursor.node
        self._unobserve = self.history.observe(self._on_step)
        super().__init__(
            setup={
                "own": self._own,
                "title": f"Lab: {schedule.func.name}",
                "panes": {"program": program, "machine": machine},
                "question": question_data(question),
                "device": device_text(),
                "resume": self._offer(),
            },
            view={"program": program["first"][0], "machine": machine["first"][0]},
            at=here.id,
            place=self._useful(list(desk.places(here.func))),
            status={"kind": "ready", "text": self._with_moved(said(here))},
            answers=dict(self.history.answers),
        )
        self._show()
        self.on_msg(self._on_message)
        if self._kept is not None:
            self._kept.observe(self._on_kept)
        self.observe(self._on_choice, names=list(CHOSEN))

    # --- what is shown ---------------------------------------------------------------------------

    def _show(self) -> None:
        """Make what the open panes need of the program that the cursor is at, and send it."""
        node, view = self.cursor.node, read_view(self.view, self.place)
        key, pair = str(node.id), f"{self.against}:{node.id}"
        made = page(self.cursor, view, self._desk, self.pages.get(key))
        compared = None
        if self.against >= 0:
            compared = comparison(self.history[self.against], node, view, self._desk)
        with self.hold_sync():
            self.tree = tree(self.history)
            self.lines = list(self._desk.lines.all)  # before the page that is made of them
        self._keep_page(key, made)
        if compared:
            measured = self.compares.get(pair, {}).get("measured")
            self._keep_comparison(pair, {**compared, "measured": measured})

    def _keep_page(self, key: str, made: dict[str, Any]) -> None:
        self.pages[key] = made
        self._send_own(page_trait(key), made)
        self._renew()

    def _keep_comparison(self, pair: str, made: dict[str, Any]) -> None:
        self.compares[pair] = made
        self._send_own(compare_trait(pair), made)

    def _send_own(self, name: str, value: dict[str, Any]) -> None:
        if self.has_trait(name):
            setattr(self, name, value)
        else:
            self.add_traits(**{name: traitlets.Dict(value).tag(sync=True)})

    def _guard(self, act: Callable[[], None]) -> None:
        """Do `act`; what it raises is shown in the lab, where the learner looks."""
        try:
            act()
        except Fail as fail:
            self.status = {"kind": "refused", "text": fail.headline, "error": refusal(fail)}
        except Exception as error:
            told = {
                "headline": f"The lab failed: {type(error).__name__}: {error}",
                "hint": "this is a fault of the workbench; the history is kept, other steps work",
            }
            self.status = {"kind": "failed", "text": told["headline"], "error": told}

    # --- what the browser and other cells do -----------------------------------------------------

    def set_state(self, sync_data: Mapping[str, Any]) -> None:
        """Take what the browser chose, while no run says how far it is; all else is Python's."""
        with self._turn:
            self._guard(lambda: self._take(sync_data))

    def _take(self, sync_data: Mapping[str, Any]) -> None:
        try:
            taken = chosen(sync_data, self.view)
        except Fail:
            self.send_state(list(CHOSEN))  # what stands, for the browser to show again
            raise
        with self._together():
            super().set_state(taken)
        self._follow()

    @traitlets.validate("view")
    def _check_view(self, proposal: Any) -> Any:
        read_view(proposal.value)
        return proposal.value

    @contextmanager
    def _together(self) -> Iterator[None]:
        """What is chosen meanwhile is one choice: it is followed when all of it is known."""
        self._settled = False
        try:
            yield
        finally:
            self._settled = True

    def _on_choice(self, _: object) -> None:
        if self._settled:
            with self._turn:
                self._guard(self._follow)

    def _follow(self) -> None:
        """Show what was chosen, in whatever order: the node first, then a place of its program."""
        with self._together():
            if not 0 <= self.at < len(self.history):
                self.at = self.cursor.node.id
            if not -1 <= self.against < len(self.history):
                self.against = -1
            if self.cursor.node.id != self.at:
                self.cursor.goto(self.history[self.at])
                self._say(said(self.cursor.node))
                self._save()
                places = self._desk.places(self.cursor.node.func)
                if self.place not in places:
                    self.place = self._useful(list(places))
        self._show()

    def _on_step(self, node: HistoryNode) -> None:
        """A cell or the lab itself made a node or marked one."""
        self.tree = tree(node.history)
        self.answers = dict(node.history.answers)
        self._offer_again()

    def _on_message(self, _: object, message: Mapping[str, Any], __: object) -> None:
        acts: dict[str, Callable[[], None]] = {
            "look": self._follow,
            "apply": lambda: self._apply(message),
            "answer": lambda: self._answer(
                part(message, "name", str), part(message, "choice", int)
            ),
            "run": self._run,
            "time": self._time,
            "stop": self._stop,
            "resume": self._resume,
            "forget": self._forget,
        }

        def act() -> None:
            do = part(message, "do", str)
            if do not in acts:
                raise Fail(
                    f"Can't do {do[:40]!r}: a lab has no such request",
                    hint=f"there are: {', '.join(acts)}",
                )
            acts[do]()

        with self._turn:
            self._guard(act)

    def _say(self, text: str, kind: str = "ready") -> None:
        self.status = {"kind": kind, "text": text}

    def _apply(self, message: Mapping[str, Any]) -> None:
        thing = self._desk.keys.thing(part(message, "place", str))
        if not isinstance(thing, (Var, BlockId)):
            raise Fail("Can't apply a step: no loop or block is chosen", hint="click one")
        verb = part(message, "verb", str)
        if verb not in REGISTRY:
            raise Fail(
                f"Can't apply {verb[:40]!r}: there is no primitive of that name",
                hint="choose one of those that are offered",
            )

        def choices() -> Sequence[Mapping[str, Any]]:
            found = verdicts(self.cursor, message["place"], self._desk, [verb])
            return [choice for verdict in found for choice in verdict.choices]

        rest, named = offers.arguments(REGISTRY[verb], typed(message), choices)
        self.cursor.goto(self.history[self.at])  # the program that is seen, wherever code went
        self.cursor.apply(verb, self.history.handle(thing), *rest, **named)
        node = self.cursor.node
        with self.hold_sync():
            self._say(said(node))
            with self._together():
                self.place, self.at = self._next_place(node, thing), node.id
            self._show()
        self._save()

    def _next_place(self, node: HistoryNode, old: Var | BlockId) -> str:
        """Where one goes on: at what the step made, where one was, or where there is an offer."""
        made = node.result if isinstance(node.result, tuple) else (node.result,)
        things = [
            t for t in (*made, *node.became.get(old, ()), old) if t is not None and node.holds(t)
        ]
        keys = [self._desk.keys.of(thing) for thing in things]
        return self._useful([*keys, *self._desk.places(node.func)])

    def _useful(self, keys: Sequence[str]) -> str:
        """The first of the places at which an offered verb is possible; else the first."""
        for key in keys if self._desk.offered is not None else ():
            if any(v.possible for v in verdicts(self.cursor, key, self._desk, self._desk.offered)):
                return key
        return keys[0] if keys else ""

    def _answer(self, name: str, choice: int) -> None:
        question = self._desk.question
        if question is None or name != question.name or not 0 <= choice < len(question.choices):
            raise Fail("Can't take the answer: the lab asks no such question", hint="choose one")
        self.history.answers[name] = question.choices[choice]
        self.answers = dict(self.history.answers)
        self._offer_again()
        self._renew()
        self._say(f"You say: {question.choices[choice]}.")
        self._save()

    # --- running ---------------------------------------------------------------------------------

    def _run(self) -> None:
        node = self.history[self.at]
        self._begin(f"Running step {node.id}", "blocks", lambda tell: self._work(node, tell))

    def _begin(self, what: str, unit: str, work: Callable[[Progress], None]) -> None:
        """Do `work` beside the notebook, one at a time; it tells how far it is."""
        if self._running is not None and self._running.is_alive():
            raise Fail("Can't run: a run is under way", hint="stop it first")

        def progress(done: int, of: int) -> None:
            text = f"{what}: {done} of {of} {unit}"
            with self._turn:
                if not self._runner.stop.is_set():  # else it says that it stops
                    self.status = {"kind": "running", "text": text, "done": done, "of": of}

        self._runner.stop.clear()
        self.status = {"kind": "running", "text": f"{what} …"}
        self._running = Thread(target=self._guard, args=(lambda: work(progress),), daemon=True)
        self._running.start()

    def _stop(self) -> None:
        self._runner.stop.set()
        if self.status["kind"] == "running":
            self.status = {**self.status, "text": "Stopping …"}

    def _work(self, node: HistoryNode, progress: Progress) -> None:
        start = self.history.root.mod[node.func_name]
        result = self._runner.run(node.func, start, progress)
        key = str(node.id)
        with self._turn:
            self._keep_page(key, {**self.pages[key], "run": result})
            self._say(result["text"])

    def _time(self) -> None:
        """Time the node that one stands at and the one it is compared with, by turns."""
        pair = f"{self.against}:{self.at}"
        if pair not in self.compares:
            raise Fail("Can't time both: nothing is compared", hint="choose a node to compare with")
        a, b = self.history[self.against], self.history[self.at]

        def work(progress: Progress) -> None:
            titles = title(a), title(b)
            result = self._runner.time_both(*functions(a, b), titles, progress)
            with self._turn:
                self._keep_comparison(pair, {**self.compares[pair], "measured": result})
                self._say(result["text"])

        self._begin(f"Timing {a.id} and {b.id}", "rounds", work)

    def run(self) -> Mapping[str, Any]:
        """Run the program that the lab stands at, wait for it, and return what came out."""
        self._guard(self._run)
        if self._running is not None:
            self._running.join()
        return self.pages[str(self.at)].get("run", {})

    # --- keeping ---------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the whole history and the answers to `path`; `wb.load` reads it.

        Raises NotWritten, an OSError, where that fails; ScheduleError for a file of something else.
        """
        if self._kept is not None and Path(path).resolve() == self._kept.path:
            self._kept.write(self.cursor)  # beside what it holds
        else:
            self.cursor.save(path)

    def _save(self) -> None:
        """Keep the steps in the lab's file; as long as that fails, each step says so."""
        if self._kept is None:
            return
        moved, text = self._kept.moved, self.status["text"]
        try:
            self._kept.write(self.cursor)
            told = text if self._kept.moved == moved else self._with_moved(text)
        except Fail as fail:
            told = f"{text} {fail.headline} Your steps are in memory only."
        self.status = {**self.status, "text": told}

    def _with_moved(self, text: str) -> str:
        """`text`, and where steps are kept if not in the file that was asked for."""
        return f"{text} {self._kept.moved}" if self._kept and self._kept.moved else text

    def _offer(self) -> dict[str, str] | None:
        text = self._kept.offer(self.history) if self._kept is not None else None
        return {"text": text} if text else None

    def _offer_again(self) -> None:
        """The offer counts what is not done yet; there is none once all is."""
        if self.setup["resume"] != (offer := self._offer()):
            self.setup = {**self.setup, "resume": offer}

    def _resume(self) -> None:
        if self._kept is None:
            raise Fail("Can't go on from there: this lab has no file", hint="use autosave=…")
        self._kept.take_up(self.cursor)
        self.at = self.cursor.node.id
        self._say(said(self.cursor.node))
        self._save()

    def _forget(self) -> None:
        if self._kept is not None:
            self._kept.forget()

    def _on_kept(self) -> None:
        """Here or in another lab of the history it was said what becomes of the earlier work."""
        self.answers = dict(self.history.answers)
        self._offer_again()

    def to_html(self, path: str | Path) -> None:
        """Write one offline page that still steps through every program of the history.

        Raises NotWritten, an OSError, where that fails; what was at `path` is then as it was.
        """
        known = {**self.pages, **self.compares}  # by a node, by two
        state = {name: getattr(self, name) for name in TRAITS}
        view = read_view(self.view, self.place)
        state |= whole(self.cursor.fork(), view, self._desk, self.setup["panes"], known)
        state |= {"lines": self._desk.lines.all, "tree": tree(self.history)}
        state["setup"] = {**self.setup, "offline": True, "own": "page"}  # the only lab on it
        still = static_form.still(self.history[self.at], view, state, static_form.WITHOUT_SCRIPT)
        write_whole(path, static_form.offline_page(self.setup["title"], state, still))

    def _ipython_display_(self, **_: Any) -> None:
        """Two outputs: the page without a script, which stays in the notebook, and the view.

        A notebook shows only a view's error where its Python is gone, whatever stands beside it
        in one output.
        """
        from IPython.display import publish_display_data

        self._still = self._page_now()
        self._publish(update=False)
        bundle = self._repr_mimebundle_()
        data, meta = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        publish_display_data({**data, "text/plain": "", "text/html": ""}, meta)

    def _renew(self) -> None:
        """The page without a script follows what is shown."""
        if self._still and self._still != (now := self._page_now()):
            self._still = now
            self._publish(update=True)

    def _page_now(self) -> str:
        node, view = self.cursor.node, read_view(self.view, self.place)
        key = str(node.id)
        state = {"setup": self.setup, "answers": self.answers, "lines": self._desk.lines.all}
        state[page_trait(key)] = self.pages[key]
        return static_form.still(node, view, state, static_form.LAST_PAGE)

    def _publish(self, update: bool) -> None:
        from IPython.display import publish_display_data

        data = {"text/plain": repr(self), "text/html": self._still}
        publish_display_data(data, transient={"display_id": self._own}, update=update)

    def close(self) -> None:
        """Close the view; the history is kept and no longer watched."""
        self._unobserve()
        self._unobserve = _nothing  # a widget closes again when it is collected
        super().close()

    def __repr__(self) -> str:
        return static_form.summary(self.cursor.node)


TRAITS = ("setup", "tree", "lines", "at", "against", "place", "view", "status", "answers")


def lab(
    schedule: Schedule | PrimFunc | IRModule,
    *,
    actions: Sequence[str] | None = None,
    panes: Sequence[str] | None = None,
    inputs: Mapping[str, Any] | None = None,
    reference: Callable[..., object] | None = None,
    question: Question | None = None,
    autosave: str | Path | None = None,
) -> Lab:
    """A lab over `schedule`'s history, with its own cursor; a program gets a schedule of its own.

    `actions` and `panes` name what is offered at once ("split"; "TensorIR", "loops", "CUDA",
    "Metal", "Code", "who", "memory", "tiles"), panes in that order; the rest is under "more".
    `inputs` (arrays by parameter name) and `reference` (a function that writes the expected
    outputs) are for running; `question` is asked first. With `autosave`, a path, every step is
    kept in that file beside what it holds, and a later lab offers to go on from there; on an
    exercise's schedule that is so without it, too. A file that holds something else is left alone,
    and another beside it used.

    Raises Fail for an action, a pane or an input that there is not, for an array that does not fit
    its parameter, and where `autosave` is no path.
    """
    if not isinstance(schedule, Schedule):
        schedule = Schedule(schedule)
    return Lab(
        schedule,
        actions=actions,
        panes=panes,
        inputs=inputs,
        reference=reference,
        question=question,
        autosave=autosave,
    )
