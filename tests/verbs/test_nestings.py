"""Tiles in tiles that do not divide: split, moved, copied, fused and split again."""

from __future__ import annotations

import random

import pytest

import workbench as wb
from tests.support.cases import CASES
from workbench import access, script
from workbench.ir import PrimFunc
from workbench.schedule import ScheduleError

STAGE = """    for {loops} in T.grid({turns},):
        with T.block("{name}"):
            {lines}
"""


def stage(name: str, axes: dict[str, int], *body: str) -> str:
    """A block under a loop for each of its iterators, of which `k` counts terms."""
    kinds = {axis: "reduce" if axis == "k" else "spatial" for axis in axes}
    lines = [f"v{axis} = T.axis.{kinds[axis]}({n}, {axis})" for axis, n in axes.items()]
    return STAGE.format(
        loops=", ".join(axes),
        turns=", ".join(map(str, axes.values())),
        name=name,
        lines="\n            ".join((*lines, *body)),
    )


def chain(rng: random.Random) -> PrimFunc:
    """Three stages of one shape, each cell made of the same cell before; a sum now and then."""
    axes = {axis: rng.choice((7, 10, 11, 13)) for axis in rng.choice(("i", "ij"))}
    at = ", ".join(f"v{axis}" for axis in axes)
    shape, terms = f"({', '.join(map(str, axes.values()))},)", rng.choice((5, 6, 9))
    text = f"""
@T.prim_func
def main(A: T.Buffer({shape}, "float32"), W: T.Buffer(({terms},), "float32"),
         D: T.Buffer({shape}, "float32")):
    B = T.alloc_buffer({shape})
    C = T.alloc_buffer({shape})
"""
    if rng.random() < 0.4:
        init = f"with T.init():\n                B[{at}] = T.float32(0)"
        text += stage("B", {**axes, "k": terms}, init, f"B[{at}] = B[{at}] + A[{at}] * W[vk]")
    else:
        text += stage("B", axes, f"B[{at}] = A[{at}] * 2.0")
    text += stage("C", axes, f"C[{at}] = B[{at}] + 1.0")
    text += stage("D", axes, f"D[{at}] = C[{at}] * C[{at}]{rng.choice(('', f' + B[{at}]'))}")
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


def cut(sch: wb.Schedule, rng: random.Random) -> None:
    """Split a loop by a factor that often does not divide, or fuse two."""
    loops = sch.get_loops(rng.choice(sch.get_blocks()))
    if not loops:
        return
    k = rng.randrange(len(loops))
    if rng.random() < 0.25 and k + 1 < len(loops):
        sch.fuse(*loops[k : k + 2])
    else:
        factor = rng.choice((2, 3, 4, 5))
        sch.split(loops[k], factors=rng.choice(([None, factor], [factor, None])))


def move(sch: wb.Schedule, rng: random.Random) -> None:
    """Put a block into a loop of another, or a copy between two."""
    blocks = sch.get_blocks()
    first, last = sorted(rng.sample(range(len(blocks)), 2))
    verb = rng.choice(("compute_at", "reverse_compute_at", "cache_read", "cache_write"))
    if verb.startswith("cache"):
        getattr(sch, verb)(blocks[last], 0, "global")
        return
    block, other = (blocks[k] for k in ((first, last) if verb == "compute_at" else (last, first)))
    getattr(sch, verb)(block, rng.choice(sch.get_loops(other)))


@pytest.mark.fuzz
def test_tiles_in_tiles_that_do_not_divide():
    taken, refused = 0, list[str]()
    for seed in range(CASES // 2):
        rng = random.Random(seed)
        first = chain(rng)
        sch, data = wb.Schedule(first), access.random_data(first, seed=seed)
        for step in (cut, cut, move, cut, move, cut, cut, move, cut, move):
            try:
                step(sch, rng)
                taken += 1
            except ScheduleError as error:
                refused.append(error.headline)
        assert access.difference(first, sch.func, data) == "", f"seed {seed}"
    tails = [one for one in refused if "leave out" in one or "only where its T.where" in one]
    assert not tails, "tails are seen to be all that a block leaves out"
    assert taken > 4 * CASES


FUSED = """
@T.prim_func
def main(A: T.Buffer((13,), "float32"), B: T.Buffer((13,), "float32")):
    for a, b, f in T.grid(2, 2, 8):
        with T.block("B"):
            vi = T.axis.spatial(13, (a * 3 + (b * 2 + f // 4)) * 4 + f % 4)
            T.where({rows} < 4 and b * 2 + f // 4 < {inner} and ({rows}) * 4 + f % 4 < 13)
            B[vi] = A[vi] * T.float32(2)
""".replace("{rows}", "a * 3 + (b * 2 + f // 4)")


def test_a_condition_counts_digits_of_a_fused_loop():
    """Of each four rows in `b` and `f` three are made, of each six in `a` and those four."""
    sch = wb.Schedule(script.parse(FUSED.format(inner=3)))
    sch.cache_write("B", 0, "global")
    assert "for ax0 in range(13):" in script.show(sch.func)


def test_a_row_that_a_condition_leaves_out_is_seen():
    with pytest.raises(ScheduleError, match="it may leave out cells"):
        wb.Schedule(script.parse(FUSED.format(inner=2))).cache_write("B", 0, "global")
