"""The page of one program of a history: everything the lab shows of it, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from workbench import check, lower, target
from workbench.diag import Fail, visible
from workbench.ir import BlockId, Buffer, Const, For, PrimFunc, Var, walk
from workbench.ir.places import places
from workbench.schedule import Schedule
from workbench.schedule.actions import Verdict
from workbench.schedule.history import History, HistoryNode
from workbench.widgets.page import offers
from workbench.widgets.page.buffers import about, touching
from workbench.widgets.page.build import build
from workbench.widgets.page.costs import hidden_strip, strip
from workbench.widgets.page.hidden import PICTURE, UNTIL, Told, tells
from workbench.widgets.page.lines import Lines
from workbench.widgets.page.memo import memo
from workbench.widgets.page.names import Keys, Names, names_of, place_text, places_of
from workbench.widgets.page.pictures import (
    axes_of,
    levels_of,
    picture_name,
    picture_pane,
    who_name,
    written,
)
from workbench.widgets.page.question import RUN, Question, Task, along, asks, goals
from workbench.widgets.page.taken import lines_of
from workbench.widgets.page.texts import text_pane
from workbench.widgets.page.view import View


@dataclass
class Desk:
    """What the pages of one lab share: keys, lines, what is offered, the question, the costs.

    `given` is what the forms hold at first, by verb and argument; None: what is possible.
    `answers` are those of the history, `results` what runs came to, by the number of the node;
    `slow` says that counting the costs of a program has taken long.
    """

    offered: Sequence[str] | None = None
    given: offers.Given | None = None
    question: Question | None = None
    task: Task | None = None
    costs: Sequence[str] | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    slow: bool = False
    owner: object = field(default_factory=object)  # of what is remembered for this lab alone
    keys: Keys = field(default_factory=Keys)
    lines: Lines = field(default_factory=Lines)

    def names(self, func: PrimFunc) -> Names:
        """What can be marked in the panes of `func`; its keys do not depend on the order."""
        return memo(func, ("names", self.owner), lambda: names_of(func, self.keys))

    def places(self, func: PrimFunc) -> Mapping[str, str]:
        """The loops and blocks of `func` at which a step can be taken, with their labels."""
        return memo(
            func, ("places", self.owner), lambda: places_of(func, self.keys, self.names(func))
        )

    @property
    def open(self) -> bool:
        """Whether a question is asked that has no answer yet."""
        asked = self.question
        return asked is not None and self.answers.get(asked.name) not in asked.choices

    def hides(self, what: Told, *funcs: PrimFunc | None) -> bool:
        """Whether the open question would be answered by what is told of one of the programs."""
        asked = self.question if self.open else None
        return asked is not None and any(f and tells(asked, f, what) for f in funcs)


_ran: WeakKeyDictionary[History, dict[int, dict[str, Any]]] = WeakKeyDictionary()


def desk_of(
    history: History,
    offered: Sequence[str] | None,
    given: offers.Given | None,
    question: Question | None,
    task: str | Task | None,
    costs: Sequence[str] | None,
) -> Desk:
    """What a new lab on `history` shares: an exercise's with the runs of its labs before."""
    if given is None and history.kept_in is not None:
        given = {}  # an exercise gives nothing away
    asked, exercise = along(question, history), asks(task)
    results = {} if exercise is None else _ran.setdefault(history, {})
    return Desk(offered, given, asked, exercise, costs, history.answers, results)


_rows: WeakKeyDictionary[HistoryNode, dict[str, Any]] = WeakKeyDictionary()


def tree(history: History) -> list[dict[str, Any]]:
    """The nodes in reading order: each with what follows it first, then its branches, set in."""
    rows: list[dict[str, Any]] = []
    waiting = [(history.root, 0)]
    while waiting:
        node, indent = waiting.pop()
        rows.append(_row(node, indent))
        below = [(child, indent + _is_branch(child)) for child in node.children]
        waiting.extend(reversed(below))
    return rows


def _is_branch(node: HistoryNode) -> bool:
    """Whether another step was taken before it where it starts."""
    return node.parent is not None and node is not node.parent.children[0]


def _row(node: HistoryNode, indent: int) -> dict[str, Any]:
    """What the tree says of a node; of that, only its mark changes."""
    row, mark = _rows.get(node), visible(node.mark)
    if row is None or row["mark"] != mark:
        row = _rows[node] = {
            "id": node.id,
            "parent": node.parent.id if node.parent else None,
            "indent": indent,
            "branch": _is_branch(node),
            "label": node.label,
            "mark": mark,
            "said": said(node),
        }
    return row


def said(node: HistoryNode) -> str:
    """One sentence that announces the node."""
    if node.step is None:
        return "The program as it was written."
    made: dict[tuple[Var | BlockId, ...], list[Var | BlockId]] = {}  # what it made, and of what
    for old, new in node.became.items():
        made.setdefault(new, []).append(old)
    pairs = [
        (_told(node.before, olds), _told(node.func, list(new))) for new, olds in made.items() if new
    ]
    became = [f"{old} became {new}" for old, new in pairs if old != new]
    return f"Step {node.id}, {node.label}{': ' + '; '.join(became) if became else ''}."


def _told(func: PrimFunc | None, keys: Sequence[Var | BlockId]) -> str:
    """Loops and blocks by name, loops with how often they run."""
    return _listed([_key_name(func, key) for key in keys])


def _key_name(func: PrimFunc | None, key: Var | BlockId) -> str:
    if isinstance(key, Var):
        loop = places(func).loops.get(key) if func else None
        times = f" ({loop.extent.value}×)" if loop and isinstance(loop.extent, Const) else ""
        return f"{key.name}{times}"
    found = places(func).blocks.get(key) if func else None
    return found.block.name if found else "a block"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def page(
    cursor: Schedule, view: View, desk: Desk, known: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The page of the program that `cursor` stands at: what `view` shows, added to what is `known`.

    Only panes that are open are made; those made before are kept, until the question is answered.
    """
    node = cursor.node
    made = dict(known) if known and known["open"] == desk.open else _base(node, desk)
    names = desk.names(node.func)
    if view.program not in made["texts"]:
        pane = text_pane(view.program, node, desk.keys, names, desk.lines)
        made["texts"] = {**made["texts"], view.program: pane}
    if view.machine == "tiles":
        hidden = desk.hides("counts", node.func, node.before)
        made["axes"] = [] if hidden else axes_of(node.func)
        made["levels"] = [] if hidden else levels_of(node.func)
    picture = picture_name(node.func, view)
    made["shown"] = {**made["shown"], view.machine: picture}
    if picture and picture not in made["pictures"]:
        made["pictures"] = {**made["pictures"], picture: node_picture(picture, desk, node)}
    chosen = view.place if view.place in names.about else ""
    known_offer = made["offers"].get(chosen)
    if chosen and (known_offer is None or (view.more and not known_offer["all"])):
        found = _offer(cursor, chosen, desk, view.more)
        made["offers"] = {**made["offers"], chosen: found}
    made["costs"] = shown_costs(desk, node.before, node.func)
    return made | ran(node, desk, judged=not made["costs"]["waits"])  # goals are counted, too


def node_picture(name: str, desk: Desk, node: HistoryNode) -> dict[str, Any]:
    """The picture on the page of `node`, beside the step before."""
    asked = desk.question.cell if desk.question else None
    return shown_picture(name, desk, node.func, asked, node.before)


def shown_picture(
    name: str,
    desk: Desk,
    func: PrimFunc,
    asked: tuple[str, tuple[int, ...]] | None,
    before: PrimFunc | None,
) -> dict[str, Any]:
    """The picture, unless the question is open and it would tell."""
    if desk.hides("who" if name.startswith(who_name("")) else "counts", func, before):
        return PICTURE
    key = ("picture", name, asked, before)
    return memo(func, key, lambda: picture_pane(name, func, asked, before))


def shown_costs(desk: Desk, before: PrimFunc | None, after: PrimFunc) -> dict[str, Any]:
    """The strip of costs, unless the question is open and they would tell."""
    if desk.hides("counts", before, after):
        return hidden_strip(desk.costs)
    return strip(before, after, desk.costs, desk.slow)


def ran(node: HistoryNode, desk: Desk, judged: bool) -> dict[str, Any]:
    """What the run of the program came to, and the goals, the first of which that decides.

    Where it was not run, there is no "run", and "then" says to; what one counted may be hidden.
    """
    result = desk.results.get(node.id, {})
    made: dict[str, Any] = {
        "goals": goals(desk.task, node.func, result, judged),
        "then": "" if result else RUN,
    }
    if result and desk.hides("counts", node.func):
        kept = ("ok", "brief", "text", "refusal")
        result = {**{n: told for n, told in result.items() if n in kept}, "notes": [UNTIL]}
    return {**made, "run": result} if result else made


def _base(node: HistoryNode, desk: Desk) -> dict[str, Any]:
    """What every page has, whichever panes are open."""
    wasted = notes(node.func)
    return {
        "names": desk.names(node.func).about,
        "buffers": [{"name": name, "picture": who_name(name)} for name in written(node.func)],
        "texts": {},
        "pictures": {},
        "shown": {},
        "places": sorted_places(node, desk),
        "offers": {},
        "notes": [UNTIL] if wasted and desk.hides("counts", node.func) else wasted,
        "verdict": None if desk.open else _verdict(node, desk.question),
        "open": desk.open,
        "taken": lines_of(node) if node.history.kept_in else None,  # only an exercise's are
    }


def notes(func: PrimFunc) -> list[str]:
    """What is legal but wasteful in the program, with what it costs."""
    found = memo(func, "findings", lambda: [*_findings(func)])
    return [f"{_sentence(f.headline)} {_sentence(f.hint)}" for f in found if f.kind == "warning"]


def _findings(func: PrimFunc) -> Iterator[check.Finding]:
    yield from check.check_program(func, target.get("cuda"))
    if not any(isinstance(node, For) and node.kind == "vectorized" for node in walk(func.body)):
        return  # only of vectors does it take the kernels to know
    with suppress(Fail):  # where there is no kernel, its pane tells why
        built = build(func)
        yield from lower.findings(built.lowered, built.target)


def _sentence(text: str) -> str:
    """`text` with a capital letter in front and a full stop behind, where it has none."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def _verdict(node: HistoryNode, question: Question | None) -> dict[str, Any] | None:
    verdict = question.judge(node.func) if question else None
    if question is None or verdict is None:
        return None
    known = verdict.truth in question.choices
    truth = question.choices.index(verdict.truth) if known else None
    told = [[f"{head} ", said] for head, said in map(verdict.told, question.choices)]
    return {"truth": truth, "text": verdict.truth, "why": verdict.why, "told": told}


def _offer(cursor: Schedule, key: str, desk: Desk, more: bool) -> dict[str, Any]:
    """What can be done at the place: of the verbs that are offered, or, with `more`, of all."""
    verbs = None if more else desk.offered
    name = desk.names(cursor.func).about[key]["label"]
    label = desk.places(cursor.func).get(key, name)  # short, but for a buffer
    said = _said(cursor, key, desk, verbs)
    return offers.offer({"key": key, "label": label}, said, desk.offered, more, desk.given)


def sorted_places(node: HistoryNode, desk: Desk) -> list[dict[str, str]]:
    """The loops and blocks of the program, key and label, those that matter first.

    First is what the last step made; then what is open, which are the blocks and the loops that
    nothing is said of yet; then loops that are bound, unrolled, or run in parallel or as vectors.
    Each in program order.
    """
    made = node.result if isinstance(node.result, tuple) else (node.result,)
    new = {*made, *(thing for things in node.became.values() for thing in things)}
    loops = places(node.func).loops

    def rank(key: str) -> int:
        thing = desk.keys.thing(key)
        settled = isinstance(thing, Var) and loops[thing].kind != "serial"
        return 2 if settled else 0 if thing in new else 1

    where = desk.places(node.func)
    return [{"key": key, "label": where[key]} for key in sorted(where, key=rank)]


def _said(cursor: Schedule, key: str, desk: Desk, verbs: Sequence[str] | None) -> list[offers.Said]:
    """What the verbs say at a loop or block, or about a buffer.

    About a buffer, each verb is asked at the blocks that write it and read it, and told at the
    first at which it is possible.
    """
    thing, func = desk.keys.thing(key), cursor.func

    def told(verdict: Verdict, key: str) -> offers.Said:
        name = desk.names(func).about[key]["name"]
        return offers.Said(verdict, key, place_text(func, desk.keys.thing(key)), name)

    if not isinstance(thing, Buffer):
        return [told(verdict, key) for verdict in verdicts(cursor, key, desk, verbs)]
    found: dict[str, offers.Said] = {}
    for block in touching(func, thing):
        own = desk.keys.of(block.id)
        for whole in verdicts(cursor, own, desk, verbs):
            verdict = about(whole, block, thing)
            old = found.get(whole.verb)
            if verdict and (old is None or (verdict.possible and not old.verdict.possible)):
                found[whole.verb] = told(verdict, own)
    return list(found.values())


def verdicts(cursor: Schedule, key: str, desk: Desk, verbs: Sequence[str] | None) -> list[Verdict]:
    """What the verbs say at the place `key` of the program that `cursor` stands at."""
    thing = desk.keys.thing(key)
    if not isinstance(thing, (Var, BlockId)):
        return []
    name = ("verdicts", desk.owner, key, verbs if verbs is None else tuple(verbs))
    handle = cursor.history.handle(thing)
    return memo(cursor.node.func, name, lambda: cursor.actions(handle, verbs))


def every_view(panes: Mapping[str, Any]) -> Iterable[View]:
    """Each pane once."""
    for name in (*panes["program"]["first"], *panes["program"]["rest"]):
        yield View(program=name)
    for name in (*panes["machine"]["first"], *panes["machine"]["rest"]):
        yield View(machine=name)
