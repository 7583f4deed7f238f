"""Some cells of what a program means are what `evaluate` says, or there is no answer."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from workbench import emulate, script, target, te
from workbench.emulate import EmulationError
from workbench.ir import PrimFunc
from workbench.lower import lower
from workbench.te import topi


def random(func: PrimFunc) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [np.asarray(rng.random(param.shape), "float32") for param in func.params]


def padded_sum() -> PrimFunc:
    """Two stages, the second a sum over two loops, with a tail that no tile divides."""
    a, w = te.placeholder((7, 9), name="A"), te.placeholder((3, 3), name="W")
    pad = te.compute(
        (9, 11),
        lambda y, x: te.if_then_else(te.all(y >= 1, y < 8, x >= 1, x < 10), a[y - 1, x - 1], 0.0),
        name="P",
    )
    r, s = te.reduce_axis((0, 3), "r"), te.reduce_axis((0, 3), "s")
    out = te.compute(
        (7, 9), lambda y, x: te.sum(pad[y + r, x + s] * w[r, s], axis=[r, s]), name="B"
    )
    return te.create_prim_func([a, w, out])


def two_outputs() -> PrimFunc:
    a = te.placeholder((6, 8), name="A")
    b = te.compute((6, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((8, 6), lambda j, i: b[i, j] + 1.0, name="C")
    return te.create_prim_func([a, b, c])


def softmax() -> PrimFunc:
    a = te.placeholder((5, 6), name="A")
    return te.create_prim_func([a, topi.nn.softmax(a)])


def scalar() -> PrimFunc:
    a, k = te.placeholder((6,), name="A"), te.reduce_axis((0, 6), "k")
    return te.create_prim_func([a, te.compute((), lambda: te.sum(a[k], axis=k), name="B")])


@pytest.mark.parametrize("make", [padded_sum, two_outputs, softmax])
@pytest.mark.parametrize("share", [0, 0.2, 1])
def test_marked_cells_hold_what_evaluate_says_and_the_rest_0(make, share):
    func = make()
    args = random(func)
    given = [np.copy(array) for array in args]
    whole = [np.copy(array) for array in args]
    emulate.evaluate(func, whole)
    rng = np.random.default_rng(0)
    outputs = func.params[1:] if make is not padded_sum else func.params[2:]
    among = {p.name: rng.random(p.shape) < share for p in outputs}
    found = emulate.evaluate_cells(func, args, among)
    assert found is not None
    for param, got, want, before, kept in zip(func.params, found, whole, given, args, strict=True):
        np.testing.assert_array_equal(kept, before)
        if param.name in among:
            want = np.where(among[param.name], want, 0)
            np.testing.assert_array_equal(got, want.astype(got.dtype))
        else:
            assert got is kept


def test_boxes_are_told_as_single_cells_are():
    func, among = padded_sum(), np.zeros((7, 9), bool)
    args = random(func)
    among[:4, 2:5] = among[5:, 7:] = True
    found = emulate.evaluate_cells(func, args, {"B": among})
    emulate.evaluate(func, args)
    assert found is not None
    np.testing.assert_array_equal(found[2], np.where(among, args[2], 0))


HEAD = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
"""
NEST = """
    for i in range({n}):
        with T.block("{name}"):
            vi = T.axis.spatial({n}, i){where}
            {store}
"""
NO_ANSWER = {
    "in place": [("B[vi] = B[vi] + A[vi]", "")],
    "written twice": [("B[vi] = A[vi]", ""), ("B[vi] = A[vi] + T.float32(1)", "")],
    "read ahead of its write": [("B[vi] = A[vi]", ""), ("A[vi] = T.float32(0)", "")],
    "a condition": [("B[vi] = A[vi]", "\n            T.where(i < 5)")],
    "backwards": [("B[7 - vi] = A[vi]", "")],
    "outside": [("B[vi] = A[vi + 1]", "")],
}


@pytest.mark.parametrize("case", NO_ANSWER)
def test_what_does_not_tell_each_cell_has_no_answer(case):
    nests = [
        NEST.format(n=8, name=f"B{k}", store=store, where=where)
        for k, (store, where) in enumerate(NO_ANSWER[case])
    ]
    func = script.parse(HEAD + "".join(nests))
    args = [np.ones(8, "float32"), np.ones(8, "float32")]
    assert emulate.evaluate_cells(func, args, {"B": np.ones(8, bool)}) is None


def test_part_of_a_buffer_is_no_answer_for_all_of_it():
    func = script.parse(HEAD + NEST.format(n=4, name="B", store="B[vi] = A[vi]", where=""))
    args = [np.ones(8, "float32"), np.ones(8, "float32")]
    assert emulate.evaluate_cells(func, args, {}) is None


def test_a_single_cell_is_not_asked_for_in_part():
    assert emulate.evaluate_cells(scalar(), random(scalar()), {}) is None


# --- what blocks of a kernel stored, and odd programs ---------------------------------------------


def row_sums(rows: int = 10, terms: int = 12) -> PrimFunc:
    x, k = te.placeholder((rows, terms), name="X"), te.reduce_axis((0, terms), "k")
    return te.create_prim_func([x, te.compute((rows,), lambda i: te.sum(x[i, k], k), name="C")])


def run_blocks(
    start: PrimFunc, schedule: Callable[[wb.Schedule], object], blocks: list[int] | None
) -> int:
    """How many cells `blocks` of the scheduled program stored: those that `start` says."""
    sch = wb.Schedule(start)
    schedule(sch)
    args = random(start)
    made = [np.copy(array) for array in args]
    kernels = lower(sch.func, target.get("cuda")).kernels
    ran = emulate.run(kernels, made, params=sch.func.params, blocks=blocks)
    found = emulate.evaluate_cells(start, args, ran.written)
    assert found is not None
    for param, got, want in zip(start.params, made, found, strict=True):
        mask = ran.written.get(param.name, np.ones(param.shape, bool))
        np.testing.assert_allclose(got[mask], want[mask], rtol=1e-5)
    return sum(int(mask.sum()) for mask in ran.written.values())


def tiled(sch: wb.Schedule) -> None:
    block, thread = sch.split("i", factors=[None, 4])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")


def with_idle_blocks(sch: wb.Schedule) -> None:
    block, thread = sch.split("i", factors=[5, 4])  # the last two of them store nothing
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")


def split_sum(sch: wb.Schedule) -> None:
    _, inner = sch.split("k", factors=[None, 4])
    parts = sch.rfactor(inner, 1)
    sch.bind(sch.get_loops("C")[0], "blockIdx.x")
    sch.bind(sch.get_loops("C")[1], "threadIdx.x")
    sch.compute_at(parts, sch.get_loops("C")[0])
    sch.bind(sch.get_loops(parts)[1], "threadIdx.x")


@pytest.mark.parametrize(
    "schedule, blocks, stored",
    [(tiled, [2], 2), (tiled, [0, 2, 2], 6), (with_idle_blocks, [3, 4], 0), (split_sum, [0, 7], 2)],
)
def test_what_blocks_stored_is_what_the_program_says(schedule, blocks, stored):
    assert run_blocks(row_sums(), schedule, blocks) == stored


def test_two_kernels_store_two_outputs():
    def schedule(sch: wb.Schedule) -> None:
        sch.bind(sch.get_loops("B")[0], "blockIdx.x")
        sch.bind(sch.get_loops("C")[0], "blockIdx.x")

    assert run_blocks(two_outputs(), schedule, None) == 2 * 48


def test_a_program_that_was_scheduled_says_its_cells_where_each_is_told():
    sch = wb.Schedule(row_sums())
    sch.rfactor(sch.split("k", factors=[None, 4])[1], 1)
    args, among = random(sch.func), {"C": np.arange(10) % 3 == 0}
    found = emulate.evaluate_cells(sch.func, args, among)
    emulate.evaluate(sch.func, args)
    assert found is not None
    np.testing.assert_array_equal(found[1], np.where(among["C"], args[1], 0))
    tail = wb.Schedule(row_sums())
    tail.split("k", factors=[None, 5])
    assert emulate.evaluate_cells(tail.func, args, among) is None


def test_cells_may_be_asked_again_and_of_what_is_only_read():
    func, among = padded_sum(), {"A": np.ones((7, 9), bool), "B": np.eye(7, 9, dtype=bool)}
    args = random(func)
    first, again = (emulate.evaluate_cells(func, args, among) for _ in range(2))
    assert first is not None and again is not None and first[0] is args[0]
    np.testing.assert_array_equal(first[2], again[2])
    nothing = emulate.evaluate_cells(func, args, {"B": np.zeros((7, 9), bool)})
    assert nothing is not None and not nothing[2].any()


@pytest.mark.parametrize(
    "name, mask, said",
    [
        (
            "P",
            np.ones((9, 11), bool),
            "Can't tell cells of P: the program has no parameter of that name.\n"
            "do:    mark cells of A, W, B.",
        ),
        (
            "B",
            np.ones((9, 11), bool),
            "Can't tell cells of B by an array of bool of shape (9, 11).\n"
            "do:    give one of bool of shape (7, 9), True in the cells that are asked for.",
        ),
        (
            "B",
            np.array([[0, 0], [7, 9]]),
            "Can't tell cells of B by an array of int64 of shape (2, 2).\n"
            "do:    give one of bool of shape (7, 9), True in the cells that are asked for.",
        ),
    ],
)
def test_cells_that_are_not_there_are_refused(name, mask, said):
    with pytest.raises(EmulationError) as refused:
        emulate.evaluate_cells(padded_sum(), random(padded_sum()), {name: mask})
    assert str(refused.value) == said


def test_progress_counts_cells_and_may_end_it():
    func, among = two_outputs(), {name: np.ones(48, bool).reshape(-1, 6) for name in "C"}
    among["B"] = among["C"].T | (np.arange(8) < 3)
    args = random(func)
    told: list[tuple[int, int]] = []
    whole = emulate.evaluate_cells(func, args, among, progress=lambda *at: told.append(at))
    assert told == [(48, 96), (96, 96)]

    def interrupt(done: int, of: int) -> None:
        raise KeyboardInterrupt

    before = [np.copy(array) for array in args]
    with pytest.raises(KeyboardInterrupt):
        emulate.evaluate_cells(func, args, among, progress=interrupt)
    stop = threading.Event()
    stop.set()
    assert emulate.evaluate_cells(func, args, among, stop=stop) is None
    again = emulate.evaluate_cells(func, args, among, stop=threading.Event())
    assert whole is not None and again is not None
    for array, kept, first, second in zip(args, before, whole, again, strict=True):
        np.testing.assert_array_equal(array, kept)
        np.testing.assert_array_equal(first, second)


def test_a_sum_under_way_stops():
    class Fifth(threading.Event):
        asked = 0

        def is_set(self) -> bool:
            self.asked += 1
            return self.asked == 5

    func, stop = row_sums(), Fifth()
    assert emulate.evaluate_cells(func, random(func), {"C": np.ones(10, bool)}, stop=stop) is None
    assert stop.asked == 5  # of 24 loads
