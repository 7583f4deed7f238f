"""Lesson 9: what was taken away from each of the three kernels."""

from __future__ import annotations

SOLUTIONS = {
    "three_kernels": {
        "first": ("barrier", 27),
        "second": ("copies", "B_shared", 2),
        "third": ("wait", 18, 0),
    },
    "three_kernels 2": {
        "first": ("wait", 29, 0),
        "second": ("copies", "A_shared", 2),
        "third": ("barrier", 36),
    },
    "three_kernels 3": {
        "first": ("copies", "B_shared", 2),
        "second": ("barrier", 35),
        "third": ("wait", 23, 1),
    },
}
