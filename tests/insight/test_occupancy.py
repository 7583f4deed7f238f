"""Blocks on a multiprocessor: as NVIDIA's calculator has them, and as counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench import insight, target
from workbench.insight import Limit, Occupancy
from workbench.ir import Buffer, BufferStore, Kernel, Var, const
from workbench.lesson.calls import BUILDERS
from workbench.lesson.programs import product
from workbench.runtime.building import build

CALCULATED = json.loads(Path(__file__).with_name("occupancy.json").read_text())
"""By architecture: registers of a thread, threads and bytes of shared memory of a block, and the
blocks on a multiprocessor by `cuda_occupancy.h` of CUDA 13.0, all memory for shared arrays."""


def kernel(threads: int, shared: int = 0, blocks: int = 10_000) -> Kernel:
    """A kernel of so many `blocks`, each of `threads` threads and `shared` bytes."""
    out, i = Buffer("C", (1024,)), Var("i")
    arrays = (Buffer("S", (shared,), "int8", scope="shared"),) if shared else ()
    body = BufferStore(out, const(0.0, "float32"), (i,))
    axes = (("threadIdx.x", i),)
    return Kernel("main", (out,), arrays, (), axes, (blocks, 1, 1), (threads, 1, 1), body)


def occupancy(of: Kernel, gpu: str = "nvidia/h200", registers: int | None = None) -> Occupancy:
    found = insight.occupancy(of, target.get(gpu), registers)
    assert found is not None
    return found


@pytest.mark.parametrize("arch", CALCULATED)
def test_room_is_what_the_calculator_says(arch: str):
    gpu = next(t for t in target.CATALOGUE.values() if t.arch == arch and t.sm_count)
    for registers, threads, shared, blocks in CALCULATED[arch]:
        room = occupancy(kernel(threads, shared), gpu.name, registers).room
        assert room == (blocks, blocks), (registers, threads, shared)


def test_a_thread_that_keeps_more_than_it_has_registers_has_them_all():
    """By hand: 16 x 16 sums are 256, and the most is 255: of 32 lanes, rounded, 8,192 a warp."""
    start = product(256, 256, 64)
    (built,) = build(BUILDERS["in_shared"](start, (16, 16), (8, 8), 8), "nvidia/h200").kernels
    found = occupancy(built)
    assert found.registers == (255, 255)
    assert next(x for x in found.limits if x.resource == "registers").needed == (16384, 16384)


def test_few_blocks_leave_a_gpu_empty():
    """256 blocks of 2 warps on 132 multiprocessors of 64: 512 of 8448 warps."""
    found = occupancy(kernel(64, blocks=256))
    assert found.fraction == (512 / 8448,) * 2
    assert found.blocks_per_sm == (256 / 132,) * 2
    assert found.limited_by == "blocks of the launch"
    assert found.caption == (
        "One multiprocessor of NVIDIA H200 SXM has room for 4 to 32 blocks of 2 warps, and 6% of "
        "its warps are there; the launch has 256 for 132 multiprocessors."
    )
    assert found.table.rows[-1] == ("blocks of the launch", "1", 256, "1.94")
    assert found.waves == (256 / 132 / 32, 256 / 132 / 4)


def test_each_block_takes_a_kibibyte_more_from_sm_80_on():
    """Three of 75 KiB are 225 of 228 KiB, but with one more each 228; of 76 KiB two go in."""
    known = [occupancy(kernel(32, size << 10), registers=32) for size in (75, 76)]
    assert [found.room[0] for found in known] == [3, 2]
    assert known[0].limits[2] == Limit(
        "bytes of shared memory", (76 << 10,) * 2, 228 << 10, (3, 3), reserved=1 << 10
    )
    assert {found.limited_by for found in known} == {"bytes of shared memory"}
    turing = occupancy(kernel(32, 32 << 10), "nvidia/tesla-t4", 32)
    assert turing.room == (2, 2), "64 KiB, and nothing reserved"


def test_registers_that_nobody_compiled_are_a_range():
    """8 warps: 255 registers a thread are 8192 a warp, 8 warps in all; with 32 all 64 warps."""
    found = occupancy(kernel(256))
    assert (found.registers, found.room) == ((1, 255), (1, 8))
    assert found.fraction == (8 / 64, 1.0) and found.limited_by == ""
    assert found.caption == (
        "One multiprocessor of NVIDIA H200 SXM has room for 1 to 8 blocks of 8 warps, and 12% to "
        "100% of its warps are there; a compiler decides, by registers."
    )
    assert [occupancy(kernel(256), registers=n).room[0] for n in (32, 33, 64, 255)] == [8, 6, 4, 1]
    assert occupancy(kernel(256), registers=33).limited_by == "registers"
    assert occupancy(kernel(256), registers=32).limited_by == "warps"


def test_a_limit_is_named_that_holds_for_all_registers():
    """One block of 200 KiB, whatever its registers are; 1024 threads have at most 64 each."""
    assert occupancy(kernel(64, 200 << 10)).limited_by == "bytes of shared memory"
    assert occupancy(kernel(1024)).registers == (1, 64)


def test_too_many_registers_leave_no_room():
    found = occupancy(kernel(1024), registers=128)
    assert (found.room, found.fraction, found.waves) == ((0, 0), (0.0, 0.0), (0.0, 0.0))
    assert found.limited_by == "registers"


def test_nobody_knows_how_many_multiprocessors_there_are():
    found = occupancy(kernel(256, blocks=1), "cuda", 32)
    assert (found.room, found.fraction, found.waves) == ((4, 4), (1.0, 1.0), (0.0, 0.0))
    assert found.limited_by == "warps"
    assert insight.occupancy(kernel(256), target.get("metal")) is None


@pytest.mark.parametrize(
    "threads, lanes", [(4, (4, 32)), (32, (32, 32)), (33, (33, 64)), (100, (100, 128))]
)
def test_lanes_of_a_block_that_have_no_thread(threads: int, lanes: tuple[int, int]):
    found = occupancy(kernel(threads))
    told = f" {lanes[1] - threads} of {lanes[1]} lanes of a block's warps have no thread."
    assert found.lanes == lanes and (told in found.caption) == (threads % 32 != 0)
