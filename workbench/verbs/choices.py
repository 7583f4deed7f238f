"""What a sampled choice may be: drawn, told right from wrong, repaired, and changed a little.

A decision is plain data and stands in a step; its domain follows from the program and the other
arguments of the step. How tiles are drawn and repaired is TVM's (schedule/primitive/sampling.cc):
each prime's exponents are dealt out to the factors so that every way is as likely, until the
innermost factor is within its limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from random import Random
from typing import TypeAlias

Decision: TypeAlias = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TileDomain:
    """`n` factors whose product is `extent`, the last at most `max_innermost_factor`."""

    extent: int
    n: int
    max_innermost_factor: int

    def draw(self, rng: Random) -> tuple[int, ...]:
        """Factors, outermost first."""
        if self.n == 1:
            return (self.extent,)
        while True:
            factors = [1] * self.n
            for prime, power in _prime_powers(self.extent):
                bars = sorted(rng.sample(range(power + self.n - 1), self.n - 1))
                ends = zip((-1, *bars), (*bars, power + self.n - 1), strict=True)
                for k, (left, right) in enumerate(ends):
                    factors[k] *= prime ** (right - left - 1)
            if factors[-1] <= self.max_innermost_factor:
                return tuple(factors)

    def wrong(self, decision: object) -> str:
        """What is wrong with a decision; "" for one of this domain."""
        given = list(decision) if isinstance(decision, tuple) else decision
        if not isinstance(given, list) or any(type(f) is not int or f < 1 for f in given):
            return f"{given} are no factors"
        if len(given) != self.n:
            return f"{given} has {len(given)} of {self.n} factors"
        if prod(given) != self.extent:
            return f"{given} makes {prod(given)}, and it runs {self.extent} times"
        if self.n > 1 and given[-1] > self.max_innermost_factor:
            return f"{given[-1]} is more than max_innermost_factor={self.max_innermost_factor}"
        return ""

    def repaired(self, decision: object) -> tuple[int, ...]:
        """The nearest of this domain, from the right: a factor that divides the rest stays."""
        given = decision if isinstance(decision, tuple) else ()
        given = tuple(f if type(f) is int and f > 0 else 1 for f in given)[-self.n :]
        given = (1,) * (self.n - len(given)) + given
        rest, factors = self.extent, []
        for k in range(self.n - 1, 0, -1):
            limit = self.max_innermost_factor if k == self.n - 1 else rest
            factors.append(given[k] if rest % given[k] == 0 and given[k] <= limit else 1)
            rest //= factors[-1]
        return (rest, *reversed(factors))

    def neighbour(self, decision: tuple[int, ...], rng: Random) -> tuple[int, ...]:
        """Another one: a divisor moved from one factor to another; the same if there is none."""
        moves = [
            (k, to, prime)
            for k, factor in enumerate(decision)
            for prime, _ in _prime_powers(factor)
            for to in range(self.n)
            if to != k and (to < self.n - 1 or decision[-1] * prime <= self.max_innermost_factor)
        ]
        if not moves:
            return decision
        k, to, prime = rng.choice(moves)
        most = 1
        while decision[k] % prime ** (most + 1) == 0 and (
            to < self.n - 1 or decision[-1] * prime ** (most + 1) <= self.max_innermost_factor
        ):
            most += 1
        moved = prime ** rng.randint(1, most)
        factors = list(decision)
        factors[k] //= moved
        factors[to] *= moved
        return tuple(factors)


@dataclass(frozen=True, slots=True)
class CategoricalDomain:
    """The index of one of `candidates`, drawn as often as `probs` say."""

    candidates: tuple[int, ...]
    probs: tuple[float, ...]

    def draw(self, rng: Random) -> int:
        """An index."""
        return rng.choices(range(len(self.candidates)), self.probs)[0]

    def wrong(self, decision: object) -> str:
        """What is wrong with a decision; "" for one of this domain."""
        if type(decision) is not int or not 0 <= decision < len(self.candidates):
            return f"{decision} is no index of {len(self.candidates)} candidates"
        return ""

    def repaired(self, decision: object) -> int:
        """The nearest of this domain."""
        last = len(self.candidates) - 1
        return min(max(decision, 0), last) if type(decision) is int else 0

    def neighbour(self, decision: int, rng: Random) -> int:
        """Another one that may be drawn; the same if there is none."""
        others = [k for k, p in enumerate(self.probs) if p > 0 and k != decision]
        return rng.choice(others) if others else decision


@dataclass(frozen=True, slots=True)
class LocationDomain:
    """Where a block may be computed: -2 inline, -1 where it is, else the index of a loop."""

    places: tuple[int, ...]

    def draw(self, rng: Random) -> int:
        """A place."""
        return rng.choice(self.places)

    def wrong(self, decision: object) -> str:
        """What is wrong with a decision; "" for one of this domain."""
        if type(decision) is not int or decision not in self.places:
            return f"{decision} is none of its places, {', '.join(map(str, self.places))}"
        return ""

    def repaired(self, decision: object) -> int:
        """The nearest of this domain."""
        given = decision if type(decision) is int else self.places[0]
        return min(self.places, key=lambda place: abs(place - given))

    def neighbour(self, decision: int, rng: Random) -> int:
        """Another one; the same if there is none."""
        others = [place for place in self.places if place != decision]
        return rng.choice(others) if others else decision


Domain: TypeAlias = TileDomain | CategoricalDomain | LocationDomain
Decide: TypeAlias = Callable[[Domain], Decision]
"""Who makes a choice that a step leaves open."""


def drawing(seed: int | None) -> Decide:
    """Decides by a generator of its own; the same `seed`, the same decisions."""
    rng = Random(seed)
    return lambda domain: domain.draw(rng)


@cache
def _prime_powers(number: int) -> tuple[tuple[int, int], ...]:
    """The primes of `number` with their powers."""
    found, prime = [], 2
    while prime * prime <= number:
        power = 0
        while number % prime == 0:
            number, power = number // prime, power + 1
        if power:
            found.append((prime, power))
        prime += 1
    return (*found, (number, 1)) if number > 1 else tuple(found)
