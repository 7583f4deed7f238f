"""Lesson 11: what was taken away from each of the two kernels."""

from __future__ import annotations

SOLUTIONS = {
    "two_kernels": {"first": ("wait", 28, 1), "second": ("barrier", 48)},
    "two_kernels 2": {"first": ("barrier", 29), "second": ("wait", 48, 0)},
    "two_kernels 3": {"first": ("barrier", 62), "second": ("wait", 47, 1)},
}
