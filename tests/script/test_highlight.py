"""Colour: in a terminal, in a notebook, and as HTML."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from types import SimpleNamespace

import pytest

from tests.script.sample import window
from tests.script.test_diff import split
from workbench.ir import IRModule
from workbench.script import (
    diff,
    diff_text,
    highlight_css,
    highlight_html,
    highlight_terminal,
    print_diff,
    print_highlighted,
    show,
)
from workbench.script.highlight import diff_html, diff_terminal

AFTER = split(window, "ax0", 65)


def without_codes(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def without_tags(html):
    return unescape(re.sub(r"<[^>]*>", "", html))


def test_colours_add_nothing_but_colour():
    text = show(window)
    assert without_codes(highlight_terminal(text)) == text
    assert without_tags(highlight_html(text)) == text
    assert highlight_terminal(text) != text and '<span class="k">for</span>' in highlight_html(text)


@pytest.mark.parametrize("text", ["", "\n", "a = 1\n\n\nb = 2", "  x"])
def test_as_many_lines_as_there_were(text):
    assert highlight_html(text).count("\n") == text.count("\n")


def test_cuda_text():
    html = highlight_html("__global__ void f(float* A) { A[0] = 1 < 2; }", "cuda")
    assert "&lt;" in html and '<span class="k' in html


def test_the_style_sheets_are_scoped():
    for dark in (False, True):
        rules = [r for r in highlight_css(".wb-code", dark).splitlines() if ".wb-code" in r]
        assert any(".wb-code .k" in r for r in rules)
    assert highlight_css(".x") != highlight_css(".x", dark=True)


def test_a_difference_in_colour():
    lines = diff(window, AFTER)
    assert without_codes(diff_terminal(lines)).split() == diff_text(lines).split()
    assert "\x1b[31m- " in diff_terminal(lines) and "\x1b[7max0\x1b[27m" in diff_terminal(lines)
    assert without_tags(diff_html(lines)).split() == diff_text(lines).split()
    assert "<mark>ax0</mark>" in diff_html(lines) and "<del>- " in diff_html(lines)


def test_a_pipe_gets_plain_text(capsys):
    window.show()
    IRModule((window,)).show()
    print_diff(window, AFTER)
    assert capsys.readouterr().out == (
        show(window)
        + "\n"
        + show(IRModule((window,)))
        + "\n"
        + diff_text(diff(window, AFTER))
        + "\n"
    )


def test_a_terminal_gets_colour(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_highlighted(window)
    shown = capsys.readouterr().out
    assert "\x1b[" in shown and without_codes(shown) == show(window) + "\n"


def test_a_notebook_gets_html_and_text(monkeypatch):
    shown = []
    display = pytest.importorskip("IPython.display", reason="IPython is not installed")
    monkeypatch.setattr(display, "display", lambda data, raw: shown.append(data))
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    print_highlighted(window)
    print_diff(window, AFTER)
    program, difference = shown
    assert program["text/plain"] == show(window)
    assert program["text/html"].startswith("<style>")
    assert '<pre class="wb-code">' in program["text/html"]
    assert "<ins>+ " in difference["text/html"]


def test_nothing_is_coloured_before_it_is_asked_for():
    """Reading and printing a program needs the standard library only."""
    code = (
        "import sys, workbench.script as s\n"
        "f = s.parse('@T.prim_func\\ndef f(A: T.Buffer((8,))):\\n    A[0] = 1.0')\n"
        "s.show(f); s.diff(f, f)\n"
        "assert not {'pygments', 'IPython', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
