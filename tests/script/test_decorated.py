"""Programs from decorated functions: in files, in notebook cells, and where they cannot be read."""

from __future__ import annotations

import linecache
import textwrap

import pytest

from tests.script import own_annotations
from workbench.script import ParseError, T, ir_module, parse, show


def test_a_file_whose_annotations_python_evaluates():
    assert [b.shape for b in own_annotations.scaled.params] == [(8,), (8,)]
    assert [f.name for f in own_annotations.Module.functions] == ["first", "second"]
    first, second = own_annotations.Module.functions
    assert [b.shape for b in first.params] == [(8, 4), (8, 4)]
    assert second.params[0].shape == (8, 4)


def test_names_of_the_function_around():
    func = own_annotations.made(16, 3.0)
    assert [b.shape for b in func.params] == [(16,), (16, 8)]
    assert "A[vi] * T.float32(3)" in show(func)


def test_names_of_a_caller_are_not_seen():
    def outer():
        hidden = 4
        return inner()

    def inner():
        @T.prim_func
        def main(A: T.Buffer((hidden,), "float32")):
            A[0] = 1.0

        return main

    with pytest.raises(ParseError, match=r"^There is no `hidden` here"):
        outer()


def test_a_name_that_has_no_value_yet_is_not_seen():
    with pytest.raises(ParseError, match=r"^There is no `later` here"):

        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            A[0] = later

    later = 3


def cell(text: str, namespace: dict, name: str = "/tmp/ipykernel_17/42.py") -> dict:
    """Run a cell's text as IPython does: its lines are known to linecache."""
    text = textwrap.dedent(text)
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), namespace)
    return namespace


CELL = """
    n = 8

    # größer: columns count characters, not bytes
    @T.prim_func
    def main(A: T.Buffer((n,), "float32")):
        A["é"[0:0], 0], A[0] = 1.0, q
"""


def test_a_notebook_cell():
    text = CELL.replace('A["é"[0:0], 0], A[0] = 1.0, q', "A[n - 1] = 1.0")
    func = cell(text, {"T": T})["main"]
    assert "A[7] = T.float32(1)" in show(func)


def test_a_refusal_in_a_cell_shows_the_cells_own_line():
    text = CELL.replace('A["é"[0:0], 0], A[0] = 1.0, q', 'A["é"] = 1.0')
    with pytest.raises(ParseError) as error:
        cell(text, {"T": T})
    assert str(error.value) == (
        'Can\'t use the string "é" as a number.\n'
        "asked: the program in this cell\n"
        "where:\n"
        "   5 | @T.prim_func\n"
        '   6 | def main(A: T.Buffer((n,), "float32")):\n'
        '   7 |     A["é"] = 1.0\n'
        "     |       ^^^\n"
        "do:    write a number or an expression of numbers, loops and buffer elements"
    )


@pytest.mark.parametrize("known", ["", "import sys; exec(sys.argv[1])\n"])
def test_a_function_without_source_is_refused(known: str, monkeypatch):
    """Also where Python knows some other text by the same name, as 3.13 does of `python -c`."""
    lines = known.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "<string>", (len(known), None, lines, "<string>"))
    with pytest.raises(ParseError) as error:
        exec("@T.prim_func\ndef main(A: T.Buffer((8,))):\n    A[0] = 1.0", {"T": T})
    assert str(error.value) == (
        "Can't see the source of `main`: it is in no file and no notebook cell.\n"
        "do:    define it in a file or a cell, or give its text to workbench.script.parse"
    )


def test_the_prompt_of_an_older_python_says_what_to_do():
    text = "@T.prim_func\ndef main(A: T.Buffer((8,))):\n    A[0] = 1.0"
    with pytest.raises(ParseError) as error:
        exec(compile(text, "<stdin>", "exec"), {"T": T})
    assert str(error.value) == (
        "Can't see the source of `main`: Python's own prompt keeps none before 3.13, and never of "
        "what is piped into it.\n"
        "do:    define it in a file or a cell, or give its text to workbench.script.parse"
    )


def test_a_class_is_no_function():
    with pytest.raises(ParseError) as error:

        @T.prim_func
        class Module:
            pass

    assert str(error.value) == (
        "@T.prim_func takes a function, not a type.\n"
        "do:    write @T.prim_func directly above `def`; @ir_module goes above a class"
    )


def test_a_module_holds_programs_only():
    with pytest.raises(ParseError) as error:

        @ir_module
        class Module:
            size = 8

    assert str(error.value) == (
        "Can't put `size` into module `Module`: it is no program.\n"
        "do:    decorate it with @T.prim_func, or move `size` out of the class"
    )
    with pytest.raises(ParseError) as error:

        @ir_module
        class Empty:
            pass

    assert str(error.value) == (
        "Module `Empty` holds no program.\ndo:    define a function under @T.prim_func in it"
    )


def test_a_value_that_is_no_plain_one_is_refused():
    with pytest.raises(ParseError) as error:
        parse("@T.prim_func\ndef main(A: T.Buffer((8,))):\n    A[0] = x", {"x": object()})
    assert str(error.value) == (
        "Can't use `x` here: its type is object.\n"
        "where:\n"
        "   1 | @T.prim_func\n"
        "   2 | def main(A: T.Buffer((8,))):\n"
        "   3 |     A[0] = x\n"
        "     |            ^\n"
        "do:    a program takes numbers, strings, and lists and tuples of them from around it"
    )


# --- T as Python sees it -------------------------------------------------------------------------


def test_the_words_of_t_are_for_programs():
    assert repr(T) == "T" and repr(T.grid) == "T.grid"
    assert {"grid", "block", "exp", "float32", "prim_func"} <= set(dir(T))
    with pytest.raises(TypeError) as error:
        T.grid(8, 8)
    assert str(error.value) == (
        "T.grid is read inside a program, not run: put it into a function under @T.prim_func"
    )
    with pytest.raises(AttributeError, match=r"^there is no T\.gird; is it T\.grid\?$"):
        T.gird
    with pytest.raises(AttributeError, match=r"^there is no T\.axis\.spacial$"):
        T.axis.spacial
