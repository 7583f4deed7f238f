"""bind: let threads or blocks of the GPU do the iterations of a loop, all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.diag import Refusal
from workbench.ir import THREAD_AXES, For, PrimFunc
from workbench.schedule.nest import constant_extent
from workbench.ir.places import places
from workbench.schedule.primitive import Edit, primitive


def _check(func: PrimFunc, loop: For, thread_axis: str) -> None:
    name = f"Can't bind `{loop.loop_var.name}` to {thread_axis}"
    if thread_axis not in THREAD_AXES:
        raise Refusal(
            f"{name}: there is no such axis", loop, hint=f"the axes: {', '.join(THREAD_AXES)}"
        )
    if loop.kind == "thread_binding":
        raise Refusal(
            f"{name}: it is bound to {loop.thread} already", loop, hint="undo that bind first"
        )
    if constant_extent(loop) is None:
        raise Refusal(
            f"{name}: the number of its iterations varies",
            loop,
            hint="bind a loop that runs a fixed number of times",
        )


def _choices(func: PrimFunc, loop: For) -> Iterator[dict[str, str]]:
    yield from ({"thread_axis": axis} for axis in THREAD_AXES)


@primitive(group="threads", check=_check, choices=_choices)
def bind(func: PrimFunc, loop: For, thread_axis: str) -> Edit:
    """Turn `loop` from steps in time into threads: iteration t is done by the t-th of `thread_axis`.

    >>> sch.bind("i", "threadIdx.x")
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    """
    bound = replace(loop, kind="thread_binding", thread=thread_axis)
    return Edit(places(func).replace(loop, bound), None)
