"""wb.lab: the history of a schedule, its pages, and what can be done next, in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import RLock, Thread
from typing import Any

import anywidget
import traitlets

from workbench.diag import Fail
from workbench.ir import BlockId, IRModule, PrimFunc, Var
from workbench.schedule import Schedule
from workbench.schedule.history import HistoryNode
from workbench.schedule.primitive import REGISTRY
from workbench.widgets import offers, saved, static, static_form
from workbench.widgets.compare import comparison, title
from workbench.widgets.page import Desk, View, page, picture_name, said, tree, verdicts
from workbench.widgets.question import Question, along
from workbench.widgets.run import Progress, Runner
from workbench.widgets.setup import device_text, known, question_data, split_panes
from workbench.widgets.texts import refusal
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
    _ipython_display_ = None  # ipywidgets 7 would show itself and skip the forms below

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
        program, machine = split_panes(panes)
        self.cursor = schedule.fork()
        self.history = schedule.history
        desk = self._desk = Desk(actions, along(question, self.history))
        self._runner = Runner(inputs or {}, reference)
        self._running: Thread | None = None
        self._turn = RLock()  # a run tells how far it is while clicks are answered
        self._settled = True
        self.pages: dict[str, dict[str, Any]] = {}  # by node
        self.compares: dict[str, dict[str, Any]] = {}  # by two nodes, "0:3"
        self._kept = saved.kept(Path(autosave), self.history) if autosave else None
        here = self.cursor.node
        self._unobserve = self.history.observe(self._on_step)
        super().__init__(
            setup={
                "title": f"Lab: {schedule.func.name}",
                "panes": {"program": program, "machine": machine},
                "question": question_data(question),
                "device": device_text(),
                "resume": self._offer(),
            },
            view={"program": program["first"][0], "machine": machine["first"][0]},
            at=here.id,
            place=self._useful(list(desk.places(here.func))),
            status={"kind": "ready", "text": said(here)},
            answers=dict(self.history.answers),
        )
        self._show()
        self.on_msg(self._on_message)
        if self._kept is not None:
            self._kept.observe(self._on_kept)
        self.observe(self._on_place, names=["at", "place", "view", "against"])

    # --- what is shown ---------------------------------------------------------------------------

    @property
    def _view(self) -> View:
        known = {k: v for k, v in self.view.items() if k in View.__dataclass_fields__}
        return View(**{**known, "place": self.place})

    def _show(self) -> None:
        """Make what the open panes need of the current page, and send it."""
        made = page(self.cursor, self._view, self._desk, self.pages.get(str(self.at)))
        compared = self._compared(made) if self.against >= 0 else None
        with self.hold_sync():
            self.tree = tree(self.history)
            self.lines = list(self._desk.lines.all)  # before the page that is made of them
        self._keep_page(str(self.at), made)
        if compared:
            self._keep_comparison(f"{self.against}:{self.at}", compared)

    def _compared(self, made: Mapping[str, Any]) -> dict[str, Any]:
        a, b = self.history[self.against], self.history[self.at]
        picture = picture_name(dict(made), b, self._view)
        found = comparison(a, b, [picture] if picture else [], self._desk)
        known = self.compares.get(f"{self.against}:{self.at}", {})
        return {**found, "measured": known.get("measured")}

    def _keep_page(self, key: str, made: dict[str, Any]) -> None:
        self.pages[key] = made
        self._send_own(page_trait(key), made)

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
        """Take what the browser set, while no run says how far it is."""
        with self._turn:
            super().set_state(sync_data)

    def _on_place(self, change: Any) -> None:
        def act() -> None:
            if not self._settled:
                return
            if not 0 <= self.at < len(self.history):
                self.at = self.cursor.node.id
                return
            if change.name == "at" and self.cursor.node.id != self.at:
                self.cursor.goto(self.at)
                self._say(said(self.cursor.node))
                self._save()
                places = self._desk.places(self.cursor.func)
                if self.place not in places:
                    self.place = self._useful(list(places))  # which shows the page
                    return
            if not -1 <= self.against < len(self.history):
                self.against = -1
            self._show()

        self._guard(act)

    def _on_step(self, node: HistoryNode) -> None:
        """A cell or the lab itself made a node or marked one."""
        self.tree = tree(node.history)
        self.answers = dict(node.history.answers)

    def _on_message(self, _: object, message: Mapping[str, Any], __: object) -> None:
        acts: dict[str, Callable[[], None]] = {
            "look": self._show,
            "apply": lambda: self._apply(message),
            "answer": lambda: self._answer(str(message["name"]), int(message["choice"])),
            "run": self._run,
            "time": self._time,
            "stop": self._stop,
            "resume": self._resume,
            "forget": self._forget,
        }
        with self._turn:
            self._guard(acts[message["do"]])

    def _say(self, text: str, kind: str = "ready") -> None:
        self.status = {"kind": kind, "text": text}

    def _apply(self, message: Mapping[str, Any]) -> None:
        thing = self._desk.keys.thing(str(message["place"]))
        if not isinstance(thing, (Var, BlockId)):
            raise Fail("Can't apply a step: no loop or block is chosen", hint="click one")
        verb = str(message["verb"])
        rest, named = offers.arguments(REGISTRY[verb], message.get("args", {}))
        self.cursor.apply(verb, self.history.handle(thing), *rest, **named)
        node = self.cursor.node
        with self.hold_sync():
            self._say(said(node))
            self._settled = False  # the place and the node change together: one page is made
            self.place, self.at = self._next_place(node, thing), node.id
            self._settled = True
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
        self._say(f"You say: {question.choices[choice]}.")
        self._save()

    # --- running ---------------------------------------------------------------------------------

    def _run(self) -> None:
        node = self.cursor.node
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
        result = self._runner.run(node.func, self.history.root.func, progress)
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
            result = self._runner.time_both(a.func, b.func, (title(a), title(b)), progress)
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
        """Write the whole history and the answers to `path`; `wb.load` reads it."""
        self.cursor.save(path)

    def _save(self) -> None:
        if self._kept is None:
            return
        try:
            self._kept.write(self.cursor)
        except OSError as error:
            self._kept = None  # say it once, not at every step
            self._say(f"Steps are not saved by themselves: {error}")

    def _offer(self) -> dict[str, str] | None:
        text = self._kept.offer(self.history) if self._kept is not None else None
        return {"text": text} if text else None

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
        self.setup = {**self.setup, "resume": None}

    def to_html(self, path: str | Path) -> None:
        """Write one offline page that still steps through every program of the history."""
        known = {**self.pages, **self.compares}  # by a node, by two
        state = {name: getattr(self, name) for name in TRAITS}
        state |= whole(self.cursor.fork(), self._view, self._desk, self.setup["panes"], known)
        state |= {"lines": self._desk.lines.all, "tree": tree(self.history)}
        state["setup"] = {**self.setup, "offline": True}
        text = static_form.offline_page(self.setup["title"], state)
        Path(path).write_text(text, encoding="utf-8")

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, meta = bundle if isinstance(bundle, tuple) else (bundle, {})
        node = self.cursor.node
        return {**(data or {}), "text/plain": repr(self), "text/html": static_form.form(node)}, meta

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
    kept in that file, and a later lab offers to go on from there.

    Raises Fail for an action or a pane that there is not.
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
