"""Numbers and names in all pictures of random schedules, against a log of every thread."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import workbench as wb
from tests.support.cases import CASES
from tests.support.gpu_programs import parsed
from tests.support.pictured.bar import check_opened
from tests.support.pictured.check import checked
from tests.support.pictured.kinds import KINDS
from tests.support.pictured.log import KernelLog, ProgramLog
from tests.support.pictured.memory import check_memory
from tests.support.pictured.moved import check_saved, dragged, opened
from tests.support.pictured.pages import Side, check_comparison, check_ghost, check_pictures, named
from tests.support.pictured.programs import Drawn, drawn
from tests.support.pictured.tally import Tally
from workbench import draw
from workbench.ir import PrimFunc
from workbench.lower import lower
from workbench.target import get
from workbench.widgets.ask.session import Session
from workbench.widgets.page import costs
from workbench.widgets.page.compare import comparison
from workbench.widgets.page.cost_bar import shown_bar
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.modelled_time import modelled_of
from workbench.widgets.page.view import View


@pytest.mark.fuzz
def test_every_number_and_name_is_what_threads_do():
    found = [checked(seed) for seed in range(max(CASES // 3, 1))]
    assert not [wrong for one in found for wrong in one.wrong]
    kinds = {kind for one in found for kind in one.counts}
    assert {kind for kind in kinds if not kind.startswith("left out")} <= KINDS
    assert len(kinds) > 100


@pytest.mark.parametrize(
    "right, said",
    [
        ("“line 17”", "“line 17”"),
        ("“line 17”", "“line 16”"),
        ("“line 17”", "“at line 17”"),
        ("by each thread", "by each block"),
        ("of i_m_1", "of i_m_0"),
        ("keeps 4 bytes", "keeps 8 bytes"),
    ],
)
def test_what_is_said_below_a_picture_is_held_against_the_program(right: str, said: str):
    func = drawn(1185).func
    picture = draw.picture_of(func, "memory")
    assert right in picture.caption
    other = replace(picture, caption=picture.caption.replace(right, said))
    kernels, tally = lower(func, get("cuda")).kernels, Tally()
    check_memory(tally, ProgramLog(func), kernels, other, None, {})
    assert bool(tally.wrong) == (right != said)


def test_what_no_rule_reads_is_wrong():
    tally = Tally(where="here")
    tally.read("A has 3 cells", [(r"A has (\d+) cells", lambda m: tally.same("n", m[1], "3"))])
    assert not tally.wrong and tally.counts == {"n": 1}
    tally.read("B has 4 cells", [(r"A has (\d+) cells", lambda _: None)])
    tally.read("A has 3 cells of 8", [(r"A has (\d+) cells of 8", lambda _: None)])
    tally.whole("A_share…")
    tally.same("n", 4, 5)
    assert tally.wrong == [
        "here: unknown words 'B has 4 cells'",
        "here: unread number at 17 of 'A has 3 cells of 8'",
        "here: cut: 'A_share…'",
        "here: n: 4, not 5",
    ]


ADD = """
@T.prim_func
def main(A: T.Buffer((96,)), B: T.Buffer((96,)), C: T.Buffer((96,))):
    for i in range(96):
        with T.block("C"):
            vi = T.axis.spatial(96, i)
            C[vi] = A[vi] * B[vi] + T.float32(1)
"""
GPU = get(draw.GPU)

Change = Callable[[Any], None]


def in_blocks() -> Drawn:
    """A schedule whose kernel no compiler can make less of: what its bar tells is counted."""
    sch = wb.Schedule(parsed(ADD))
    outer, inner = sch.split("i", factors=[None, 32])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    path = [node.mod["main"] for node in sch.node.path()]
    programs = tuple(func for func in path if isinstance(func, PrimFunc))
    return Drawn(0, "blocks", sch.func, programs[-2], programs, sch)


def logs_of(func: PrimFunc) -> list[KernelLog]:
    return [KernelLog(kernel) for kernel in lower(func, GPU).kernels]


def row(name: str, /, **said: str) -> Change:
    """What changes a row of the bar."""

    def change(bar: Any) -> None:
        next(one for one in bar["rows"] if one["name"] == name).update(said)

    return change


def part(name: str, /, **said: str) -> Change:
    def change(bar: Any) -> None:
        next(one for one in bar["rows"] if one["name"] == name)["parts"][0].update(said)

    return change


def mark(bar: Any) -> None:
    bar["marks"][-1]["at"] *= 1.1


def roof(bar: Any) -> None:
    next(one for one in bar["marks"] if one["role"] == "roof")["words"] = "roof 1 µs"


def ends(bar: Any) -> None:
    bar["end"] *= 0.9


def hue(bar: Any) -> None:
    bar["rows"][-1]["share"] = 99


BARS: dict[str, Change] = {
    "launch": row("launch", us="0.6 µs"),
    "blocks": row("launch", much="4 blocks", words="4 blocks start in 0.502 µs"),
    "instructions": row("issue", much="16 instructions"),
    "operations": row("arithmetic", us="0.1 µs"),
    "lines": row("L1", us="0.1 µs"),
    "shared": row("shared", us="0.1 µs"),
    "way": row("L2", words="384 bytes to L2 at 0.38 TB/s"),
    "bytes": row("device", much="1.2 k bytes"),
    "warps": row("latency", much="7% of the warps"),
    "multiprocessors": row("issue", words="15 instructions of warps, 4 a clock on 2 "
                           "multiprocessors"),
    "name": row("issue", name="issues"),
    "statement": part("issue", text="C[0] = A[0]"),
    "its time": part("L1", us="0.1 µs"),
    "hue": hue,
    "mark": mark,
    "roof": roof,
    "end": ends,
}  # fmt: skip


def opened_bar() -> tuple[Tally, Drawn, Any, Desk]:
    one, desk = in_blocks(), Desk()
    modelled_of(one.func, draw.GPU)
    return Tally(), one, copy.deepcopy(shown_bar(desk, None, one.func)), desk


@pytest.mark.parametrize("change", [None, *BARS.values()], ids=["as it is", *BARS])
def test_what_the_opened_bar_tells_is_counted_anew(change: Change | None):
    tally, one, bar, desk = opened_bar()
    if change is not None:
        change(bar)
    program = ProgramLog(one.func)
    check_opened(tally, program, logs_of(one.func), GPU, bar, desk.keys.thing)
    assert bool(tally.wrong) == (change is not None), tally.wrong
    assert {"L1: time", "L2: time", "times of statements"} <= {*tally.counts}


def entry(old: str, new: str) -> Change:
    """What changes a number in the tables of a comparison."""

    def change(made: Any) -> None:
        tables = [made, *made["folded"]]
        key = ["table"] * len(tables)
        assert any(old in one[name] for one, name in zip(tables, key, strict=True)), made
        for one in tables:
            one["table"] = one["table"].replace(old, new)

    return change


def line(made: Any) -> None:
    first, second, *_ = (one for one in made["text"]["diff"] if one[4] is not None)
    second[4] = first[4]


def sign(made: Any) -> None:
    made["text"]["diff"][2][0] = "+"


def cost(made: Any) -> None:
    made["costs"]["rows"][0]["after"] = "7"


def ghost(made: Any) -> None:
    made["bar"]["before"] *= 0.9


def picture(made: Any) -> None:
    made["pictures"][1]["picture"]["caption"] += " and more"


def heading(made: Any) -> None:
    made["pictures"][0]["title"] = "1 split"


def alike(made: Any) -> None:
    made["pictures"] = [{**made["pictures"][1], "title": "same in both"}]


COMPARED: dict[str, Change] = {
    "count": entry(">3<", ">4<"),
    "change": entry("-93", "-92"),
    "name": entry("blocks", "locks"),
    "line": line,
    "sign": sign,
    "cost": cost,
    "ghost": ghost,
    "picture": picture,
    "heading": heading,
    "alike": alike,
}


@pytest.mark.parametrize("change", [None, *COMPARED.values()], ids=["as it is", *COMPARED])
def test_what_is_said_of_two_programs_is_counted_anew(change: Change | None):
    """One is bound to as many blocks as cells, one to three: of both all is known."""
    one = in_blocks()
    first = one.sch.fork()
    first.goto(0)
    first.bind("i", "blockIdx.x")
    nodes = first.node, one.sch.node
    tally, desk = Tally(), Desk()
    sides = [
        Side(named(node.id, node.label), node.func, ProgramLog(node.func), logs_of(node.func))
        for node in nodes
    ]
    for node in nodes:
        costs.count(node.func)
        modelled_of(node.func, draw.GPU)
    made = copy.deepcopy(comparison(*nodes, View(machine="who"), desk))
    if change is not None:
        change(made)
    check_comparison(tally, *sides, made, desk.lines.all)
    check_pictures(tally, *sides, made, "who", "C")
    check_ghost(tally, shown_bar(Desk(), None, nodes[0].func), made["bar"])
    assert bool(tally.wrong) == (change is not None), tally.wrong


@pytest.mark.parametrize("is_other", [False, True])
def test_what_a_link_opens_is_held_against_each_of_the_steps(is_other: bool):
    one, tally = in_blocks(), Tally()
    steps = (*one.steps[:2], one.steps[1], one.steps[3]) if is_other else one.steps
    opened(tally, replace(one, steps=steps))
    assert bool(tally.wrong) == is_other and tally.counts["programs of links"] == 4


@pytest.mark.parametrize("is_other", [False, True])
def test_what_a_dragged_number_makes_is_made_anew(is_other: bool, monkeypatch: pytest.MonkeyPatch):
    """Another number than that which was dragged is told, and another picture shown."""
    tally, tried = Tally(), Session.tried

    def other(session: Session, message: Any) -> Any:
        made = tried(session, message)
        message["step"]["value"] = 8
        return {**made, "picture": {**made["picture"], "caption": "another"}}

    if is_other:
        monkeypatch.setattr(Session, "tried", other)
    moved = dragged(tally, in_blocks(), random.Random(1))
    assert moved is not None and bool(tally.wrong) == is_other, tally.wrong


@pytest.mark.parametrize("is_other", [False, True])
def test_what_a_saved_page_has_is_made_anew(is_other: bool, monkeypatch: pytest.MonkeyPatch):
    """A page whose costs, or pictures, are of another number than it says."""
    tally = Tally()
    if is_other:
        wanted = "tests.support.pictured.moved.wanted_costs"
        monkeypatch.setattr(wanted, lambda logs: {"blocks": "7"})
    check_saved(tally, in_blocks(), random.Random(2), logs_of)
    assert bool(tally.wrong) == is_other, tally.wrong
    assert tally.counts["numbers of a saved page"] and tally.counts["costs of a saved page"]
