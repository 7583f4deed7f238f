"""modelled: how long kernels take on a GPU by what they ask of it, and what takes longest there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from math import fsum

from workbench.diag import Fail
from workbench.insight.demands import UncountedError
from workbench.insight.launched import Launch, Term, launch, rates_of, together, us_text
from workbench.insight.page import Kind, Table
from workbench.insight.warp_requests import products
from workbench.ir import Kernel
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Modelled:
    """The time of kernels that run one after the other, and what it is made of.

    `us` is in microseconds, None where it is not known; then `caption` says why. `terms` are
    sorted, the longest first, whose resource is the `bottleneck`. Resources work side by side, so
    that terms do not add up to `us`. `launches` are those of the kernels, in their order.
    """

    target: str
    us: float | None
    terms: tuple[Term, ...]
    bottleneck: str
    caption: str
    table: Table
    kind: Kind = "modelled"
    launches: tuple[Launch, ...] = field(default=(), repr=False, compare=False)

    def moved(self) -> dict[tuple[str, bool], float]:
        """The µs of the loads (True) and the stores of each buffer: of what carries them longest.

        Registers carry theirs in no time of their own.
        """
        found: dict[tuple[str, bool], float] = {}
        for term in self.terms:
            if term.resource in CARRIERS:
                for buffer, writes, us in term.shares:
                    found[buffer, not writes] = max(found.get((buffer, not writes), 0.0), us)
        return found


CARRIERS = ("L1", "shared", "L2", "device")
"""The resources that data go through."""


class NoTimeError(Exception):
    """There is no modelled time; the text says why."""


def launches_of(
    kernels: Sequence[Kernel], target: Target, registers: Sequence[int | None]
) -> tuple[Launch, ...]:
    """The launch of each kernel. Raises NoTimeError where it has no modelled time."""
    rates = rates_of(target)
    if rates is None:
        raise NoTimeError(f"nobody knows how fast {target.title} is")
    if not target.tensor_flops and any(map(products, kernels)):
        raise NoTimeError(f"nobody knows how fast {target.title} multiplies tiles")
    try:
        return tuple(
            launch(kernel, target, rates, told)
            for kernel, told in zip_longest(kernels, registers[: len(kernels)])
        )
    except UncountedError as error:
        raise NoTimeError(f"data say where {error} is, or there is too much to look at") from None
    except Fail as fail:
        raise NoTimeError(fail.headline.rstrip(".")) from None


def modelled(
    kernels: Sequence[Kernel], target: Target, *, registers: Sequence[int | None] = ()
) -> Modelled:
    """How long `kernels` take on `target`, one of many runs in a row: what fits L2 is there.

    `registers` are those of a thread of each kernel as a compiler tells them, as by
    `Built.registers`; where that is nothing, those recorded with it, else an estimate. There is
    no time where data or sizes say what is touched, or `target` has no data sheet.
    """
    try:
        launches = launches_of(kernels, target, registers)
    except NoTimeError as error:
        return _unknown(target, str(error))
    found = (t for t in _together(one.terms for one in launches) if t.us or t.resource != "tensor")
    terms = sorted(found, key=lambda term: -term.us)
    us = fsum(one.us for one in launches)
    rows = tuple((term.resource, round(term.us, 3), term.words) for term in terms)
    caption = f"{us_text(us)} on {target.title}, modelled: {terms[0].words}."
    return Modelled(
        target.name,
        us,
        tuple(terms),
        terms[0].resource,
        caption,
        Table(("resource", "µs", "why"), rows),
        launches=launches,
    )


def _unknown(target: Target, why: str) -> Modelled:
    columns = ("resource", "µs", "why")
    return Modelled(target.name, None, (), "", f"No modelled time: {why}.", Table(columns, ()))


def _together(runs: Iterable[Sequence[Term]]) -> Iterator[Term]:
    """The terms of launches one after the other: the same resource once, told by the longest."""
    for same in zip(*runs, strict=True):
        longest = max(same, key=lambda term: term.us)
        parts = sorted((p for term in same for p in term.parts), key=lambda part: -part.us)
        shares = together(share for term in same for share in term.shares)
        us = fsum(term.us for term in same)
        yield replace(longest, us=us, parts=tuple(parts), shares=shares)
