"""vectorize: do all iterations of a loop with one instruction."""

from __future__ import annotations

from dataclasses import replace

from workbench.check import refuse_conflict
from workbench.ir import For, PrimFunc
from workbench.ir.places import places
from workbench.verbs.nest import refuse_if_bound, refuse_if_extent_varies
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import site_of


def _check(func: PrimFunc, loop: For) -> None:
    site = site_of(func, loop, "vectorize")
    refuse_if_bound(site)
    refuse_if_extent_varies(site)
    refuse_conflict(func, loop, f"Can't {site.task}", "lanes")


@primitive(group="loops", sizes=True, check=_check)
def vectorize(func: PrimFunc, loop: For) -> Edit[None]:
    """Do all iterations of `loop` with one instruction: one load of 4 floats, not 4 loads.

    >>> sch.vectorize("i_1")
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i_0, i_1 in T.grid(4, 4):
            with T.block("B"):
                vi = T.axis.spatial(16, i_0 * 4 + i_1)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    ---
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i_0 in range(4):
            for i_1 in T.vectorized(4):
                with T.block("B"):
                    vi = T.axis.spatial(16, i_0 * 4 + i_1)
                    T.reads(A[vi])
                    T.writes(B[vi])
                    B[vi] = A[vi]
    """
    return Edit(places(func).replace(loop, replace(loop, kind="vectorized")))
