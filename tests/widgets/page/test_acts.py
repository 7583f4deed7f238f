"""A pane without a picture has a button for the step that it waits for."""

from __future__ import annotations

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.widgets.programs import ADD, WINDOW, key, parse, send
from workbench import lesson
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


def test_other_hints_and_open_questions_offer_nothing():
    lab = wb.lab(Schedule(parse(WINDOW)), panes=["banks"], question=lesson.question("window_bound"))
    assert lab.session.page["act"] is None
    func, desk = lab.cursor.func, lab.session.desk
    for hint in ("", "wait", 'try sch.undo("i")', 'sch.bind("nothing", "threadIdx.x")'):
        assert act_of({"refusal": {"hint": hint}}, func, desk) is None, hint
    assert act_of({"strips": []}, func, desk) is None and act_of(None, func, desk) is None
