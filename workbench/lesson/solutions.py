"""The solutions of the exercises, which lie beside the package and are not installed with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from runpy import run_path
from typing import Any

from workbench.diag import Fail
from workbench.schedule import Schedule

FOLDER = Path(__file__).parents[2] / "solutions"
HOME = "https://github.com/mlc-workbench/workbench/tree/main/solutions"


def solution(key: str) -> Callable[[Schedule], None]:
    """What takes the steps of one answer, of the exercise whose points are kept under `key`.

    Raises Fail where the solutions are not here.
    """
    take: Callable[[Schedule], None] = _solved(key)
    return take


def mends(key: str) -> Mapping[str, tuple[Any, ...]]:
    """One answer to an exercise on broken kernels, as `solution`."""
    found: Mapping[str, tuple[Any, ...]] = _solved(key)
    return found


def refuse_hidden() -> None:
    """Raise Fail where a class is not to be shown solutions: WORKBENCH_CLASS is set, not to 0."""
    given = os.environ.get("WORKBENCH_CLASS", "")
    if given not in ("", "0"):  # who writes "true" means it
        raise Fail(
            f"Can't show the solution: solutions are switched off here (WORKBENCH_CLASS={given})",
            hint="ask for a hint: exercise.hint(1)",
        )


def _solved(key: str) -> Any:
    try:
        names = run_path(str(FOLDER / f"{key.partition(' ')[0]}.py"))
    except FileNotFoundError:
        raise Fail(
            "Can't show the solution: solutions are not installed with the lessons",
            hint=f"ask for a hint, exercise.hint(1), or look at {HOME}",
        ) from None
    return names["SOLUTIONS"][key]
