"""check_program: everything wrong or wasteful in a program that is to become GPU code."""

from __future__ import annotations

from workbench.check.finding import Finding
from workbench.ir import PrimFunc
from workbench.target import Target


def check_program(func: PrimFunc, target: Target | None = None) -> list[Finding]:
    """What is wrong with `func` as it stands, errors first; with a target, its limits too."""
    return []
