"""Programs for any size: read and printed as TVM does, and specialized.

Where a symbol is no size of an argument, only the text is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench.diag import Fail
from workbench.ir import PrimFunc, SymbolicFunc, structural_equal, verify
from workbench.script import ParseError, T, ir_module, parse, show

PRINTED = """\
# from typing import TypeVar
# from tvm.script import tirx as T

m = TypeVar("m")
@T.prim_func(s_tir=True)
def main(A: T.Buffer(("n", m), "float32"), B: T.Buffer(("T.Cast(\\"int64\\", n) * m",), "float32")):
    n = T.int32()
    # with T.sblock("root"):
    for i, j in T.grid(n, m):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[T.Cast("int64", vi) * m + vj])
            B[T.Cast("int64", vi) * m + vj] = A[vi, vj] * T.float32(2.0)
"""
BY_PARAMETER = """
@T.prim_func
def main(a: T.handle, n: T.int32, k: T.int32):
    A = T.match_buffer(a, (n * 2, N), "float32")
    for i in range(n):
        with T.block("A"):
            vi = T.axis.spatial(n, i)
            A[vi * 2, k] = 1.0
"""


def sized(text: str, **env: object) -> PrimFunc:
    func = parse(text, env)
    assert isinstance(func, PrimFunc)
    verify(func)
    return func


INSIDE = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), n: T.int32):
    B = T.alloc_buffer((n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi]
"""


def symbolic(text: str = INSIDE) -> SymbolicFunc:
    func = parse(text)
    assert isinstance(func, SymbolicFunc)
    return func


def test_what_tvm_prints_is_read_and_printed():
    func = sized(PRINTED)
    assert [(size.name, size.type) for size in func.sizes] == [("n", "int32"), ("m", "int64")]
    text = show(func)
    assert structural_equal(parse(text), func)
    assert text.splitlines()[1:3] == [
        'def main(A: T.Buffer(("n", "m"), "float32"), '
        'B: T.Buffer((T.Cast("int64", n) * m,), "float32")):',
        "    n, m = T.int32(), T.int64()",
    ]


@pytest.mark.parametrize(
    "shape", ["n + 1", "n * 2", "2 * n", "(n + 3) // 4", "n, n", "n, m, n - m"]
)
def test_shapes_of_sizes_come_back(shape):
    text = PRINTED.replace('"n", m', shape).replace('"T.Cast(\\"int64\\", n) * m"', "n")
    text = text.replace('m = TypeVar("m")', "").replace(
        "n = T.int32()", "n, m = T.int32(), T.int32()"
    )
    head, _, _ = text.partition("    # with")
    func = sized(
        head
        + """    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = T.float32(2)
"""
    )
    for dialect in ("workbench", "tvm"):
        assert structural_equal(parse(show(func, dialect)), func)


def test_a_symbol_that_no_argument_tells_is_kept_as_text():
    func = symbolic()
    assert func.symbols == ("n",)
    assert structural_equal(parse(show(func)), func)


def test_two_programs_of_sizes_differ_by_where_these_stand():
    square = sized(PRINTED.replace('"n", m', '"n", "n"').replace("T.grid(n, m)", "T.grid(n, n)"))
    assert not structural_equal(square, sized(PRINTED))


def test_a_specialized_function_is_a_program():
    func = sized(PRINTED).specialize({"n": 4, "m": 8})
    verify(func)
    assert [p.shape for p in func.params] == [(4, 8), (32,)]
    assert "for i, j in T.grid(4, T.int64(8)):" in show(func)


def test_a_parameter_that_tells_a_shape_is_gone_others_stay():
    func = sized(BY_PARAMETER, N=3).specialize({"n": 4})
    verify(func)
    assert show(func).splitlines()[1:4] == [
        'def main(A: T.Buffer((8, 3), "float32"), k: T.int32):',
        '    # with T.block("root"):',
        "    for i in range(4):",
    ]
    wb.Schedule(func).split("i", factors=[None, 2])


@T.prim_func
def written(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        A[i] = 1.0


def test_a_decorated_function_may_have_sizes():
    assert isinstance(written, PrimFunc)
    assert written.sizes
    made = written.specialize({"n": 5})
    assert isinstance(made, PrimFunc)
    assert "for i in range(T.int64(5)):" in show(made)


HINT = '\ndo:    give their numbers: func.specialize({"n": 1024})'
USES: dict[str, Callable[[Any], object]] = {
    "schedule": wb.Schedule,
    "build": wb.build,
    "look into": lambda func: func.params,
    "put into a module": lambda func: ir_module(type("M", (), {"main": func})),
}


@pytest.mark.parametrize("act", USES)
def test_any_other_use_of_a_text_is_refused(act):
    with pytest.raises(Fail) as error:
        USES[act](symbolic())
    assert str(error.value) == f"Can't {act} main: its shapes are told by `n`.{HINT}"


def test_a_name_that_stands_for_nothing_is_found_before_its_size_is_known():
    with pytest.raises(Fail, match="There is no `foo` here"):
        parse(PRINTED.replace("T.axis", "foo.axis"))


def test_tvms_words_are_written_of_it_too():
    text = show(symbolic(), "tvm")
    assert "T.block" not in text and "T.sblock" in text


def test_a_module_holds_programs_of_sizes_but_no_text():
    def module(text: str) -> object:
        inside = "\n".join("    " + line for line in text.splitlines())
        return parse(f"@ir_module\nclass M:\n{inside}", {"N": 3})

    made = module(BY_PARAMETER)
    assert structural_equal(parse(show(made)), made)
    with pytest.raises(Fail, match="The shapes of `main` are not known yet"):
        module(INSIDE)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"n": 4}, "`m` is not given"),
        ({"n": 4, "m": "8"}, "`m` is '8'"),
        (None, "None is no dictionary of numbers"),
        (5, "5 is no dictionary of numbers"),
        ({"n": 4, "m": 0}, "`m` is 0"),
        ({"n": 4, "m": True}, "`m` is True"),
        ({"n": 4, "m": 2, "k": 3}, "no shape is told by `k`"),
    ],
)
def test_each_symbol_gets_one_positive_number(values, found):
    with pytest.raises(Fail) as error:
        sized(PRINTED).specialize(values)
    assert str(error.value) == (
        f"Can't specialize main: {found}.\nasked: main.specialize({values!r})\n"
        'do:    give a positive number for each: specialize({"n": 1024, "m": 1024})'
    )


def test_a_size_that_cannot_be_read():
    func = symbolic(PRINTED.replace('"n", m', '"n", "m +"'))
    with pytest.raises(Fail, match="Can't read the size 'm "):
        func.specialize({"n": 4, "m": 8})


def test_a_buffer_may_start_where_its_caller_says():
    text = PRINTED.replace('m = TypeVar("m")', 'o = TypeVar("o")').replace('"n", m', "4, 8")
    text = text.replace(
        '"T.Cast(\\"int64\\", n) * m",), "float32"', '32,), "float32", elem_offset=o'
    )
    text = text.replace("    n = T.int32()\n", "").replace("T.grid(n, m)", "T.grid(4, 8)")
    func = parse(text.replace('T.Cast("int64", vi) * m', "vi * 8"))
    assert isinstance(func, PrimFunc)
    assert [p.shape for p in func.params] == [(4, 8), (32,)]


OPEN = """
@T.prim_func
def main(a: T.handle):
    s = T.int32()
    A = T.match_buffer(a, (8, 4), "float32", {said})
    for i, j in T.grid(8, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.float32(1)
"""


def test_where_an_argument_begins_may_be_left_open():
    assert parse(OPEN.format(said="elem_offset=s")).params[0].shape == (8, 4)


def test_strides_that_no_array_tells_are_refused():
    with pytest.raises(ParseError) as error:
        parse(OPEN.format(said="strides=[s, 1]"))
    assert str(error.value).startswith("No array tells the strides of `A`.")
    assert error.value.hint == "leave strides out: an array lies one row after the other"
