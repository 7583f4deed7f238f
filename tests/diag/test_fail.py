"""The four parts of a refusal, as text and as HTML."""

from __future__ import annotations

import inspect
import pickle

from workbench.diag import Fail, Refusal
from workbench.script import ParseError, parse

WHOLE = Fail(
    "Can't split `i`: [2, 4] covers 8 of 10 iterations",
    asked='sch.split("i", factors=[2, 4])',
    where="   1 | for i in range(10):\n     | ^^^^^^^^^^^^^^^^^^^",
    detail="2 * 4 is 8\nand 8 < 10",
    hint="write None for the factor\nthat should be worked out",
)


def test_the_text_has_its_parts_in_order():
    assert str(WHOLE) == (
        "Can't split `i`: [2, 4] covers 8 of 10 iterations.\n"
        'asked: sch.split("i", factors=[2, 4])\n'
        "where:\n"
        "   1 | for i in range(10):\n"
        "     | ^^^^^^^^^^^^^^^^^^^\n"
        "found: 2 * 4 is 8\n"
        "       and 8 < 10\n"
        "do:    write None for the factor\n"
        "       that should be worked out"
    )


def test_parts_that_are_not_there_are_left_out():
    assert str(Fail("Is `i` a loop?")) == "Is `i` a loop?"


def test_the_html_escapes_and_folds():
    html = Fail("a < b", asked="f(<x>)", where="1 < 2", detail="<d>", hint="<h>")._repr_html_()
    assert html == (
        '<div class="wb-fail" role="alert">'
        '<p class="wb-headline" style="color:#b3261e"><b>a &lt; b.</b></p>'
        '<p class="wb-hint">&lt;h&gt;</p>'
        '<pre class="wb-where" style="font-family: monospace">1 &lt; 2</pre>'
        "<details><summary>details</summary><dl>"
        '<dt>asked</dt><dd><pre style="font-family: monospace">f(&lt;x&gt;)</pre></dd>'
        '<dt>found</dt><dd><pre style="font-family: monospace">&lt;d&gt;</pre></dd>'
        "</dl></details></div>"
    )


def test_a_refusal_crosses_to_another_process_whole():
    again = pickle.loads(pickle.dumps(WHOLE))
    assert str(again) == str(WHOLE) and again._repr_html_() == WHOLE._repr_html_()


def test_an_inner_refusal_carries_its_nodes():
    place = object()
    refusal = Refusal("Can't bind `k`", place, hint="keep it serial", detail="k=0 and k=1")
    assert (refusal.headline, refusal.at, refusal.hint, refusal.detail) == (
        "Can't bind `k`",
        (place,),
        "keep it serial",
        "k=0 and k=1",
    )


def test_a_notebook_shows_the_learners_line_and_no_internals():
    try:
        parse("@T.prim_func\ndef main(A):\n    A[0] = 1.0")
    except ParseError as error:
        shown = error._render_traceback_()
    line = inspect.currentframe().f_lineno
    assert shown == [
        f"line {line - 3}: " + 'parse("@T.prim_func\\ndef main(A):\\n    A[0] = 1.0")',
        "\x1b[31mParseError\x1b[0m: Parameter `A` has no type.\n"
        "where:\n"
        "   1 | @T.prim_func\n"
        "   2 | def main(A):\n"
        "     |          ^\n"
        "   3 |     A[0] = 1.0\n"
        'do:    write A: T.Buffer((8,), "float32")',
    ]
    assert Fail("No")._render_traceback_() == ["\x1b[31mFail\x1b[0m: No."]


def test_long_names_are_cut_in_the_middle():
    name = "r_" + "fused_" * 30 + "0"
    fail = Fail(f"Can't bind `{name}` to threadIdx.x: `{name}` runs 4096 times", detail="4096 > 8")
    assert len(fail.headline) <= 120
    assert str(fail) == (
        "Can't bind `r_fused_fused_fus…sed_fused_fused_0` to threadIdx.x: "
        "`r_fused_fused_fus…sed_fused_fused_0` runs 4096 times.\n"
        f"found: Can't bind `{name}` to threadIdx.x: `{name}` runs 4096 times.\n"
        "       4096 > 8"
    )
    assert str(pickle.loads(pickle.dumps(fail))) == str(fail)


def test_a_sentence_without_names_to_cut_ends_early():
    fail = Fail("Can't do this: " + "so many words, " * 12)
    assert len(fail.headline) <= 120 and fail.headline.endswith(" so many…")
    assert fail.detail.endswith("so many words, .")


def test_the_place_is_drawn_once_and_where_it_is_read():
    drawn: list[str] = []

    def draw() -> str:
        drawn.append("once")
        return "   1 | for i in range(8):"

    fail = Fail("Can't split `i`", where=draw)
    assert fail.headline and not drawn
    assert fail.where in str(fail) and fail.where in fail._repr_html_()
    assert drawn == ["once"]
