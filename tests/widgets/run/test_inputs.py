"""What a lab runs on and holds results against: arrays that do not fit, references that fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from tests.widgets.programs import ADD, bind_both, parse
from workbench.diag import Fail
from workbench.ir import IRModule
from workbench.schedule import Schedule
from workbench.widgets.run.inputs import input_array

ONES = np.ones(8, "float32")


def refused(**options: object) -> str:
    with pytest.raises(Fail) as told:
        wb.lab(Schedule(parse(ADD)), **options)
    assert len(told.value.headline) <= 120
    return str(told.value)


LIKE = '\ndo:    give a NumPy array like np.zeros((8,), "float32")'

BAD: list[tuple[object, str]] = [
    (np.ones((4, 2)), "its shape is (4, 2), not (8,)." + LIKE),
    (1.0, "its shape is (), not (8,)." + LIKE),
    (np.ones(8, complex), "its type is complex128." + LIKE),
    (np.array([None] * 8), "its type is object." + LIKE),
    (["a"] * 8, "its type is <U1." + LIKE),
    ([[1, 2], [3]], "it is no array: setting an array element with a sequence."),
    (
        np.ma.masked_less(np.arange(8.0), 3),
        "it is masked, and a kernel would read what the mask hides."
        "\ndo:    fill in what is hidden: A.filled(0)",
    ),
    (
        [0, 0, 1e300, 0, 0, 0, 0, 0],
        "float32 can't hold 1e+300, at (2,).\ndo:    give values of float32",
    ),
]


@pytest.mark.parametrize(("value", "text"), BAD, ids=lambda v: "")
def test_an_array_that_does_not_fit_is_refused_at_once(value: object, text: str):
    assert refused(inputs={"A": value}).startswith(f"Can't use the input `A`: {text}")


def test_a_name_that_is_no_parameter_is_refused():
    assert refused(inputs={"A": ONES, "a": ONES}) == (
        "Can't open a lab with the input 'a': there is no parameter of that name.\n"
        "do:    there are: A, B, C"
    )
    assert refused(inputs={"A_": ONES}).endswith('do:    is it "A"? there are: A, B, C')
    assert refused(inputs={0: ONES}).startswith("Can't open a lab with the input 0: ")


def test_an_input_has_to_fit_one_function_of_a_module():
    first, second = parse(ADD), parse(ADD.replace("8", "4").replace("add", "other"))
    module = IRModule((first, second))
    assert wb.lab(Schedule(module), inputs={"A": ONES})
    assert wb.lab(Schedule(module), inputs={"A": ONES[:4]})
    with pytest.raises(Fail, match=r"its shape is \(3,\)"):
        wb.lab(Schedule(module), inputs={"A": ONES[:3]})


def test_what_is_no_mapping_and_no_function_is_refused():
    assert refused(inputs=[ONES, ONES]) == (
        "Can't open a lab with a list as inputs.\n"
        'do:    give arrays by the names of parameters: inputs={"A": A, "B": B}'
    )
    assert refused(inputs=ONES).startswith("Can't open a lab with a ndarray as inputs.")
    assert refused(reference=ONES) == (
        "Can't open a lab with a ndarray as reference: it is no function.\n"
        "do:    give a function that takes the arrays of all parameters and writes the outputs"
    )


@pytest.mark.parametrize(
    ("dtype", "value", "held"),
    [
        ("float32", np.arange(8), True),
        ("float32", np.linspace(0, 1, 8), True),
        ("float16", [np.nan, np.inf, -np.inf, 0, 1, 2, 3, 4], True),
        ("float16", [1e5] * 8, False),
        ("int32", [1.0] * 8, True),
        ("int32", [1.5] * 8, False),
        ("int32", [np.nan] * 8, False),
        ("uint8", [-1] * 8, False),
        ("int8", [128] * 8, False),
        ("int64", np.full(8, 2**63, "uint64"), False),
        ("bool", [True, False] * 4, True),
        ("bool", [2] * 8, False),
    ],
)
def test_floats_may_be_rounded_and_nothing_else_may_change(dtype: str, value: object, held: bool):
    (param, *_) = parse(ADD.replace("float32", dtype)).params
    if not held:
        with pytest.raises(Fail, match=f"{dtype} can't hold"):
            input_array(param, value)
        return
    made = input_array(param, value)
    assert made.dtype == dtype
    np.testing.assert_allclose(made.astype(float), np.asarray(value, float), rtol=1e-3)


def test_bfloat16_comes_as_bits_as_a_kernel_takes_them():
    (param, *_) = parse(ADD.replace("float32", "bfloat16")).params
    bits = np.full(8, 0x4040, np.uint16)
    assert (input_array(param, bits) == 3).all()


def test_arrays_of_the_learner_stay_as_they_are():
    mine = np.zeros(8, "float32")
    lab = wb.lab(Schedule(parse(ADD)), inputs={"A": ONES, "B": ONES, "C": mine})
    bind_both(lab)
    assert lab.run()["ok"] and not mine.any()


def ran(reference: Callable[..., object], **inputs: object) -> dict:
    lab = wb.lab(Schedule(parse(ADD)), inputs=inputs, reference=reference)
    bind_both(lab)
    result = dict(lab.run())
    assert lab.status["kind"] == "ready", "it is no fault of the workbench"
    return result


def test_nan_equals_nan():
    def add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        with np.errstate(invalid="ignore"):
            c[:] = a + b

    hard = np.array([np.nan, np.inf, -np.inf, np.inf, 0, 1, 2, 3], "float32")
    other = np.array([1, 1, 1, -np.inf, 0, 1, 2, 3], "float32")
    assert ran(add, A=hard, B=other)["ok"] is True
    lab = wb.lab(Schedule(parse(ADD)), inputs={"A": hard, "B": other})
    bind_both(lab)
    assert lab.run()["ok"] is True, "nor does the program of the beginning differ"


def mistaken(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    c[:] = a + b[:4]


def leaves(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    raise SystemExit(3)


def interrupts(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    raise KeyboardInterrupt


REFERENCES = [
    (mistaken, "it raised ValueError: operands could not be broadcast", "c[:] = a + b[:4]"),
    (leaves, "it raised SystemExit: 3", "raise SystemExit(3)"),
    (interrupts, "it raised KeyboardInterrupt", "raise KeyboardInterrupt"),
    (lambda a, b: a + b, "it raised TypeError: ", ""),
    (lambda a, b, c: a + b, "it returned a value (ndarray) that nobody looks at", ""),
    (lambda a, b, c: None, "it left `C` as it was", ""),
]


@pytest.mark.parametrize(("reference", "found", "line"), REFERENCES)
def test_a_fault_of_the_reference_is_told_as_its_own(
    reference: Callable[..., object], found: str, line: str
):
    result = ran(reference, A=ONES, B=ONES)
    assert result["ok"] is False
    assert result["text"].startswith("✕ Can't compare with the reference: " + found)
    assert line in result["refusal"]["where"]


def test_arrays_that_no_memory_holds_are_not_made():
    sch = Schedule(parse(ADD.replace("8", str(2**38))))
    outer, inner = sch.split("i", factors=[None, 256])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    lab = wb.lab(sch)
    assert (
        lab.run()["ok"] is False and "its arrays need 8,796,093,022,208 bytes" in lab.status["text"]
    )
