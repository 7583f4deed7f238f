"""What is proved of sums and meetings, against isl, which decides it exactly."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.access.test_meet import GUARDS, INDEX, Asked
from tests.support.isl import is_injective, load_isl, never_meets
from workbench import arith
from workbench.access.meet import Meets, Never, meet
from workbench.ir import TRUE, Expr, Var

I, J, K = Var("i"), Var("j"), Var("k")


@pytest.fixture(scope="module")
def isl() -> Any:
    """The package; the tests are skipped without it."""
    return load_isl()


SUMS: dict[str, tuple[list[Expr], tuple[int, int, int]]] = {
    "mixed radix": ([I * 12 + J * 3 + K], (10**6, 4, 3)),
    "one too long": ([I * 12 + J * 3 + K], (10**6, 5, 3)),
    "3i + 5j": ([I * 3 + J * 5], (5, 10**6, 1)),
    "3i + 5j, both long": ([I * 3 + J * 5], (6, 4, 1)),
    "6i + 10j + 15k": ([I * 6 + J * 10 + K * 15], (5, 3, 10**6)),
    "6i + 10j + 15k, another long": ([I * 6 + J * 10 + K * 15], (10**6, 3, 2)),
    "row and column of a sum": ([(I * 130 + J) // 128, (I * 130 + J) % 128], (10**5, 130, 1)),
    "rows that overlap": ([(I * 130 + J) // 128, (I * 130 + J) % 128], (10**5, 131, 1)),
    "a hundredfold, and a rest": ([I * 300 + J * 500 + K], (5, 10**6, 100)),
    "backwards": ([99 - I * 4 - J], (10**6, 4, 1)),
    "one tells the other": ([I * 4 + J, J], (10**6, 10**6, 1)),
    "digits of one loop": ([I // 4, I % 4], (10**6, 1, 1)),
}


@pytest.mark.parametrize("name", SUMS)
def test_what_a_sum_tells_is_what_isl_says(name: str, isl: Any) -> None:
    indices, sizes = SUMS[name]
    dom = {v: (0, n - 1) for v, n in zip((I, J, K), sizes, strict=True)}
    exact = is_injective(isl, indices, dom, TRUE)
    assert exact is not None
    assert (arith.is_injective(indices, dom) is True) is exact


OPEN: dict[str, tuple[list[Expr], tuple[int, int, int]]] = {
    # as many sums as loops, none of which tells one by itself: elimination would. In the random
    # tests below, isl proves five more pairs of 120, all of long loops, from two indices at a time.
    "two sums cross": ([I + J, I - J], (10**6, 10**6, 1)),
    "a sum less than it": ([I * 2 + J, I + J], (10**6, 10**6, 1)),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_isl_proves_and_we_leave_open(name: str, isl: Any) -> None:
    """A rule that proves one of these moves it to the table above."""
    indices, sizes = OPEN[name]
    dom = {v: (0, n - 1) for v, n in zip((I, J, K), sizes, strict=True)}
    assert is_injective(isl, indices, dom, TRUE) is True
    assert arith.is_injective(indices, dom) is False


@pytest.mark.parametrize("part", range(3))
def test_random_sums_are_injective_where_isl_says_so(part: int, isl: Any) -> None:
    rng, proved = random.Random(part), 0
    for _ in range(40):
        dom = {v: (0, rng.choice([1, 2, 3, 5, 400]) - 1) for v in (I, J, K)}
        indices = [_sum(rng, rng.choice([0, 0, 2, 6, 128])) for _ in range(rng.choice([1, 1, 2]))]
        where = rng.choice([TRUE, TRUE, I * 3 + J < 7, J < I])
        exact = is_injective(isl, indices, dom, where)
        found = arith.is_injective(indices, dom, where)
        if exact is None:
            continue
        assert found is not True or exact
        assert not isinstance(found, arith.Counterexample) or not exact
        proved += found is True
    assert proved > 3


def _sum(rng: random.Random, cut: int) -> Expr:
    """A sum of the loops, or its quotient or rest."""
    factors = [rng.choice([0, 1, 2, 3, 4, 5, 6, 10, 15, 130]) for _ in range(3)]
    total: Expr = I * factors[0] + J * factors[1] + K * factors[2] + rng.randint(-3, 3)
    return total if not cut else total // cut if rng.random() < 0.5 else total % cut


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(3))
def test_random_pairs_never_meet_where_isl_says_so(part: int, isl: Any) -> None:
    rng, answers = random.Random(f"isl {part}"), list[type]()
    for _ in range(40):
        asked = _drawn(rng)
        own = rng.choice(["i", "ij", "kij"])
        groups: list[str | Expr] = list(rng.choice([(), ("i",), ("i j",), ("i", "j")]))
        groups = [g for g in groups if isinstance(g, str) and set(g.split()) <= set(own)]
        if groups and not rng.randrange(3):
            groups = [asked.vars["i"] % rng.choice([2, 3]), *groups[1:]]
        question = asked.question(own, *groups)
        exact = never_meets(isl, *asked.pair(), question)
        if exact is None:
            continue
        found = meet([asked.pair()], question)
        assert not isinstance(found, Never) or exact
        assert not isinstance(found, Meets) or not exact
        answers.append(type(found))
    assert answers.count(Never) > 5 and answers.count(Meets) > 5


def _drawn(rng: random.Random) -> Asked:
    """Two stores in three loops, some of them long."""
    sizes = {v: rng.choice([1, 2, 4, 7, 500]) for v in "kij"}
    lines = [
        f"{'    ' * depth}for {v} in range({n}):" for depth, (v, n) in enumerate(sizes.items())
    ]
    for value in range(2):
        numbers = {"a": rng.choice([2, 4, 8, 130]), "b": rng.choice([2, 3, 4])}
        first, second, guard = (
            rng.choice(some).format(**numbers) for some in (INDEX, INDEX, GUARDS)
        )
        lines += [" " * 12 + f"if {guard}:"] if guard else []
        lines += [" " * (16 if guard else 12) + f"S[{first}, {second}] = {value}"]
    return Asked("\n".join(lines))
