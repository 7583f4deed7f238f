"""sample_compute_location: choose where a block is computed."""

from __future__ import annotations

from workbench.diag import Refusal
from workbench.ir import Block, PrimFunc, Var
from workbench.verbs.choices import LocationDomain
from workbench.verbs.primitive import REGISTRY, Edit, primitive
from workbench.verbs.scope import common_loops
from workbench.verbs.site import site_of

INLINE, ROOT = -2, -1  # as TVM's traces have them, of which a record of its tuner is made


def _domain(func: PrimFunc, block: Block, decision: int | None = None) -> LocationDomain:
    site = site_of(func, block, "sample_compute_location")
    site.check_held()
    inline = [INLINE] if _possible("compute_inline", func, block) else []
    loops = common_loops(site.places, site.consumers) if site.consumers else []
    there = [k for k, loop in enumerate(loops) if _possible("compute_at", func, block, loop)]
    domain = LocationDomain((*inline, ROOT, *there))
    why = "" if decision is None else domain.wrong(decision)
    if why:
        raise site.refuse(
            why, hint="-2 is inline, -1 where it is, else a loop of its readers, from 0"
        )
    return domain


def _possible(verb: str, func: PrimFunc, *arguments: object) -> bool:
    try:
        REGISTRY[verb].refuse(func, *arguments)
    except Refusal:
        return False
    return True


@primitive(group="choices", sizes=True, check=_domain, domain=_domain)
def sample_compute_location(
    func: PrimFunc, block: Block, decision: int | None = None
) -> Edit[Var | int]:
    """Choose where `block` is computed: returns the loop for `compute_at`, or -1 or -2.

    -2 is for `compute_inline`, -1 leaves it where it is. `decision` is one of these, or which of
    the loops around all its readers, outermost first, counted from 0; without one the schedule
    draws it, by its seed, among those that are possible. The program stays as it is.

    >>> sch.sample_compute_location("B", decision=0)
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                T.reads(B[vi])
                T.writes(C[vi])
                C[vi] = B[vi] + T.float32(1)
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                T.reads(B[vi])
                T.writes(C[vi])
                C[vi] = B[vi] + T.float32(1)
    """
    assert decision is not None  # the schedule draws it ahead of the step
    if decision < 0:
        return Edit(func, decision)
    site = site_of(func, block, "sample_compute_location")
    return Edit(func, common_loops(site.places, site.consumers)[decision].loop_var)
