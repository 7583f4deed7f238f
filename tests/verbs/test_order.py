"""reorder: where it is taken, the result is the same; programs are random, numbers whole."""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest

import workbench as wb
from workbench import emulate, ir, script
from workbench.access import difference, random_data

REDUCTION = """
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid({i}, {j}, {k}):
        with T.block("B"):
            v0 = T.axis.spatial(32, {first})
            v1 = T.axis.spatial(32, {second})
            v2 = T.axis.reduce(32, {third})
            T.where({where})
            with T.init():
                B[v0, v1] = T.float32({init})
            B[v0, v1] = {update}
"""
STAGES = """
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    C = T.alloc_buffer((32, 32))
    for i, j in T.grid({i}, {j}):
        with T.block("C"):
            v0 = T.axis.spatial(32, {first})
            v1 = T.axis.spatial(32, {second})
            C[v0, v1] = A[v0, v1] + T.float32(1)
        with T.block("B"):
            v0 = T.axis.spatial(32, {third})
            v1 = T.axis.spatial(32, {fourth})
            B[v0, v1] = C[v0, v1] * T.float32(2)
"""
FORMS = ["i", "j", "k", "i * {j} + j", "i // 2", "j % 2", "i + j", "i + k", "(i * {j} + j) // 3"]
FORMS += ["j * {k} + k", "0", "{k} - 1 - k", "i * {k} + k"]
UPDATES = [
    "B[v0, v1] + A[v0, v2]",
    "T.max(B[v0, v1], A[v0, v2])",
    "B[v0, v1] * T.float32(2) + A[v0, v2]",
    "A[v2, v1]",
]


def program(seed: int) -> ir.PrimFunc:
    rng = random.Random(seed)
    sizes = {name: rng.choice([1, 2, 3, 4]) for name in "ijk"}
    sure = rng.random() < 0.5  # half of them as programs are, half of them wild
    forms = ["i", "j", "k", "k" if seed % 2 else "j"] if sure else rng.choices(FORMS, k=4)
    names = ("first", "second", "third", "fourth")
    told = {name: form.format(**sizes) for name, form in zip(names, forms, strict=True)}
    if seed % 3 == 0:
        told = {name: form.replace("k", "i") for name, form in told.items()}
        text = STAGES.format(**sizes, **told)
    else:
        where = rng.choice(["True", "True", "i * {j} + j < 5"]).format(**sizes)
        update, init = rng.choice(UPDATES), rng.choice([0, 3])
        text = REDUCTION.format(**sizes, **told, where=where, update=update, init=init)
    func = script.parse(text.replace("            T.where(True)\n", ""))
    assert isinstance(func, ir.PrimFunc)
    return func


def run(func: ir.PrimFunc) -> np.ndarray:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (32, 32)).astype("float32") for _ in range(2))
    emulate.evaluate(func, [a, b])
    return b


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(3))
def test_a_nest_that_may_be_reordered_gives_the_same(part: int) -> None:
    taken = refused = 0
    for seed in range(part * 80, part * 80 + 80):
        func = program(seed)
        try:
            expected = run(func)
        except emulate.EmulationError:
            continue  # it reads what nothing wrote
        sch = wb.Schedule(func)
        block = sch.get_blocks()[-1]
        order = sch.get_loops(block)
        random.Random(seed).shuffle(order)
        try:
            sch.reorder(*order)
        except wb.ScheduleError:
            refused += 1
            continue
        taken += 1
        np.testing.assert_array_equal(run(sch.func), expected, f"seed {seed}\n{script.show(func)}")
    assert taken >= 20 and refused >= 10


@pytest.mark.parametrize(
    ("loops", "first", "second", "moves"),
    [
        ("i, j in T.grid(2, 3)", "i", "j", True),
        ("i, j in T.grid(2, 3)", "1 - i", "j", False),  # what is written first comes last
        ("i, j in T.grid(2, 3)", "i", "2 - j", False),
        ("j, i in T.grid(3, 2)", "i", "j", False),
    ],
)
def test_the_last_one_that_writes_a_cell_stays_the_last(
    loops: str, first: str, second: str, moves: bool
):
    func = script.parse(f"""
@T.prim_func
def main(A: T.Buffer((2, 3), "float32"), C: T.Buffer((2,), "float32")):
    B = T.alloc_buffer((2, 3))
    for x, y in T.grid(2, 3):
        with T.block("B"):
            vx, vy = T.axis.remap("SS", [x, y])
            B[vx, vy] = A[vx, vy] * T.float32(2)
    for {loops}:
        with T.block("C"):
            v = T.axis.spatial(2, {first})
            w = T.axis.spatial(3, {second})
            C[(v + w) % 2] = B[v, w]
""")
    assert isinstance(func, ir.PrimFunc)
    sch = wb.Schedule(func)
    if moves:
        sch.reverse_compute_at("C", "y")
        assert difference(func, sch.func, random_data(func, 0)) == ""
        return
    with pytest.raises(wb.ScheduleError, match="may write one cell, and the last one counts"):
        sch.reverse_compute_at("C", "y")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            """
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[(vi + 1) % 4, (vj + 1) % 4]
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
""",
            "`B` needs cells of C that `C` writes in other iterations",
        ),
        (
            """
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi + 1, vj] = C[vi, vj + 1] * A[vi, vj]
""",
            "`C` reads cells of C that other iterations of it write",
        ),
    ],
)
def test_what_another_turn_overwrites_is_read_as_before(body: str, why: str):
    func = script.parse(f"""
@T.prim_func
def main(A: T.Buffer((4, 4)), B: T.Buffer((4, 4)), C: T.Buffer((5, 5))):
    for i, j in T.grid(4, 4):{body}""")
    with pytest.raises(wb.ScheduleError, match=why):
        wb.Schedule(func).reorder("j", "i")


TILES = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8))):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = {update}
"""
OF_TILES = (
    ("C[vi, vj] + A[vi, vk] * B[vk, vj]", True),
    ("T.max(C[vi, vj], A[vi, vk] - B[vk, vj])", True),
    ("C[vi, vj] * T.float32(2) + A[vi, vk]", False),
)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("update", "commutes"), OF_TILES)
def test_tiles_that_start_their_cells_in_loops(update: str, commutes: bool, seed: int):
    """Of a sum they may come in any order; else it is refused, or the order of a cell's stays."""
    rng = random.Random(seed)
    sch = wb.Schedule(script.parse(TILES.format(update=update)))
    tiles = [sch.split(loop, factors=[None, rng.choice((2, 4))]) for loop in sch.get_loops("C")]
    sch.reorder(*(outer for outer, _ in tiles), *(inner for _, inner in tiles))
    before = sch.func
    block = sch.blockize(tiles[0][1])
    first, second, third = sch.get_loops(block)
    loops = [*sch.split(first, factors=[None, 1]), second, third]
    rng.shuffle(loops)
    if commutes:
        sch.reorder(*loops)
    else:
        with suppress(wb.ScheduleError):
            sch.reorder(*loops)
    data = random_data(before, seed=seed)
    assert difference(before, sch.func, data) == ""


HORNER = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((11,), "int32")):
    for {loops}:
        with T.block("C"):
            v = T.axis.spatial(11, {cell})
            r = T.axis.reduce(8, {term})
            C[v] = C[v]{times} + A[r]
"""


@pytest.mark.parametrize(
    "loops, cell, term, order",
    [
        ("i, k, l in T.grid(4, 2, 4)", "i", "k * 4 + l", ("l", "k")),
        ("i, k in T.grid(4, 8)", "i + k", "k", ("k", "i")),  # a cell's turns lie across
    ],
)
def test_updates_that_do_not_commute_keep_their_order(
    loops: str, cell: str, term: str, order: tuple[str, str]
) -> None:
    text = HORNER.format(loops=loops, cell=cell, term=term, times=" * 2")
    with pytest.raises(wb.ScheduleError, match="the updates of `C` depend on their order"):
        wb.Schedule(script.parse(text)).reorder(*order)
    wb.Schedule(script.parse(text.replace(" * 2", ""))).reorder(*order)


def test_a_sum_that_moves_keeps_the_order_of_updates_that_do_not_commute() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), D: T.Buffer((4,), "int32")):
    C = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, 8):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            r = T.axis.reduce(8, {})
            with T.init():
                C[v] = 0
            C[v] = C[v] * 2 + A[v, r]
    for j in range(4):
        with T.block("D"):
            v = T.axis.spatial(4, j)
            D[v] = C[v]
"""
    wb.Schedule(script.parse(text.format("k"))).compute_at("C", "j")
    with pytest.raises(wb.ScheduleError, match="the updates of `C` depend on their order"):
        wb.Schedule(script.parse(text.format("k % 4 * 2 + k // 4"))).compute_at("C", "j")


TWO_UNITS = """
@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for i, k in T.grid(4, 4):
        with T.block("one"):
            v = T.axis.spatial(16, i * 4 + k)
            B[v] = A[v]
        with T.block("two"):
            v = T.axis.spatial(16, i * 4 + k)
            {}
"""


def test_which_of_two_writes_a_cell_last_stays() -> None:
    wb.Schedule(script.parse(TWO_UNITS.format("C[15 - v] = A[v] + 1"))).reorder("k", "i")
    with pytest.raises(wb.ScheduleError, match="`two` needs cells of B that `one` writes in other"):
        wb.Schedule(script.parse(TWO_UNITS.format("B[15 - v] = A[v] + 1"))).reorder("k", "i")


def test_what_is_added_up_of_sums_under_way_stays() -> None:
    """A sum of partial sums counts the first terms more often than the last ones."""
    text = """
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), D: T.Buffer((4,), "int32")):
    M = T.alloc_buffer((4,), "int32")
    for i, k, l in T.grid(4, 2, 2):
        with T.block("M"):
            v = T.axis.spatial(4, i)
            r = T.axis.reduce(4, k * 2 + l)
            with T.init():
                M[v] = 0
            M[v] = M[v] + A[v, r]
        with T.block("D"):
            v = T.axis.spatial(4, i)
            r = T.axis.reduce(4, k * 2 + l)
            with T.init():
                D[v] = 0
            D[v] = D[v] + M[v]
"""
    with pytest.raises(wb.ScheduleError, match="`D` needs cells of M that `M` writes in other"):
        wb.Schedule(script.parse(text)).reorder("l", "k")
