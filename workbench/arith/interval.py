"""Intervals of integers, with ends that may be unknown."""

from __future__ import annotations

Interval = tuple[int | None, int | None]
"""Inclusive ends; None where there is none, or none is known."""


def add(a: Interval, b: Interval) -> Interval:
    """The sums of one from `a` and one from `b`."""
    low = None if a[0] is None or b[0] is None else a[0] + b[0]
    high = None if a[1] is None or b[1] is None else a[1] + b[1]
    return low, high


def scale(a: Interval, factor: int) -> Interval:
    """`factor` times each of `a`."""
    low = None if a[0] is None else a[0] * factor
    high = None if a[1] is None else a[1] * factor
    return (low, high) if factor >= 0 else (high, low)


def hull(a: Interval, b: Interval) -> Interval:
    """The smallest interval around both."""
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    high = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return low, high


def meet(a: Interval, b: Interval) -> Interval:
    """What lies in both; either is a true statement about one value."""
    low, high = a
    if low is None or (b[0] is not None and b[0] > low):
        low = b[0]
    if high is None or (b[1] is not None and b[1] < high):
        high = b[1]
    return low, high


def digit_interval(base: Interval, lower: int, upper: int | None) -> Interval:
    """Where ``base % upper // lower`` lies."""
    low, high = base
    if upper is None:
        return None if low is None else low // lower, None if high is None else high // lower
    if low is not None and high is not None and low // upper == high // upper:
        return low % upper // lower, high % upper // lower
    return 0, upper // lower - 1


def either(a: Interval, b: Interval, smaller: bool) -> Interval:
    """Where the smaller, or the larger, of a value in `a` and one in `b` lies."""
    outer, inner = hull(a, b), meet(a, b)
    return (outer[0], inner[1]) if smaller else (inner[0], outer[1])


def products(a: Interval, b: Interval) -> Interval:
    """The products of one from `a` and one from `b`."""
    if None in a or None in b:
        return None, None
    products = [x * y for x in a for y in b]  # type: ignore[operator]
    return min(products), max(products)


def bits(op: str, a: Interval, b: Interval) -> Interval:
    """``a & b``, ``a | b`` or ``a ^ b``, in two's complement.

    As many bits as hold all of both hold the result; a mask that is not negative lets no more
    through than itself, and ``|`` of what is not negative is no less than either.
    """
    below = [side for side in (a, b) if side[0] is not None and side[0] >= 0]
    tops = [high for _, high in below if high is not None]
    if op == "&" and below:
        return 0, min(tops, default=None)
    ends = [end for side in (a, b) for end in side if end is not None]
    if len(ends) < 4:
        return None, None
    reach = 1 << max((end if end >= 0 else ~end).bit_length() for end in ends)
    if len(below) == 2:
        return max(ends[0], ends[2]) if op == "|" else 0, reach - 1
    return -reach, reach - 1


def divided(op: str, a: Interval, b: Interval) -> Interval:
    """``a // b`` or ``a % b`` for a divisor known to be positive."""
    if b[0] is None or b[0] <= 0 or b[1] == 0:  # 1 … 0 is that of a loop of no turns
        return None, None
    if op == "%":
        return 0, None if b[1] is None else b[1] - 1
    if None in a or b[1] is None:
        return None, None
    quotients = [x // y for x in a for y in b]  # type: ignore[operator]
    return min(quotients), max(quotients)
