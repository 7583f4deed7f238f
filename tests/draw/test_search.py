"""The pictures of a search: where its points stand, and what is told of them."""

from __future__ import annotations

from math import isclose

import pytest

from tests.tuning.synthetic import HEADER, lines_of
from workbench import draw, tuning
from workbench.draw.scene import Path
from workbench.draw.search import Scale, _ends, _ticks, decided, search_ground, time_text
from workbench.tuning import Ended, Lines, Outcome, Trial

LINES = lines_of(200)


def paths(picture: draw.Picture, role: str) -> list[Path]:
    return [s for s in picture.strips[0].shapes if isinstance(s, Path) and s.role == role]


def test_each_trial_is_a_point_at_its_time():
    ground = search_ground(LINES.ended, 200)
    marks = paths(draw.search_picture(LINES), "used")
    assert len(marks) == 1, "one path of all that are correct"
    correct = [one for one in LINES.ended if one.outcome.status == "correct"]
    for one, line in zip(correct, marks[0].lines, strict=True):
        x, y = ground.spot(one)
        assert line[1][0] == pytest.approx(x, abs=0.06) and line[0][1] == pytest.approx(y, abs=0.06)
    y = [ground.spot(one)[1] for one in sorted(correct, key=lambda one: one.seconds)]
    assert y == sorted(y, reverse=True), "the faster, the lower"


def test_failed_ones_stand_on_rails_by_how_they_failed():
    ground = search_ground(LINES.ended, 200)
    assert list(ground.lanes) == ["compile", "runtime", "correctness", "timeout", "constraints"]
    for one in LINES.ended:
        if one.outcome.status != "correct":
            assert ground.spot(one)[1] == ground.lanes[one.outcome.status] > 288
    failed = sum(one.outcome.status != "correct" for one in LINES.ended)
    (crosses,) = paths(draw.search_picture(LINES), "failed")
    assert len(crosses.lines) == 2 * failed


def test_the_stairs_go_through_each_best_so_far():
    (stairs,) = paths(draw.search_picture(LINES), "write")
    ground = search_ground(LINES.ended, 200)
    least, corners = float("inf"), []
    for one in LINES.ended:
        if one.seconds < least:
            least = one.seconds
            corners.append(ground.spot(one))
    assert set(corners) <= set(stairs.lines[0])
    assert stairs.lines[0][-1][1] == corners[-1][1]


def test_what_was_predicted_stands_beside_what_came():
    ground = search_ground(LINES.ended, 200, "predicted")
    for one in LINES.ended:
        spot = ground.spot(one)
        if one.outcome.status != "correct":
            assert spot is None
        else:
            assert isclose(spot[0], ground.x.at(one.seconds * 1.1))
            diagonal = ground.y.at(one.trial.predicted)
            assert spot[1] > diagonal, "it took less than was predicted"


def test_the_ground_stays_while_further_trials_stand_within_it():
    some = search_ground(LINES.ended[:150], 200)
    assert some.plain() == search_ground(LINES.ended[:151], 200).plain()
    vendor = draw.Vendor("cuBLAS", 1e-6, "recorded")
    lower = search_ground(LINES.ended[:150], 200, "trials", vendor)
    assert lower.plain()["y"] != some.plain()["y"]
    assert "cuBLAS 1.00 µs, recorded" in lower.scene.words


@pytest.mark.parametrize(
    "known, ends, ticks",
    [
        ([], (1e-6, 1e-3), 10),
        ([3.2e-6], (3e-6, 5e-6), 3),
        ([4.2e-6, 6.1e-6], (4e-6, 7e-6), 3),
        ([1.1e-6, 9e-3], (1e-6, 1e-2), 5),
        ([1e-6, 1e-6], (1e-6, 1.5e-6), 2),
    ],
)
def test_axes_end_at_round_numbers(known: list[float], ends: tuple[float, float], ticks: int):
    found = _ends(known)
    assert found == pytest.approx(ends) and len(_ticks(found)) == ticks


def test_the_tables_tell_the_best_and_why_others_failed():
    table = draw.best_table(LINES.ended)
    assert len(table.rows) == 20
    assert table.rows[0][:2] == (tuning.best_of(LINES.ended).trial.number, table.rows[0][1])
    reasons = draw.reasons_table(LINES)
    assert sum(row[1] for row in reasons.rows) == 400  # a trial and a refusal each
    assert reasons.rows[0] == ("refused before", 200, "50%", "fewer than 4 threads")
    assert draw.search_caption([]) == "No trial has ended yet."


def test_a_search_in_which_all_failed_is_drawn():
    lines = Lines(HEADER)
    lines.add(Trial(0, 0, 1, (), (1,), "p"))
    lines.add(Ended(lines.trials[0], Outcome("timeout", "measured", (), "no answer")))
    picture = draw.search_picture(lines)
    assert picture.caption == "1 trial: none of them is correct." and not picture.table.rows
    assert "timeout" in picture.strips[0].words
    assert draw.search_picture(lines, "predicted").strips[0].words


def test_times_are_told_in_their_unit():
    assert [time_text(t) for t in (2.5, 3.4e-3, 5.041e-6, 1e-9, 3e-10)] == [
        *("2.50 s", "3.40 ms", "5.04 µs", "1.00 ns", "0.300 ns")
    ]
    assert Scale(1.0, 2.0, log=False).at(3) == 7.0


def test_points_are_rows_for_a_browser():
    rows = draw.point_rows(LINES.ended, ())
    assert [row[0] for row in rows] == list(range(200))
    for one, row in zip(LINES.ended, rows, strict=True):
        assert row[4:] == [list(one.trial.parents), row[5], one.outcome.reason]
        assert [said.replace("×", " × ") for said in row[5].split("|")] == [*decided(one, ())]
        assert row[3] == pytest.approx(one.trial.predicted, rel=1e-4)


@pytest.mark.parametrize(
    "how, told", [("modelled", True), ("recorded", False), ("measured", False)]
)
def test_where_nothing_was_run_the_picture_says_that_the_model_grades_itself(how, told: bool):
    ended = [Ended(Trial(0, 0, 1, (), (), "p", 2e-6), Outcome("correct", how, (2e-6,)))]
    said = draw.search_caption(ended)
    assert said.startswith(f"1 trial: the best takes 2.00 µs ({how}), trial 0.")
    assert ("Nothing was run: the model that ranks candidates tells their times" in said) == told
