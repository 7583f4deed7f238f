"""Blocks that are run for each cell that a fused nest makes, tiles that end within a row too."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest

import workbench as wb
from tests.support.cases import seeds
from tests.support.steps import after, refusal
from workbench import script
from workbench.access import difference, random_data
from workbench.arith import loop_bounds
from workbench.arith.evaluate import compiled
from workbench.ir import PrimFunc
from workbench.ir.places import places

BEFORE = """
@T.prim_func
def main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer({shape}, "float32")):
    B = T.alloc_buffer(({n}, {m}))
    for i, j in T.grid({n}, {m}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for {loops} in T.grid{extents}:
        with T.block("C"):
"""
SAME = ("({n}, {m})", "i, j", "({n}, {m})", ["vi, vj = T.axis.remap('SS', [i, j])",
        "C[vi, vj] = B[vi, vj] + 1.0"])  # fmt: skip
TURNED = ("({m}, {n})", "j, i", "({m}, {n})", ["vj, vi = T.axis.remap('SS', [j, i])",
          "C[vj, vi] = B[vi, vj] + 1.0"])  # fmt: skip
FLAT = ("({n} * {m},)", "i, j", "(1, {n} * {m})", ["v = T.axis.spatial({n} * {m}, j)",
        "C[v] = B[v // {m}, v % {m}] + 1.0"])  # fmt: skip
SPREAD = ("({n}, 3, {m})", "i, f, j", "({n}, 3, {m})", [
    "vi, vf, vj = T.axis.remap('SSS', [i, f, j])", "C[vi, vf, vj] = B[vi, vj] + 1.0"])  # fmt: skip
PART = ("({n}, {m} - 1)", "i, j", "({n}, {m} - 1)", ["vi, vj = T.axis.remap('SS', [i, j])",
        "C[vi, vj] = B[vi, vj + 1] + 1.0"])  # fmt: skip
SUM = ("({n}, 2)", "i, j, k", "({n}, 2, {m})", ["vi, vj, vk = T.axis.remap('SSR', [i, j, k])",
       "with T.init():", "    C[vi, vj] = 0.0", "C[vi, vj] = C[vi, vj] + B[vi, vk]"])  # fmt: skip


def text(n: int, m: int, readers: tuple[str, str, str, list[str]]) -> str:
    """A block that makes B, of n rows of m cells, and one that reads it."""
    shape, loops, extents, body = readers
    names = {"shape": shape, "loops": loops, "extents": extents}
    names = {k: v.format(n=n, m=m).replace(f"{n} * {m}", str(n * m)) for k, v in names.items()}
    names = {k: v.replace(f"{m} - 1", str(m - 1)) for k, v in names.items()}
    lines = "\n".join(" " * 12 + line.format(n=n, m=m) for line in body)
    return BEFORE.format(n=n, m=m, **names) + lines.replace(f"{n} * {m},", f"{n * m},") + "\n"


def tiled(sch: wb.Schedule, *factors: int) -> None:
    """Fuse the two loops of B, and split the one."""
    sch.split(sch.fuse(*sch.get_loops("B")), factors=[None, *factors])


def instances(func: PrimFunc, name: str) -> Counter[tuple[int, ...]]:
    """How often each instance of a block is run."""
    where = places(func)
    realize = next(r for r in where.blocks.values() if r.block.name == name)
    loops = where.all_loops_above(realize)
    values, holds = [compiled(v) for v in realize.iter_values], compiled(realize.predicate)
    found: Counter[tuple[int, ...]] = Counter()
    ends = loop_bounds(loops).values()
    for point in product(*(range(low, high + 1) for low, high in ends)):
        env = dict(zip((one.loop_var for one in loops), point, strict=True))
        if holds(env):
            found[tuple(value(env) for value in values)] += 1
    return found


def test_a_tile_that_ends_within_a_row():
    made = after(
        text(5, 10, TURNED),
        lambda sch: tiled(sch, 32),
        lambda sch: sch.reverse_compute_at("C", "i_j_fused_0"),
    )
    assert (
        made
        == """\
B = T.alloc_buffer((5, 10))
for i_j_fused_0 in range(2):
    for i_j_fused_1 in range(32):
        with T.block("B"):
            vi = T.axis.spatial(5, (i_j_fused_0 * 32 + i_j_fused_1) // 10)
            vj = T.axis.spatial(10, (i_j_fused_0 * 32 + i_j_fused_1) % 10)
            T.where(i_j_fused_0 * 32 + i_j_fused_1 < 50)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for ax0 in range(32):
        with T.block("C"):
            vj = T.axis.spatial(10, (i_j_fused_0 * 32 + ax0) % 10)
            vi = T.axis.spatial(5, (i_j_fused_0 * 32 + ax0) // 10)
            T.where(i_j_fused_0 * 32 + ax0 < 50)
            T.reads(B[vi, vj])
            T.writes(C[vj, vi])
            C[vj, vi] = B[vi, vj] + T.float32(1)"""
    )


@pytest.mark.parametrize("seed", seeds())
def test_each_instance_runs_once(seed: int):
    rng = random.Random(seed)
    n, m = rng.randint(2, 9), rng.randint(2, 9)
    readers = rng.choice((SAME, TURNED, FLAT, SPREAD, PART))
    func = script.parse(text(n, m, readers))
    assert isinstance(func, PrimFunc)
    sch = wb.Schedule(func)
    tiled(sch, *(rng.randint(2, 7) for _ in range(rng.randint(1, 2))))
    sch.reverse_compute_at("C", rng.choice(sch.get_loops("B")))
    assert difference(func, sch.func, random_data(func, seed)) == ""
    assert instances(sch.func, "C") == instances(func, "C")


def test_a_large_one_is_proved():
    sch = wb.Schedule(script.parse(text(1000, 77, SAME)))
    tiled(sch, 128)
    sch.reverse_compute_at("C", "i_j_fused_0")
    assert "T.where(i_j_fused_0 * 128 + ax0 < 77000)" in script.show(sch.func)


def test_a_sum_takes_each_term_once():
    func = script.parse(text(5, 6, SUM))
    assert isinstance(func, PrimFunc)
    sch = wb.Schedule(func)
    tiled(sch, 4)
    sch.reverse_compute_at("C", "i_j_fused_0")
    assert difference(func, sch.func, random_data(func, 0)) == ""
    assert instances(sch.func, "C") == instances(func, "C")


WINDOW = ("({n}, {m} - 1)", "i, j", "({n}, {m} - 1)", ["vi, vj = T.axis.remap('SS', [i, j])",
          "C[vi, vj] = B[vi, vj] + B[vi, vj + 1]"])  # fmt: skip
GAPS = text(5, 6, SAME).replace(
    "B[vi, vj] =", "T.where((i * 6 + j) % 3 < 2)\n            B[vi, vj] ="
)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (text(5, 6, WINDOW), "`C` at `i_j_fused_0`: it reads several cells of B at once"),
        (GAPS, "`C` at `i_j_fused_0`: not all that it reads of B is made there"),
    ],
)
def test_neighbours_are_refused(program: str, why: str):
    told = refusal(
        program,
        lambda sch: tiled(sch, 4),
        lambda sch: sch.reverse_compute_at("C", "i_j_fused_0"),
    )
    assert why in told


OVERLAPPING = """\
@T.prim_func
def main(A: T.Buffer((10, 6), "float32"), C: T.Buffer((10, 6), "float32")):
    B = T.alloc_buffer((10, 6))
    for i, j, a in T.grid(4, 2, 8):
        for b in range(2):
            for c in range(3):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 3 + a)
                    vj = T.axis.spatial(6, j * 4 + b * 3 + c)
                    T.where(i * 3 + a < 10 and j * 4 + b * 3 + c < 6 and b * 3 + c < 4)
                    B[vi, vj] = {made}
    for i, j in T.grid(10, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
"""


def test_a_block_runs_again_where_what_it_reads_is_made_again():
    text = OVERLAPPING.format(made="A[vi, vj] * 2.0")
    moved = after(text, lambda sch: sch.reverse_compute_at("C", "b"))
    assert moved.count("< 4)") == 2  # its T.where says of the tile what that of `B` does


def test_it_does_not_where_something_else_is_made_then():
    text = OVERLAPPING.format(made="A[vi, vj] + C[vi, vj]")
    with pytest.raises(wb.ScheduleError):
        after(text, lambda sch: sch.reverse_compute_at("C", "b"))
