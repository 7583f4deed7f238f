"""Rates of a GPU that no data sheet tells: waits for a value, turns of L1, the start of blocks."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.steps import Results
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
    return rows


def _module(load: str) -> Any:
    import cupy

    return cupy.RawModule(code=_TEXT.replace("LOAD", load), options=("-std=c++17",))


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
