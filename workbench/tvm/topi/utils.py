"""What operators ask of shapes: tvm.topi.utils."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.tvm.not_carried import refusing

__all__ = ["get_const_tuple"]


def get_const_tuple(in_tuple: Iterable[int]) -> tuple[int, ...]:
    """A shape as a tuple of numbers."""
    return tuple(map(int, in_tuple))


__getattr__ = refusing(__name__)
