"""The exercise on broken kernels: what was taken away mends them, and nothing else does."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import pytest

from workbench import lesson
from workbench.diag import Fail
from workbench.lesson import Mending, record
from workbench.lesson.mending import NAMES, variants
from workbench.lesson.review import is_score_of
from workbench.widgets.small.repair import RepairView


@pytest.fixture(scope="module", params=NAMES)
def broken(request) -> Mending:
    return lesson.mending(request.param)


def told(broken: Mending, name: str, mend: object) -> tuple[bool | None, str]:
    """Whether the kernel counts as mended, and what was found."""
    report = broken.check({name: mend})
    assert float(report) == sum(row.ok is True for row in report.rows)
    row = report.rows[[*broken.kernels].index(name)]
    return row.ok, row.found


@pytest.mark.tool
def test_each_kernel_is_wrong_and_what_was_taken_away_mends_it(broken: Mending):
    assert all(broken.finding(name) for name in broken.kernels)
    assert not any(broken.finding(name, mend) for name, mend in broken.solution.items())
    report = broken.check(broken.solution)
    assert report and float(report) == broken.points == len(broken.kernels)
    assert broken.check({}) == 0 and not broken.check({})


def test_one_answer_mends_one_kernel_only(broken: Mending):
    for name, mend in broken.solution.items():
        for other in broken.kernels.keys() - {name}:
            assert not told(broken, other, mend)[0], (other, mend)


@pytest.mark.tool
@pytest.mark.parametrize(
    ("name", "variant"), [(name, n) for name in NAMES for n in range(2, variants(name) + 1)]
)
def test_a_variant_is_mended_by_its_own_answers_and_not_by_those_of_the_first(
    name: str, variant: int
):
    """They are other kernels, or in another order: what was right before is not any more."""
    broken, first = (lesson.mending(name, n) for n in (variant, 1))
    assert broken.check(broken.solution) and broken.key == f"{name} {variant}"
    assert float(broken.check(first.solution)) == 0
    score = {"points": 1, "of": broken.points}
    assert is_score_of(broken.lesson, broken.key, score)
    assert not is_score_of(broken.lesson, f"{name} {variant + 9}", score)


@pytest.mark.parametrize(
    ("name", "mend", "found"),
    [
        ("first", ("barrier", 31), "Race on A_shared[0]: "),  # behind the work
        ("first", ("barrier", 28), "right, with 57 waits a block"),  # in a loop further in
        ("first", ("wait", 27, 0), "Race on A_shared[0]: "),
        ("second", ("barrier", 34), "right, with 15 waits a block"),  # as with one copy
        ("third", ("wait", 18, 1), "Can't read A_shared[0]: "),  # leaves the one that is needed
        ("third", ("wait", 24, 1), "Race on A_shared[0]: "),  # no barrier behind it
        ("first", ("copies", "A_shared", 3), "Can't mend it with 3 copies of A_shared"),
        ("first", ("barrier", 2), "Can't put anything ahead of line 2: "),
        ("first", ("barrier",), "Can't mend a kernel with "),
        ("first", ("wait", 27), "Can't mend a kernel with "),
        ("first", ("wait", 27, -1), "Can't mend a kernel with "),
        ("first", "barrier 27", "Can't mend a kernel with "),
        ("first", None, "no mend yet"),
    ],
)
def test_what_is_wrong_with_a_mend_is_told(name: str, mend: object, found: str):
    ok, said = told(lesson.mending("three_kernels"), name, mend)
    assert not ok and said.startswith(found), said


def test_a_list_is_as_good_as_a_tuple_and_other_answers_are_told(broken: Mending):
    name, mend = next(iter(broken.solution.items()))
    assert told(broken, name, list(mend))[0]
    assert 'There is no kernel "x".' in str(broken.check({"x": mend}))
    assert "Give a dictionary of mends, not int." in str(broken.check(3))
    for ask in (
        lambda: broken.kernel("x"),
        lambda: lesson.mending("x"),
        lambda: lesson.mending("three_kernels", 9),
        lambda: broken.hint(4),
    ):
        with pytest.raises(Fail, match="Can't"):
            ask()


def test_a_kernel_is_shown_with_the_lines_that_findings_name(broken: Mending):
    for name in broken.kernels:
        shown = broken.show(name).splitlines()
        marked = [line for line in broken.finding(name).splitlines() if " | " in line[:8]]
        numbered = [line for line in marked if line[:5].strip()]
        assert numbered and all(
            any(line.split("|")[1].removesuffix("…") in one for one in shown) for line in numbered
        )
        assert {line.split("|")[0].strip() for line in numbered} <= {
            k.split("|")[0].strip() for k in shown
        }


def test_carets_stay_below_what_they_mark(broken: Mending):
    """A notebook breaks the lines of a text that are wider than it is, and carets with them."""
    found = broken.findings()
    assert repr(found) == found and all(f"{name}\n" in found for name in broken.kernels)
    assert "white-space: pre;" in found._repr_html_() and escape(found) in found._repr_html_()


RIGHT = "Right, with 16 waits a block."


def put(view: RepairView, line: object, **what: object) -> dict[str, Any]:
    view._on_message(None, {"do": "put", "line": line, **what}, [])
    return view.seen


@pytest.mark.tool
def test_a_barrier_is_put_into_a_gap_and_the_race_runs_again():
    view = lesson.mending("three_kernels").repair("first")
    race = "Race on A_shared[0]: two threads of a block meet there, one writes and one reads, "
    assert view.heading == "first: broken on purpose, a barrier is missing"
    assert view.put == "T.barrier()"
    assert view.seen["said"].startswith(race) and not view.seen["ok"]
    assert view.seen["lit"] == [19, 30] and "A_shared[" in view.lines[18]
    told = view.seen["picture"]["full"]
    assert "thread 1 reads (line 30, in turn k_0=1, k_1=0); thread 1 reads 7." in told
    assert told.endswith("thread 1 reads nothing that was written.") and told in repr(view)

    behind = put(view, 31)  # the work; those lines are lit as before
    assert behind["said"].startswith(race) and behind["lit"] == [19, 30] and view.choice == 31
    early = put(view, 9)  # what was run has them a line later
    assert early["lit"] == [19, 30] and "(line 30, in turn " in early["picture"]["full"]
    right = put(view, 27)
    assert right["said"] == "Right, with 8 waits a block." and right["ok"]
    assert (right["lit"], right["picture"]) == ([], None)
    assert put(view, 28)["said"] == "Right, with 57 waits a block: 8 would do."
    assert put(view, 2)["said"] == "Can't put anything ahead of line 2." and view.choice == 28
    assert put(view, "x")["ok"] and view.choice == 28  # what no page of ours sends


def test_a_wait_goes_into_a_gap_and_a_second_copy_into_none():
    broken = lesson.mending("three_kernels")
    third, second = broken.repair("third"), broken.repair("second")
    assert third.heading == "third: broken on purpose, a barrier or a wait for copies is missing"
    assert third.puts == ["T.barrier()", "T.ptx_wait_group(0)"] and third.seen["picture"] is None
    assert third.seen["said"].startswith("Can't read A_shared[0]: a copy into it is under way")
    assert third.seen["detail"] and third.seen["lit"]
    waits = third.puts[1]
    assert put(third, 18)["said"].startswith("Can't read A_shared[0]: a copy into it is under way")
    assert put(third, 18, put=waits)["said"] == "Right, with 16 waits a block."
    assert put(third, 18, put="T.x()")["said"] == "Can't put 'T.x()' anywhere."
    again = broken.repair("third")
    assert (again.choice, again.put, again.seen) == (18, waits, third.seen | {"said": RIGHT})
    assert second.put == "" and second.gaps == [] and second.seen["picture"]
    assert put(second, 18)["said"] == "Can't put anything ahead of line 18."


def test_a_wait_for_copies_that_may_stay_under_way_is_no_mend():
    broken = lesson.mending("two_kernels")
    beyond = "right, but it leaves 0 under way where 1 group may be"
    assert told(broken, "first", ("wait", 28, 0)) == (False, beyond)
    assert told(broken, "first", ("wait", 28, 1))[0]
    view = broken.repair("first")
    assert view.puts == ["T.barrier()", "T.ptx_wait_group(0)", "T.ptx_wait_group(1)"]
    seen = put(view, 28, put=view.puts[1])
    assert seen["said"].endswith(" a block, but it leaves 0 under way where 1 group may be.")


def test_the_orders_of_a_race_are_told_and_of_a_copy_that_is_under_way_are_not():
    broken = lesson.mending("three_kernels")
    assert broken.orders("second").splitlines()[0] == "B_shared[0], block 0, in one order:"
    assert broken.orders("third") == broken.orders("first", ("barrier", 27)) == ""


def test_hints_and_solution_are_those_of_an_exercise(broken: Mending, monkeypatch):
    assert len(broken.hints) == 3 and "?" in broken.hint(1)
    scope: dict[str, object] = {}
    exec(broken.show_solution(), scope)
    assert broken.check(scope["mends"])
    monkeypatch.setenv("WORKBENCH_CLASS", "1")
    with pytest.raises(Fail, match="solutions are switched off here"):
        broken.show_solution()


def test_its_points_are_kept_with_those_of_exercises(broken: Mending, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-work").mkdir()
    broken.check(broken.solution)
    broken.check({})
    kept = record.read(record.file_of(broken.lesson))["points"]
    assert kept == {broken.key: {"points": broken.points, "of": broken.points}}
    assert lesson.review(broken.lesson).points == {broken.key: (broken.points, broken.points)}
    assert not is_score_of("01_vector_add", broken.key, kept[broken.key])
    assert not is_score_of(broken.lesson, broken.key, {"points": 1, "of": 1})
