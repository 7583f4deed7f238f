"""What a GPU counts of single requests whose rule nobody tells, by NVIDIA's ``ncu``.

Asynchronous copies, matrices that a warp loads at once, and arrays of a thread in local memory: one
warp makes one request of a pattern, or `TURNS` of them. ``OUT=<folder> python3 -m
benchmarks.requests`` writes OUT/requests.json: a row a launch, its pattern and its counters.
"""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.sanitize import cuda_tool

LANES = 32
TURNS = 4  # of each request
_TEXT = r"""
__constant__ int to[PATTERNS][32] = TO;
__constant__ int from[PATTERNS][32] = FROM;
extern __shared__ __align__(1024) char own[];
__device__ unsigned shared_at(int byte) { return (unsigned)__cvta_generic_to_shared(own) + byte; }

#define COPY(NAME, CACHE, WIDTH) \
extern "C" __global__ void NAME(const char* a, int which, float* out) { \
  for (int k = 0; k < TURNS; ++k) { \
    asm volatile("cp.async." CACHE ".shared.global [%0], [%1], " #WIDTH ";" :: \
        "r"(shared_at(to[which][threadIdx.x] * WIDTH)), \
        "l"(a + from[which][threadIdx.x] * WIDTH + k * 65536)); \
    asm volatile("cp.async.wait_all;" ::: "memory"); \
  } \
  out[threadIdx.x] = own[threadIdx.x]; \
}
COPY(copy_4, "ca", 4)
COPY(copy_8, "ca", 8)
COPY(copy_16, "ca", 16)
COPY(copy_16_beyond_l1, "cg", 16)

#define MATRICES(NAME, TRANS) \
extern "C" __global__ void NAME(const char* a, int which, float* out) { \
  unsigned x, y, z, w, sum = 0; \
  for (int k = 0; k < TURNS; ++k) { \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 {%0, %1, %2, %3}, [%4];" \
        : "=r"(x), "=r"(y), "=r"(z), "=r"(w) \
        : "r"(shared_at(to[which][threadIdx.x] * 16 + k * 1024))); \
    sum += x + y + z + w; \
  } \
  out[threadIdx.x] = sum; \
}
MATRICES(matrices, "")
MATRICES(matrices_trans, ".trans")

extern "C" __global__ void own_array(const int* a, int which, float* out) {
  float mine[64];
  #pragma unroll 1
  for (int k = 0; k < 64; ++k) mine[k] = a[k];
  float sum = 0;
  #pragma unroll 1
  for (int k = 0; k < TURNS; ++k) sum += mine[(to[which][threadIdx.x] + k) & 63];
  out[threadIdx.x] = sum;
}
"""
COPIES = ("copy_4", "copy_8", "copy_16", "copy_16_beyond_l1")
MATRICES = ("matrices", "matrices_trans")
_BY_INSTRUCTIONS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared"
METRICS = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    f"{_BY_INSTRUCTIONS}.sum",
    f"{_BY_INSTRUCTIONS}_op_ld.sum",
    f"{_BY_INSTRUCTIONS}_op_st.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_ldsm.sum",
    "smsp__inst_executed_op_ldgsts.sum",
)
Pattern = tuple[str, list[int], list[int]]


def patterns() -> list[Pattern]:
    """Each by its name: to which unit of shared memory each lane goes, and from which of global."""
    lanes = list(range(LANES))
    rng = random.Random("requests")

    def rows(wide: int, apart: int) -> list[int]:
        return [i % wide + i // wide * apart for i in lanes]

    found = [(f"global moved by {n}", lanes, [i + n for i in lanes]) for n in (0, 1, 2, 3, 4, 7)]
    found += [(f"global {n} apart", lanes, rows(1, n)) for n in (2, 3, 4, 8, 16, 33)]
    found += [(f"shared {n} apart", rows(1, n), lanes) for n in (2, 3, 4, 5, 8, 9, 16, 33)]
    found += [
        (f"shared, {wide} a row, rows {n} apart", rows(wide, n), lanes)
        for wide in (2, 4, 8, 16)
        for n in (wide + 1, wide + 4, 32)
    ]
    found += [(f"rows of {wide}", lanes, rows(wide, 64)) for wide in (2, 4, 8)]
    found += [
        ("shared backwards", lanes[::-1], lanes),
        ("global backwards", lanes, lanes[::-1]),
        ("columns to rows", [i % 4 * 9 + i // 4 for i in lanes], rows(4, 64)),
        ("one cell", lanes, [0] * LANES),
        ("swizzled", [i // 8 * 8 + (i % 8 ^ i // 8) for i in lanes], lanes),
    ]
    return found + [
        (f"random {n}", rng.sample(range(256), LANES), rng.sample(range(512), LANES))
        for n in range(8)
    ]


def launches() -> list[tuple[str, Pattern]]:
    """Every kernel with every pattern that tells something of it; some with a few alone."""
    every = patterns()
    near = [pattern for pattern in every if "global" not in pattern[0]]
    asked = [(name, pattern) for name in COPIES[:3] for pattern in every]
    asked += [(MATRICES[0], pattern) for pattern in near]
    return asked + [
        (name, pattern) for name in (COPIES[3], MATRICES[1], "own_array") for pattern in near[::3]
    ]


def launch() -> None:
    """What ncu looks at: every launch, one after the other."""
    import cupy
    import numpy as np

    every = patterns()
    tables = ([to for _, to, _ in every], [at for _, _, at in every])
    told = [str(table).replace("[", "{").replace("]", "}") for table in tables]
    text = _TEXT.replace("PATTERNS", str(len(every))).replace("TURNS", str(TURNS))
    text = text.replace("= TO;", f"= {told[0]};").replace("= FROM;", f"= {told[1]};")
    module = cupy.RawModule(code=text, options=("-std=c++17",))
    a, out = cupy.zeros(2**20, "int32"), cupy.zeros(LANES, "float32")
    for name, pattern in launches():
        function = module.get_function(name)
        function.max_dynamic_shared_size_bytes = 2**16
        number = np.int32(every.index(pattern))
        function((1,), (LANES,), (a, number, out), shared_mem=2**16)
    cupy.cuda.Device().synchronize()


def counted(log: Path) -> Iterator[dict[str, Any]]:
    """Each launch with its kernel, its pattern and its counters, which ncu writes to `log`."""
    options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    options += ["--kernel-name", f"regex:^({'|'.join((*COPIES, *MATRICES, 'own_array'))})$"]
    child = [sys.executable, "-m", "benchmarks.requests", "launch"]
    asked = ["--log-file", str(log), "--metrics", ",".join(METRICS)]
    done = subprocess.run(
        [cuda_tool("ncu"), *options, *asked, *child], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError("\n".join([*done.stdout.splitlines(), *done.stderr.splitlines()][-20:]))
    for (name, (pattern, to, at)), row in zip(launches(), _rows(log.read_text()), strict=True):
        yield {"kernel": name, "pattern": pattern, "to": to, "from": at, "counted": row}


def _rows(log: str) -> list[dict[str, float]]:
    """All that ncu told of each launch, by the names of METRICS."""
    table = list(csv.reader(line for line in log.splitlines() if line.startswith('"')))
    head, _, *rows = table
    return [
        {n: float(v.replace(",", "")) for n, v in zip(head, row, strict=True) if n in METRICS and v}
        for row in rows
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["launch"]:
        launch()
    else:
        out = Path(os.environ.get("OUT", "."))
        found = list(counted(out / "requests.csv"))
        (out / "requests.json").write_text(json.dumps(found) + "\n")
        print(f"{len(found)} launches counted")
