"""Four kernels of which one is right: the others are told what is wrong with them."""

from __future__ import annotations

import pytest

from workbench import lesson
from workbench.diag import Fail


@pytest.fixture(scope="module")
def four() -> lesson.Choosing:
    return lesson.four_kernels()


def test_one_is_right_and_each_other_is_wrong_in_its_own_way(four: lesson.Choosing):
    rows = {name: four.check(name).rows[0] for name in four.faults}
    assert {name: row.ok for name, row in rows.items()} == {
        "first": False,
        "second": True,
        "third": False,
        "fourth": False,
    }
    assert rows["first"].found.startswith("With whole numbers as input, B[126] is ")
    assert rows["third"].found.startswith("Race on A_shared[1]: two threads of a block meet there")
    assert rows["third"].say.splitlines()[0] == "A_shared[1], block 0, in one order:"
    assert rows["fourth"].found == "Can't read A[1026]: A has cells 0 to 1025."


def test_they_differ_in_that_alone_and_none_says_which_it_is(four: lesson.Choosing):
    shown = four.show()
    assert shown.count("T.barrier()") == 3 and shown.count("if ") == 3
    assert "broken" not in shown and "wrong" not in shown
    assert {name: four.kernel(name).lowered.fault for name in four.faults}["second"] == ""


@pytest.mark.parametrize(
    "given, found",
    [
        ("", "no answer yet"),
        ("fifth", 'there is no "fifth"'),
        (3, "there is no 3"),
    ],
)
def test_what_names_no_kernel_is_told(four: lesson.Choosing, given: object, found: str):
    (row,) = four.check(given).rows
    assert row.ok is False and row.found == found
    assert row.say == 'Write one of "first", "second", "third", "fourth".'


def test_a_kernel_that_there_is_not_is_refused(four: lesson.Choosing):
    with pytest.raises(Fail, match="Can't find the kernel"):
        four.kernel("fifth")


def test_what_is_wrong_with_one_is_shown_as_in_the_exercise_and_the_right_one_is_whole(
    four: lesson.Choosing,
):
    third, fourth = four.repair("third"), four.repair("fourth")
    assert third.put == "T.barrier()" and third.seen["picture"] and len(third.seen["lit"]) == 2
    assert fourth.gaps == [] and fourth.seen["said"].startswith("Can't read A[1026]: A has cells")
    with pytest.raises(Fail, match="Can't mend second: nothing is wrong with it"):
        four.repair("second")
