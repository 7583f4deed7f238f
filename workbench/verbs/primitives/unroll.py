"""unroll: write a loop's iterations out one after the other."""

from __future__ import annotations

from dataclasses import replace

from workbench.ir import For, PrimFunc
from workbench.ir.places import places
from workbench.verbs.nest import refuse_if_bound, refuse_if_extent_varies
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import site_of


def _check(func: PrimFunc, loop: For) -> None:
    site = site_of(func, loop, "unroll")
    refuse_if_bound(site)
    refuse_if_extent_varies(site)


@primitive(group="loops", sizes=True, check=_check)
def unroll(func: PrimFunc, loop: For) -> Edit[None]:
    """Write the iterations of `loop` out one after the other, so that no time goes into counting.

    >>> sch.unroll("i")
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    ---
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in T.unroll(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    """
    return Edit(places(func).replace(loop, replace(loop, kind="unrolled")))
