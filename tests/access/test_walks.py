"""Random steps of any verb on odd programs: what they mean stays, and nothing fails inside.

``benchmarks/walks.py`` takes tens of thousands; here every program is walked once.
"""

from __future__ import annotations

import pytest

from tests.access.corpus import FAMILIES
from tests.support.cases import CASES
from tests.support.random_steps import every_verb
from tests.support.walk import Walk

STEPS = max(CASES // 4, 5)  # tried on each program
pytestmark = pytest.mark.fuzz


@pytest.mark.parametrize("family", FAMILIES)
def test_steps_keep_the_meaning(family: str):
    taken = built = 0
    for name in FAMILIES[family]:
        walk = Walk(family, name, seed=5000)
        walk.go(STEPS)
        built += walk.run_kernel()
        taken += walk.accepted.total()
    assert built > 0 and taken > len(FAMILIES[family])


# What `unannotate` takes off is put there first; tiles for `tensorize` draws random_tensorized.py.
@pytest.mark.parametrize("verb", sorted({*every_verb()} - {"unannotate", "tensorize"}))
def test_each_verb_is_taken_in_several_families(verb: str):
    found: set[str] = set()
    for family, programs in FAMILIES.items():
        if len(found) < 5 and any(takes(verb, family, name) for name in programs):
            found.add(family)
    assert len(found) == 5


def takes(verb: str, family: str, name: str) -> bool:
    """Whether one of two draws of `verb` is taken on that program."""
    walk = Walk(family, name, seed=6000)
    walk.go(2, (verb,))
    return walk.accepted.total() > 0
