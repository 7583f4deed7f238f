"""The bar of the modelled time: what stands on its axis, and what the time is lost to."""

from __future__ import annotations

import re
from typing import Any

import pytest

import workbench as wb
from benchmarks.histories import window_sum
from benchmarks.matmuls import blocking_with_shared, matmul, naive
from tests.widgets.programs import ADD, WINDOW, parse, send, window_steps
from workbench import lesson
from workbench.diag import Fail
from workbench.draw import LONG, how_long
from workbench.insight import Fault
from workbench.schedule import Schedule
from workbench.widgets import Lab
from workbench.widgets.ask import session
from workbench.widgets.page import modelled_time
from workbench.widgets.page.cost_bar import NOTHING, block_of
from workbench.widgets.page.why_slow import place_of

ANY_SIZE = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            v = T.axis.spatial(n, i)
            B[v] = A[v] * T.float32(2)
"""
GATHER = """
@T.prim_func
def main(
    I: T.Buffer((1024,), "int32"),
    A: T.Buffer((1024,), "float32"),
    B: T.Buffer((1024,), "float32"),
):
    for i in range(1024):
        with T.block("B"):
            v = T.axis.spatial(1024, i)
            B[v] = A[I[v]]
"""


def window() -> Schedule:
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    return sch


def bound(text: str) -> Schedule:
    sch = Schedule(parse(text))
    outer, inner = sch.split("i", factors=[None, 128])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return sch


def bar(lab: Lab) -> dict[str, Any]:
    return lab.session.page["bar"]


def modelled(lab: Lab) -> dict[str, Any]:
    send(lab, do="model")
    return bar(lab)


def marks(shown: dict[str, Any]) -> dict[str, float]:
    return {mark["words"].split()[0]: mark["at"] for mark in shown["marks"]}


def test_a_page_comes_before_its_time_is_modelled():
    lab = wb.lab(window())
    assert bar(lab) == {"waits": "soon", "text": ""}
    send(lab, do="count")
    assert bar(lab)["waits"] == "soon", "costs do not wait for the model"
    assert modelled(lab)["waits"] == ""


def test_all_stands_on_one_axis():
    shown = modelled(wb.lab(window()))
    at = marks(shown)
    us = {mark["words"].split()[0]: float(mark["words"].split()[1]) for mark in shown["marks"]}
    wide = us["recorded"] / at["recorded"]
    for name, share in at.items():
        assert share * wide == pytest.approx(us[name], rel=0.01)
    assert shown["end"] * wide == pytest.approx(float(shown["us"].split()[0]), rel=0.01)
    assert shown["kind"] == "modelled"
    assert max(*at.values(), shown["end"], shown["before"]) <= 1.0 and not shown["beyond"]
    assert shown["marks"][0]["role"] == "longest" and shown["longest"] == at["launch"]
    assert at["roof"] < shown["longest"] < shown["end"] < shown["before"]
    assert re.search(r" µs before, [\d.]+ µs recorded\.$", shown["said"])


def test_a_microsecond_is_as_long_in_the_steps_beside_and_what_took_longer_goes_to_the_end():
    sch = Schedule(matmul(256))
    blocking_with_shared(sch, 8, 8, 8, 8, 8)
    lab, shown = wb.lab(sch), {}
    for at in range(18, 24):
        lab.at = at
        shown[at] = modelled(lab)
    assert [float(shown[at]["us"].split()[0]) for at in (20, 21, 22)] == [108, 47.3, 26.1]
    axes = {at: float(bar["us"].split()[0]) / bar["end"] for at, bar in shown.items()}
    assert axes == pytest.approx({18: 200, 19: 200, 20: 200, 21: 50, 22: 50, 23: 50}, rel=0.01)
    assert [shown[at]["before"] for at in (20, 21)] == [shown[20]["end"], 1.0]
    assert [at for at, bar in shown.items() if bar["beyond"]] == [21]


def test_a_row_for_each_resource_the_longest_first():
    rows = modelled(wb.lab(window()))["rows"]
    assert {row["name"] for row in rows} == {
        *("launch", "issue", "arithmetic", "L1", "shared", "L2", "device", "latency")
    }
    shares = [row["share"] for row in rows]
    assert shares[0] == 100 and shares == sorted(shares, reverse=True), "the deepest fill is first"
    lengths = [row["at"] for row in rows]
    assert lengths[0] == 1.0 and lengths == sorted(lengths, reverse=True)


def test_a_row_says_in_a_few_words_what_is_asked_and_why_in_all():
    rows = modelled(wb.lab(window()))["rows"]
    for row in rows:
        assert row["much"] in row["words"] and 0 < len(row["much"]) <= 22, row
    told = {row["name"]: row["much"] for row in rows}
    assert told["launch"] == "8 blocks" and re.fullmatch(r"\d+% of the warps", told["latency"])
    assert re.fullmatch(r"[\d.]+ k? ?wavefronts", told["shared"])


def test_a_statement_leads_to_its_block_and_buffer():
    lab = wb.lab(window())
    rows = {row["name"]: row for row in modelled(lab)["rows"]}
    about = lab.session.page["names"]
    told = {
        part["text"].partition("[")[0]: [about[key]["label"] for key in part["keys"].split()]
        for part in rows["shared"]["parts"]
    }
    assert told["B"][0] == "block C" and told["A_shared"][0] == "block A_shared"
    assert all(labels[1].startswith("buffer A_shared") for labels in told.values())


def test_statements_that_stand_in_no_block_have_a_bar_and_lead_to_their_buffer():
    text = """
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        B[i] = A[i] * T.float32(2)
"""
    lab = wb.lab(Schedule(parse(text)), panes=["TensorIR", "memory"])
    keys = {part["keys"] for row in modelled(lab)["rows"] for part in row["parts"]}
    names = lab.session.page["names"]
    assert {names[key]["name"] for key in keys} == {"A", "B"}


def test_sums_are_told_from_where_they_start_and_kept_values_from_stores():
    sch = Schedule(matmul(8))
    blocking_with_shared(sch, 2, 2, 2, 2, 2)
    func = sch.func

    def block(statement: str, buffer: str) -> str:
        found = block_of(func, statement, buffer)
        return found.name if found else ""

    assert block("C_local[0] = T.float32(0)", "C_local") == "C_init"
    assert block("C_local[0] = C_local[0] + A_shared_kept[0] * x[1]", "C_local") == "C_update"
    assert block("A_shared_kept[i_2] = A_shared[i_2]", "A_shared") == "C_update"
    assert block("if odd", "nowhere") == ""


TWO = """
@T.prim_func
def main(
    A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")
):
    for i in range(64):
        with T.block("B"):
            v = T.axis.spatial(64, i)
            B[v] = A[v] * T.float32(2)
    for i in range(64):
        with T.block("C"):
            v = T.axis.spatial(64, i)
            C[v] = B[v] + T.float32(1)
"""


@pytest.mark.parametrize("name", ["B", "C"])
def test_of_loops_of_one_name_a_fault_means_that_around_its_statement(name: str):
    sch = Schedule(parse(TWO))
    desk = wb.lab(sch).session.desk
    fault = Fault("coalescing", 1.0, "", "bind", "i", "", f"{name}[i] = A[i]", "A")
    (loop,) = sch.get_loops(name)
    assert desk.keys.thing(place_of(desk, sch.func, fault)) is sch.get(loop).loop_var


def test_in_the_place_of_a_bar_stands_why_there_is_none():
    assert "sizes are not known" in modelled(wb.lab(bound(ANY_SIZE)))["text"]
    text = modelled(wb.lab(bound(GATHER)))["text"]
    assert text.startswith("No modelled time: data say where A[")
    assert modelled(wb.lab(parse(ADD))) == NOTHING  # the strip of counts says it


def test_the_first_program_that_has_a_kernel_has_a_bar_and_none_behind_it():
    sch = Schedule(parse(ADD))
    sch.bind("i", "blockIdx.x")
    shown = modelled(wb.lab(sch))
    assert shown["us"] and shown["before"] is None


def test_a_lab_that_names_its_costs_shows_the_time_if_it_is_among_them():
    lab = wb.lab(window(), costs=["blocks"])
    assert modelled(lab) == NOTHING
    lab = wb.lab(window(), costs=["modelled time"])
    send(lab, do="count")
    assert modelled(lab)["marks"] and not lab.session.page["costs"]["rows"]


def test_where_modelling_takes_long_it_waits_until_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(session, "SLOW", 0.0)
    lab = wb.lab(window())
    assert modelled(lab)["marks"], "what was asked for is shown"
    lab.at = 3
    assert bar(lab) == {"waits": "asked", "text": "The time is modelled when asked."}


def test_what_was_measured_stands_there_in_place_of_what_was_recorded():
    lab = wb.lab(window())
    lab.session.desk.results[lab.at] = {"us": 2.0, "gpu": "nvidia/h200"}
    found = modelled(lab)["marks"]
    assert [mark["words"] for mark in found if mark["role"] == "taken"] == ["measured 2 µs"]


def test_a_lab_shows_the_target_that_it_was_given():
    sch = window()
    lab, other = wb.lab(sch, target="nvidia/l4"), wb.lab(sch)
    assert modelled(lab)["us"] != modelled(other)["us"]
    assert "NVIDIA L4" in modelled(lab)["about"] and "H200" in modelled(other)["about"]
    for pane in ("occupancy", "roofline"):
        shown = []
        for one in (lab, other):
            one.view = {**one.view, "machine": pane}
            picture = one.session.page["pictures"][pane]
            shown.append(f"{picture['full'] or picture['caption']} {picture['table']}")
        assert "NVIDIA L4" in shown[0] and "H200" in shown[1], shown
    lab.session.desk.results[lab.at] = {"us": 2.0, "gpu": "nvidia/h200"}
    send(lab, do="look")
    assert "measured" not in str(modelled(lab)["marks"]), "on another GPU"
    with pytest.raises(Fail, match="Can't open a lab of cuda: nobody knows how fast it is"):
        wb.lab(sch, target="cuda")


def test_two_that_are_compared_have_one_axis():
    sch = window()
    lab = wb.lab(sch)
    lab.against = sch.history.find("bound").id
    send(lab, do="model")
    assert lab.session.comparison["bar"]["before"] < lab.session.comparison["bar"]["end"]


def test_why_it_is_slow_is_looked_for_when_asked_and_leads_to_a_form():
    sch = Schedule(matmul(64))
    naive(sch, 8)
    lab = wb.lab(sch, actions=["split"])
    assert lab.session.page["why"] is None
    send(lab, do="why")
    faults = lab.session.page["why"]["faults"]
    again = "98.4% of what is loaded of A was loaded before"
    reuse = next(fault for fault in faults if fault["words"].startswith(again))
    assert reuse["gain"].endswith(" µs") and (reuse["verb"], reuse["offered"]) == (
        "cache_read",
        False,
    )
    bound = next(fault for fault in faults if fault["verb"] == "split")
    assert bound["help"] == "undo the bind of j_0, then split j_0" and not bound["place"]
    about = lab.session.page["names"]
    assert about[reuse["place"]]["name"] == reuse["at"] == "A"
    assert [about[key]["name"] for key in reuse["keys"].split()] == ["C_update", "A"]


def test_nothing_is_ranked_where_most_is_the_launch():
    lab = wb.lab(window())
    send(lab, do="why")
    found = lab.session.page["why"]
    assert "most is the launch" in found["text"] and not found["faults"]


def test_an_open_question_hides_time_and_faults_however_they_are_asked_for():
    question = lesson.question("window_cooperative")
    lab = wb.lab(window(), question=question)
    for ask in ("count", "model", "why"):
        send(lab, do=ask)
    assert bar(lab) == NOTHING and lab.session.page["why"] is None
    send(lab, do="answer", name=question.name, choice=0)
    send(lab, do="why")
    assert modelled(lab)["marks"] and lab.session.page["why"] is not None


def test_a_time_is_modelled_anew_once_a_compiler_has_told_registers(
    monkeypatch: pytest.MonkeyPatch,
):
    """Of 256 threads with 255 registers a multiprocessor has room for one block, not eight."""
    sch = Schedule(window_sum(2**20))
    outer, inner = sch.split("i", factors=[None, 256])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    found = []
    for told in (None, 255):
        monkeypatch.setattr(modelled_time, "registers_of", lambda *_, told=told: (told,))
        found.append(modelled_time.modelled_of(sch.func, "nvidia/h200"))
    latency = [next(t for t in one.terms if t.resource == "latency") for one in found]
    waves = 2**20 / 256 / 132
    assert latency[0].us < latency[1].us and f"{-(-waves // 1):.3g} times" in latency[1].words


def test_one_time_has_one_fill_in_the_bar_and_in_memory():
    """What the kernel is busy with longest has all of the hue; a band of A_shared has its share."""
    sch = Schedule(matmul(1024))
    blocking_with_shared(sch, 8, 8, 8, 8, 8)
    lab = wb.lab(Schedule(sch.func), panes=["memory"], costs=["modelled time"])
    rows = modelled(lab)["rows"]
    told = modelled_time.modelled_of(sch.func, lab.session.desk.gpu)
    (strip, *_) = lab.session.page["pictures"]["memory"]["strips"]
    for buffer in ("A_shared", "B_shared"):
        role = how_long(told.moved()[buffer, True], told.terms[0].us)
        group = re.search(rf'data-name="{buffer}"[^>]*data-key="load[^>]*>(.*?)</g>', strip)
        assert group and role in group.group(1)
    assert [row["share"] for row in rows] == [
        LONG[how_long(term.us, told.terms[0].us)].share for term in told.terms
    ]


def test_the_bar_says_how_its_rows_add_up():
    lab = wb.lab(naive(wb.Schedule(matmul(256)), 16))
    send(lab, do="model")
    bar = lab.session.page["bar"]
    model = modelled_time.modelled_of(lab.session.cursor.func, lab.session.desk.gpu)
    assert "longest, 20% of the others" in bar["adds"]
    us = {term.resource: term.us for term in model.terms}
    first = 1e6 * model.launches[0].rates.launch  # what a launch takes by itself
    us["L1"], us["launch"] = us["L1"] + us.pop("shared"), us["launch"] - first
    longest = max(us.values())
    assert model.us == pytest.approx(first + longest + 0.2 * (sum(us.values()) - longest))
