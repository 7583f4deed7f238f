"""Which blocks of a program run when: places, waves, tails, and times that add up."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from workbench import insight, script
from workbench.insight import Residence
from workbench.target import get

GPU = get("nvidia/h200")


def elementwise(length: int, factors: tuple[int | None, ...]) -> wb.Schedule:
    sch = wb.Schedule(
        script.parse(f"""
@T.prim_func
def main(A: T.Buffer(({length},), "float32"), B: T.Buffer(({length},), "float32")):
    for i in range({length}):
        with T.block("B"):
            v = T.axis.spatial({length}, i)
            B[v] = A[v] * T.float32(2)
""")
    )
    *outer, inner = sch.split("i", factors=factors)
    sch.bind(sch.fuse(*outer) if len(outer) > 1 else outer[0], "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return sch


def found(sch: wb.Schedule, timed: bool = True) -> Residence:
    kernels = wb.build(sch, target="nvidia/h200").kernels
    time = insight.modelled(kernels, GPU) if timed else None
    made = insight.residence(kernels, GPU, time=time)
    assert made is not None
    return made


def test_blocks_of_a_product_fill_two_of_ten_places():
    sch = blocking_with_shared(wb.Schedule(matmul(1024)), 8, 8, 8, 8, 8)
    made = found(sch, timed=False)
    assert made.caption.splitlines()[0] == "256 of 1,320 places · tail none · 6% of warps"
    assert (made.room, made.us, made.track.unit, made.track.length) == ((10, 10), None, "waves", 1)
    first = [span for span in made.track.running(0.5) if span.row in (0, 131)]
    assert [(span.number, span.place) for span in first] == [(0, 0), (131, 0), (132, 1)]


@pytest.mark.parametrize("factors", [(None, 256), (None, 1024)])
def test_the_last_block_ends_with_the_modelled_time(factors: tuple[int | None, ...]):
    made = found(elementwise(1 << 20, factors))
    assert made.us is not None
    assert made.track.length == pytest.approx(made.us, rel=1e-4)
    assert made.tail == made.blocks % made.places
    assert len(json.dumps(made.track.plain())) < 1000  # whatever the blocks
    last = [span.number for span in made.track.running(made.track.length * 0.999)]
    assert last == list(range(made.blocks - made.tail, made.blocks))


def test_a_block_whose_conditions_let_nothing_run_gives_its_place_back():
    made = found(elementwise(1000, (8, 4, 64)), timed=False)  # 32 blocks, of which 16 are needed
    assert made.track.told(0.5) == "modelled 0.5 waves: 16 of 32 blocks run, 16 done"


def test_nothing_is_told_where_nobody_knows_how_many_places_there_are():
    kernels = wb.build(elementwise(64, (None, 32)), target="metal").kernels
    assert insight.residence(kernels, get("metal")) is None
