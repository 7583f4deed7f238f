"""The window sum with its cooperative cache, as a program and as a kernel written by hand."""

from __future__ import annotations

from workbench.ir import (
    Barrier,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferStore,
    For,
    IfThenElse,
    Kernel,
    Ramp,
    Var,
    const,
    seq,
)
from workbench.script import T


@T.prim_func
def window(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):
    T.func_attr({"tir.noalias": True})
    A_shared = T.alloc_buffer((1027,), scope="shared")
    for i_0 in T.thread_binding(8, thread="blockIdx.x"):
        for i_1 in T.thread_binding(128, thread="threadIdx.x"):
            for ax0 in range(130):
                with T.block("A_shared"):
                    v0 = T.axis.spatial(1027, i_0 * 128 + ax0)
                    A_shared[v0] = A[v0]
            with T.block("C"):
                vi = T.axis.spatial(1024, i_0 * 128 + i_1)
                B[vi] = A_shared[vi] + A_shared[vi + 1] + A_shared[vi + 2]


def kernel() -> Kernel:
    """A launch that uses what only lowering makes: axes, vectors, a barrier."""
    a, b, s = Buffer("A", (1024,)), Buffer("B", (1024,)), Buffer("S", (512,), scope="shared")
    bx, tx, u = Var("blockIdx_x"), Var("threadIdx_x"), Var("u")
    four = Ramp(tx * 4, 1, 4)
    strided = Ramp(tx, 128, 4)
    load = BufferStore(s, BufferLoad(a, (four,)), (four,))
    body = seq(
        IfThenElse(tx < 100, load),
        Barrier(),
        For(u, const(0, "int32"), const(4, "int32"), "unrolled", BufferStore(s, s[u], (u,))),
        BufferStore(b, BufferLoad(s, (strided,)) * Broadcast(const(2.0, "float32"), 4), (four,)),
    )
    axes = (("blockIdx.x", bx), ("threadIdx.x", tx))
    return Kernel("main_kernel", (a, b), (s,), (), axes, (2, 1, 1), (128, 4, 1), body)
