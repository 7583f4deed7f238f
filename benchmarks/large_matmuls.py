"""The matrix multiply on the GPU: every step, the grid, cuBLAS, TVM's own text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import workbench as wb
from benchmarks import large_jobs
from benchmarks.beside import beside, by_turns, compiled, launched, our_text, tvm_text
from benchmarks.large_jobs import Job
from benchmarks.matmuls import (
    ASYNC,
    LARGE,
    SCHEDULES,
    ahead_large,
    grid,
    large_branches,
    matmul,
    slow,
    strided,
)
from benchmarks.steps import Results
from workbench.codegen.cuda import CUDA
from workbench.codegen.walker import Walker
from workbench.runtime import Built, recorded
from workbench.runtime.events import graph_sample
from workbench.runtime.libraries import torch_graph_sample

NAMES = ("A", "B", "C")
# The rows of a tile at each size, and what of cuBLAS's time is to be reached
SIZES = {1024: (64, 1.0), 2048: (128, 1.12), 4096: (64, 1.08)}
STAGES = (1, 2, 3)  # turns by which an asynchronous copy is ahead
AT_A_TIME = 20  # runs in a graph


def product(n: int = LARGE) -> Job:
    """Matrices of n x n and their product; float64 holds every partial sum of whole numbers."""
    whole, usual = large_jobs.inputs((n, n), (n, n))
    a, b = (array.astype("float64") for array in whole)
    return Job(whole, (a @ b).astype("float32"), usual, flops=2 * n**3)


def run_matmuls(results: Results, runs: list[recorded.Run]) -> list[Results]:
    """Every step of the lessons' histories at the course's size."""
    source = [("matrix multiply of 1024 x 1024", large_branches()), ("lesson 9", ahead_large())]
    return large_jobs.run(source, product(), results, runs)


def run_grid(results: Results, runs: list[recorded.Run]) -> list[Results]:
    """Lesson 4's tile sizes, and the schedules of lesson 8: only the finished ones."""
    source = ((name, wb.Schedule(sch.func)) for name, sch in (*slow(), *grid()))
    return large_jobs.run(source, product(), results, runs)


def beside_tvm() -> list[Results]:
    """The course's two schedules beside TVM's text of the same steps."""
    job = product()
    rows = []
    for name, steps_of, tiles in SCHEDULES:
        ours = wb.build(steps_of(wb.Schedule(matmul(LARGE)), *tiles))
        texts = {"ours": our_text(ours), "TVM's": tvm_text(name)}
        rows.append({"name": name} | beside(texts, NAMES, job))
    return rows


def values_kept() -> list[Results]:
    """The same two, beside the text of what is counted, which loads for each product."""
    job = product()
    rows = []
    for name, steps_of, tiles in SCHEDULES:
        built = wb.build(steps_of(wb.Schedule(matmul(LARGE)), *tiles))
        written = replace(our_text(built), source=Walker(built.kernels[0], CUDA).kernel_text())
        texts = {"kept": our_text(built), "as written": written}
        rows.append({"name": name} | beside(texts, NAMES, job))
    return rows


def beside_cublas() -> list[Results]:
    """The schedule that fetches ahead beside cuBLAS, at three sizes."""
    rows = []
    for n, (tile, enough) in SIZES.items():
        row = {"name": f"strided tiles of {tile} rows, fetched ahead, {n} x {n}"}
        row |= _beside_cublas(n, wb.build(strided(wb.Schedule(matmul(n)), tile, ahead=True)))
        rows.append(row | {"to reach": enough, "reached": row["ours / cuBLAS"] <= enough})
    return rows


def asynchronous(kernels: list[Built]) -> list[Results]:
    """Tiles copied asynchronously, some turns ahead: small ones compared, large beside cuBLAS.

    The small ones are added to `kernels`.
    """
    rng, rows = np.random.default_rng(7), list[Results]()
    for ahead in STAGES:
        small = wb.build(strided(wb.Schedule(matmul(64, 128, 128)), copied=ahead), ASYNC)
        kernels.append(small)
        arrays = [rng.integers(-8, 9, b.shape).astype(b.type) for b in small.func.params]
        on_gpu, emulated = ([array.copy() for array in arrays] for _ in range(2))
        small(*on_gpu)
        small.emulate(*emulated)
        large = wb.build(strided(wb.Schedule(matmul(LARGE)), copied=ahead), ASYNC)
        row = {"turns ahead": ahead, "agrees": bool(np.array_equal(on_gpu[-1], emulated[-1]))}
        rows.append(row | _beside_cublas(LARGE, large))
    return rows


def _beside_cublas(n: int, built: Built) -> Results:
    """Each as a graph of several runs; CuPy lets cuBLAS into none, so that PyTorch asks for it."""
    import cupy
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    job, text = product(n), our_text(built)
    function = compiled(text)
    c = cupy.asarray(job.output())
    launched(function, text, NAMES, [*map(cupy.asarray, job.whole), c])()
    right = bool(np.array_equal(c.get(), job.result))
    work = launched(function, text, NAMES, [*map(cupy.asarray, job.usual), c])
    a, b = (torch.from_numpy(array).cuda() for array in job.usual)
    out = torch.empty_like(a)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        row = by_turns(
            {
                "ours": graph_sample(stream, work, AT_A_TIME),
                "cuBLAS": torch_graph_sample(lambda: torch.mm(a, b, out=out), AT_A_TIME),
            }
        )
    return {"right": right, "registers": function.num_regs} | row
