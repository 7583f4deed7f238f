"""add_unit_loop: put a loop that runs once around a loop or a block."""

from __future__ import annotations

from workbench.ir import Block, For, PrimFunc, Var
from workbench.ir.places import places
from workbench.verbs.nest import serial_nest
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import Site


@primitive(group="loops", sizes=True)
def add_unit_loop(func: PrimFunc, block_or_loop: Block | For) -> Edit[Var]:
    """Put a loop that runs once around a block or a loop, to be bound to a thread axis.

    >>> sch.add_unit_loop("B")
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
        for i, u in T.grid(8, 1):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    """
    site, unit = Site(places(func), block_or_loop, "add_unit_loop"), Var("u")
    site.check_held()
    return Edit(site.places.replace(site.stmt, serial_nest({unit: 1}, site.stmt)), unit)
