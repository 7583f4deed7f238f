"""Inlining through maps of indices: reshapes, layouts, turned and spread axes, in both ways."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from tests.support.steps import after, refusal
from workbench import script
from workbench.access import difference, random_data

Axes = list[tuple[str, int]]  # an index, and how many values it has


def split(axes: Axes, rng: random.Random) -> None:
    at = rng.randrange(len(axes))
    e, size = axes[at]
    part = rng.choice([k for k in range(1, size + 1) if size % k == 0 or k == 3])
    axes[at : at + 1] = [(f"({e}) // {part}", -(-size // part)), (f"({e}) % {part}", part)]


def fuse(axes: Axes, rng: random.Random) -> None:
    if len(axes) > 1:
        at = rng.randrange(len(axes) - 1)
        (a, m), (b, n) = axes[at : at + 2]
        axes[at : at + 2] = [(f"({a}) * {n} + ({b})", m * n)]


def turn(axes: Axes, rng: random.Random) -> None:
    at = rng.randrange(len(axes))
    e, size = axes[at]
    axes[at] = f"{size - 1} - ({e})", size


def shift(axes: Axes, rng: random.Random) -> None:
    at = rng.randrange(len(axes))
    e, size = axes[at]
    axes[at] = f"({e}) + 1", size + 2


def spread(axes: Axes, rng: random.Random) -> None:
    at = rng.randrange(len(axes))
    e, size = axes[at]
    if size < 12:
        axes[at] = f"({e}) * 2", size * 2


def shuffle(axes: Axes, rng: random.Random) -> None:
    rng.shuffle(axes)


CHANGES: tuple[Callable[[Axes, random.Random], None], ...] = (
    split, split, fuse, fuse, fuse, turn, shift, spread, shuffle
)  # fmt: skip


def program(rng: random.Random, reading: bool) -> str:
    """A block that reads, or writes, B through a map of its iterators that tells them."""
    sizes = [rng.randint(1, 6) for _ in range(rng.randint(1, 3))]
    names = [f"v{k}" for k in range(len(sizes))]
    axes = list(zip(names, sizes, strict=True))
    for _ in range(rng.randint(1, 5)):
        rng.choice(CHANGES)(axes, rng)
    shape = tuple(size for _, size in axes)
    cells, plain = ", ".join(e for e, _ in axes), ", ".join(f"w{k}" for k in range(len(axes)))
    own = ", ".join(names)
    mapped, whole = (tuple(sizes), own), (shape, plain)
    first, then = (whole, mapped) if reading else (mapped, mapped)
    at = ((plain, f"B[{cells}]") if reading else (cells, f"B[{cells}]"))  # fmt: skip
    return f"""
@T.prim_func
def main(A: T.Buffer({first[0]}, "float32"), C: T.Buffer({tuple(sizes)}, "float32")):
    B = T.alloc_buffer({shape})
    for {nest("i", first[0])}:
        with T.block("B"):
            {first[1]} = T.axis.remap("{"S" * len(first[0])}", [{loops("i", first[0])}])
            B[{at[0]}] = A[{first[1]}] * 2.0
    for {nest("j", then[0])}:
        with T.block("C"):
            {then[1]} = T.axis.remap("{"S" * len(then[0])}", [{loops("j", then[0])}])
            C[{own}] = {at[1]} + 1.0
"""


def loops(name: str, sizes: tuple[int, ...]) -> str:
    return ", ".join(f"{name}{k}" for k in range(len(sizes)))


def nest(name: str, sizes: tuple[int, ...]) -> str:
    return f"{loops(name, sizes)} in T.grid({', '.join(map(str, sizes))})"


@pytest.mark.parametrize(
    ("verb", "block"), [("reverse_compute_inline", "C"), ("compute_inline", "B")]
)
def test_maps_are_turned_round(verb: str, block: str):
    taken = 0
    for seed in seeds(3):
        text = program(random.Random(seed), reading=block == "C")
        sch = wb.Schedule(script.parse(text))
        first = sch.func
        try:
            getattr(sch, verb)(block)
        except wb.ScheduleError:
            continue
        taken += 1
        assert difference(first, sch.func, random_data(first, seed)) == "", text
    assert taken >= 2 * CASES


TEXT = """
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.alloc_buffer((4, 6))
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid({n}, {m}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[{cell}] + 1.0
"""


def test_a_reshape_that_no_axis_survives():
    text = TEXT.format(n=8, m=3, cell="(vi * 3 + vj) // 6, (vi * 3 + vj) % 6")
    assert (
        after(text, lambda sch: sch.reverse_compute_inline("C"))
        == """\
for i, j in T.grid(4, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi, vj])
        T.writes(C[vi * 2 + vj // 3, vj % 3])
        C[vi * 2 + vj // 3, vj % 3] = A[vi, vj] * T.float32(2) + T.float32(1)"""
    )


GAPS = """
@T.prim_func
def main(A: T.Buffer(({total},), "float32"), C: T.Buffer(({sizes}), "float32")):
    B = T.alloc_buffer(({total},))
    for i in range({total}):
        with T.block("B"):
            vi = T.axis.spatial({total}, i)
            B[vi] = A[vi] * 2.0
    for x, y, z in T.grid({sizes}):
        with T.block("C"):
            vx, vy, vz = T.axis.remap("SSS", [x, y, z])
            C[vx, vy, vz] = B[vx * {p} + vy * {q} + vz * {r}] + 1.0
"""


def test_sums_that_leave_cells_out_and_whose_steps_do_not_divide():
    taken = 0
    for seed in seeds(2):
        rng = random.Random(seed)
        sizes = [rng.randint(1, 4) for _ in range(3)]
        steps = [rng.randint(1, 3)]
        for size in reversed(sizes[1:]):
            steps.insert(0, steps[0] * (size - 1) + rng.randint(1, 5))
        if rng.random() < 0.2:
            rng.shuffle(steps)
        total = sum(step * (size - 1) for step, size in zip(steps, sizes, strict=True)) + 1
        p, q, r = steps
        told = ", ".join(map(str, sizes))
        text = GAPS.format(total=total + rng.randint(0, 4), sizes=told, p=p, q=q, r=r)
        sch = wb.Schedule(script.parse(text))
        first = sch.func
        try:
            sch.reverse_compute_inline("C")
        except wb.ScheduleError:
            continue
        taken += 1
        assert difference(first, sch.func, random_data(first, seed)) == "", text
    assert taken > CASES


@pytest.mark.parametrize(
    "cell",
    [
        "vi // 2, vj",  # two iterations read one cell
        "vi, (vi + vj) % 6",  # a row turned by its number is no digit
        "vi * 3 % 4, vj",
        "vi, T.min(vj, 4)",
    ],
)
def test_maps_that_tell_no_iteration(cell: str):
    told = refusal(TEXT.format(n=4, m=6, cell=cell), lambda s: s.reverse_compute_inline("C"))
    assert "from a cell of B one cannot tell which iteration reads it" in told


ONE_ROW = """
@T.prim_func
def f(A: T.Buffer((1, 8), "float32"), D: T.Buffer((1, 8), "float32")):
    B = T.alloc_buffer((1, 8))
    for i, j in T.grid(1, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(1, 8):
        with T.block("D"):
            wi, wj = T.axis.remap("SS", [i, j])
            D[wi, wj] = B[wi, wj] * T.float32(2)
"""


@pytest.mark.parametrize(
    ("verb", "block", "row"),
    [("compute_inline", "B", "wi, wj"), ("reverse_compute_inline", "D", "vi, vj")],
)
def test_an_axis_of_one_value_keeps_its_name(verb: str, block: str, row: str) -> None:
    """As TVM 0.27 prints both; before, the row was `A[0, wj]`."""
    sch = wb.Schedule(script.parse(ONE_ROW))
    before = sch.func
    getattr(sch, verb)(block)
    line = f"D[{row}] = (A[{row}] + T.float32(1)) * T.float32(2)"
    assert line in sch.func.script()
    assert not difference(before, sch.func, random_data(before, seed=0))
