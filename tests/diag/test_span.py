"""Marked text: line numbers, carets, what is left out."""

from __future__ import annotations

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
    head, caret = mark(line, [Span(1, 1000, 1, 1001)]).splitlines()
    assert head.startswith("   1 | …aaa") and head.endswith("ccc…") and len(head) < 260
    assert head[caret.index("^")] == "b"
    head, caret = mark(line, [Span(1, 0, 1, 2001)]).splitlines()
    assert caret == "     | " + "^" * 240
    assert head == "   1 | " + "a" * 240 + "…"
