"""parallel: let the cores of a CPU share the iterations of a loop."""

from __future__ import annotations

from dataclasses import replace

from workbench.check import refuse_conflict
from workbench.ir import For, PrimFunc
from workbench.ir.places import places
from workbench.verbs.nest import refuse_if_bound
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import Site


def _check(func: PrimFunc, loop: For) -> None:
    site = Site(places(func), loop, f"run `{loop.loop_var.name}` in parallel")
    refuse_if_bound(site)
    refuse_conflict(func, loop, f"Can't {site.task}", "iterations")


@primitive(group="loops", sizes=True, check=_check)
def parallel(func: PrimFunc, loop: For) -> Edit[None]:
    """Let the cores of a CPU share the iterations of `loop`; on a GPU, use bind.

    >>> sch.parallel("i")
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
        for i in T.parallel(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    """
    return Edit(places(func).replace(loop, replace(loop, kind="parallel")))
