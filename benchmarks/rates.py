"""Rates of a GPU that no data sheet tells: waits for a value, turns of L1, the start of blocks."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.steps import Results
from workbench.codegen.cuda_warps import CUDA_WARPS, REGISTERS
from workbench.codegen.language import SHORT
from workbench.runtime.events import between_events, graph_sample
from workbench.runtime.nvml import Nvml

_TEXT = r"""
extern "C" __global__ void chase(const int* next, int steps, long long* took) {
  int at = 0;
  for (int k = 0; k < steps; ++k) at = LOAD(next + at);
  long long start = clock64();
  for (int k = 0; k < steps; ++k) at = LOAD(next + at);
  took[0] = clock64() - start;
  took[1] = at;
}
extern "C" __global__ void chase_shared(const int* next, int cells, int steps, long long* took) {
  extern __shared__ int own[];
  for (int k = 0; k < cells; ++k) own[k] = next[k];
  int at = 0;
  long long start = clock64();
  for (int k = 0; k < steps; ++k) at = own[at];
  took[0] = clock64() - start;
  took[1] = at;
}
extern "C" __global__ void load_lines(const float* a, int lane, int turns, int move, float* out) {
  float sum = 0;
  const float* mine = a + threadIdx.x % 32 * lane;
  #pragma unroll 16
  for (int k = 0; k < turns; ++k) sum += __ldca(mine + k % 16 * 32 + k / 16 * move);
  if (sum == -1) out[0] = sum;
}
extern "C" __global__ void store_lines(volatile float* a, int lane, int turns, float* out) {
  volatile float* mine = a + (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 32 * lane
      + threadIdx.x % 32 * lane;
  #pragma unroll 16
  for (int k = 0; k < turns; ++k) *mine = k;
}
extern "C" __global__ void nothing() {}
MULTIPLY
extern "C" __global__ void products(int turns, int chains, long long* took, float* out) {
  unsigned a[8] = {}, b[8] = {};
  CELL sums[4][8] = {};
  __syncthreads();
  long long start = clock64();
  #pragma unroll 1
  for (int k = 0; k < turns; ++k) {
    multiply(sums[0], a, b);
    if (chains > 1) {
      multiply(sums[1], a, b);
      multiply(sums[2], a, b);
      multiply(sums[3], a, b);
    }
  }
  __syncthreads();
  if (!threadIdx.x) took[0] = clock64() - start;
  for (int k = 0; k < 32; ++k) out[threadIdx.x] += sums[k / 8][k % 8];
}
"""
WORD, LINE = 4, 128  # bytes
THREADS = 512


def measure() -> Results:
    """Each rate by its name: clocks, or seconds."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        card = Nvml(cupy.cuda.runtime.deviceGetPCIBusId(0))
        rows: Results = {"clocks": card.clocks(), "waits": _waits(), "nothing": _nothing(stream)}
        rows["loads from L1"] = _turns(stream, "load_lines")
        rows["stores"] = _turns(stream, "store_lines")
        rows["products of tiles"] = {short: _products(short) for short in SHORT.values()}
    return rows


def _module(load: str) -> Any:
    import cupy

    text = _TEXT.replace("LOAD", load)
    return cupy.RawModule(code=_of_products(text, "f32"), options=("-std=c++17",))


def _of_products(text: str, short: str) -> str:
    """`text` with a product of two tiles of 16 x 16 and its sums, of this type."""
    helper = CUDA_WARPS[f"wmma_mma_{short}_row"]
    multiply = helper.format(function="__device__ ", name="multiply")
    cell = REGISTERS["wmma.accumulator", {"f16": "float16", "f32": "float32"}[short]][0]
    return text.replace("MULTIPLY", multiply).replace("CELL", cell)


def _waits() -> dict[str, float]:
    """Clocks from a load to its value, by chains of them through memory that is so large."""
    found = {"shared": _chase_shared()}
    for name, load, size in (
        ("L1", "__ldca", 2**14),
        ("L2", "__ldcg", 2**22),
        ("device", "__ldcg", 2**30),
    ):
        found[name] = _chase(load, size)
    return found


def _ring(cells: int, step: int) -> Any:
    """Where each cell leads: round all lines of `cells`, `step` of them on."""
    import cupy

    lines, width = cells * WORD // LINE, LINE // WORD
    next_cell = np.zeros(cells, "int32")
    at = np.arange(lines)
    next_cell[at * width] = (at + step) % lines * width
    return cupy.asarray(next_cell)


def _chase(load: str, size: int) -> float:
    import cupy

    took = cupy.zeros(2, "int64")
    lines = size // LINE
    steps = min(lines, 2**15)
    step = 1 if size < 2**20 else lines // 2**15 * 2 + 1
    _module(load).get_function("chase")(
        (1,), (1,), (_ring(size // WORD, step), np.int32(steps), took)
    )
    return float(took[0].get()) / steps


def _chase_shared() -> float:
    import cupy

    took, cells, steps = cupy.zeros(2, "int64"), 2**12, 2**12
    chase = _module("__ldca").get_function("chase_shared")
    chase(
        (1,), (1,), (_ring(cells, 1), np.int32(cells), np.int32(steps), took), shared_mem=4 * cells
    )
    return float(took[0].get()) / steps


def _products(short: str) -> dict[str, float]:
    """Clocks of a multiprocessor for a product of tiles, by warps, and one after another in each.

    "1 chain" of products is one that waits for the one before; four may be under way.
    """
    import cupy

    text = _of_products(_TEXT.replace("LOAD", "__ldca"), short)
    module = cupy.RawModule(code=text, options=("-std=c++17",))
    function, took, out = module.get_function("products"), cupy.zeros(1, "int64"), cupy.zeros(1024)
    found, turns = {}, 1024
    for chains in (1, 4):
        for warps in (1, 4, 8, 16):
            for _ in range(2):
                args = (np.int32(turns), np.int32(chains), took, out.view("float32"))
                function((1,), (32 * warps,), args)
            clocks = float(took[0].get()) / (turns * chains * warps)
            found[f"{warps} warps, {chains} chains"] = clocks
    return found


def _turns(stream: Any, name: str) -> dict[str, float]:
    """Clocks of a multiprocessor for a request whose lanes are so many words apart."""
    import cupy

    device = cupy.cuda.Device()
    sms = device.attributes["MultiProcessorCount"]
    clock = device.attributes["ClockRate"] * 1e3
    array, out = cupy.zeros(2**26, "float32"), cupy.zeros(1, "float32")
    function, turns, found = _module("__ldca").get_function(name), 1024, {}
    for lane in (0, 1, 2, 4, 8, 16, 32):
        move = (np.int32(0),) if name == "load_lines" else ()  # which no compiler knows
        last = (np.int32(turns), *move)

        def run(lane: int = lane, last: tuple[Any, ...] = last) -> None:
            function((sms,), (THREADS,), (array, np.int32(lane), *last, out))

        seconds = _median(stream, run, 1)
        found[str(lane)] = seconds * clock / (THREADS // 32 * turns)
    return found


def _nothing(stream: Any) -> dict[str, float]:
    """Seconds of a kernel that does nothing, in a graph of many, by blocks and their threads."""
    function = _module("__ldca").get_function("nothing")
    found = {}
    for threads in (32, 128, 256, 1024):
        for blocks in (1, 132, 1056, 8448, 2**17):

            def run(blocks: int = blocks, threads: int = threads) -> None:
                function((blocks,), (threads,), ())

            found[f"{blocks} x {threads}"] = _median(stream, run, 20)
    return found


def _median(stream: Any, run: Callable[[], None], count: int) -> float:
    between_events(stream, run)
    take = graph_sample(stream, run, count)
    return median(take() for _ in range(5))
