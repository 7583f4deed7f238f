"""The CUDA text itself, run on the CPU: it computes what NumPy computes, with C's traps avoided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.support.cpp import CppFailure, compile_cpp, run_cpp
from tests.support.gpu_programs import add_in_blocks, blocked_matmul, parsed, window_steps
from tests.support.together import Together
from tests.support.virtual_threads import convolution, convolved, strided_matmul, tutorial_steps
from workbench import target
from workbench.ir import Barrier, PrimFunc, SeqStmt, rewrite
from workbench.lower import Lowered, lower
from workbench.runtime import build
from workbench.schedule import Schedule

CUDA = target.get("cuda")
pytestmark = pytest.mark.usefixtures("gxx")


def run(func: PrimFunc, *arrays: np.ndarray) -> None:
    run_cpp(lower(func, CUDA), arrays)


def results(
    funcs: Sequence[PrimFunc], a: np.ndarray, c: np.ndarray, dtype: str | None = None
) -> list[np.ndarray]:
    """What each of `funcs`, which are compiled together, makes of `a` and `c`; of `dtype`."""
    made = [np.zeros(64, dtype or a.dtype) for _ in funcs]
    jobs = [(k, (a, c, b)) for k, b in enumerate(made)]
    compile_cpp([lower(func, CUDA) for func in funcs]).run(jobs)
    return made


def elementwise(dtype: str, expression: str, result: str | None = None, size: int = 64) -> PrimFunc:
    """``B[vi] = expression`` of A, C and vi, one element a thread."""
    return parsed(f"""
@T.prim_func
def main(A: T.Buffer(({size},), "{dtype}"), C: T.Buffer(({size},), "{dtype}"),
         B: T.Buffer(({size},), "{result or dtype}")):
    for i in T.thread_binding({size}, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial({size}, i)
            B[vi] = {expression}
""")


def test_vector_add():
    a, b, c = np.arange(1024.0, dtype="f4"), np.ones(1024, "f4"), np.zeros(1024, "f4")
    run(add_in_blocks(), a, b, c)
    np.testing.assert_array_equal(c, a + b)


def test_numbers_as_parameters():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), n: T.int32, s: T.float32, B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = 0.0
            for k in range(n):
                B[vi] = B[vi] + A[(vi + k) % 64] * s
""")
    a, b, c = np.arange(64, dtype="f4"), np.zeros(64, "f4"), np.zeros(64, "f4")
    run(func, a, np.array(3, "i4"), np.array(0.5, "f4"), b)
    np.testing.assert_array_equal(b, (a + np.roll(a, -1) + np.roll(a, -2)) / 2)
    build(Schedule(func)).emulate(a, 3, 0.5, c)
    np.testing.assert_array_equal(b, c)


@pytest.mark.parametrize("step", ["bound", "shared", "cooperative"])
def test_window_sum(step: str):
    a, b = np.arange(1027.0, dtype="f4"), np.zeros(1024, "f4")
    run(window_steps()[step], a, b)
    np.testing.assert_array_equal(b, a[:1024] + a[1:1025] + a[2:1026])


@pytest.mark.parametrize("shared", [False, True], ids=["local", "shared"])
def test_matmul(shared: bool):
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 64, 64)).astype("f4")
    c = np.zeros((64, 64), "f4")
    run(blocked_matmul(shared), a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_virtual_threads():
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 32, 32)).astype("f4")
    c = np.zeros((32, 32), "f4")
    run(strided_matmul().func, a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    func = tutorial_steps(convolution(64, 16, 64, 2)).func
    data, taps = (np.random.default_rng(1).integers(-4, 5, p.shape) for p in func.params[:2])
    data, taps, made = data.astype("f4"), taps.astype("f4"), np.zeros(func.params[2].shape, "f4")
    run(func, data, taps, made)
    np.testing.assert_array_equal(made, convolved(data, taps))


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def check_integers(texts: Sequence[str], of: Callable[[np.iinfo], tuple[list, list]]) -> None:
    """That each of `texts` is in every type what NumPy has: `of` a type, 4 numbers for A and C."""
    given = {
        dtype: [np.array(numbers * 16, dtype) for numbers in of(np.iinfo(dtype))]
        for dtype in INTEGERS
    }
    cases = [(dtype, text) for dtype in INTEGERS for text in texts]
    jobs = [(k, (*given[dtype], np.zeros(64, dtype))) for k, (dtype, _) in enumerate(cases)]
    compile_cpp([lower(elementwise(*case), CUDA) for case in cases]).run(jobs)
    for (dtype, text), (_, (a, c, b)) in zip(cases, jobs, strict=True):
        wanted = eval(text, {"A": a, "C": c, "vi": slice(None)})
        np.testing.assert_array_equal(b, wanted, f"{dtype}: {text}")


def test_integers_wrap_around_in_their_own_type():
    check_integers(
        ("A[vi] + C[vi]", "A[vi] - C[vi] * A[vi]", "(A[vi] + C[vi]) * (A[vi] - C[vi])"),
        lambda info: (
            [info.max, info.min, info.max - 1, 7],
            [info.max, info.max, 3, info.min],
        ),
    )


def test_bits_are_those_of_their_own_type():
    texts = ("A[vi] & C[vi]", "A[vi] | C[vi] ^ A[vi]", "~A[vi]", "A[vi] << C[vi]", "A[vi] >> C[vi]")
    texts += ("(~A[vi] >> C[vi]) + (A[vi] << C[vi]) * C[vi]", "(A[vi] + A[vi]) >> C[vi]")
    check_integers(
        texts,
        lambda info: ([info.max, info.min, info.max - 1, 85], [info.bits - 1, 1, 3, 0]),
    )


def test_bits_of_indices_and_beside_comparisons():
    a, c, b = np.arange(64, dtype="int32"), np.zeros(64, "int32"), np.zeros(64, "int32")
    value = "A[vi >> 2 << 1 & 62 | vi & 1] + T.Cast('int32', vi & 7 == 3 and vi ^ 5 < 9)"
    run(elementwise("int32", value), a, c, b)
    i = np.arange(64)
    np.testing.assert_array_equal(b, (i >> 2 << 1 & 62 | i & 1) + ((i & 7 == 3) & (i ^ 5 < 9)))


def test_a_wrapped_value_is_compared_divided_and_widened_as_wrapped():
    a, c = np.full(64, 127, "int8"), np.full(64, 1, "int8")
    texts = ("A[vi] + C[vi]", "(A[vi] + C[vi]) // T.int8(3)", "A[vi] + C[vi] < C[vi]")
    funcs = [elementwise("int8", f'T.Cast("int32", {text})', "int32") for text in texts]
    assert [set(b) for b in results(funcs, a, c, "int32")] == [{-128}, {-43}, {1}]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_division_rounds_down(dtype: str):
    a, c = np.arange(-32, 32).astype(dtype), np.array([3, -3, 5, -1] * 16, dtype)
    funcs = [elementwise(dtype, text) for text in ("A[vi] // C[vi]", "A[vi] % C[vi]")]
    quotient, rest = results(funcs, a, c)
    np.testing.assert_array_equal(quotient, a // c)
    np.testing.assert_array_equal(rest, a % c)


def test_indices_that_may_be_negative_are_divided_downwards():
    a, c, b = np.arange(64, dtype="int32"), np.zeros(64, "int32"), np.zeros(64, "int32")
    run(elementwise("int32", "A[(vi - 32) // 5 + 7] + (vi - 32) % 5"), a, c, b)
    i = np.arange(64)
    np.testing.assert_array_equal(b, (i - 32) // 5 + 7 + (i - 32) % 5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_compare_choose_and_round(dtype: str):
    rng = np.random.default_rng(1)
    a, c = rng.integers(-50, 50, (2, 64)).astype(dtype) / np.array(4, dtype)
    expected = {
        "T.max(A[vi], C[vi]) - T.min(A[vi], C[vi])": np.maximum(a, c) - np.minimum(a, c),
        "T.Select(A[vi] < C[vi], A[vi], C[vi] * A[vi])": np.where(a < c, a, c * a),
        "A[vi] + C[vi] * A[vi]": a + c * a,
        "T.floor(A[vi]) + T.ceil(C[vi]) + T.abs(A[vi])": np.floor(a) + np.ceil(c) + abs(a),
        f"T.{dtype}(0) - A[vi]": 0 - a,
        f"T.{dtype}(0.1) * A[vi]": np.array(0.1, dtype) * a,
        f"T.{dtype}('inf') * A[vi]": np.array(np.inf, dtype) * np.where(a == 0, np.nan, a),
    }
    made = results([elementwise(dtype, text) for text in expected], a, c)
    for b, (text, values) in zip(made, expected.items(), strict=True):
        np.testing.assert_array_equal(b, values, text)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_functions(dtype: str):
    names = ("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "sin", "cos")
    names += ("exp2", "exp10", "log2", "log10", "log1p", "tan", "atan", "sinh", "cosh", "asinh")
    names += ("trunc", "round", "nearbyint")
    a = (np.arange(64) / 16 + 0.25).astype(dtype)  # halves among them
    ours = {
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "exp10": lambda x: 10**x,
        "atan": np.arctan,
        "asinh": np.arcsinh,
        "round": lambda x: np.floor(x + 0.5),
        "nearbyint": np.rint,
    }
    made = results([elementwise(dtype, f"T.{name}(A[vi])") for name in names], a, a)
    for name, b in zip(names, made, strict=True):
        exact = ours.get(name, getattr(np, name, None))(a.astype("f8"))
        np.testing.assert_allclose(b, exact, rtol=4 * float(np.finfo(dtype).eps), err_msg=name)


def test_bfloat16_is_rounded_after_each_operation():
    a = np.arange(256, 320, dtype="f4")
    bits = (a.view("u4") >> 16).astype("u2")  # every second one is no bfloat16, and truncated here
    b = np.zeros(64, "u2")
    run(elementwise("bfloat16", "A[vi] + C[vi] + C[vi]"), bits, bits, b)
    x = (bits.astype("u4") << 16).view("f4")
    twice = _to_bfloat16(_to_bfloat16(x + x) + x)
    np.testing.assert_array_equal((b.astype("u4") << 16).view("f4"), twice)


def _to_bfloat16(x: np.ndarray) -> np.ndarray:
    bits = x.view("u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype("u4").view("f4")


def test_if_then_else_does_not_touch_what_it_does_not_choose():
    func = elementwise("int32", "T.if_then_else(vi >= 60, 0, A[vi + 4])")
    a, c, b = np.arange(64, dtype="int32"), np.zeros(64, "int32"), np.zeros(64, "int32")
    run(func, a, c, b)
    np.testing.assert_array_equal(b, np.append(a[4:], [0] * 4))


def test_conversions():
    a, c = np.array([-2.75, -0.5, 0.5, 2.75] * 16, "f4"), np.zeros(64, "f4")
    b, h = np.zeros(64, "int8"), np.zeros(64, "f2")
    run(elementwise("float32", 'T.Cast("int8", A[vi])', "int8"), a, c, b)
    np.testing.assert_array_equal(b, a.astype("int8"))
    run(
        elementwise(
            "float32", 'T.Cast("float16", T.Cast("int8", T.Cast("float16", A[vi])))', "float16"
        ),
        a,
        c,
        h,
    )
    np.testing.assert_array_equal(h, a.astype("int8").astype("f2"))
    flags = np.zeros(64, "bool")
    run(
        elementwise("float32", "A[vi] < C[vi] or A[vi] > T.float32(1) and C[vi] == C[vi]", "bool"),
        a,
        c,
        flags,
    )
    np.testing.assert_array_equal(flags, (a < 0) | (a > 1))


WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
OTHERS = {"metal": [*WHOLE, "float16", "float32"],
          "opencl": [*WHOLE, "float16", "float32", "float64"]}  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
def test_another_language_says_the_same(other: str):
    rng, funcs, jobs = np.random.default_rng(2), [], []
    for k, dtype in enumerate(OTHERS[other]):
        divided = "A[vi] / C[vi]" if "float" in dtype else "A[vi] // C[vi] - A[vi] % C[vi]"
        text = f"T.max(A[vi] * C[vi] - {divided}, T.min(A[vi], T.{dtype}(3)))"
        funcs.append(elementwise(dtype, text))
        jobs.append((k, [*rng.integers(1, 9, (2, 64)).astype(dtype), np.zeros(64, dtype)]))
    made = {language: [(k, [a.copy() for a in arrays]) for k, arrays in jobs]
            for language in ("cuda", other)}  # fmt: skip
    for language, own in made.items():
        gpu = target.get(language)
        compile_cpp([lower(func, gpu) for func in funcs], language).run(own)
    for dtype, (_, a), (_, b) in zip(OTHERS[other], *made.values(), strict=True):
        np.testing.assert_array_equal(a[-1], b[-1], dtype)


@pytest.mark.parametrize("language", ["cuda", *OTHERS])
def test_bits_of_floats(language: str):
    floats = {"float16": "uint16", "float32": "uint32"}
    floats |= {"float64": "uint64"} if language != "metal" else {}
    floats |= {"bfloat16": "uint16"} if language != "opencl" else {}
    gpu, funcs, jobs, wanted = target.get(language), [], [], []
    for dtype, bits in floats.items():
        raw = np.arange(64).astype(bits) << (8 * np.dtype(bits).itemsize - 8)
        for given, made in ((dtype, bits), (bits, dtype)):
            funcs.append(elementwise(given, f'T.reinterpret("{made}", A[vi])', made))
            arrays = [raw.copy(), raw.copy(), np.zeros(64, bits)]
            jobs.append((len(jobs), arrays))
            wanted.append(raw)
    compile_cpp([lower(func, gpu) for func in funcs], language).run(jobs)
    for (_, arrays), raw in zip(jobs, wanted, strict=True):
        np.testing.assert_array_equal(arrays[2], raw)


@pytest.mark.parametrize("language", OTHERS)
def test_another_language_runs_the_matmul(language: str):
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 64, 64)).astype("f4")
    c = np.zeros((64, 64), "f4")
    program = lower(blocked_matmul(), target.get(language))
    compile_cpp([program], language).run([(0, [a, b, c])])
    np.testing.assert_array_equal(c, a @ b)


# --- the harness itself finds what it is there to find -------------------------------------------


def without_barriers(lowered: Lowered) -> Lowered:
    def visit(node):
        if isinstance(node, SeqStmt):
            return replace(node, stmts=tuple(s for s in node.stmts if not isinstance(s, Barrier)))
        return node

    kernels = (replace(k, body=rewrite(k.body, visit)) for k in lowered.kernels)
    return replace(lowered, kernels=tuple(kernels))


def test_a_missing_barrier_shows():
    broken = without_barriers(lower(window_steps()["cooperative"], CUDA))
    with pytest.raises(CppFailure, match="B depends on the order of threads"):
        run_cpp(broken, [np.arange(1027.0, dtype="f4"), np.zeros(1024, "f4")])


def test_an_index_behind_the_end_shows():
    func = elementwise("int32", "A[vi + 1024]")
    with pytest.raises(CppFailure, match="signal"):
        run(func, *np.zeros((3, 64), "int32"))


def test_an_index_behind_a_shared_array_shows():
    lowered = lower(window_steps()["cooperative"], CUDA)
    (kernel,) = lowered.kernels
    (shared,) = kernel.allocs
    small = replace(shared, shape=(129,))
    changed = rewrite(kernel, lambda n: small if n is shared else n)
    views = tuple((small if flat is shared else flat, whole) for flat, whole in kernel.views)
    changed = replace(changed, views=views)
    with pytest.raises(CppFailure, match="index 129 out of bounds for type 'float \\[129\\]'"):
        run_cpp(replace(lowered, kernels=(changed,)), [np.zeros(1027, "f4"), np.zeros(1024, "f4")])


def test_programs_of_several_tests_say_whose_goes_wrong(monkeypatch: pytest.MonkeyPatch):
    right = lower(window_steps()["cooperative"], CUDA)
    a, other = np.arange(1027.0, dtype="f4"), np.zeros(1024, "f4")
    window = a[:-3] + a[1:-2] + a[2:-1]
    together = Together()
    for name, lowered, wanted in [
        ("right", right, window),
        ("other values", right, other),
        ("no barrier", without_barriers(right), window),
    ]:
        monkeypatch.setenv("PYTEST_CURRENT_TEST", f"{name} (call)")
        together.expect(lowered, [a, other], [a, wanted])
    values, barrier = together.faults()
    assert values.startswith("other values\n") and "Mismatched elements: 1024 / 1024" in values
    assert barrier.startswith("no barrier\nB depends on the order of threads")
    together.expected[1:] = []
    assert not together.faults()
