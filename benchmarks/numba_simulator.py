"""One line: multiply-adds a second of numba's CUDA simulator on the tiled matrix multiply.

Run by benchmarks/emulator.py in a process of its own, since the simulator is chosen at import.
"""

import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import time

import numpy as np
from numba import cuda, float32

SIZE, TILE, OWN = 64, 32, 4  # the shared schedule in small: 4 blocks of 8 x 8 threads, 4 x 4 each


@cuda.jit
def matmul(a, b, c):
    tile_a = cuda.shared.array((TILE, 8), float32)
    tile_b = cuda.shared.array((8, TILE), float32)
    own = cuda.local.array((OWN, OWN), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    for i in range(OWN):
        for j in range(OWN):
            own[i, j] = 0.0
    for k_0 in range(SIZE // 8):
        cuda.syncthreads()
        for i in range(OWN):
            tile_a[y * OWN + i, x] = a[row + y * OWN + i, k_0 * 8 + x]
            tile_b[y, x * OWN + i] = b[k_0 * 8 + y, column + x * OWN + i]
        cuda.syncthreads()
        for k_1 in range(8):
            for i in range(OWN):
                for j in range(OWN):
                    own[i, j] += tile_a[y * OWN + i, k_1] * tile_b[k_1, x * OWN + j]
    for i in range(OWN):
        for j in range(OWN):
            c[row + y * OWN + i, column + x * OWN + j] = own[i, j]


rng = np.random.default_rng(0)
a, b = (rng.random((SIZE, SIZE), dtype=np.float32) for _ in range(2))
c = np.zeros((SIZE, SIZE), np.float32)
start = time.perf_counter()
matmul[(SIZE // TILE, SIZE // TILE), (8, 8)](a, b, c)
seconds = time.perf_counter() - start
assert np.allclose(c, a @ b, rtol=1e-4)
print(SIZE**3 / seconds)
