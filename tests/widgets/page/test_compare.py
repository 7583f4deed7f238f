"""Two programs side by side: each with its own picture, whatever the other has not."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from benchmarks import lab_pages
from benchmarks.matmuls import LARGE, SMALL, blocking, blocking_with_shared, matmul
from tests.support.saved_page import saved_state
from tests.widgets.programs import ADD, WINDOW, apply, bind_both, parse, window_steps
from workbench import script
from workbench.schedule import Schedule
from workbench.widgets import Lab
from workbench.widgets.page.compare import comparison
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.page import page
from workbench.widgets.page.pictures import axes_of, slides_to
from workbench.widgets.page.view import MACHINE_PANES, View


@pytest.fixture(scope="module")
def tiled() -> Schedule:
    """Lesson 3's way: its steps rename axes, bind them, and write other buffers."""
    return blocking(Schedule(matmul(SMALL)), 2, 2, 2, 2, 2)


@pytest.mark.parametrize("machine", MACHINE_PANES)
def test_each_step_beside_its_neighbour_has_its_own_picture(tiled: Schedule, machine: str):
    """The selection is the last of every axis that there is before and after."""
    sch, desk = tiled.fork(), Desk()
    select = {"i": 7, "j": 7, "i_0": 1, "k_0": 3, "k_1": 1, "blockIdx.x": 1, "threadIdx.x": 1}
    view = View(machine=machine, buffer="C_local", select=select)
    neighbours = [(node.parent, node) for node in sch.history if node.parent is not None]
    for pair in (*neighbours, *(pair[::-1] for pair in neighbours)):
        made = comparison(*pair, view, desk)
        assert json.loads(json.dumps(made)) == made
        beside = pair[1:] if len(made["pictures"]) == 1 else pair
        for shown, one in zip(made["pictures"], beside, strict=True):
            sch.goto(one)
            (own,) = page(sch, view, desk)["pictures"].values()
            assert shown["title"].startswith(f"{one.id} ") or beside != pair
            parts = ("caption", "table") if machine == "tiles" else ("table",)
            for part in ("refusal",) if "refusal" in own else parts:  # of one without a kernel
                assert shown["picture"][part] == own[part]


def test_recorded_times_come_first_and_say_why_they_have_no_ratio():
    sch = Schedule(matmul(LARGE))
    blocking_with_shared(sch, 8, 8, 8, 8, 8)
    made = comparison(sch.node.parent, sch.node, View(), Desk())
    first = made["table"].split("</tr>")[1]
    name, *times, change = (
        re.sub("<[^>]*>", "", one).replace("\xa0", " ") for one in first.split("</td>")[:-1]
    )
    assert name.startswith("recorded time on NVIDIA H")
    before, after = (float(time.removesuffix(" µs")) for time in times)
    assert change == f"{after - before:+.1f} µs, recorded in different runs"


def test_what_is_the_same_is_told_apart_from_what_differs_and_a_picture_once(tiled: Schedule):
    """Of lesson 3's way: a sum's start changes no tile, a bind does."""
    pairs = {node.label: (node.parent, node) for node in tiled.history if node.parent is not None}
    decomposed = next(label for label in pairs if label.startswith("decompose_reduction"))
    made = comparison(*pairs[decomposed], View(machine="tiles"), Desk())
    (both,) = made["pictures"]
    assert both["title"] == "same in both" and both["picture"]["strips"]
    assert ">same<" not in made["table"]
    *_, same = made["folded"]
    (count,) = re.findall(r"^(\d+) same$", same["label"])
    assert same["table"].count("<tr>") - 1 == int(count) > 0

    bound = next(pair for label, pair in pairs.items() if label.startswith("bind"))
    made = comparison(*bound, View(machine="tiles"), Desk())
    assert len(made["pictures"]) == 2
    made = comparison(next(iter(tiled.history)), tiled.node, View(machine="tiles"), Desk())
    more, *_ = made["folded"]
    assert made["table"].count("<tr>") == 1 + 3 and re.match(r"\d+ more$", more["label"])
    assert ">same<" not in more["table"]


def test_a_picture_is_not_the_same_where_its_words_differ():
    """A reorder: each block stores what it did, in other steps of time."""
    sch = Schedule(matmul(16))
    i_0, i_1 = sch.split("i", [None, 4])
    j_0, j_1 = sch.split("j", [None, 4])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.reorder("k", i_1, j_1)
    made = comparison(sch.node.parent, sch.node, View(machine="who"), Desk())
    first, second = (one["picture"] for one in made["pictures"])
    assert first["look"] == second["look"] and first["caption"] != second["caption"]


def test_a_picture_with_an_axis_of_another_name_is_not_the_same(tiled: Schedule):
    """All cells are where they were, but what says which are chosen has no such loop before."""
    sch = Schedule(parse(ADD))
    sch.transform_block_layout("C", lambda i: i)
    made = comparison(*sch.history, View(machine="tiles"), Desk())
    first = [shown["picture"]["caption"].splitlines()[0] for shown in made["pictures"]]
    assert first == ["With i = 0:", "With ax0 = 0:"]


def test_a_title_is_what_the_history_says(tiled: Schedule):
    sch = tiled.fork()
    sch.mark("tiled")
    first, last = next(iter(sch.history)), sch.node
    made = comparison(first, last, View(machine="who"), Desk())
    assert f"{last.id} {last.label.partition('(')[0]} (tiled)" in made["table"]


def test_a_selection_of_one_program_is_left_out_of_the_other():
    sch, desk = Schedule(parse(ADD)), Desk()
    sch.bind("i", "threadIdx.x")
    made = comparison(*sch.history, View(machine="tiles", select={"threadIdx.x": 5}), desk)
    before, after = (shown["picture"]["caption"].splitlines()[0] for shown in made["pictures"])
    assert (before, after) == ("With i = 0:", "With threadIdx.x = 5:")


def test_every_pane_of_every_pair_of_neighbours_of_a_lesson():
    """A sample of benchmarks/lab_pages.py, which takes all lessons and saves each page."""
    small, _, large, _ = lab_pages.labs(lab_pages.LESSONS[0])
    assert [*lab_pages.faults(small), *lab_pages.faults(large)] == []


def test_a_page_is_saved_while_two_programs_are_compared(tmp_path: Path):
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    lab: Lab = wb.lab(sch, panes=["tiles"])
    lab.against = 2
    lab.to_html(tmp_path / "lab.html")
    state = saved_state(tmp_path / "lab.html")
    pairs = {name for name in state if name.startswith("compare_")}
    assert pairs == {"compare_2_7", *(f"compare_{k}_{k + 1}" for k in range(7))}


def test_a_saved_page_compares_with_the_program_that_a_number_was_dragged_in(tmp_path: Path):
    sch = Schedule(parse(ADD))
    sch.split("i", factors=[None, 4])
    sch.unroll("i_1")
    lab: Lab = wb.lab(sch, panes=["tiles"])
    key = next(key for key, grip in lab.session.page["grips"].items() if grip["value"] == 4)
    lab.session.ask({"do": "apply", "place": key, "value": 2})
    lab.to_html(tmp_path / "lab.html")
    state = saved_state(tmp_path / "lab.html")
    pairs = {name for name in state if name.startswith("compare_")}
    assert (lab.session.at, state["page_4"]["back"]) == (4, 2)
    assert pairs == {f"compare_{pair}" for pair in ("0_1", "1_2", "0_3", "3_4", "2_4")}


def test_the_first_sliders_of_a_saved_page_stop_at_all_at_both_ends_and_beside_the_first(tiled):
    stops = {axis["key"]: values(axis) for axis in axes_of(tiled.func)}
    assert list(stops.items())[:5] == [
        ("blockIdx.x", [-1, 0, 1]),
        ("blockIdx.y", [-1, 0, 1]),
        ("threadIdx.x", [-1, 0, 1]),
        ("threadIdx.y", [-1, 0, 1]),
        ("i_2_init", [-1]),
    ]
    assert stops["k_0"] == [-1]
    assert values(axes_of(matmul(SMALL))[0]) == [-1, 0, 1, 7]


def values(axis: dict[str, Any]) -> list[int]:
    """Where the slider of an axis stops in a saved page."""
    return [stop["value"] for stop in axis["stops"]]


def test_the_sliders_of_a_saved_page_have_a_picture_at_each_stop(tmp_path: Path):
    lab = wb.lab(Schedule(parse(ADD)), panes=["tiles"])
    bind_both(lab)
    lab.to_html(tmp_path / "lab.html")
    pages = [made for name, made in saved_state(tmp_path / "lab.html").items() if "page_" in name]
    assert len(pages) == len(lab.history)
    for made in pages:
        for moved in made["axes"]:
            for stop in moved["stops"]:
                at = {axis["key"]: axis["start"] for axis in made["axes"]}
                at[moved["key"]] = stop["value"]
                assert made["pictures"][stop["picture"]]["at"] == at
        for name in made["shown"].values():
            assert name in made["pictures"]


def test_what_a_sum_begins_with_is_one_picture_of_a_saved_page_and_its_other_steps_another(
    tmp_path,
):
    lab = wb.lab(Schedule(matmul(SMALL)), panes=["tiles"])
    lab.to_html(tmp_path / "lab.html")
    pictures = saved_state(tmp_path / "lab.html")["page_0"]["pictures"]
    first, second, last = (pictures[f"tiles:i=0,k={k}"] for k in (0, 1, 7))
    assert first["slides"]["axes"] == [["i", 0, 8], ["k", 0, 1]]
    assert second["slides"]["axes"] == [["i", 0, 8], ["k", 1, 8]]
    assert last["slides"] == second["slides"] and last["strips"] == second["strips"]
    assert slides_to(last, {"i": 3, "k": 5}) and not slides_to(last, {"i": 3, "k": 0})
    assert not slides_to(last, {"i": 3}) and not slides_to({"refusal": {}}, {"i": 3})
    assert "k = 7" in last["caption"] and "k = 1" in second["caption"]


MODULE = f"""
@ir_module
class Module:
{textwrap.indent(ADD.replace("(8", "(4").replace(" i in", " j in").replace(", i)", ", j)"), "    ")}
{textwrap.indent(WINDOW, "    ")}
"""


def test_a_step_in_one_function_of_a_module_is_compared_with_that_function():
    """Of a module, a step may change another function than the step before it."""
    sch = Schedule(script.parse(MODULE))
    sch.work_on("window_sum")
    sch.split("i", factors=[None, 128])
    sch.work_on("add")
    sch.bind("j", "threadIdx.x")
    lab = wb.lab(sch)
    lab.against = 1
    for made in (lab.page_2["texts"]["tensorir"], lab.compare_1_2["text"]):
        assert [row[0] for row in made["diff"]].count("~") == 1
        assert not {"+", "-"} & {row[0] for row in made["diff"]}
    assert "It was “time step 3”." in lab.page_2["pictures"]["who:C"]["caption"]
    assert {shown["picture"]["kind"] for shown in lab.compare_1_2["pictures"]} == {"counted"}
    assert (
        lab.status["text"] == 'Step 2, bind(j, "threadIdx.x"): each turn of j (4×) is now a thread.'
    )
    assert lab.place in lab.session.desk.places(lab.history[2].func)
    assert lab.run()["ok"] is True


def test_a_lab_works_on_the_function_that_it_shows():
    """Of a module, that of the step, whichever code works on, before and after."""
    sch = Schedule(script.parse(MODULE))
    sch.work_on("window_sum")
    sch.split("i", factors=[None, 128])
    sch.work_on("add")
    lab = wb.lab(sch)  # it stands at the other function's step
    apply(lab, "split", "i_1", factors="[None, 32]")
    assert lab.status["text"].startswith("Step 2, split(i_1, factors=[None, 32]): i_1 (128×)")
    sch.bind("j", "threadIdx.x")
    lab.at = 3
    apply(lab, "annotate", "j", ann_key='"note"', ann_val="1")
    assert lab.status["text"].startswith("Step 4, annotate(j")
    for node in lab.history:
        lab.at = node.id
        lab.place = next(iter(lab.session.desk.places(node.func)))
        assert "error" not in lab.status and lab.cursor.func is node.func
