"""The page of one program of a history: everything the lab shows of it, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from workbench import check, insight, lower, target
from workbench.diag import Fail, Refusal
from workbench.draw import Steps, Times
from workbench.history.history import HistoryNode
from workbench.ir import For, PrimFunc, Var, walk
from workbench.ir.places import places
from workbench.schedule import Schedule
from workbench.widgets.page.acts import act_of
from workbench.widgets.page.at_place import offer_at
from workbench.widgets.page.cost_bar import seen_time, shown_bar
from workbench.widgets.page.costs import hidden_strip, strip
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.grips import grip_of
from workbench.widgets.page.guess import Guess, guessed_number, is_weighed, shown_guess
from workbench.widgets.page.memo import build, is_built, memo
from workbench.widgets.page.pictures import (
    NUMBERED,
    axes_of,
    covered_pane,
    levels_of,
    picture_name,
    picture_pane,
    requests_of,
    who_name,
    written,
)
from workbench.widgets.page.question import (
    NO_KERNEL,
    RUN,
    UNTIL,
    Question,
    Topic,
    deciding,
    goals,
)
from workbench.widgets.page.texts import lines_of, text_pane
from workbench.widgets.page.view import View
from workbench.widgets.page.why_slow import shown_why

PICTURES: Mapping[str, Topic] = {"who": "who", "roofline": "time"}
"""What pictures tell that are not counts, by their kind."""
TIMED = ("memory", "timeline")  # whose times come later
KEPT = ("ok", "brief", "text", "refusal")  # of a run, while the question is open


def page(
    cursor: Schedule, view: View, desk: Desk, known: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The page of the program that `cursor` stands at: what `view` shows, added to what is `known`.

    Only panes that are open are made; those made before are kept, until the question is answered.
    """
    node = cursor.node
    func = desk.at(node.func)
    past = desk.before(node)
    before = None if past is None else desk.at(past)
    is_still = known is not None and known["open"] == desk.waiting(node.func, past)
    made = dict(known) if known is not None and is_still else _base(node, desk)
    names = desk.names(node.func)
    if view.program not in made["texts"]:
        was = desk.before(node) if node.id in desk.dragged else None
        pane = text_pane(view.program, node, desk.keys, names, desk.lines, was)
        made["texts"] = {**made["texts"], view.program: pane}
    if view.machine == "tiles":
        hidden = desk.hides("counts", node.func, desk.before(node))
        made["axes"] = [] if hidden else axes_of(func)
        made["levels"] = [] if hidden else levels_of(func)
    if view.machine in NUMBERED:
        hidden = desk.hides(topic_of(view.machine), node.func, past)
        found = [] if hidden else requests_of(func, view.machine, desk.gpu, before)
        made["requests"] = {**made["requests"], view.machine: found}
    covered = desk.hides(topic_of(view.machine), node.func, past)
    # how many blocks there are would tell, too
    picture = picture_name(func, replace(view, level="") if covered else view, desk.gpu, before)
    made["shown"] = {**made["shown"], view.machine: picture}
    if picture and (picture not in made["pictures"] or kind_of(picture) in TIMED):
        made["pictures"] = {**made["pictures"], picture: node_picture(picture, desk, node)}
    made["act"] = act_of(made["pictures"].get(picture), node.func, desk)
    chosen = view.place if view.place in names.about else ""
    known_offer = made["offers"].get(chosen)
    if chosen and (known_offer is None or (view.more and not known_offer["all"])):
        offered = offer_at(cursor, chosen, desk, view.more)
        made["offers"] = {**made["offers"], chosen: offered}
    made["costs"] = shown_costs(desk, past, node.func)
    made["guess"] = node_guess(node, desk)
    made["decided"] = _decided(node, desk.question)
    made["bar"] = node_bar(node, desk)
    made["why"] = shown_why(desk, node.func)
    wasted = notes(
        node.func, whole=not made["costs"]["waits"]
    )  # what takes kernels comes with them
    hidden = bool(wasted) and desk.hides("counts", node.func)
    made["notes"] = [UNTIL] if hidden else wasted
    return made | ran(node, desk, judged=not made["costs"]["waits"])  # goals are counted, too


def node_picture(name: str, desk: Desk, node: HistoryNode) -> dict[str, Any]:
    """The picture on the page of `node`, beside the step before."""
    asked = desk.question.cell if desk.question else None
    return shown_picture(name, desk, node.func, asked, desk.before(node), steps_to(node, name))


def steps_to(node: HistoryNode, name: str) -> Steps:
    """The programs from the start of a history to a node, for the picture that shows them."""
    path = node.path() if name == "roofline" else ()
    return tuple((one.id, one.mod[node.func_name]) for one in path)


def shown_picture(
    name: str,
    desk: Desk,
    func: PrimFunc,
    asked: tuple[str, tuple[int, ...]] | None,
    before: PrimFunc | None,
    steps: Steps = (),
) -> dict[str, Any]:
    """The picture; what of it would tell is covered while the question is open."""
    if desk.hides(topic_of(name), func, before):
        return memo(func, ("covered", kind_of(name)), lambda: covered_pane(name, func))
    func, before = desk.at(func), desk.at(before)
    times = band_times(desk, func, before) if name == "memory" else None
    time = seen_time(desk, func) if kind_of(name) == "timeline" else None
    gpu, scale = desk.gpu, times and (desk.owner, times.before is None)
    key = ("picture", name, gpu, asked, before, steps, scale, time and time.us)
    return memo(func, key, lambda: picture_pane(name, func, asked, before, steps, times, gpu, time))


def kind_of(picture: str) -> str:
    """The kind of a picture, by its name: "tiles" of "tiles:k_0=3"."""
    return picture.partition(":")[0]


def topic_of(picture: str) -> Topic:
    """What the picture of a name tells."""
    return PICTURES.get(kind_of(picture), "counts")


def band_times(desk: Desk, func: PrimFunc, before: PrimFunc | None) -> Times | None:
    """How long data take to move, at one scale for all programs of the lab; None until that is
    worked out, and where it is not to be seen."""
    now = seen_time(desk, func)
    if now is None:
        return None
    moved = now.moved()
    desk.widest = desk.widest or max(moved.values(), default=0.0)
    if not desk.widest:
        return None
    then = None if before is None else seen_time(desk, before)
    then_moved = None if then is None else then.moved()
    return Times(moved, then_moved, desk.widest, now.terms[0].us)


def shown_costs(desk: Desk, before: PrimFunc | None, after: PrimFunc) -> dict[str, Any]:
    """The strip of costs, unless the question is open and they would tell."""
    if desk.hides("counts", before, after):
        return hidden_strip(desk.counted)
    return strip(desk.at(before), desk.at(after), desk.counted, "costs" in desk.slow)


def node_bar(node: HistoryNode, desk: Desk) -> dict[str, Any]:
    """The bar of the modelled time on the page of `node`, with what was measured of it."""
    result = desk.results.get(node.id, {})
    measured = result["us"] if result.get("gpu") == desk.gpu else None
    asked = desk.guess(node)
    guessed = guessed_number(asked, desk.answers.get(asked.name), node.func) if asked else None
    return shown_bar(desk, desk.before(node), node.func, measured, guessed)


def node_guess(node: HistoryNode, desk: Desk) -> dict[str, Any] | None:
    """The guess that the page of `node` asks for, or what came of it; None without one."""
    asked = desk.guess(node)
    return None if asked is None else shown_guess(asked, desk.answers.get(asked.name), node.func)


def ran(node: HistoryNode, desk: Desk, judged: bool) -> dict[str, Any]:
    """What the run of the program came to, and the goals, the first of which that decides.

    Where it was not run, there is no "run", and "then" says to, unless it is known that there is no
    kernel to run; what one counted may be hidden.
    """
    result = desk.results.get(node.id, {})
    made: dict[str, Any] = {
        "goals": goals(desk.task, node.func, result, judged),
        "then": "" if result else _to_do(node, desk, judged),
    }
    if result and desk.hides("time", node.func):
        kept = KEPT if desk.hides("counts", node.func) else (*KEPT, "table", "device")
        result = {**{name: result[name] for name in kept if name in result}, "notes": [UNTIL]}
    return {**made, "run": result} if result else made


def _to_do(node: HistoryNode, desk: Desk, judged: bool) -> str:
    """What to do with a program that was not run, as it is said behind a verdict."""
    if judged and desk.question and not desk.open:
        try:
            build(desk.at(node.func))
        except Fail:
            return NO_KERNEL
    return RUN


def _base(node: HistoryNode, desk: Desk) -> dict[str, Any]:
    """What every page has, whichever panes are open."""
    return {
        "names": desk.names(node.func).about,
        "buffers": [{"name": name, "picture": who_name(name)} for name in written(node.func)],
        "texts": {},
        "pictures": {},
        "requests": {},
        "shown": {},
        "brings": ["fragments"] if insight.has_fragments(node.func) else [],
        "places": sorted_places(node, desk),
        "grips": grips(node, desk),
        "back": desk.dragged[node.id].start.id if node.id in desk.dragged else None,
        "offers": {},
        "verdict": None if desk.open else _verdict(node, desk.question),
        "open": desk.waiting(node.func, desk.before(node)),
        "taken": lines_of(node) if node.history.kept_in else None,  # only an exercise's are
    }


def notes(func: PrimFunc, whole: bool = True) -> list[str]:
    """What is legal but wasteful in the program, with what it costs.

    Of vectors it takes the kernels to know: unless it is to be `whole`, only if there are any yet.
    """
    found = memo(func, "findings", lambda: _of_program(func))
    if whole or is_built(func):
        found = [*found, *memo(func, "findings of vectors", lambda: _of_vectors(func))]
    return [f"{_sentence(f.headline)} {_sentence(f.hint)}" for f in found if f.kind == "warning"]


def _of_program(func: PrimFunc) -> list[check.Finding]:
    opened = lower.open_blocks(func)
    with suppress(Refusal):  # what can't be run by an intrinsic is told where it is built
        opened = lower.inline_tensor_intrinsics(opened)
    return check.check_program(opened, target.get(lower.least_target(func)))


def _of_vectors(func: PrimFunc) -> list[check.Finding]:
    if any(isinstance(node, For) and node.kind == "vectorized" for node in walk(func.body)):
        with suppress(Fail):  # where there is no kernel, its pane tells why
            built = build(func)
            return lower.findings(built.lowered, built.target)
    return []


def _sentence(text: str) -> str:
    """`text` with a capital letter in front and a full stop behind, where it has none."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def _verdict(node: HistoryNode, question: Question | None) -> dict[str, Any] | None:
    if question is None or isinstance(question, Guess):
        return None  # a guess has its outcome in the strip of costs, once that is worked out
    verdict = question.judge(node.func)
    if verdict is None:
        return None
    known = verdict.truth in question.choices
    truth = question.choices.index(verdict.truth) if known else None
    replies = [[f"{head} ", said] for head, said in map(verdict.reply, question.choices)]
    return {"truth": truth, "text": verdict.truth, "why": verdict.why, "told": replies}


def _decided(node: HistoryNode, question: Question | None) -> int | None:
    """The number of the program that decided the question; of a guess, once that is worked out."""
    number = deciding(question, node.history) if question else None
    if number is None or not isinstance(question, Guess):
        return number
    program = question.decides(node.history[number].func)
    known = program is not None and is_weighed(program, question.cost, question.gpu)
    return number if known else None


def sorted_places(node: HistoryNode, desk: Desk) -> list[dict[str, str]]:
    """The loops and blocks of the program, key and label, those that matter first.

    First is what the lab gives arguments for, until it is bound; then what the last step made; then
    what is open, which are the blocks and the loops that nothing is said of yet; then loops that
    are bound, unrolled, or run in parallel or as vectors.
    Each in program order.
    """
    made = node.result if isinstance(node.result, tuple) else (node.result,)
    new = {*made, *(thing for things in node.became.values() for thing in things)}
    loops = places(node.func).loops
    asked = {given.partition(" ")[2] for given in desk.given or ()}
    names = desk.names(node.func).about

    def rank(key: str) -> int:
        thing = desk.keys.thing(key)
        settled = isinstance(thing, Var) and loops[thing].kind != "serial"
        if settled:
            return 3
        return 0 if names[key]["name"] in asked else 1 if thing in new else 2

    where = desk.places(node.func)
    return [{"key": key, "label": where[key]} for key in sorted(where, key=rank)]


def grips(node: HistoryNode, desk: Desk) -> dict[str, Any]:
    """By the key of a loop whose number can be changed: what it is, what it may be, its step.

    Without a step, a split of the loop would set it.
    """
    loops = places(node.func).loops
    found = {desk.keys.of(loop): grip_of(node, loop, desk.offered) for loop in loops}
    return {
        key: {
            "value": grip.value,
            "values": [*grip.ways],
            "step": None if grip.step is None else node.after(grip.step).id,
        }
        for key, grip in found.items()
        if grip is not None
    }


def every_view(panes: Mapping[str, Any]) -> Iterable[View]:
    """Each pane once."""
    for name in (*panes["program"]["first"], *panes["program"]["rest"]):
        yield View(program=name)
    for name in (*panes["machine"]["first"], *panes["machine"]["rest"]):
        yield View(machine=name)


def page_trait(node: str) -> str:
    """The trait of the page of a node."""
    return f"page_{node}"
