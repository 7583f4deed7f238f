"""Arrays that do not fit are refused before anything runs, with what to pass instead."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import numpy as np
import pytest

from workbench import script
from workbench.ir import PrimFunc
from workbench.runtime import ArgumentError
from workbench.runtime.arguments import (
    check_arguments,
    check_seconds,
    from_bits,
    to_bits,
)

TEXT = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + B[vi]
"""
ASKED = "asked: main(A: float32[8], B: float32[8], C: float32[8])\n"


def add() -> PrimFunc:
    func = script.parse(TEXT)
    assert isinstance(func, PrimFunc)
    return func


def array(fill: float = 0.0) -> np.ndarray:
    return np.full(8, fill, dtype="float32")


def refusal(*arrays: object) -> str:
    with pytest.raises(ArgumentError) as err:
        check_arguments(add(), arrays)
    text = str(err.value)
    assert len(text.splitlines()[0]) <= 120
    return text


def test_fitting_arrays_are_used_where_they_lie():
    a, b, c = array(1), array(2), array()
    arguments = check_arguments(add(), [a, b, c])
    assert [x.host is y for x, y in zip(arguments, (a, b, c), strict=True)] == [True] * 3
    assert [x.written for x in arguments] == [False, False, True]
    assert [to_bits(x) is x.host for x in arguments] == [True] * 3


def test_a_wrong_count():
    assert refusal(array()) == (
        "Can't call main with 1 array: it takes 3.\n"
        + ASKED
        + "do:    pass A, B, C, outputs included."
    )


def test_not_an_array():
    assert refusal(array(), [0.0] * 8, array()) == (
        "Can't call main: `B` is a list, not an array.\n"
        + ASKED
        + 'do:    pass np.array(..., dtype="float32"), or a CuPy or DLPack array.'
    )


NUMBERS = """
@T.prim_func
def main(n: T.int32, s: T.float32, f: T.bool, C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(f, s, T.Cast("float32", n))
"""


@pytest.mark.parametrize("given", [(3, 2, True), (np.int64(3), np.float64(2), np.bool_(True))])
def test_numbers_become_arrays_of_their_types(given):
    func = script.parse(NUMBERS)
    assert isinstance(func, PrimFunc)
    hosts = [argument.host for argument in check_arguments(func, [*given, array()])]
    assert [(h.shape, str(h.dtype)) for h in hosts[:3]] == [
        ((), "int32"),
        ((), "float32"),
        ((), "bool"),
    ]


@pytest.mark.parametrize("given", [2**40, 2.5, True, "3", None])
def test_a_number_that_does_not_fit(given):
    func = script.parse(NUMBERS)
    assert isinstance(func, PrimFunc)
    with pytest.raises(ArgumentError) as error:
        check_arguments(func, [given, 2.0, True, array()])
    assert str(error.value) == (
        f"Can't call main: `n` is {given!r}, not int32.\n"
        "asked: main(n: int32[], s: float32[], f: bool[], C: float32[8])\n"
        "do:    pass a number that int32 holds."
    )


def test_a_wrong_shape():
    assert refusal(np.zeros((8, 1), "float32"), array(), array()) == (
        "Can't call main: `A` has shape (8, 1), not (8,).\n"
        + ASKED
        + "do:    pass an array of shape (8,)."
    )


def test_a_wrong_type_of_an_input():
    assert refusal(np.zeros(8), array(), array()) == (
        "Can't call main: `A` holds float64, not float32.\n"
        + ASKED
        + 'do:    pass A.astype("float32").'
    )


def test_a_wrong_type_of_an_output():
    assert refusal(array(), array(), np.zeros(8)) == (
        "Can't call main: `C` holds float64, not float32.\n"
        + ASKED
        + 'do:    pass C.astype("float32"), made before the call, so that you can read the result.'
    )


def test_a_view_with_gaps():
    assert refusal(array(), np.zeros(16, "float32")[::2], array()) == (
        "Can't call main: the elements of `B` do not lie one after the other in memory.\n"
        + ASKED
        + "found: strides (8,) in bytes, for float32 of shape (8,)\n"
        "do:    pass np.ascontiguousarray(B)."
    )


def test_an_output_with_gaps():
    assert refusal(array(), array(), np.zeros(16, "float32")[::2]).splitlines()[-1] == (
        "do:    pass np.ascontiguousarray(C), made before the call, "
        "so that you can read the result."
    )


def test_a_read_only_output():
    output = array()
    output.flags.writeable = False
    assert refusal(array(), array(), output) == (
        "Can't call main: `C` is an output and its array is read-only.\n"
        + ASKED
        + "do:    pass C.copy(), made before the call, so that you can read the result."
    )


def test_a_read_only_input_is_fine():
    values = array(1)
    values.flags.writeable = False
    assert check_arguments(add(), [values, values, array()])[0].host is values


def test_an_output_that_is_also_an_input():
    shared = array()
    assert refusal(shared, array(), shared) == (
        "Can't call main: `A` and `C` share memory, and `C` is an output.\n"
        + ASKED
        + 'do:    give it an array of its own: out = np.empty((8,), "float32"), and pass out for C.'
    )


def test_two_outputs_in_one_array():
    func = script.parse(
        TEXT.replace("C[vi] = A[vi] + B[vi]", "C[vi] = A[vi]\n            B[vi] = A[vi]")
    )
    assert isinstance(func, PrimFunc)
    shared = array()
    with pytest.raises(ArgumentError) as err:
        check_arguments(func, [array(), shared, shared])
    assert str(err.value).splitlines()[0] == (
        "Can't call main: `B` and `C` share memory, and `B` is an output."
    )
    assert str(err.value).endswith("and pass out for B.")
    out = np.empty((8,), "float32")
    assert check_arguments(func, [array(), out, shared])


def test_a_masked_array():
    masked = np.ma.masked_less(array(1), 2)
    assert refusal(masked, array(), array()) == (
        "Can't call main: `A` is masked, and a kernel would use what the mask hides.\n"
        + ASKED
        + "do:    pass A.filled(0)."
    )
    assert refusal(array(), array(), masked).endswith(
        "pass C.filled(0), made before the call, so that you can read the result."
    )


def test_a_complex_array():
    assert refusal(np.ones(8, complex), array(), array()) == (
        "Can't call main: `A` holds complex128, not float32.\n"
        + ASKED
        + 'do:    pass A.real.astype("float32").'
    )


def test_what_an_output_held_is_kept_where_the_program_reads_it():
    func = script.parse(TEXT.replace("A[vi] + B[vi]", "C[vi] + A[vi] + B[vi]"))
    assert isinstance(func, PrimFunc)
    shared = array()
    with pytest.raises(ArgumentError, match=r"out = C\.copy\(\), and pass out for C\.$"):
        check_arguments(func, [shared, array(), shared])


def test_a_class_is_no_array():
    assert refusal(np.ndarray, array(), array()).startswith(
        "Can't call main: `A` is a type, not an array.\n"
    )


def test_an_array_of_texts():
    assert refusal(np.array(["a"] * 8), array(), array()) == (
        "Can't call main: `A` holds <U1, not float32.\n"
        + ASKED
        + "do:    pass an array of float32."
    )


@pytest.mark.parametrize("seconds", ["x", float("nan"), float("inf"), -1, 0, True, None, 1e300])
def test_no_number_of_seconds(seconds: object):
    with pytest.raises(ArgumentError) as err:
        check_seconds(seconds)
    assert str(err.value) == (
        f"Can't wait for {seconds!r} seconds.\n"
        "do:    give a number above 0 and below a million: seconds=60."
    )


def test_numbers_of_seconds():
    assert [check_seconds(s) for s in (1, 0.5, np.int64(3), np.float32(2))] == [1, 0.5, 3, 2]


class OnHost:
    """A DLPack array in host memory, of another library."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_a_dlpack_array_on_the_host_is_used_where_it_lies():
    output = array()
    arguments = check_arguments(add(), [OnHost(array(3)), array(), OnHost(output)])
    assert (arguments[0].host == 3).all()
    arguments[2].host[...] = 7
    arguments[2].write_back()
    assert (output == 7).all()


class OnGpu:
    """What CuPy's arrays offer, over host memory."""

    __cuda_array_interface__ = None

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def get(self) -> np.ndarray:
        return self.values.copy()

    def set(self, values: np.ndarray) -> None:
        self.values[...] = values


def test_a_cupy_array_goes_through_the_host_and_back(monkeypatch):
    cupy = ModuleType("cupy")
    cupy.ndarray = OnGpu  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    left, output = OnGpu(array(5)), OnGpu(array())
    arguments = check_arguments(add(), [left, array(), output])
    assert (arguments[0].host == 5).all()
    arguments[2].host[...] = 9
    for argument in arguments:
        argument.write_back()
    assert (output.values == 9).all()


def test_bfloat16_goes_to_the_gpu_as_its_bits():
    func = script.parse(TEXT.replace("float32", "bfloat16"))
    assert isinstance(func, PrimFunc)
    values = np.array([1.0, -2.5, 3.14159, np.inf, 0, 1e-40, 65504, 1 / 3], "float32")
    argument, _, output = check_arguments(func, [values, array(), array()])
    bits = to_bits(argument)
    assert bits.dtype == np.uint16
    assert bits[0] == 0x3F80 and bits[1] == 0xC020 and bits[2] == 0x4049
    np.testing.assert_allclose(from_bits(bits, output), values, rtol=2**-8, atol=1e-40)


READ_ONLY = np.broadcast_to(np.float32(0), (8,)).copy()
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("A", np.zeros(8)),
        ("C", np.zeros(8, complex)),
        ("A", np.array([1, 2] * 4, object)),
        ("B", np.zeros(16, "float32")[::2]),
        ("C", np.zeros(16, "float32")[::2]),
        ("C", READ_ONLY),
        ("A", np.ma.masked_less(array(1), 2)),
        ("B", [0.0] * 8),
    ],
)
def test_what_it_says_to_pass_is_taken(name: str, value: object):
    given = {"A": array(), "B": array(), "C": array(), name: value}
    advice = re.search(r"pass ((\w+|np\.\w+)(\.\w+)*\(.*\))", refusal(*given.values()))
    assert advice is not None
    call = advice[1].replace("...", name)
    given[name] = eval(call, {"np": np, **given})
    assert len(check_arguments(add(), list(given.values()))) == 3
