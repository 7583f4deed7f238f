"""Marked text: line numbers, carets, what is left out."""

from __future__ import annotations

from itertools import pairwise

import pytest

from workbench.diag import Span, mark

TEXT = "\n".join(f"line {k}" for k in range(1, 21))


def test_one_place_with_its_surroundings():
    assert mark(TEXT, [Span(10, 5, 10, 7)], context=1) == (
        "   9 | line 9\n  10 | line 10\n     |      ^^\n  11 | line 11"
    )


def test_two_places_far_apart_leave_out_what_is_between():
    assert mark(TEXT, [Span(2, 0, 2, 4), Span(19, 0, 19, 4)], context=0) == (
        "   2 | line 2\n     | ^^^^\n    …\n  19 | line 19\n     | ^^^^"
    )


def test_two_places_on_one_line():
    assert mark("a + b", [Span(1, 0, 1, 1), Span(1, 4, 1, 5)]) == "   1 | a + b\n     | ^   ^"


def test_a_span_of_several_lines_is_marked_on_its_first():
    assert mark("f(\n  1)", [Span(1, 0, 2, 4)], context=0) == "   1 | f(\n     | ^^"


def test_an_empty_span_gets_one_caret():
    assert mark("ab", [Span(1, 1, 1, 1)]) == "   1 | ab\n     |  ^"


def test_lines_are_numbered_as_the_author_sees_them():
    assert mark("x = 1", [Span(1, 0, 1, 1)], first_line=120) == "  120 | x = 1\n      | ^"


def test_the_lines_of_a_span():
    assert list(Span(3, 0, 5, 1).lines) == [3, 4, 5]


def test_of_a_very_long_line_the_part_around_its_mark_is_shown():
    line = "a" * 1000 + "b" + "c" * 1000
    shown = mark(line, [Span(1, 1000, 1, 1001)]).splitlines()
    assert shown[0].startswith("   1 | …aaa") and shown[-1].endswith("ccc…")
    (under,) = (k for k, text in enumerate(shown) if "^" in text)
    assert shown[under - 1][shown[under].index("^")] == "b"
    text = "".join(line[7:].strip() for line in shown if "^" not in line)
    assert 240 <= len(text) < 250
    shown = mark(line, [Span(1, 0, 1, 2001)]).splitlines()
    assert sum(line.count("^") for line in shown) == sum(line.count("a") for line in shown) == 240


def test_a_wide_line_is_folded_above_its_carets():
    line = "    total = " + " + ".join(f"value_{k}" for k in range(11))
    at = line.index("value_7")
    assert mark(line, [Span(1, at, 1, len(line))]) == (
        "   1 |     total = value_0 + value_1 + value_2 + value_3 + value_4 + value_5 + value_6 +\n"
        "     |         value_7 + value_8 + value_9 + value_10\n"
        "     |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    )


@pytest.mark.parametrize("length", [88, 89, 95, 96, 150, 239])
@pytest.mark.parametrize("text", ["word ", "letters", "        f(x) + "])
def test_each_caret_stands_below_what_it_marks(text: str, length: int):
    line = (text * length)[:length]
    for first in range(0, length, 7):
        last = min(first + 40, length)
        shown = mark(line, [Span(1, first, 1, last)]).splitlines()
        assert max(map(len, shown)) <= 95
        below = [
            over[at]
            for over, under in pairwise(shown)
            for at, sign in enumerate(under)
            if sign == "^" and at < len(over)
        ]
        assert "".join(below).replace(" ", "") == line[first:last].replace(" ", "")
    (end,) = (row for row in mark(line, [Span(1, length, 1, length)]).splitlines() if "^" in row)
    assert end.count("^") == 1


def test_a_line_without_carets_is_left_as_it_is():
    wide = "x = " + "1 + " * 40
    assert mark(f"{wide}1\ny", [Span(2, 0, 2, 1)]).splitlines()[0] == f"   1 | {wide}1"
