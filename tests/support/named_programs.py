"""Programs whose arrays, loops and functions have given names, however hostile."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferStore,
    Call,
    Cast,
    For,
    PrimFunc,
    Stmt,
    Var,
    as_expr,
    seq,
)


def named_program(names: Sequence[str], func_name: str = "main") -> PrimFunc:
    """``for name in range(2): name[thread] = tanh(name[thread]) + name``, for each of `names`.

    All in one kernel of two threads; every array is a parameter.
    """
    thread = Var("thread")
    buffers = [Buffer(name, (2,)) for name in names]
    body = seq(*(_loop(buffer, thread) for buffer in buffers))
    loop = For(thread, as_expr(0), as_expr(2), "thread_binding", body, "threadIdx.x")
    root = Block("root", (), (), (), loop)
    return PrimFunc(func_name, tuple(buffers), BlockRealize((), TRUE, root))


def _loop(buffer: Buffer, thread: Var) -> Stmt:
    var = Var(buffer.name)
    value = Call("tanh", (buffer[thread],), "float32") + Cast("float32", var)
    return For(var, as_expr(0), as_expr(2), "serial", BufferStore(buffer, value, (thread,)))
