"""Integer index expressions: simplify, bounds, proofs, affine maps, regions."""

from workbench.arith.canonical import Bounds, SizedEnds, by_sizes
from workbench.arith.evaluate import evaluate
from workbench.arith.injective import Counterexample, is_injective
from workbench.arith.points import POINTS, Table, count_points, points, ranges_of
from workbench.arith.prove import (
    anywhere,
    bounds,
    conjuncts,
    ends_of,
    equal,
    is_index,
    joined,
    last_of,
    linear,
    loop_bounds,
    narrow,
    prove,
    proved,
    reads_memory,
    same,
    up_to,
)
from workbench.arith.region import Box, access_regions, region_of, relax, union_regions
from workbench.arith.simplify import Simplifier, simplify

__all__ = [
    "POINTS",
    "Bounds",
    "Box",
    "Counterexample",
    "SizedEnds",
    "Simplifier",
    "Table",
    "access_regions",
    "anywhere",
    "bounds",
    "by_sizes",
    "conjuncts",
    "count_points",
    "ends_of",
    "equal",
    "evaluate",
    "is_index",
    "is_injective",
    "joined",
    "last_of",
    "linear",
    "loop_bounds",
    "narrow",
    "points",
    "prove",
    "proved",
    "ranges_of",
    "reads_memory",
    "region_of",
    "relax",
    "same",
    "simplify",
    "union_regions",
    "up_to",
]
