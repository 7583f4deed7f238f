"""One kernel for any size: sizes come from the arrays of a call, and are held equal among them."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.support import sized_programs
from workbench import emulate, insight, script
from workbench.diag import Fail
from workbench.ir import PrimFunc
from workbench.runtime.errors import ArgumentError
from workbench.runtime.sized import at_sizes

ADD = """
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = A[vi] + B[vi]
"""
SIZES = (0, 1, 63, 64, 65, 127)


def read(text: str) -> PrimFunc:
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


def tiled(text: str, target: str = "cuda") -> wb.runtime.Built:
    sch = wb.Schedule(read(text))
    outer, inner = sch.split("i", factors=[None, 64])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return wb.build(sch, target)


def test_one_kernel_adds_vectors_of_any_size():
    kernel = tiled(ADD)
    assert repr(kernel) == "<main for cuda: main_kernel<<<((n + 63) // 64, 1, 1), (64, 1, 1)>>>>"
    assert "    int n) {" in kernel.source
    assert "if (i_0 * 64 + i_1 < n) {" in kernel.source
    for n in SIZES:
        a, b = np.arange(n, dtype="float32"), np.full(n, 2, "float32")
        c = np.zeros(n, "float32")
        done = kernel.emulate(a, b, c)
        assert (c == a + b).all()
        assert done.blocks == -(-n // 64)


def test_what_a_call_launches_is_counted():
    """1,000 cells: 16 blocks of 64 threads, of which 1,000 load two numbers each."""
    kernel, arrays = tiled(ADD), [np.zeros(1000, "float32") for _ in "ABC"]
    (launched,) = kernel.launches(*arrays)
    assert launched.grid == (16, 1, 1)
    counts = insight.counts([launched])
    assert (counts.blocks, counts.traffic[0].loads) == (16, 2000)
    with pytest.raises(ArgumentError) as refused:
        kernel.launches(np.zeros(3, "float32"), *arrays[1:])
    assert "`n` is 3 by A.shape[0], and 1000 by B.shape[0]" in str(refused.value)


@pytest.mark.parametrize("target", ["cuda", "metal", "opencl"])
def test_the_size_is_a_parameter_in_every_language(target):
    size = {"metal": "constant int& n [[buffer(3)]]"}.get(target, "int n")
    assert size in tiled(ADD, target).source


def test_c_takes_the_size_too():
    kernel = wb.build(read(ADD), "c")
    assert "int n)" in kernel.source
    for n in SIZES:
        a, c = np.arange(n, dtype="float32"), np.zeros(n, "float32")
        kernel(a, a.copy(), c)
        assert (c == a + a).all()


def test_an_empty_grid_launches_nothing():
    kernel = tiled(ADD)
    empty = [np.zeros(0, "float32") for _ in range(3)]
    assert at_sizes(kernel.func, kernel.kernels, kernel.target, empty).kernels == ()
    full = [np.zeros(65, "float32") for _ in range(3)]
    (launched,) = at_sizes(kernel.func, kernel.kernels, kernel.target, full).kernels
    assert launched.grid == (2, 1, 1)


def test_arrays_that_disagree_are_refused():
    with pytest.raises(ArgumentError) as error:
        tiled(ADD)(*(np.zeros(n, "float32") for n in (4, 5, 4)))
    assert str(error.value) == (
        "Can't call main: `n` is 4 by A.shape[0], and 5 by B.shape[0].\n"
        "asked: main(A: float32[n], B: float32[n], C: float32[n])\n"
        "do:    pass arrays whose sizes agree"
    )


SOLVED = ADD.replace("a, (n,)", "a, (n * 2 + 1,)").replace("b, (n,)", "b, ((n + 3) // 4,)")
SOLVED = SOLVED.replace("c, (n,)", "c, (n,)").replace("B[vi]", "B[vi // 4]")


def test_sizes_are_solved_for_and_what_follows_from_them_is_checked():
    kernel = tiled(SOLVED)
    for n in SIZES:
        a, b = np.arange(2 * n + 1, dtype="float32"), np.arange((n + 3) // 4, dtype="float32")
        c = np.zeros(n, "float32")
        kernel.emulate(a, b, c)
        assert (c == a[:n] + b.repeat(4)[:n]).all()
    with pytest.raises(ArgumentError, match=r"`\(n \+ 3\) // 4` is 2, and 3 by B.shape\[0\]"):
        kernel.emulate(*(np.zeros(n, "float32") for n in (11, 3, 5)))


def test_a_size_that_no_array_tells_is_asked_for():
    text = ADD.replace("(n,)", "((n + 3) // 4,)").replace("range(n)", "range((n + 3) // 4)")
    kernel = tiled(text.replace("spatial(n, i)", "spatial((n + 3) // 4, i)"))
    with pytest.raises(ArgumentError, match="no array tells the size `n`"):
        kernel(*(np.zeros(2, "float32") for _ in range(3)))


def test_what_32_bits_do_not_count_is_refused_at_the_call():
    func = read(ADD.replace("(n,)", "(n, 4)").replace("[vi]", "[vi, 3]"))
    sch = wb.Schedule(func)
    sch.bind(sch.split("i", factors=[None, 64])[0], "blockIdx.x")
    kernel = wb.build(sch)
    shape = (2**29, 4)
    large = np.lib.stride_tricks.as_strided(np.zeros(1, "float32"), shape, (0, 0))
    with pytest.raises(ArgumentError, match="its indices pass 2\\^31, and it counts in 32 bits"):
        kernel(large, large, large)


def test_a_program_runs_by_its_meaning_at_the_sizes_of_its_arrays():
    for n in SIZES[1:]:
        a, c = np.arange(n, dtype="float32"), np.zeros(n, "float32")
        emulate.evaluate(read(ADD), [a, a.copy(), c])
        assert (c == a + a).all()


def test_costs_and_pictures_ask_for_a_size():
    kernel = tiled(ADD)
    for act in (
        lambda: insight.counts(kernel.kernels),
        lambda: insight.occupancy(kernel.kernels[0], kernel.target),
        lambda: insight.issued(kernel.kernels),
        lambda: insight.coalescing(kernel.kernels),
        lambda: insight.conflicts(kernel.kernels),
        lambda: insight.who(kernel.func),
        lambda: insight.memory(kernel.func),
        lambda: insight.tiles(kernel.func),
    ):
        with pytest.raises(Fail) as error:
            act()
        assert error.value.hint == 'give it a size: func.specialize({"n": 1024})'


COPIED = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 33), "float32")
    C = T.match_buffer(c, (n, 33), "float32")
    D = T.alloc_buffer(({rows}, 33))
    for i, j in T.grid({rows}, 33):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj]
    for i, j in T.grid({rows}, 33):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = D[vi, vj]
"""


def test_padded_rows_of_any_number_have_their_cells():
    sch = wb.Schedule(read(COPIED.format(rows="n")))
    sch.storage_align("D", 0, axis=0, factor=32, offset=2)
    kernel = wb.build(sch, "c")
    assert "scratch(sizeof(float) * (size_t)(n * 34))" in kernel.source
    a, c = np.ones((65, 33), "float32"), np.zeros((65, 33), "float32")
    kernel(a, c)
    assert (c == a).all()


def test_an_array_of_less_than_no_cells_takes_none():
    kernel = wb.build(read(COPIED.format(rows="n - 20")), "c")
    a, c = np.ones((1, 33), "float32"), np.zeros((1, 33), "float32")
    kernel(a, c)
    assert not c.any()


def test_an_array_of_one_turn_has_its_size_where_turns_are_shared_out():
    sch = wb.Schedule(sized_programs.read("product and more"))
    sch.reverse_compute_at("C", "r")
    sch.parallel("j")
    sch.split("r", factors=[1, None])
    kernel = wb.build(sch, "c")
    assert "scratch(sizeof(float) * (size_t)(n * m))" in kernel.source
    a, b, c = np.ones((3, 4), "float32"), np.ones((4, 5), "float32"), np.zeros((3, 5), "float32")
    kernel(a, b, c)
    assert (c == a @ b).all()


def test_a_grid_below_0_launches_nothing():
    func = read(COPIED.format(rows="n - 2"))
    sch = wb.Schedule(func)
    for block in "DC":
        for loop, axis in zip(sch.get_loops(block), "xy", strict=True):
            sch.bind(loop, f"blockIdx.{axis}")
    kernel = wb.build(sch)
    for n in (0, 1, 2, 3):
        a, c, other = (np.ones((n, 33), "float32") * k for k in (1, 0, 0))
        assert kernel.emulate(a, c).blocks == 66 * max(0, n - 2)
        emulate.evaluate(func, [a, other])
        assert (c == other).all()
        launched = at_sizes(kernel.func, kernel.kernels, kernel.target, [a, c]).kernels
        assert len(launched) == (2 if n == 3 else 0)


GUARDED = ADD.replace("b, (n,)", "b, (m,)").replace("    n = T", "    m = T.int32()\n    n = T")


def test_what_is_divided_by_a_size_of_0_is_refused():
    text = GUARDED.replace("range(n)", "range(n // m)").replace("(n, i)", "(n // m, i)")
    func = read(text.replace(" + B[vi]", ""))
    sch = wb.Schedule(func)
    sch.bind("i", "blockIdx.x")
    scratch = read(COPIED.format(rows="33 // n"))
    for meaning in (wb.build(scratch, "c"), lambda *given: emulate.evaluate(scratch, given)):
        with pytest.raises(Fail, match=r"with n = 0, it divides by 0"):
            meaning(*(np.zeros((0, 33), "float32") for _ in range(2)))
    arrays = [np.ones(n, "float32") for n in (3, 0, 3)]
    for call in (wb.build(sch).emulate, wb.build(sch), wb.build(func, "c")):
        with pytest.raises(ArgumentError, match=r"with n = 3, m = 0, it divides by 0"):
            call(*arrays)
    with pytest.raises(Fail, match="divide an integer by zero"):
        emulate.evaluate(func, arrays)


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize(
    ("value", "refused"),
    [
        ("A[vi // m]", True),
        ("A[(vi + 1) % m]", True),
        ("T.if_then_else(vi < n, A[vi // m], T.float32(0))", True),
        ("T.if_then_else(m > 0, A[vi // m], T.float32(1))", False),
        ("T.if_then_else(vi < m and vi // m < 1, B[vi], T.float32(1))", False),
        ("T.if_then_else(m > 0, A[T.if_then_else(m > 0, vi // m, 0)], T.float32(1))", False),
    ],
)
def test_an_index_divided_by_a_size_of_0_is_refused_where_it_is_reached(value, refused, target):
    text = GUARDED.replace("A[vi] + B[vi]", value)
    kernel = tiled(text) if target == "cuda" else wb.build(read(text), "c")
    arrays = [np.ones(n, "float32") for n in (3, 0, 3)]
    call = kernel.emulate if target == "cuda" else kernel
    if refused:
        with pytest.raises(ArgumentError, match=r"Can't call main: with n = 3, m = 0, it divides"):
            call(*arrays)
    else:
        call(*arrays)
        assert (arrays[2] == 1).all()
    call(*(np.ones(n, "float32") for n in (0, 0, 0)))


@pytest.mark.parametrize("guard", ["vi < m", "vi + 1 < m"])
def test_an_empty_array_is_not_read_where_a_guard_keeps_it(guard):
    func = read(GUARDED.replace("B[vi]", f"T.if_then_else({guard}, B[vi], T.float32(0))"))
    sch = wb.Schedule(func)
    sch.bind("i", "blockIdx.x")
    a, b, c = (np.ones(n, "float32") for n in (3, 0, 3))
    for run in (wb.build(sch).emulate, lambda *arrays: emulate.evaluate(func, arrays)):
        c[:] = 0
        run(a, b, c)
        assert (c == 1).all()


def test_a_serial_loop_of_less_than_no_turns_inside_a_bound_one_runs_none():
    func = read(COPIED.format(rows="n - 2"))
    sch = wb.Schedule(func)
    for block in "DC":
        i, j = sch.get_loops(block)
        sch.reorder(j, i)
        sch.bind(j, "blockIdx.x")
    a, c = np.ones((1, 33), "float32"), np.zeros((1, 33), "float32")
    assert wb.build(sch).emulate(a, c).blocks == 66
    assert not c.any()


def test_a_length_that_no_size_gives_is_told():
    text = ADD.replace("(n,)", "(2 * n,)").replace("range(n)", "range(2 * n)")
    kernel = tiled(text.replace("spatial(n, i)", "spatial(2 * n, i)"))
    with pytest.raises(ArgumentError, match=r"A.shape\[0\] is 5, which is no `2 \* n`"):
        kernel(*(np.zeros(5, "float32") for _ in range(3)))


def test_a_loop_of_any_number_of_turns_is_offered_to_blocks():
    sch = wb.Schedule(read(ADD))
    with pytest.raises(Fail) as error:
        wb.build(sch)
    assert 'bind one: sch.bind("i", "blockIdx.x")' in str(error.value)
    sch.split("i", factors=[None, 64])
    with pytest.raises(Fail, match=r'bind one: sch.bind\("i_0", "blockIdx.x"\)'):
        wb.build(sch)
