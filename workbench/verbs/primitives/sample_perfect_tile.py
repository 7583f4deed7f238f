"""sample_perfect_tile: choose factors that divide how often a loop runs."""

from __future__ import annotations

from workbench.ir import For, PrimFunc
from workbench.verbs.choices import TileDomain
from workbench.verbs.nest import MOST_LOOPS, constant_extent, refuse_if_extent_varies
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import site_of


def _domain(
    func: PrimFunc,
    loop: For,
    n: int,
    max_innermost_factor: int = 16,
    decision: list[int] | None = None,
) -> TileDomain:
    site = site_of(func, loop, "sample_perfect_tile")
    refuse_if_extent_varies(site)
    if not 1 <= n <= MOST_LOOPS:
        raise site.refuse(f"n={n} loops", hint=f"from 1 to {MOST_LOOPS} loops can be nested")
    if max_innermost_factor < 1:
        raise site.refuse(
            f"max_innermost_factor={max_innermost_factor} leaves no factor",
            hint="factors count from 1",
        )
    extent = constant_extent(loop)
    assert extent
    domain = TileDomain(extent, n, max_innermost_factor)
    why = "" if decision is None else domain.wrong(decision)
    if why:
        raise site.refuse(
            why, hint="give factors whose product is how often it runs, or leave decision out"
        )
    return domain


@primitive(group="choices", sizes=True, check=_domain, domain=_domain)
def sample_perfect_tile(
    func: PrimFunc,
    loop: For,
    n: int,
    max_innermost_factor: int = 16,
    decision: list[int] | None = None,
) -> Edit[tuple[int, ...]]:
    """Choose `n` factors, outermost first, whose product is how often `loop` runs; returns them.

    The last is at most `max_innermost_factor`. Without a `decision` the schedule draws one, by its
    seed: each prime's exponents are dealt out so that every way is as likely. The program stays as
    it is: `split` takes the factors.

    >>> sch.sample_perfect_tile("i", n=2, decision=[2, 4])
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
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    """
    assert decision is not None  # the schedule draws it ahead of the step
    return Edit(func, tuple(decision))
