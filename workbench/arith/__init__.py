"""Integer index expressions: simplify, bounds, proofs, affine maps, regions."""

from workbench.arith.canonical import Bounds
from workbench.arith.evaluate import evaluate
from workbench.arith.injective import Counterexample, is_injective
from workbench.arith.prove import bounds, equal, linear, loop_bounds, narrow, prove
from workbench.arith.region import access_regions, region_of, touched, union_regions
from workbench.arith.simplify import Simplifier, simplify

__all__ = [
    "Bounds",
    "Counterexample",
    "Simplifier",
    "access_regions",
    "bounds",
    "equal",
    "evaluate",
    "is_injective",
    "linear",
    "loop_bounds",
    "narrow",
    "prove",
    "region_of",
    "simplify",
    "touched",
    "union_regions",
]
