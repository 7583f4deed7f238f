"""What pages say of programs side by side: two of a history, and what counts of both."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from math import prod
from typing import Any

from tests.support.pictured.launches import wanted_costs, work
from tests.support.pictured.log import KernelLog, ProgramLog
from tests.support.pictured.tally import Tally
from workbench import draw, insight, script
from workbench.diag import Fail
from workbench.draw import Picture, Stands
from workbench.ir import PrimFunc, dtypes, stores
from workbench.target import get

SEEN = 3  # rows of what differs ahead of those that are folded
SCOPES = ("global", "shared", "local")
PANES = ("who", "memory", "tiles", "pipeline", "occupancy", "timeline")
RECORDED = "recorded time on "
SAME = "same in both"
SIGNS = {"=": ", the same", "▼": ", less", "▲": ", more", "≠": ""}

Rows = list[list[str]]


class _Table(HTMLParser):
    """The entries of a table, row by row, as words."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: Rows = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def entries(html: str) -> Rows:
    """The rows of a table, its heads first."""
    table = _Table()
    table.feed(html)
    return table.rows


# --- texts ----------------------------------------------------------------------------------------


def check_text(
    tally: Tally,
    pane: Mapping[str, Any],
    lines: Sequence[Sequence[Sequence[str]]],
    before: PrimFunc | None,
    after: PrimFunc,
) -> None:
    """The lines of a program, or its rows of a diff: both programs are there, whole."""
    if "lines" in pane:
        tally.same("lines of programs", [_line(lines, k) for k in pane["lines"]], _shown(after))
        return
    left = [_line(lines, row[3]) for row in pane["diff"] if row[3] is not None]
    right = [_line(lines, row[4]) for row in pane["diff"] if row[4] is not None]
    tally.same("lines of programs", right, _shown(after))
    if before is not None:
        tally.same("lines of the program before", left, _shown(before))
    for sign, left_no, right_no, old, new, *_ in pane["diff"]:
        there = (old is not None, new is not None)
        tally.same("sides of a row", there, (bool(left_no), bool(right_no)), str(sign))
        known = {"+": (False, True), "-": (True, False)}.get(sign, (True, True))
        tally.same("signs of rows", there, known, str(sign))
        if sign in (" ", "=", ""):
            texts = [_line(lines, one).lstrip() for one in (old, new)]  # one may be further in
            tally.same("lines that are the same", *texts)


def _line(lines: Sequence[Sequence[Sequence[str]]], number: int) -> str:
    return "".join(token[1] for token in lines[number])


def _shown(func: PrimFunc) -> list[str]:
    return script.show(func).splitlines()


# --- pictures -------------------------------------------------------------------------------------


class _Untimed(draw.Source):
    """What a page shows whose lab shows no times."""

    def residence(self, func: PrimFunc) -> insight.Residence | None:
        return insight.residence(self.kernels(func), get(self.gpu))


def own_picture(func: PrimFunc, pane: str, at: Mapping[str, int], buffer: str,
                before: PrimFunc | None) -> Picture:  # fmt: skip
    """The picture that a pane has to show, drawn by itself."""
    kwargs: dict[str, Any] = {"before": before, "source": _Untimed()}
    if pane == "who":
        names = dict.fromkeys(store.buffer.name for store in stores(func.body))
        outputs = [b.name for b in func.params if b.name in names]
        kwargs["buffer"] = buffer if buffer in names else [*outputs, *names][0]
    if pane == "tiles":
        kwargs["select"] = {key: value for key, value in at.items() if value >= 0}
    return draw.picture_of(func, pane, **kwargs)


def check_picture(tally: Tally, told: Mapping[str, Any], made: Picture | None, about: str) -> None:
    """A page has the picture of its program; without one, it says why."""
    if made is None:
        tally.same("pictures that are refused", "refusal" in told, True, about)
        return
    own = json.loads(json.dumps(draw.plain(made)))
    kept = json.loads(json.dumps({name: told.get(name) for name in own}))
    if kept["slides"] and own["slides"]:
        kept["slides"].pop("at", None)  # where the sliders stand
    differ = [name for name in own if own[name] != kept[name]]
    tally.same("pictures of pages", differ, [], about)


def seen(picture: Picture) -> object:
    """What is seen and said of a picture, whatever else its shapes stand for."""
    shapes = [[shape._replace(of=Stands(title=shape.of.title)) for shape in strip.shapes]
              for strip in picture.strips]  # fmt: skip
    sizes = [(strip.width, strip.height) for strip in picture.strips]
    rows = [[re.findall(r"; |\b\d[\d,.]*", str(entry)) for entry in row]
            for row in picture.table.rows]  # fmt: skip
    words = picture.caption, picture.full, rows
    return sizes, shapes, words, picture.track and json.dumps(picture.track.plain())


# --- two programs side by side --------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One of the programs: its name in the history, its logs; no kernels where there is none."""

    title: str
    func: PrimFunc
    program: ProgramLog
    kernels: Sequence[KernelLog]

    def counts(self) -> dict[str, int]:
        """What its kernels do in all, or, without any, what the program does to each memory."""
        if not self.kernels:
            return {f"{scope} {way}": n for scope in SCOPES
                    for way, n in zip(("loads", "stores"), self.touched(scope), strict=True)
                    }  # fmt: skip
        logs = self.kernels
        found = {
            "blocks": sum(prod(log.kernel.grid) for log in logs),
            "threads": sum(prod(log.kernel.grid) * prod(log.kernel.block) for log in logs),
            "barriers in all": sum(log.barriers for log in logs),
        }
        for scope in SCOPES:
            ways = [[log.touched(scope, writes) for log in logs] for writes in (False, True)]
            loads, stores_ = (sum(sum(one.values()) for one in way) for way in ways)
            if loads or stores_:
                found |= {f"{scope} loads": loads, f"{scope} stores": stores_}
                found[f"{scope} bytes"] = sum(
                    n * dtypes.itemsize(self.scalar(log, name))
                    for way in ways
                    for log, one in zip(logs, way, strict=True)
                    for name, n in one.items()
                )
        return found | {"operations": sum(map(work, logs))}

    def scalar(self, log: KernelLog, name: str) -> str:
        return next(b.type for p in log.places for b in [p[1].buffer] if b.name == name)

    def touched(self, scope: str) -> tuple[int, int]:
        ways = [
            sum(len(events) for (name, writes), events in self.program.by_buffer.items()
                if writes == way and self.program.buffers[name].scope == scope)
            for way in (False, True)
        ]  # fmt: skip
        return ways[0], ways[1]


def check_comparison(
    tally: Tally, one: Side, other: Side, made: Mapping[str, Any], lines: Any
) -> None:
    """The diff, the tables and the strip of costs of two programs."""
    check_text(tally, made["text"], lines, one.func, other.func)
    rows = _told_rows(tally, one, other, made)
    left, right = one.counts(), other.counts()
    both = bool(one.kernels), bool(other.kernels)
    none = 0 if both[0] == both[1] else "–"
    names = dict.fromkeys([*left, *right])
    wanted = {name: (left.get(name, none), right.get(name, none)) for name in names}
    for scope in one.program.unknown | other.program.unknown:
        for name in (f"{scope} loads", f"{scope} stores"):
            rows.pop(name, None)
            wanted.pop(name, None)
    wanted = {name: pair for name, pair in wanted.items()
              if name in rows or name.split()[-1] not in ("loads", "stores", "bytes")
              or {*pair} - {0, "–"}}  # fmt: skip
    kernel = rows.pop("kernel", None)
    for name in [name for name in rows if name.startswith(RECORDED)]:  # a lesson's own program
        *times, change = (text.replace("\xa0", " ") for text in rows.pop(name))
        tally.same("times of other runs", change, _between_runs(*times), name)
    tally.same("whether there are kernels", kernel is None, all(both), str(kernel))
    tally.same("what is compared", {*rows} - {"shuffles in all"}, {*wanted})
    for name, (before, after) in wanted.items():
        told = rows.get(name)
        if told is not None:
            form = [f"{n:,}" if isinstance(n, int) else n for n in (before, after)]
            tally.same("counts of both", told[:2], form, name)
            tally.same("changes", told[2], _change(before, after), name)
    _check_strip(tally, one, other, made["costs"])


def _told_rows(
    tally: Tally, one: Side, other: Side, made: Mapping[str, Any]
) -> dict[str, list[str]]:
    """What is told of each quantity: before, after, and how it changed."""
    heads, *first = entries(made["table"]) if made["table"] else [None]
    if heads is not None:
        timed = any(name.startswith(RECORDED) for name, *_ in first)
        kind = "counted; times recorded" if timed else "counted"
        tally.same("heads of comparisons", heads, [kind, one.title, other.title, "change"])
    found = {name: told for name, *told in first}
    folded = dict[str, int]()
    for fold in made["folded"]:
        count, kind = fold["label"].split()
        _, *rows = entries(fold["table"])
        tally.same("rows that are folded", len(rows), int(count.replace(",", "")), fold["label"])
        folded[kind] = len(rows)
        found |= {name: told if kind == "more" else [told[0], told[0], "same"]
                  for name, *told in rows}  # fmt: skip
    differs = sum(told[2] != "same" for told in found.values())
    tally.same("rows that are seen", len(first), min(differs, SEEN))
    tally.same("rows that are folded", folded.get("same", 0), len(found) - differs)
    return found


def _change(before: int | str, after: int | str) -> str:
    if isinstance(before, str) or isinstance(after, str):
        return ""
    if before == after:
        return "same"
    times = f" (× {after / before:.3g})" if before else ""
    return f"{after - before:+,}{times}"


def _between_runs(before: str, after: str) -> str:
    """How much more or less of two times that are told, in the places of the longer."""
    left, right = (text.removesuffix(" µs").replace(",", "") for text in (before, after))
    places = len(max(left, right, key=float).partition(".")[2])
    return f"{float(right) - float(left):+,.{places}f} µs, recorded in different runs"


def _check_strip(tally: Tally, one: Side, other: Side, strip: Mapping[str, Any]) -> None:
    """Costs before and now, with what became of each."""
    if not other.kernels:
        tally.same("costs without kernels", strip["rows"], [], strip["text"])
        return
    now = wanted_costs(other.kernels)
    was = wanted_costs(one.kernels) if one.kernels else {}
    for row in strip["rows"]:
        name = row["name"]
        if name not in now:
            continue
        before, after = was.get(name, "none"), now[name]
        tally.same("costs of both", (row["before"], row["after"]), (before, after), name)
        sign = _sign(was.get(name), after)
        tally.same("signs of costs", row["sign"], sign, name)
        then = f"{before} before, " if was else ""
        tally.same("costs in words", row["said"], f"{name}: {then}{after} now{SIGNS.get(sign, '')}")


def _sign(before: str | None, after: str) -> str:
    if before is None:
        return ""
    if before == after:
        return "="
    if " and " in before + after:
        return "≠"
    less = float(after.replace(",", "")) < float(before.replace(",", ""))
    return "▼" if less else "▲"


def check_ghost(tally: Tally, before: Mapping[str, Any], bar: Mapping[str, Any]) -> None:
    """The time of the program before stands on the axis of the bar, or at its end."""
    was, now = (_us(one["us"]) for one in (before, bar))
    axis = now / bar["end"]
    if bar["beyond"]:
        tally.same("times before beyond the axis", (bar["before"], was > axis * 0.99), (1.0, True))
        return
    near = abs(bar["before"] - was / axis) <= 0.012 * was / axis
    tally.same("times before on the axis", near, True, f"{bar['before']} {was} {axis}")
    tally.same(
        "times before in words", f", {before['us']} before" in bar["said"], True, bar["said"]
    )


def _us(text: str) -> float:
    found = re.fullmatch(r"([\d.,e+-]+) µs", text)
    assert found is not None, text
    return float(found[1].replace(",", ""))


def check_pictures(
    tally: Tally, one: Side, other: Side, made: Mapping[str, Any], pane: str, buffer: str
) -> None:
    """Each program has its own picture, unless both look the same: then there is that."""
    if len(made["pictures"]) == 1:
        (told,) = made["pictures"]
        tally.same("pictures that are the same", told["title"], SAME)
        at = told["picture"].get("at", {})
        own = [_own(side, pane, at, buffer, before) for side, before in
               ((one, None), (other, one.func))]  # fmt: skip
        check_picture(tally, told["picture"], own[1], f"{pane} of both")
        first, second = (made and seen(made) for made in own)
        if pane != "tiles":  # what is chosen there stands with the picture
            tally.same("pictures that look the same", first == second, True, pane)
        return
    looks: list[Any] = []
    for side, before, told in zip((one, other), (None, one.func), made["pictures"], strict=True):
        tally.same("titles of pictures", told["title"], side.title)
        own_one = _own(side, pane, told["picture"].get("at", {}), buffer, before)
        check_picture(tally, told["picture"], own_one, f"{pane} of {side.title}")
        axes = [axis for axis, n in told["picture"].get("at", {}).items() if n >= 0]
        looks.append(own_one and (seen(own_one), axes))
    if None not in looks:
        tally.same("pictures that look different", looks[0] != looks[1], True, pane)


def _own(
    side: Side, pane: str, at: Mapping[str, int], buffer: str, before: PrimFunc | None
) -> Picture | None:
    try:
        return own_picture(side.func, pane, at, buffer, before)
    except Fail:  # the page says why
        return None


def chosen_pane(rng: random.Random) -> str:
    """A pane whose picture does not depend on what is chosen in it, or says what that is."""
    return rng.choice(PANES)


def named(number: int, label: str) -> str:
    """A program as the history has it: its number and its verb."""
    return f"{number} {label.partition('(')[0]}"
