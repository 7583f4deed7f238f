"""A pane without a picture has a button for the step that it waits for."""

from __future__ import annotations

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.widgets.programs import ADD, WINDOW, key, parse, send
from workbench import lesson
from workbench.ir.places import places
from workbench.schedule import Schedule
from workbench.widgets.page.acts import act_of


@pytest.mark.parametrize("pane", ["sectors", "banks", "occupancy", "roofline"])
def test_a_picture_of_what_nobody_runs_offers_to_bind(pane: str):
    lab = wb.lab(Schedule(parse(ADD)), actions=["split"], panes=[pane])
    loop = key(lab, "i")
    expected = {"verb": "bind", "place": loop, "at": "i", "offered": False}
    assert lab.session.page["act"] == expected
    send(lab, do="apply", verb="bind", place=loop, args={"thread_axis": '"threadIdx.x"'})
    assert lab.session.page["act"] is None


def test_where_no_loop_is_a_pipeline_the_last_that_could_be_offers_it():
    sch = Schedule(matmul(32))
    blocking_with_shared(sch, 2, 2, 2, 2, 2)
    lab = wb.lab(sch, actions=["split"], panes=["pipeline"])
    place = key(lab, "k_0")
    expected = {"verb": "pipeline", "place": place, "at": "k_0", "offered": False}
    assert lab.session.page["act"] == expected
    send(lab, do="apply", verb="pipeline", place=place, args={"stages": "[0, 0, 1]"})
    assert lab.session.page["act"] is None


TWO_NESTS = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = A[vi] * T.float32(3)
"""


def test_of_two_loops_of_a_name_that_is_offered_which_nobody_runs():
    lab = wb.lab(Schedule(parse(TWO_NESTS)), panes=["sectors"])
    func, keys = lab.cursor.func, lab.session.desk.keys
    first, second = (keys.of(loop) for loop in places(func).loops)
    assert lab.session.page["act"]["place"] == second != first
    assert lab.session.page["act"]["at"] == "i"


HELD = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), scope="local")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[7 - vi]
"""
ALONE = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    with T.block("C"):
        C[0] = A[0]
"""
MET = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi]
"""
INSIDE = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    for b in T.thread_binding(8, thread="blockIdx.x"):
        with T.block("C"):
            vb = T.axis.spatial(8, b)
            with T.init():
                C[vb] = T.float32(0)
            for k in T.thread_binding(4, thread="threadIdx.x"):
                C[vb] = C[vb] + A[vb, k]
"""
NOTED = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), scope="shared")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for k in T.serial(2, annotations={"note": 1}):
            for i in T.thread_binding(4, thread="threadIdx.x"):
                with T.block("B"):
                    vi = T.axis.spatial(8, k * 4 + i)
                    T.block_attr({"other": 1})
                    B[vi] = A[vi]
            for i in T.thread_binding(4, thread="threadIdx.x"):
                with T.block("C"):
                    vi = T.axis.spatial(8, k * 4 + i)
                    C[vi] = B[vi]
"""
REFUSED = {
    "held": (HELD, "set_scope", "B"),
    "alone": (ALONE, "add_unit_loop", "C"),
    "met": (MET, "set_scope", "B"),
    "inside": (INSIDE, "decompose_reduction", "C"),
    "rows": (NOTED.replace('"other": 1', '"buffer_dim_align": [9]'), "unannotate", "B"),
    "which": (NOTED.replace('"other": 1', '"double_buffer_scope": 9'), "annotate", "B"),
    "stages": (NOTED.replace('"note": 1', '"software_pipeline_stage": [-1, 0], '
               '"software_pipeline_order": [0, 1]'), "pipeline", "k"),
    "order": (NOTED.replace('"note": 1', '"software_pipeline_stage": [1, 0], '
              '"software_pipeline_order": [0, 1]'), "pipeline", "k"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "verb", "at"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_offers_the_step_that_its_hint_names(text: str, verb: str, at: str):
    lab = wb.lab(Schedule(parse(text)), panes=["occupancy"])
    act = lab.session.page["act"]
    assert act is not None, lab.session.page["pictures"]
    assert (act["verb"], act["at"]) == (verb, at)
    about = lab.session.page["names"][act["place"]]
    assert (about["name"], about["kind"]) == (at, "loop" if verb == "pipeline" else "block")


def test_other_hints_and_open_questions_offer_nothing():
    lab = wb.lab(Schedule(parse(WINDOW)), panes=["banks"], question=lesson.question("window_bound"))
    assert lab.session.page["act"] is None
    func, desk = lab.cursor.func, lab.session.desk
    hint = 'bind one: sch.bind("i", "threadIdx.x")'  # words alone are no step
    assert act_of({"refusal": {"hint": hint}}, func, desk) is None
    assert act_of({"strips": []}, func, desk) is None and act_of(None, func, desk) is None
