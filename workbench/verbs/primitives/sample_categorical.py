"""sample_categorical: choose one of some numbers."""

from __future__ import annotations

from math import isclose, isfinite

from workbench.diag import Refusal
from workbench.ir import PrimFunc
from workbench.verbs.choices import CategoricalDomain
from workbench.verbs.primitive import Edit, primitive


def _domain(
    func: PrimFunc,
    candidates: list[int],
    probs: list[float],
    decision: int | None = None,
) -> CategoricalDomain:
    if not candidates or len(candidates) != len(probs):
        raise _refusal(
            f"it has {len(candidates)} candidates and {len(probs)} probabilities",
            "give each candidate one",
        )
    if not all(isfinite(p) and p >= 0 for p in probs) or not isclose(sum(probs), 1, abs_tol=1e-3):
        raise _refusal(f"the probabilities {list(probs)} do not add up to 1", "make them so")
    domain = CategoricalDomain(tuple(candidates), tuple(probs))
    why = "" if decision is None else domain.wrong(decision)
    if why:
        raise _refusal(why, "give an index, counted from 0, or leave decision out")
    return domain


def _refusal(why: str, hint: str) -> Refusal:
    return Refusal(f"Can't sample_categorical: {why}"[:119], hint=hint)


@primitive(group="choices", sizes=True, check=_domain, domain=_domain)
def sample_categorical(
    func: PrimFunc,
    candidates: list[int],
    probs: list[float],
    decision: int | None = None,
) -> Edit[int]:
    """Choose one of `candidates`, each as often as its probability in `probs` says; returns it.

    `decision` is its index, counted from 0; without one the schedule draws it, by its seed. The
    program stays as it is.

    >>> sch.sample_categorical([1, 2, 4], probs=[0.25, 0.25, 0.5], decision=2)
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
    return Edit(func, candidates[decision])
