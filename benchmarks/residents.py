"""Where and when a GPU runs blocks, against the timeline.

Each block of 20 kernels stamps the multiprocessor that it is on (``%smid``), that one's clock and
the GPU's timer, at its start and at its end. From these: how many blocks a multiprocessor had at
once at most, how many had started when the first ended, and whether the blocks came in the order of
their numbers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from math import prod
from typing import Any

import workbench as wb
from benchmarks.matmuls import matmul
from workbench import insight, lesson
from workbench.ir import Kernel
from workbench.target import Target, of_device

BEGIN = """
  unsigned long long wb_clock = clock64(), wb_timer;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(wb_timer));
"""
END = """
  __syncthreads();
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    unsigned long long wb_now;
    unsigned int wb_sm;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(wb_now));
    asm volatile("mov.u32 %0, %smid;" : "=r"(wb_sm));
    unsigned int wb_block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    long long *wb_own = wb_stamps + 5 * wb_block;
    wb_own[0] = wb_sm;
    wb_own[1] = wb_clock;
    wb_own[2] = clock64();
    wb_own[3] = wb_timer;
    wb_own[4] = wb_now;
  }
}
"""
KERNELS = 20
SIZES = (512, 1024, 2048)
SHAPES = (  # of a thread's tile, of a block's threads, steps of k
    ((8, 8), (8, 8), 8),
    ((4, 4), (8, 8), 8),
    ((4, 4), (16, 16), 16),
    ((2, 2), (8, 8), 16),
    ((8, 8), (16, 16), 8),
    ((4, 8), (16, 8), 32),
    ((8, 4), (8, 32), 8),
)


def kernels(gpu: Target) -> Iterator[tuple[str, Kernel, str]]:
    """Products of matrices in tiles: names, kernels, CUDA."""
    for size in SIZES:
        for tile, threads, depth in SHAPES:
            sch = wb.Schedule(matmul(size))
            lesson.in_shared(sch, tile, threads, depth)
            built = wb.build(sch, target=gpu.name)
            yield f"{size}: {tile} of {threads}, {depth}", built.kernels[0], built.source


def stamped(source: str) -> str:
    """The CUDA of one kernel that stamps its blocks."""
    opened = re.sub(r"\) \{\n", rf", long long* wb_stamps) {{{BEGIN}", source, count=1)
    return opened[: opened.rindex("}")] + END


def measured(kernel: Kernel, source: str) -> tuple[int, list[list[int]]]:
    """The registers of a thread, and of each block its five stamps, of a second launch."""
    import cupy as cp

    made = cp.RawKernel(stamped(source), kernel.name)
    arrays = [cp.zeros(prod(buffer.shape), dtype=buffer.type) for buffer in kernel.params]
    stamps = cp.zeros((prod(kernel.grid), 5), dtype="int64")
    for _ in range(2):
        made(kernel.grid, kernel.block, (*arrays, stamps))
        cp.cuda.Device().synchronize()
    return made.num_regs, stamps.get().tolist()


def at_once(stamps: list[list[int]]) -> int:
    """The most blocks that one multiprocessor had at a time."""
    most = 0
    for sm in {row[0] for row in stamps}:
        own = [row for row in stamps if row[0] == sm]
        changes = sorted([(row[1], 1) for row in own] + [(row[2], -1) for row in own])
        now = 0
        for _, change in changes:
            now += change
            most = max(most, now)
    return most


def compared(name: str, kernel: Kernel, source: str, gpu: Target) -> dict[str, Any]:
    """What was measured of a kernel, beside what is expected."""
    registers, stamps = measured(kernel, source)
    found = insight.residence([kernel], gpu, registers=[registers])
    assert found is not None
    first_end = min(row[4] for row in stamps)
    order = [row[3] for row in stamps]
    on = {row[0] for row in stamps}
    return {
        "kernel": name,
        "registers": registers,
        "blocks": found.blocks,
        "room": found.room[0],
        "at once": at_once(stamps),
        "most expected": max(
            sum(1 for span in found.track.running(0.5) if span.row == row)
            for row in range(found.track.rows)
        ),
        "placed": found.placed,
        "started before one ended": sum(row[3] < first_end for row in stamps),
        "multiprocessors": [min(found.blocks, found.track.rows), len(on)],
        "out of order": sum(b < a for a, b in itertools.pairwise(order)),
    }


def measure() -> list[dict[str, Any]]:
    """A row a kernel."""
    import cupy as cp

    gpu = of_device(cp.cuda.runtime.getDeviceProperties(0)["name"].decode())
    return [compared(*one, gpu) for one in itertools.islice(kernels(gpu), KERNELS)]
