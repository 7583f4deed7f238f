"""The solutions of the exercises, which lie beside the package and are not installed with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from runpy import run_path

from workbench.diag import Fail
from workbench.schedule import Schedule

FOLDER = Path(__file__).parents[2] / "solutions"
HOME = "https://github.com/mlc-workbench/workbench/tree/main/solutions"


def solution(key: str) -> Callable[[Schedule], None]:
    """What takes the steps of one answer, of the exercise whose points are kept under `key`.

    Raises Fail where the solutions are not here.
    """
    try:
        names = run_path(str(FOLDER / f"{key.partition(' ')[0]}.py"))
    except FileNotFoundError:
        raise Fail(
            "Can't show the solution: solutions are not installed with the lessons",
            hint=f"ask for a hint, exercise.hint(1), or look at {HOME}",
        ) from None
    take: Callable[[Schedule], None] = names["SOLUTIONS"][key]
    return take
