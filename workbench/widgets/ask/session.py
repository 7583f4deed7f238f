"""A lab's session: where it stands, what it shows, and what each request of a browser does.

All of it is plain data and pure functions of the history: no widget, no thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from time import perf_counter
from typing import Any

from workbench.diag import Fail
from workbench.history.history import HistoryNode
from workbench.history.link import link
from workbench.ir import PrimFunc
from workbench.runtime.launching import waiting
from workbench.schedule import Schedule
from workbench.widgets.ask import steps
from workbench.widgets.ask.asked import chosen, part
from workbench.widgets.ask.breaking import Breaking
from workbench.widgets.ask.setup import Options, desk_of, setup_of
from workbench.widgets.ask.trying import Trying
from workbench.widgets.keep.keeping import Keeping
from workbench.widgets.page.compare import compare_trait, comparison, functions, step_told
from workbench.widgets.page.cost_bar import shows_time
from workbench.widgets.page.costs import MODEL, count
from workbench.widgets.page.history import said, tree
from workbench.widgets.page.modelled_time import modelled_of
from workbench.widgets.page.page import node_bar, page, page_trait, ran
from workbench.widgets.page.pictures import shown_alone
from workbench.widgets.page.question import Question, Topic, deciding
from workbench.widgets.page.targets import targets
from workbench.widgets.page.texts import refusal
from workbench.widgets.page.view import View, read_view
from workbench.widgets.page.why_slow import why_of
from workbench.widgets.run.jobs import Job, Jobs
from workbench.widgets.run.runner import TARGETS, Found, Progress, Runner

SHOWN = (
    *("setup", "tree", "lines", "at", "against", "place", "view", "status", "answers", "call"),
    "broken",
    "coded",
)
"""What a browser gets besides pages and comparisons."""

SLOW = 0.3  # seconds of counting, after which a learner is asked first: meanwhile no click is done


class Session:
    """A view of a schedule's history with a cursor of its own.

    `state` is all that a browser shows, under the names of its traits. `at` is the node, `against`
    the one it is compared with (-1: none), `place` the key of the chosen loop, block or buffer,
    `coded` the node at which the notebook's code ends;
    each page and each comparison stands by itself, as `page_3` and `compare_0_3`. What a request
    changes is in `changes()`; what it raises becomes the status.
    """

    state: dict[str, Any]
    _changed: dict[str, Any]

    def __init__(
        self,
        schedule: Schedule,
        jobs: Jobs,
        options: Options,
        inputs: Mapping[str, Any] | None = None,
    ) -> None:
        self.cursor, self.history = schedule.fork(), schedule.history
        steps.stand(self.cursor, schedule.node)
        self.desk = desk_of(self.cursor.node, options, inputs or {})
        self.breaking, self.trying = Breaking(self.desk), Trying(self.desk)
        self._address = options.address
        asked, task = options.question, options.task
        cell = f"{asked and asked.name} {task} {options.actions} {options.panes}"
        self.keeping = Keeping(schedule, self.cursor, options.autosave, cell)
        self.state, self._changed, self._jobs = {}, {}, jobs
        setup = setup_of(options, schedule.node, self.keeping.offer())
        self._put(
            setup=setup,
            view={name: panes["first"][0] for name, panes in setup["panes"].items()},
            at=self.cursor.node.id,
            against=-1,
            place=steps.useful(self.cursor, self.desk, list(self.desk.places(self.cursor.func))),
            answers=dict(self.history.answers),
            call={},
            broken={},
            coded=schedule.node.id,
        )
        self._say(self.keeping.begin(said(self.cursor.node)))
        self._show()

    # --- what is shown ---------------------------------------------------------------------------

    @property
    def at(self) -> int:
        """The number of the node that is shown."""
        return int(self.state["at"])

    @property
    def page(self) -> dict[str, Any]:
        """The page of the node that is shown."""
        return self._page(self.at)

    @property
    def comparison(self) -> dict[str, Any] | None:
        """What is shown of the two nodes that are compared."""
        return self.state.get(compare_trait(f"{self.state['against']}:{self.at}"))

    @property
    def view(self) -> View:
        """The open panes, with what is chosen in them, and the place."""
        return read_view(self.state["view"], self.state["place"])

    def changes(self) -> dict[str, Any]:
        """What of `state` has changed since this was called last."""
        found, self._changed = self._changed, {}
        return found

    def _put(self, **values: Any) -> None:
        for name, value in values.items():
            if name not in self.state or self.state[name] != value:
                self.state[name] = self._changed[name] = value

    def _say(self, text: str, kind: str = "ready", **more: Any) -> None:
        self._put(status={"kind": kind, "text": text, **more})

    def _said(self, node: HistoryNode) -> str:
        """One sentence that announces the node, or the number that was dragged for it."""
        drag = self.desk.dragged.get(node.id)
        return said(node) if drag is None else drag.told

    def _page(self, node: int) -> dict[str, Any]:
        return self.state[page_trait(str(node))]

    def _show(self) -> None:
        """Make what the open panes need of the program that the cursor is at."""
        node, view, against = self.cursor.node, self.view, self.state["against"]
        self.breaking.follow(node.id)
        name, pair = page_trait(str(node.id)), compare_trait(f"{against}:{node.id}")
        shown = page(self.cursor, view, self.desk, self.state.get(name))
        shown["pictures"] = shown_alone(shown["pictures"], shown["shown"])
        made = {name: shown}
        if against >= 0:
            compared = comparison(self.history[against], node, view, self.desk)
            measured = self.state.get(pair, {}).get("measured")
            made[pair] = {**compared, "measured": measured}
        kept = {"tree": tree(self.history), "lines": list(self.desk.lines.all)}
        self._put(**kept, broken=self.breaking.shown, **made)

    def _reveal(self) -> None:
        """Once a question is answered: make the pages again from which something is hidden."""
        stale = [
            (name, node)
            for name, shown in self.state.items()
            if name.startswith(page_trait(""))
            for node in [self.history[int(name.removeprefix(page_trait("")))]]
            if shown["open"] != self.desk.waiting(node.func, self.desk.before(node))
        ]
        cursor = self.cursor.fork()
        for name, node in stale:
            steps.stand(cursor, node)
            self._put(**{name: page(cursor, self.view, self.desk, self.state[name])})
        if stale:
            self._show()

    def _guard(self, act: Callable[[], None]) -> None:
        """Do `act`; what it raises is shown in the lab, where the learner looks."""
        try:
            act()
        except Exception as error:
            self.failed(error)

    def failed(self, error: Exception) -> None:
        """Show what was raised: a refusal, or a fault of ours."""
        again = not self.state["status"].get("again", True)  # the same is told another time
        if isinstance(error, Fail):
            self._say(error.headline, "refused", error=refusal(error), again=again)
            return
        fault = {
            "headline": f"The lab failed: {type(error).__name__}: {error}",
            "hint": "this is a fault of the workbench; the history is kept, other steps work",
        }
        self._say(fault["headline"], "failed", error=fault, again=again)

    # --- what is chosen --------------------------------------------------------------------------

    def choose(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        """Take what a browser chose, of what it may choose, and return that; None: refused."""
        try:
            taken = chosen(state, self.state["view"])
        except Fail as fail:
            self.failed(fail)
            return None
        self.follow(taken)
        return taken

    def follow(self, taken: Mapping[str, Any]) -> None:
        """Show what was chosen, in whatever order: the node first, then a place of its program."""
        self._put(**taken)
        self._guard(self._follow)

    def _follow(self) -> None:
        if not 0 <= self.at < len(self.history):
            self._put(at=self.cursor.node.id)
        if not -1 <= self.state["against"] < len(self.history):
            self._put(against=-1)
        if self.cursor.node.id != self.at:
            steps.stand(self.cursor, self.history[self.at])
            self._say(self._said(self.cursor.node))
            self._save()
        func = self.cursor.node.func
        if self.state["place"] not in self.desk.names(func).about:
            places = list(self.desk.places(func))
            self._put(place=steps.useful(self.cursor, self.desk, places))
        if not self.view.guess:
            self.desk.unask()
            self._reveal()
        self._show()

    def went(self, node: HistoryNode) -> None:
        """Code went on to `node`; the lab stays where it is, and says so."""
        self._put(coded=node.id)

    def stepped(self) -> None:
        """A cell or the lab itself made a node or marked one, or what was saved is taken up."""
        self._put(tree=tree(self.history), answers=dict(self.history.answers))
        self._reveal()  # what was saved may have the answer
        self._offer_again()

    # --- what is asked for -----------------------------------------------------------------------

    def hear(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """Do what a message of the browser asks for; what the view that sent it is told besides.

        None where a step could not be tried, nor carried: the status says why.
        """
        do = message.get("do") if isinstance(message, Mapping) else None
        if do in ("try", "weigh", "carry"):
            try:
                if do == "carry":
                    return {"targets": self.targets(message), "place": message["place"]}
                tried = self.tried(message)
            except Exception as error:  # shown, as that of any request; nothing is tried then
                self.failed(error)
                return None
            return {"tried": tried, "seq": message.get("seq"), "view": message.get("view")}
        if do == "link":
            return {"link": self.linked()}
        self.ask(message)
        return {"answered": True}  # also where that changed nothing

    def ask(self, message: Mapping[str, Any]) -> None:
        """Do what a message of the browser asks for under "do", with what else stands in it."""
        self._guard(lambda: self._ask(message))

    def _ask(self, message: Mapping[str, Any]) -> None:
        acts: dict[str, Callable[[], None]] = {
            "look": self.look,
            "apply": lambda: self.apply(message),
            "write": lambda: self.write(message),
            "count": self.count,
            "model": self.model,
            "why": self.why,
            "answer": lambda: self.answer(part(message, "name", str), part(message, "choice", int)),
            "guess": lambda: self.guess(part(message, "name", str), part(message, "number", str)),
            "run": lambda: self.run(part({"on": "gpu", **message}, "on", str)),
            "time": self.time,
            "stop": self.stop,
            "faults": self.faults,
            "break": lambda: self.break_it(part(message, "fault", str)[:200]),
            "find": lambda: self.find(message),
            "mend": self.mend,
            "resume": self.resume,
            "forget": self.forget,
        }
        do = part(message, "do", str)
        if do not in acts:
            raise Fail(
                f"Can't do {do[:40]!r}: a lab has no such request",
                hint=f"there are: {', '.join(acts)}",
            )
        acts[do]()

    def look(self) -> None:
        """Show what is chosen, again."""
        self._follow()

    def tried(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What would be shown of the program that the "step" of a message makes, or, to "weigh" it,
        of what that costs: no state changes."""
        asked, at = part(message, "step", dict), self.history[self.at]
        if message.get("do") == "weigh":
            return self.trying.weigh(self.cursor, at, asked)
        return self.trying.page(self.cursor, at, self.view, asked)

    def targets(self, message: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Where the "place" of a message can be carried: no state changes."""
        key = part(message, "place", str)
        steps.stand(self.cursor, self.history[self.at])  # the program that is seen
        return [asdict(target) for target in targets(self.cursor, key, self.desk)]

    def apply(self, message: Mapping[str, Any]) -> None:
        """Apply the "verb" at the "place" with the texts of its form, "args"; or, of a loop that a
        split made, let it run "value" times, and take the later steps again."""
        asked = {key: message[key] for key in ("verb", "place", "args", "value") if key in message}
        place = self.trying.take(self.cursor, self.history[self.at], asked)
        node = self.cursor.node
        if self.view.guess and page_trait(str(node.id)) not in self.state:
            self.desk.ask(node)
        self._put(place=place, at=node.id)
        self._say(self._said(node))
        self._show()
        self._save()

    def write(self, message: Mapping[str, Any]) -> None:
        """Tell the call that `apply` would make of the same message, as Python writes it."""
        call = steps.written(self.cursor, self.history[self.at], self.desk, message)
        if call is not None:
            self._put(call=call)

    def count(self) -> None:
        """Count what the strip shows: of the program that is shown, and of what it is beside."""
        self._work_out("costs", "counts", lambda func: count(func, self.desk.counted))

    def model(self) -> None:
        """Work out the modelled time of both."""
        self._work_out("time", "time", lambda func: modelled_of(func, self.desk.gpu))

    def _work_out(self, what: str, topic: Topic, make: Callable[[PrimFunc], object]) -> None:
        """Have what is shown of a program and the one before made, and note where it takes long."""
        node, against = self.history[self.at], self.state["against"]
        before = (
            functions(self.history[against], node)[0] if against >= 0 else self.desk.before(node)
        )
        asked = self.desk.guess(node)
        begun = perf_counter()
        for func in (before, node.func, asked.begun if asked else None):
            if func is not None and not self.desk.hides(topic, before, node.func):
                with suppress(Fail):  # the strip tells why
                    make(self.desk.at(func))
        if perf_counter() - begun > SLOW:
            self.desk.slow.add(what)
        self._show()

    def why(self) -> None:
        """Look for what the program that is shown loses its modelled time to."""
        func = self.history[self.at].func
        if shows_time(self.desk, func):
            with suppress(Fail):
                why_of(self.desk.at(func), self.desk.gpu)
        self._show()

    def answer(self, name: str, choice: int) -> None:
        """Take the choice of that number as the answer to the question `name`."""
        question = self._asked(name)
        if question is None or not 0 <= choice < len(question.choices):
            raise Fail("Can't take the answer: the lab asks no such question", hint="choose one")
        self._keep(question, question.choices[choice])

    def guess(self, name: str, number: str) -> None:
        """Take what was typed as the answer to the guess `name`."""
        question = self.desk.guess_named(name)
        if question is None:
            raise Fail("Can't take the guess: the lab asks for no such one", hint="take a step")
        self._keep(question, question.read(number))
        if question.settled_by(self.history[self.at].func):
            self.model() if question.cost == MODEL else self.count()

    def _asked(self, name: str) -> Question | None:
        question = self.desk.question
        return question if question and question.name == name else self.desk.guess_named(name)

    def _keep(self, question: Question, answer: str) -> None:
        """Keep the answer to a question, unless a program has told the true one by now."""
        given = self.history.answers.get(question.name)
        number = deciding(question, self.history) if question.takes(given) else None
        if number is not None:
            raise Fail(
                f"Can't change the answer: the program of step {number} has decided it",
                hint=f"click step {number} in the history, to see what came of your first answer",
            )
        self.history.answers[question.name] = answer
        self._put(answers=dict(self.history.answers))
        self._reveal()
        self._offer_again()
        self._say(self._said(self.history[self.at]))  # what was chosen stands at the question
        self._save()

    # --- what is broken on purpose ---------------------------------------------------------------

    def faults(self) -> None:
        """Show what can be broken in the kernel of the program that is shown."""
        self.breaking.offer(self.history[self.at])
        self._put(broken=self.breaking.shown)

    def break_it(self, fault: str) -> None:
        """Break the kernel of the program that is shown: a mark on it, which no step makes."""
        told = self.breaking.begin(self.history[self.at], fault)
        self._put(lines=list(self.desk.lines.all), broken=self.breaking.shown)
        self._say(told)

    def mend(self) -> None:
        """Take the fault away."""
        self.breaking.mend()
        self._put(broken=self.breaking.shown)
        self._say(self._said(self.history[self.at]))

    def find(self, message: Mapping[str, Any]) -> None:
        """Run the broken kernel on the emulator, as it is or with something put back."""
        tried = self.breaking.tried(message)
        start = self.history.root.mod[self.history[self.at].func_name]
        came: list[Found] = []

        def work(runner: Runner, progress: Progress, _: object) -> dict[str, Any]:
            came.append(runner.find(tried.tried, start, progress))
            return {}

        def done(_: object) -> None:
            words = self.breaking.came(tried, came[0])
            self._put(broken=self.breaking.shown)
            if words is not None or self.state["status"]["kind"] == "running":
                self._say(words or self._said(self.history[self.at]))

        self._begin("Running it on the emulator", "blocks", work, done)
        self.breaking.runs(tried)
        self._put(broken=self.breaking.shown)

    # --- what takes long -------------------------------------------------------------------------

    def run(self, on: str) -> None:
        """Run the program that is shown on the GPU (or the emulator), or on the CPU."""
        if on not in TARGETS:
            raise Fail(
                f"Can't run on {on[:40]!r}: there is no such device",
                hint=f"there are: {', '.join(TARGETS)}",
            )
        node = self.history[self.at]
        start = self.history.root.mod[node.func_name]
        start = self.desk.task.sooner(start) if self.desk.task else start

        def done(result: dict[str, Any]) -> None:
            self.desk.results[node.id] = result
            page = self._page(node.id)
            shown = ran(node, self.desk, judged=not page["costs"]["waits"])
            shown["bar"] = node_bar(node, self.desk)
            self._put(**{page_trait(str(node.id)): {**page, **shown}})
            self._say(f"{shown['run']['text']} {shown['run'].get('time', '')}".rstrip())

        self._begin(
            f"Running step {node.id}",
            "blocks",
            lambda runner, progress, waits: runner.run(node.func, start, progress, on, waits),
            done,
        )

    def time(self) -> None:
        """Time the node that is shown and the one it is compared with, by turns."""
        pair = compare_trait(f"{self.state['against']}:{self.at}")
        if pair not in self.state:
            raise Fail("Can't time both: nothing is compared", hint="choose a node to compare with")
        a, b = self.history[self.state["against"]], self.history[self.at]

        def done(result: dict[str, Any]) -> None:
            self._put(**{pair: {**self.state[pair], "measured": result}})
            self._say(result["text"])

        self._begin(
            f"Timing {a.id} and {b.id}",
            "rounds",
            lambda runner, progress, waits: runner.time_both(
                *functions(a, b), (step_told(a), step_told(b)), progress, waits
            ),
            done,
        )

    def _begin(
        self,
        what: str,
        unit: str,
        work: Callable[[Runner, Progress, Callable[[int], None]], dict[str, Any]],
        done: Callable[[dict[str, Any]], None],
    ) -> None:
        def tell(number: int, of: int) -> None:
            self._say(f"{what}: {number} of {of} {unit}", "running", done=number, of=of)

        def waits(before: int) -> None:
            self._say(f"{what}: {waiting(before)}" if before else f"{what} …", "running")

        self._jobs.begin(Job(work, tell, waits, done, self.failed))
        self._say(f"{what} …", "running")

    def stop(self) -> None:
        """Stop what takes long."""
        self._jobs.stop()
        if self.state["status"]["kind"] == "running":
            self._put(status={**self.state["status"], "text": "Stopping …"})

    # --- what is kept ----------------------------------------------------------------------------

    def resume(self) -> None:
        """Take up the work of an earlier session, or of this lab before its cell ran again."""
        self.keeping.take_up()
        steps.stand(self.cursor, self.cursor.node)
        self._put(at=self.cursor.node.id)
        self._say(self._said(self.cursor.node))
        self._save()
        self._follow()

    def forget(self) -> None:
        """Offer that work no more."""
        self.keeping.forget()
        self._offer_again()

    def link(self) -> str:
        """A link that opens at the program that is shown. Raises ScheduleError for one too long."""
        return link(self.history[self.at], self._address)

    def linked(self) -> str:
        """`link`; "" where there is none, and the status tells why."""
        made: list[str] = []
        self._guard(lambda: made.append(self.link()))
        return "".join(made)

    def _save(self) -> None:
        status = self.state["status"]
        self._put(status={**status, "text": self.keeping.write(status["text"])})
        self._offer_again()

    def _offer_again(self) -> None:
        """The offer counts what is not done yet; there is none once all is."""
        self._put(setup={**self.state["setup"], "resume": self.keeping.offer()})
