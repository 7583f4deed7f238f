"""What the emulator's runs take: ``python -m benchmarks.memory``.

Each program runs in a process of its own, which says how much memory it held at its most: Python,
NumPy and the arrays included. The promise is ten times the arrays and 200 MB; two sizes of a
vector add have a tighter one.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import workbench as wb
from workbench import emulate, lower, script, target
from workbench.ir import PrimFunc

MIB = 1 << 20
PROMISE = (10, 200_000_000)  # times the arrays, and bytes

EACH = """
@T.prim_func
def main({arrays}):
    for i in range({n}):
        with T.block("C"):
            vi = T.axis.spatial({n}, i)
            {store}
"""
BETWEEN = """
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), C: T.Buffer(({n},), "float32")):
    B = T.alloc_buffer(({n},), "float32")
    for i in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({n}, i)
            B[vi] = A[vi] + A[vi]
    for i in range({n}):
        with T.block("C"):
            vi = T.axis.spatial({n}, i)
            C[vi] = B[{n} - 1 - vi] + A[vi]
"""
TRANSPOSE = """
@T.prim_func
def main(A: T.Buffer(({m}, {n}), "{t}"), C: T.Buffer(({n}, {m}), "{t}")):
    for i, j in T.grid({m}, {n}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj, vi] = A[vi, vj]
"""
ROWS = """
@T.prim_func
def main(A: T.Buffer(({m}, {n}), "float32"), C: T.Buffer(({m},), "float32")):
    for i, j in T.grid({m}, {n}):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vj]
"""


def each(n: int, dtype: str, names: str, store: str, threads: int = 256) -> PrimFunc:
    """One element a thread: `store` into vectors called `names`."""
    arrays = ", ".join(f'{name}: T.Buffer(({n},), "{dtype}")' for name in names)
    return bound(EACH.format(arrays=arrays, n=n, store=store), threads)


def bound(text: str, threads: int = 256) -> PrimFunc:
    """The first loop of every block cut into blocks of `threads` threads."""
    sch = wb.Schedule(script.parse(text))
    for name in ("B", "C") if 'T.block("B")' in text else ("C",):
        outer, inner = sch.split(sch.get_loops(sch.get_block(name))[0], [None, threads])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
    return sch.func


def transpose(m: int, n: int, dtype: str) -> PrimFunc:
    """Tiles of 16 x 16 threads, with guards where they do not divide the matrix."""
    sch = wb.Schedule(script.parse(TRANSPOSE.format(m=m, n=n, t=dtype)))
    i, j = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, [None, 16])
    j_0, j_1 = sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1)
    axes = ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    for loop, axis in zip((i_0, j_0, i_1, j_1), axes, strict=True):
        sch.bind(loop, axis)
    return sch.func


ADD = "C[vi] = A[vi] + B[vi]"
PROGRAMS: dict[str, tuple[Callable[[], PrimFunc], int | None]] = {  # and MiB, where promised
    "add of 2^22 float32": (lambda: each(1 << 22, "float32", "ABC", ADD), 400),
    "add of 2^24 float32": (lambda: each(1 << 24, "float32", "ABC", ADD), 1228),
    "add of 2^24 float32, by its meaning": (lambda: each(1 << 24, "float32", "ABC", ADD), 1228),
    "add of 2^22 float64": (lambda: each(1 << 22, "float64", "ABC", ADD), None),
    "add of 2^24 int8, 32 threads a block": (lambda: each(1 << 24, "int8", "ABC", ADD, 32), None),
    "2^26 bool set": (lambda: each(1 << 26, "bool", "C", "C[vi] = T.bool(True)"), None),
    "2^26 int8 doubled in place": (
        lambda: each(1 << 26, "int8", "C", "C[vi] = C[vi] + C[vi]"),
        None,
    ),
    "two kernels, 2^22 float32 between": (lambda: bound(BETWEEN.format(n=1 << 22)), None),
    "transpose of 4001 x 3999 int8": (lambda: transpose(4001, 3999, "int8"), None),
    "transpose of 4096 x 4096 float32": (lambda: transpose(4096, 4096, "float32"), None),
    "sums of 16384 rows of 1024": (lambda: bound(ROWS.format(m=1 << 14, n=1 << 10)), None),
    "sum of one row of 2^15": (lambda: bound(ROWS.format(m=1, n=1 << 15), 1), None),
}


def run(name: str) -> None:
    """Run one program and print seconds, the MiB of its arrays, and of this process at its most."""
    func = PROGRAMS[name][0]()
    arrays = [np.ones(p.shape, p.dtype) for p in func.params]
    start = time.perf_counter()
    if name.endswith("meaning"):
        emulate.evaluate(func, arrays)
    else:
        kernels = lower.lower(func, target.get("cuda")).kernels
        emulate.run(kernels, arrays, params=func.params)
    seconds = time.perf_counter() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB; bytes on macOS
    most >>= 20 if sys.platform == "darwin" else 10
    print(f"{seconds:.1f} {sum(a.nbytes for a in arrays) / MIB:.1f} {most}")


def main() -> int:
    """Print the table; 1 where a number is not reached."""
    reached = True
    for name, (_, promised) in PROGRAMS.items():
        seconds, arrays, most = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", name],
            check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip
        limit = promised or int(PROMISE[0] * float(arrays) + PROMISE[1] / MIB)
        done = int(most) <= limit
        reached = reached and done
        found = f"{most} MiB, arrays {arrays} MiB, {seconds} s"
        print(f"{name:38} {found:>38}   at most {limit} MiB {'' if done else 'NOT REACHED'}")
    return 0 if reached else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1])
    else:
        sys.exit(main())
