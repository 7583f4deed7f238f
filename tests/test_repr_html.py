"""What a notebook shows of a program, a schedule, a kernel and a handle: its text, in colour."""

from __future__ import annotations

import re
import sys
from html import unescape

import pytest

import workbench as wb
from workbench import T


@T.prim_func
def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi]


def text_of(html: str) -> str:
    """What is read of `html`, its style sheet left out."""
    return unescape(re.sub(r"<style>.*?</style>|</?(?:pre|span)[^>]*>", "", html, flags=re.S))


def scheduled() -> wb.Schedule:
    sch = wb.Schedule(add)
    for loop, axis in zip(sch.split("i", [2, 4]), ("blockIdx.x", "threadIdx.x"), strict=True):
        sch.bind(loop, axis)
    return sch


def test_a_program_is_its_text():
    module = wb.ir.IRModule((add,))
    for program in (add, module, symbolic):
        assert text_of(program._repr_html_()) == repr(program)
        assert '<span class="k">for</span>' in program._repr_html_()


def test_a_schedule_says_where_it_stands_and_shows_the_program():
    sch = wb.Schedule(add)
    sch.split("i", [2, 4])
    caption = "<Schedule of add at step 1: split(i, factors=[2, 4])>"
    assert text_of(sch._repr_html_()) == f"<div>{caption}</div>{sch.func}"


def test_of_several_functions_a_schedule_shows_all():
    other = wb.script.parse(add.script().replace("def add", "def other"))
    sch = wb.Schedule(wb.ir.IRModule((add, other)))
    assert text_of(sch._repr_html_()).endswith(f"</div>{sch.mod}")


def test_a_kernel_is_its_launches_and_its_source():
    kernel = wb.build(scheduled())
    assert text_of(kernel._repr_html_()) == f"<div>{kernel!r}</div>{kernel.source}"
    assert '<span class="kr">__global__</span>' in kernel._repr_html_()


def test_a_handle_is_shown_with_its_line_in_the_newest_program_that_has_it():
    sch = wb.Schedule(add)
    (i,) = sch.get_loops("B")
    i_0, _ = sch.split(i, [2, 4])
    assert text_of(i._repr_html_()) == "<div><loop i></div>for i in range(8):"
    assert text_of(i_0._repr_html_()) == "<div><loop i_0></div>for i_0, i_1 in T.grid(2, 4):"
    block = '<div><block B></div>with T.block("B"):'
    assert text_of(sch.get_block("B")._repr_html_()) == block
    root = '<div><block root></div># with T.block("root"):'
    assert text_of(sch.get_block("root")._repr_html_()) == root


def test_both_themes_have_colours_and_the_page_keeps_its_own():
    html = scheduled()._repr_html_()
    light = re.findall(r"(?:^|<style>)\.wb-code \.(\w+) ", html, re.M)
    dark = re.findall(r"^:is\((.*?)\) \.wb-code \.(\w+) ", html, re.M)
    assert {"k", "s2", "mi"} <= set(light) and {"k", "s2", "mi"} <= {name for _, name in dark}
    assert {hosts for hosts, _ in dark} == {
        '[data-jp-theme-light="false"], .vscode-dark, html[theme="dark"]'
    }
    rules = re.search(r"<style>(.*?)</style>", html, re.S)[1].splitlines()
    assert all(".wb-code" in rule for rule in rules if not rule.startswith("background"))
    assert "#000 }" not in html and "linenos" not in html


def test_without_pygments_the_plain_text_is_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pygments", None)
    for value in (add, scheduled(), wb.build(scheduled()), scheduled().get_block("B")):
        assert value._repr_html_() is None


def test_what_is_named_in_html_is_text():
    text = add.script().replace('T.block("B")', 'T.block("<b>&")')
    sch = wb.Schedule(wb.script.parse(text))
    for value in (sch, sch.get_block("<b>&"), sch.func):
        assert "<b>" not in value._repr_html_()
