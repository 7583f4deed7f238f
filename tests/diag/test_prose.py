"""Sentences as HTML and sizes in words."""

from __future__ import annotations

from workbench.diag import Fail, count_text, plural, prose, size_text


def test_code_is_marked_escaped_and_units_stay_by_their_numbers():
    told = prose("Can't bind `i<3>`: 4 KiB of 12 s, 5 block and 6 mess")
    assert told == (
        "Can&#x27;t bind <code>i&lt;3&gt;</code>: 4\N{NO-BREAK SPACE}KiB of 12\N{NO-BREAK SPACE}s, "
        "5 block and 6 mess"
    )
    assert prose("a lone ` stays") == "a lone ` stays"


def test_sizes_have_a_digit_behind_the_point_where_it_says_something():
    sizes = (0, 520, 1023, 1024, 1536, 4096, 4100, 4160, 2**20 - 1, 2**20, 2**30 - 2**24, 5 << 40)
    assert [size_text(n) for n in sizes] == [
        *("0 B", "520 B", "1,023 B", "1 KiB", "1.5 KiB", "4 KiB", "4 KiB", "4.1 KiB", "1 MiB"),
        *("1 MiB", "1,008 MiB", "5,120 GiB"),
    ]


def test_a_refusal_marks_its_code():
    html = Fail("Can't split `i`", hint="split `j`", detail="`k`")._repr_html_()
    assert "<code>i</code>" in html and "split <code>j</code>" in html
    assert '<pre style="font-family: monospace">`k`</pre>' in html, (
        "what was found is code as it stands"
    )


def test_a_noun_stands_as_its_number_asks():
    assert [count_text(n, "step") for n in (0, 1, 2, 1300)] == [
        *("0 steps", "1 step", "2 steps", "1,300 steps"),
    ]
    assert [plural(n, "was", "were") for n in (0, 1, 2)] == ["were", "was", "were"]
