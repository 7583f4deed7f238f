"""Verbs of TVM that are left out say so by name, and the page of differences says why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench as wb
from tests.schedule import programs
from workbench import script
from workbench.schedule.left_out import LEFT_OUT

PAGE = Path(__file__).parents[2] / "docs" / "differences-from-tvm.md"


def schedule() -> wb.Schedule:
    return wb.Schedule(script.parse(programs.VECTOR))


@pytest.mark.parametrize("name", LEFT_OUT)
def test_it_says_so_by_name(name: str):
    sch = schedule()
    assert not hasattr(sch, name) and name not in dir(sch)
    with pytest.raises(wb.ScheduleError) as refused:
        getattr(sch, name)
    why, instead = LEFT_OUT[name]
    assert str(refused.value) == (
        f"Can't use sch.{name}: it is TVM's, and is not in the workbench.\n"
        f"asked: sch.{name}\nfound: {why}\ndo:    {instead}"
    )


def test_what_it_names_instead_is_there():
    sch = schedule()
    words = {word for _, text in LEFT_OUT.values() for word in re.findall(r"sch\.(\w+)", text)}
    words |= {word for _, text in LEFT_OUT.values() for word in re.findall(r"\w+_\w+", text)}
    assert len(words) > 5 and all(hasattr(sch, word) for word in words)


def test_the_page_tells_why_of_each():
    section = PAGE.read_text().partition("## Verbs that are left out")[2].partition("\n## ")[0]
    assert set(re.findall(r"\*\*`(\w+)`\*\*", section)) == set(LEFT_OUT)


def test_a_slip_of_the_pen_is_named():
    with pytest.raises(AttributeError) as refused:
        schedule().splt
    assert str(refused.value) == (
        "Can't use sch.splt: a schedule has nothing of that name.\ndo:    is it sch.split?"
    )
    with pytest.raises(wb.ScheduleError, match=r"sch\.xyz: .*\ndo:    the verbs: add_unit_loop, "):
        schedule().apply("xyz")
    with pytest.raises(wb.ScheduleError, match=r"is it sch\.split\?"):
        schedule().actions("i", ["splt"])


def test_python_and_notebooks_may_ask_for_hidden_names():
    assert not hasattr(schedule(), "_repr_svg_") and not hasattr(schedule(), "__len__")


def test_these_are_all_that_tvm_has():
    tvm = pytest.importorskip("tvm", reason="TVM is not installed")
    of_objects = {"is_", "same_as", "id_", "AnnotationValueT", "PrimAnnotationValueT"}
    theirs = {name for name in dir(tvm.s_tir.Schedule) if not name.startswith("_")}
    asked_for = {"set_dtype"}  # which TVM 0.27 has under another name
    assert theirs - of_objects - set(dir(schedule())) == set(LEFT_OUT) - asked_for
