"""Who touches what, when, and what that means: the terms that define a program's meaning."""

from workbench.access.terms import (
    Data,
    Invalid,
    Terms,
    deciding,
    difference,
    meaning,
    random_data,
    shuffled,
    text,
)

__all__ = [
    "Data",
    "Invalid",
    "Terms",
    "deciding",
    "difference",
    "meaning",
    "random_data",
    "shuffled",
    "text",
]
