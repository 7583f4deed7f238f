"""Programs that come another way: opened by a link, with a number dragged, on a saved page."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import workbench as wb
from tests.support.pictured.launches import wanted_costs
from tests.support.pictured.log import KernelLog
from tests.support.pictured.pages import check_picture, check_text, own_picture
from tests.support.pictured.programs import Drawn
from tests.support.pictured.tally import Tally
from tests.support.saved_page import saved_state
from workbench import script
from workbench.diag import Fail
from workbench.history.history import HistoryNode
from workbench.history.link import link
from workbench.history.trace import Trace
from workbench.ir import PrimFunc, Var
from workbench.schedule.retuning import StepsRefused
from workbench.widgets.ask.session import Session
from workbench.widgets.ask.setup import Options
from workbench.widgets.page.costs import COSTS
from workbench.widgets.play.played import Played, Waiting
from workbench.widgets.run.runner import Runner
from workbench.widgets.still.offline import write_html

HOME = "https://example.org/play.html"
PANES = ("who", "memory", "tiles", "pipeline")  # of a saved page, drawn again
VALUES = 2  # other numbers on a saved page
DRAGS = 4  # numbers that are tried before one is taken

Logged = Callable[[PrimFunc], Sequence[KernelLog]]


def session_of(sch: wb.Schedule) -> Session:
    """The lab of a schedule, which shows no times."""
    return Session(sch, Waiting(Runner(), lambda: None), Options(costs=COSTS[:4]))


def programs_to(node: HistoryNode, name: str) -> list[PrimFunc]:
    """The programs from the start to a node."""
    path = (one.mod[name] for one in node.path())
    return [func for func in path if isinstance(func, PrimFunc)]


# --- links ----------------------------------------------------------------------------------------


def opened(tally: Tally, one: Drawn) -> Drawn:
    """The same schedule out of its link, each of whose steps made the same program."""
    sch = wb.open(link(one.sch.node, HOME))
    own, came = one.sch.node.path(), sch.node.path()
    tally.same("steps of links", [n.label for n in came], [n.label for n in own])
    programs = programs_to(sch.node, sch.func.name)
    for old, new in zip(one.steps, programs, strict=True):
        tally.same("programs of links", script.show(new), script.show(old))
    before = programs[-2] if len(programs) > 1 else None
    return replace(one, func=sch.func, before=before, steps=tuple(programs), sch=sch)


def check_played(tally: Tally, one: Drawn) -> None:
    """The page that a browser's own Python tells of the link shows the program and its picture."""
    news: list[dict[str, Any]] = []
    Played(link(one.sch.node, HOME), HOME, lambda text: news.append(json.loads(text)))
    told = news[0]["told"]
    at = told["at"]
    tally.same("steps of links", at, one.sch.node.depth)
    page = told[f"page_{at}"]
    check_text(tally, page["texts"]["tensorir"], told["lines"], one.before, one.func)
    (picture,) = page["pictures"].values()
    check_picture(tally, picture, own_picture(one.func, "who", {}, "", one.before), "played")


# --- a number is dragged --------------------------------------------------------------------------


def dragged(tally: Tally, one: Drawn, rng: random.Random) -> Drawn | None:
    """The schedule with a number of a split changed in a lab; None where it has none to change."""
    session = session_of(one.sch)
    start = session.history[session.at]
    grips = [(key, grip) for key, grip in session.page["grips"].items() if grip["step"] is not None]
    rng.shuffle(grips)
    for key, grip in grips[:DRAGS]:
        value = rng.choice(grip["values"])
        if value == grip["value"]:
            continue
        tried = session.tried({"step": {"place": key, "value": value}})
        session.ask({"do": "apply", "place": key, "value": value})
        if "refusal" in tried:
            tally.same("numbers that are refused", session.at, start.id, str(tried["refusal"]))
            continue
        node = session.history[session.at]
        func = node.mod[one.func.name]
        assert isinstance(func, PrimFunc)
        _check_steps(tally, start, node, key, value, session)
        check_text(tally, tried["text"], tried["lines"], None, func)
        page = session.page
        (taken,) = (page["pictures"][name] for name in page["shown"].values())
        tally.same("pictures while a number is dragged", tried["picture"], taken)
        programs = tuple(programs_to(node, one.func.name))
        sch = session.cursor.fork()
        return replace(one, func=func, before=one.func, steps=programs, sch=sch)
    return None


def _check_steps(
    tally: Tally, start: HistoryNode, node: HistoryNode, key: str, value: int, session: Session
) -> None:
    """One split has another number, all other steps are as they were, and make this program."""
    old, new = start.path(), node.path()
    changed = [k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a.label != b.label]
    loop = session.desk.keys.thing(key)
    born = next(k for k, one in enumerate(old) if loop in one.places[one.func_name].loops)
    tally.same("steps that are changed", changed[:1], [born], f"{start.label} {value}")
    for number in changed[1:]:
        _check_tied(tally, old[number], new[number:])
    place = old[born].keys.index(loop)  # type: ignore[arg-type]
    made = new[born].keys[place]
    loops = new[born].places[new[born].func_name].loops
    extent = loops[made].extent if isinstance(made, Var) else None
    tally.same("numbers that are dragged", getattr(extent, "value", None), value)
    steps = Trace(tuple(one.step for one in new if one.step)).as_python("program")
    known: dict[str, Any] = {"program": new[0].mod[node.func_name], "wb": wb}
    exec(steps, known)
    tally.same("programs that are replayed", script.show(known["sch"].func), script.show(node.func))


def _given(node: HistoryNode) -> list[int | None]:
    """The factors of the split that made a program."""
    assert node.step is not None
    factors = dict(node.step.kwargs)["factors"]
    assert isinstance(factors, tuple)
    return [factor if isinstance(factor, int) else None for factor in factors]


def _check_tied(tally: Tally, old: HistoryNode, then: Sequence[HistoryNode]) -> None:
    """A later split has one other number, of a loop that is bound: so many threads there are."""
    new = then[0]
    assert old.step is not None and new.step is not None
    was, now = (_given(one) for one in (old, new))
    places = [k for k, (a, b) in enumerate(zip(was, now, strict=True)) if a != b]
    tally.same("splits that follow", (old.step.verb, len(places)), ("split", 1), new.label)
    key = new.keys[places[0]]
    bound = None
    for loops in (one.places[one.func_name].loops for one in then):
        loop = loops.get(key)  # type: ignore[arg-type]
        if loop is not None and loop.thread:
            threads = [one.extent for one in loops.values() if one.thread == loop.thread]
            bound = getattr(threads[-1], "value", None)
    tally.same("numbers that follow", bound, now[places[0]], new.label)


# --- saved pages ----------------------------------------------------------------------------------


def check_saved(tally: Tally, one: Drawn, rng: random.Random, logged: Logged) -> None:
    """A page with other numbers on it: every program of the history, and each that is tried."""
    session = session_of(one.sch)
    start = session.history[session.at]
    about = session.desk.names(one.func).about
    names = [thing["name"] for thing in about.values()]
    grips = {key: grip for key, grip in session.page["grips"].items()
             if grip["step"] is not None and names.count(about[key]["name"]) == 1
             and len(grip["values"]) > 1}  # fmt: skip
    vary: dict[str, list[int]] = {}
    if grips:
        key = rng.choice(list(grips))
        others = [n for n in grips[key]["values"] if n != grips[key]["value"]]
        vary[about[key]["name"]] = sorted(rng.sample(others, min(VALUES, len(others))))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lab.html"
        write_html(session, file, lambda done, every: None, vary)
        state = saved_state(file)
    for node in session.history:
        before = node.before
        where = f"page {node.id}"
        page = state[f"page_{node.id}"]
        check_text(tally, page["texts"]["tensorir"], state["lines"], before, node.func)
        for pane in PANES:
            picture = page["pictures"].get(page["shown"].get(pane, ""))
            if picture is not None:
                _check_pane(tally, picture, node.func, pane, before, f"{where} {pane}")
    page = state[f"page_{start.id}"]
    for name, values in vary.items():
        key = next(key for key in grips if about[key]["name"] == name)
        made = page["tries"]["made"][key]
        tally.same("numbers of a saved page", [*made], [str(n) for n in values], name)
        for value in values:
            _check_tried(tally, start, session, key, value, made[str(value)], page, logged)


def _check_tried(
    tally: Tally, start: HistoryNode, session: Session, key: str, value: int,
    told: Mapping[str, Any], page: Mapping[str, Any], logged: Logged,
) -> None:  # fmt: skip
    """What a saved page shows of the program at another number is what retuning makes."""
    sch = session.cursor.fork()
    sch.goto(start)
    number, factors = _factors(start, session.desk.keys.thing(key), value)
    try:
        _retune(sch, number, factors)
    except Fail:
        tally.same("numbers that are refused", "refusal" in told, True, str(value))
        return
    tally.same("numbers that are refused", "refusal" in told, False, str(told.get("refusal")))
    text = told["texts"]["tensorir"]
    check_text(tally, text["text"], text["lines"], None, sch.func)
    for pane in PANES:
        if pane in told["pictures"]:
            picture = page["pictures"][told["pictures"][pane]]
            _check_pane(tally, picture, sch.func, pane, start.func, f"{value} {pane}")
    logs = logged(sch.func)
    if logs and told["costs"]["rows"]:
        wanted = wanted_costs(logs)
        for row in told["costs"]["rows"]:
            if row["name"] in wanted:
                tally.same("costs of a saved page", row["after"], wanted[row["name"]], row["name"])


def _retune(sch: wb.Schedule, number: int, factors: list[int | None]) -> None:
    """Numbers that are tied to this one follow."""
    try:
        sch.retune(number, factors=factors)
    except StepsRefused as refused:
        if not refused.also:
            raise
        sch.retune(number, factors=factors, also=refused.also)


def _check_pane(
    tally: Tally, told: Mapping[str, Any], func: PrimFunc, pane: str, before: PrimFunc | None,
    about: str,
) -> None:  # fmt: skip
    try:
        own = own_picture(func, pane, told.get("at", {}), "", before)
    except Fail:
        own = None
    check_picture(tally, told, own, about)


def _factors(start: HistoryNode, loop: object, value: int) -> tuple[int, list[int | None]]:
    """The step that made a loop, and its factors if the loop is to run so often: what the step left
    open stays so; where it did not, or left this one, its neighbour is worked out."""
    assert isinstance(loop, Var)
    path = start.path()
    number = next(k for k, one in enumerate(path) if loop in one.places[one.func_name].loops)
    born = path[number]
    assert born.step is not None
    given = _given(born)
    place = born.keys.index(loop)
    loops = born.places[born.func_name].loops
    extents = [loops[made].extent for made in born.keys if isinstance(made, Var)]
    factors: list[int | None] = [getattr(extent, "value", None) for extent in extents]
    factors[place] = value
    hole = given.index(None) if None in given else place
    factors[(place + 1) % len(factors) if hole == place else hole] = None
    return number, factors
