"""How fast the emulator and the pictures are: ``python -m benchmarks.emulator``.

Matrix multiplies of 1024 x 1024 x 1024 run whole with every refusal armed, each in a process of
its own so that its memory is its own; then four blocks, and what a lesson's step shows. Where
numba is installed, its CUDA simulator runs the tiled schedule in small for comparison.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import workbench as wb
from benchmarks.matmuls import matmul, strided
from workbench import emulate, insight, lower, script, target
from workbench.ir import PrimFunc

SIZE = 1024
GPU = target.get("nvidia/h100")
MATMUL = f"""
@T.prim_func
def main(A: T.Buffer(({SIZE}, {SIZE}), "float32"), B: T.Buffer(({SIZE}, {SIZE}), "float32"),
         C: T.Buffer(({SIZE}, {SIZE}), "float32")):
    for i, j, k in T.grid({SIZE}, {SIZE}, {SIZE}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
WINDOW_SUM = """
@T.prim_func
def main(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("C"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""


def schedule(text: str) -> wb.Schedule:
    """A schedule of the program in `text`."""
    return wb.Schedule(script.parse(text))


def naive() -> PrimFunc:
    """One output a thread, summed up in global memory."""
    sch = schedule(MATMUL)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, [None, 16])
    j_0, j_1 = sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1, k)
    _bind(sch, i_0, j_0, i_1, j_1)
    sch.decompose_reduction(block, k)
    return sch.func


def _bind(sch: wb.Schedule, *loops: object) -> None:
    axes = ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    for loop, axis in zip(loops, axes, strict=True):
        sch.bind(loop, axis)


def local() -> PrimFunc:
    """The tutorial's blocking: 8 x 8 outputs a thread, in registers."""
    sch = schedule(MATMUL)
    block, i_0, j_0, i_1, j_1, k_0 = _blocked(sch, 4)
    _bind(sch, i_0, j_0, i_1, j_1)
    sch.decompose_reduction(block, k_0)
    return sch.func


def shared() -> PrimFunc:
    """The tutorial's blocking with tiles of A and B in shared memory, fetched four at a time."""
    sch = schedule(MATMUL)
    block, i_0, j_0, i_1, j_1, k_0 = _blocked(sch, 8)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(sch.fuse(i_1, j_1), "threadIdx.x")
    for which in (0, 1):
        stage = sch.cache_read(block, which, "shared")
        sch.compute_at(stage, k_0)
        fused = sch.fuse(*sch.get_loops(stage)[-2:])
        _, thread, vector = sch.split(fused, [None, 64, 4])
        sch.vectorize(vector)
        sch.bind(thread, "threadIdx.x")
    sch.decompose_reduction(block, k_0)
    return sch.func


def _blocked(sch: wb.Schedule, tile_k: int) -> tuple:
    block = sch.get_block("C")
    write_back = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, [None, 8, 8])
    j_0, j_1, j_2 = sch.split(j, [None, 8, 8])
    k_0, k_1 = sch.split(k, [None, tile_k])
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2)
    sch.reverse_compute_at(write_back, j_1)
    return block, i_0, j_0, i_1, j_1, k_0


def copied_ahead() -> PrimFunc:
    """Tiles that are copied asynchronously, two turns ahead."""
    return strided(wb.Schedule(matmul(SIZE)), copied=2).func


SCHEDULES: dict[str, tuple[Callable[[], PrimFunc], float, int]] = {  # seconds and MiB to reach
    "naive": (naive, 5.0, 1024),
    "local": (local, 5.0, 1024),
    "shared": (shared, 5.0, 1024),
    "copied_ahead": (copied_ahead, 2.0, 256),
}


def whole(name: str, blocks: list[int] | None = None) -> None:
    """Run one schedule and print seconds and the most memory of this process, in MiB."""
    func = SCHEDULES[name][0]()
    kernels = lower.lower(func, GPU).kernels
    rng = np.random.default_rng(0)
    a, b = (rng.random((SIZE, SIZE), dtype=np.float32) for _ in range(2))
    c = np.zeros((SIZE, SIZE), np.float32)
    start = time.perf_counter()
    run = emulate.run(kernels, [a, b, c], params=func.params, blocks=blocks)
    seconds = time.perf_counter() - start
    right = np.allclose(c[run.written["C"]], (a @ b)[run.written["C"]], rtol=1e-4)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{seconds:.2f} {most} {right}")


def pictures() -> float:
    """Milliseconds for all pictures of the window sum at its last step, once they are warm."""
    func = _window()
    kernels = lower.lower(func, GPU).kernels
    taken = []
    for _ in range(9):
        start = time.perf_counter()
        insight.who(func)
        insight.memory(func)
        insight.tiles(func, {"blockIdx.x": 1})
        insight.redundancy(func)
        insight.counts(kernels)
        insight.coalescing(kernels)
        insight.conflicts(kernels)
        taken.append(time.perf_counter() - start)
    return sorted(taken)[4] * 1e3


def meaning() -> float:
    """Milliseconds to run the window sum's last step by its meaning."""
    func = _window()
    a, b = np.ones(1027, np.float32), np.zeros(1024, np.float32)
    taken = []
    for _ in range(9):
        start = time.perf_counter()
        emulate.evaluate(func, [a, b])
        taken.append(time.perf_counter() - start)
    return sorted(taken)[4] * 1e3


def _window() -> PrimFunc:
    sch = schedule(WINDOW_SUM)
    block = sch.get_block("C")
    i_0, i_1 = sch.split("i", [None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    stage = sch.cache_read(block, 0, "shared")
    sch.compute_at(stage, i_1)
    _, thread = sch.split(sch.get_loops(stage)[-1], [None, 128])
    sch.bind(thread, "threadIdx.x")
    return sch.func


def numba_rate() -> float | None:
    """Multiply-adds a second of numba's CUDA simulator; None where numba is not installed."""
    if find_spec("numba") is None:
        return None
    script = Path(__file__).with_name("numba_simulator.py")
    call = [sys.executable, "-W", "ignore", str(script)]
    return float(subprocess.run(call, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    """Print the table; 1 where a number is not reached."""
    rows: list[tuple[str, str, str, bool]] = []
    simulated = numba_rate()
    for name, (_, most_seconds, most_memory) in SCHEDULES.items():
        for blocks in ("all", "4"):
            seconds, most, right = subprocess.run(
                [sys.executable, "-m", "benchmarks.emulator", name, blocks],
                check=True, capture_output=True, text=True,
            ).stdout.split()  # fmt: skip
            reach = most_seconds if blocks == "all" else 0.5
            done = right == "True" and float(seconds) <= reach and int(most) <= most_memory
            what = f"{SIZE}^3 matmul, {name}, {blocks} blocks"
            rows.append(
                (what, f"{seconds} s, {most} MiB", f"at most {reach} s, {most_memory} MiB", done)
            )
            if blocks == "all" and simulated:
                times = SIZE**3 / float(seconds) / simulated
                found = f"{times:,.0f} times"
                rows.append(("  against numba's simulator", found, "at least 300", times >= 300))
    for what, milliseconds, reach in (
        ("all pictures of the window sum", pictures(), 25),
        ("the window sum by its meaning", meaning(), 30),
    ):
        reached = milliseconds <= reach
        rows.append((what, f"{milliseconds:.1f} ms", f"at most {reach} ms", reached))
    for what, found, wanted, done in rows:
        print(f"{what:42} {found:>20}   {wanted:26} {'' if done else 'NOT REACHED'}".rstrip())
    return 0 if all(done for *_, done in rows) else 1


if __name__ == "__main__":
    if len(sys.argv) > 2:
        whole(sys.argv[1], None if sys.argv[2] == "all" else [0, 1, 16, 255])
    else:
        sys.exit(main())
