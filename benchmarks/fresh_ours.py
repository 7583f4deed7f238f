"""From a fresh process to the CUDA text of the window sum, by the workbench."""

import workbench as wb
from workbench import T


@T.prim_func
def main(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")) -> None:
    for i in T.grid(1024):
        with T.block("C"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]


sch = wb.Schedule(main)
block = sch.get_block("C")
(i,) = sch.get_loops(block)
i0, i1 = sch.split(i, [None, 128])
sch.bind(i0, "blockIdx.x")
sch.bind(i1, "threadIdx.x")
shared = sch.cache_read(block, 0, "shared")
sch.compute_at(shared, i1)
_, lane = sch.split(sch.get_loops(shared)[-1], [None, 128])
sch.bind(lane, "threadIdx.x")
print(wb.build(sch, target="cuda").source)
