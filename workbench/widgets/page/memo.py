"""Results of pure functions of a program, kept as long as the program is."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from workbench.diag import Fail
from workbench.ir import PrimFunc, remembered

R = TypeVar("R")


def memo(func: PrimFunc, name: Hashable, make: Callable[[], R]) -> R:
    """What `make` returns for `func` under `name`, made once; a refusal is raised again."""
    known: dict[Hashable, Any] = remembered(func).setdefault("lab", {})
    if name not in known:
        try:
            known[name] = make()
        except Fail as fail:
            known[name] = fail
    found = known[name]
    if isinstance(found, Fail):
        raise found.with_traceback(None)
    return found


def is_known(func: PrimFunc, name: Hashable) -> bool:
    """Whether that was made, or refused, already."""
    return name in remembered(func).get("lab", {})
