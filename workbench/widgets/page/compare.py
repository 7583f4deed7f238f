"""Two programs of a history side by side, as plain data."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from workbench import draw, insight
from workbench.diag import Fail
from workbench.history.history import HistoryNode
from workbench.insight import Counts, Table
from workbench.ir import PrimFunc
from workbench.runtime.timing import in_digits
from workbench.widgets.page.cost_bar import recorded_times, shown_bar
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.memo import CPU, FIRST, build, memo
from workbench.widgets.page.page import shown_costs, shown_picture, steps_to
from workbench.widgets.page.pictures import memory_of, picture_name
from workbench.widgets.page.question import MARK, UNTIL, Topic
from workbench.widgets.page.texts import program_lines
from workbench.widgets.page.view import View


def comparison(a: HistoryNode, b: HistoryNode, view: View, desk: Desk) -> dict[str, Any]:
    """The diff from `a` to `b`, what differs and what is the same, and the pictures in `view`.

    Each picture is chosen for its own program: the other may have other axes and buffers. Where
    both are the same there is one.
    """
    one, other = functions(a, b)
    shown, timed = (not desk.hides(what, one, other) for what in TOPICS)
    text = {"label": "what changed", **program_lines(one, other, desk.keys, desk.lines)}
    names = {**desk.names(one).about, **desk.names(other).about}
    pictures: list[dict[str, Any]] = [
        {
            "title": title(node),
            "picture": shown_picture(picture, desk, func, None, before, steps_to(node, picture)),
        }
        for node, func, before in ((a, one, None), (b, other, one))
        if (picture := picture_name(desk.at(func), view, desk.gpu))
    ]
    alike = len(pictures) == 2 and len({_look(one["picture"]) for one in pictures}) == 1
    differs, *folded = _told(differences(a, b, desk, timed)) if shown else [_hidden(a, b)]
    return {
        "names": names,
        "text": text,
        "table": draw.table_html(differs) if differs.rows else "",
        "folded": [
            {"label": f"{len(rows.rows)} {kind}", "table": draw.table_html(rows)}
            for kind, rows in zip(("more", "same"), folded, strict=False)
            if rows.rows
        ],
        "costs": shown_costs(desk, one, other),
        "bar": shown_bar(desk, one, other),
        "times": _timing(one, other) if timed else {"offer": False, "text": ""},
        "pictures": [{**pictures[1], "title": SAME}] if alike else pictures,
        "open": desk.waiting(one, other),
    }


SEEN = 3  # rows of what differs that are seen at once: pictures have room below them
SAME = "same in both"
TOPICS: tuple[Topic, ...] = ("counts", "time")


def functions(a: HistoryNode, b: HistoryNode) -> tuple[PrimFunc, PrimFunc]:
    """The function of `b`, in both programs: of a module, steps may change several."""
    return a.mod[b.func_name], b.func


def _look(picture: dict[str, Any]) -> str:
    """What is seen and said of it, for which axes; of what is covered, or refused, all of it.

    Of its table the numbers, and how much is listed: blocks and loops may have other names.
    """
    if not picture.get("look"):
        return json.dumps(picture)
    chosen = [axis for axis, value in picture.get("at", {}).items() if value >= 0]
    titles = [re.findall(r"<title>.*?</title>", strip) for strip in picture["strips"]]
    counts = re.findall(r"<tr>|; |\b\d[\d,.]*", picture["table"])
    words = (picture[part] for part in ("look", "caption", "full"))
    return json.dumps([chosen, titles, counts, *words])


def title(node: HistoryNode) -> str:
    """As the history has it: its number and verb, and the name that it was given."""
    verb, _, _ = node.label.partition("(")
    return f"{node.id} {verb}" + (f" ({node.mark})" if node.mark else "")


def step_told(node: HistoryNode) -> str:
    """Its number with the whole step, or the name that it was given, for a sentence."""
    return f"{node.id} {node.mark or node.label}"


def measuring(a: PrimFunc, b: PrimFunc) -> str:
    """The target for which both can be built and timed here: a GPU's, else this CPU's, else ""."""
    for target in (FIRST, CPU):
        with suppress(Fail):
            if all(build(func, target).device.measures for func in (a, b)):
                return target
    return ""


def _timing(a: PrimFunc, b: PrimFunc) -> dict[str, Any]:
    """Whether both can be timed here; `text` says why no time stands in the table."""
    if measuring(a, b):
        return {"offer": True, "text": ""}
    try:
        first, _ = build(a), build(b)
    except Fail:
        return {"offer": False, "text": ""}  # the table says which has no kernel
    known = "" if _times(a, b) else NO_TIMES.format(why=first.device.why)
    return {"offer": False, "text": known}


OTHER_RUNS = "recorded in different runs"  # why there is no ratio
NO_TIMES = "No times are shown: {why}, and none were recorded of both programs on one device."


def differences(a: HistoryNode, b: HistoryNode, desk: Desk, timed: bool = True) -> Table:
    """One row a quantity: counted, so that it does not depend on a machine; `timed`, times too."""
    one, other = map(desk.at, functions(a, b))
    left, right = counted(one), counted(other)
    if ("kernel" in left) != ("kernel" in right):
        left, right = ({"kernel": "can be built", **found} for found in (left, right))
        none: int | str = "–"  # without a kernel there are no blocks, not 0
    else:
        none = 0
    rows = [
        (name, before, after, _change(before, after))
        for name in dict.fromkeys([*left, *right])
        for before, after in [(left.get(name, none), right.get(name, none))]
    ]
    times = _times(one, other) if timed else []
    return Table(_heads(a, b, "counted; times recorded" if times else "counted"), (*rows, *times))


def _told(table: Table) -> list[Table]:
    """The first rows that differ, those that no count can tell ahead; the others; what is same."""
    same = tuple((name, before) for name, before, _, change in table.rows if change == "same")
    differs = sorted(
        (row for row in table.rows if row[-1] != "same"),
        key=lambda row: row[-1] != "" and OTHER_RUNS not in str(row[-1]),
    )
    parts = (tuple(differs[:SEEN]), tuple(differs[SEEN:]))
    return [*(Table(table.columns, rows) for rows in parts), Table(("counted", "both"), same)]


def _heads(a: HistoryNode, b: HistoryNode, kind: str) -> tuple[str, ...]:
    return kind, title(a), title(b), "change"


def _hidden(a: HistoryNode, b: HistoryNode) -> Table:
    """What stands in the place of the differences while they would answer the question."""
    return Table(_heads(a, b, "counted"), ((UNTIL, *[MARK] * 3),))


def _times(a: PrimFunc, b: PrimFunc) -> list[tuple[str, str, str, str]]:
    """Recorded times where both have one on a device; without a ratio: they may be of two runs."""
    left, right = ({timing.device: timing for timing in recorded_times(func)} for func in (a, b))
    rows = []
    for device in left:
        if device in right:
            before, after = (timings[device].median * 1e6 for timings in (left, right))
            name = f"recorded time on {device}, {left[device].date}"
            change = f"{_less(before, after)} µs, {OTHER_RUNS}"
            rows.append((name, f"{in_digits(before)} µs", f"{in_digits(after)} µs", change))
    return rows


def _less(before: float, after: float) -> str:
    """How much more or less, of the numbers as they are told, in the places of the longer."""
    places = len(in_digits(max(before, after)).partition(".")[2])
    first, then = (float(in_digits(number).replace(",", "")) for number in (before, after))
    return f"{then - first:+,.{places}f}"


def _change(before: int | str, after: int | str) -> str:
    if not isinstance(before, int) or not isinstance(after, int):
        return ""
    if before == after:
        return "same"
    return f"{after - before:+,}" + (f" (× {after / before:.3g})" if before else "")


def counted(func: PrimFunc) -> dict[str, int | str]:
    """The exact counts of a program: of its kernels, or, without a valid kernel, by its meaning."""
    try:
        counts = memo(func, "counts", lambda: counts_of(func))
    except Fail as fail:
        rows: dict[str, int | str] = {"kernel": fail.headline}
        if func.sizes:
            return rows
        for level in memory_of(func).levels:
            rows[f"{level.scope} loads"] = level.loads
            rows[f"{level.scope} stores"] = level.stores
        return rows
    rows = {"blocks": counts.blocks, "threads": counts.threads, "barriers in all": counts.barriers}
    if counts.shuffles:
        rows["shuffles in all"] = counts.shuffles
    for traffic in counts.traffic:
        if not traffic.loads and not traffic.stores:
            continue
        rows[f"{traffic.scope} loads"] = traffic.loads
        rows[f"{traffic.scope} stores"] = traffic.stores
        rows[f"{traffic.scope} bytes"] = traffic.load_bytes + traffic.store_bytes
    return rows | {"operations": counts.work}


def counts_of(func: PrimFunc) -> Counts:
    """Loads, stores, bytes and barriers of the kernels. Raises Fail where there is no valid one."""
    return insight.counts(build(func).kernels)


def compare_trait(pair: str) -> str:
    """The trait of the comparison of two nodes, "0:3"."""
    return f"compare_{pair.replace(':', '_')}"
