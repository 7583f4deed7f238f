"""pipeline_notes: what `pipeline` leaves on a loop, as a step and as TVM's annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.access.pipelines import ASYNC, COPIES, ORDER, STAGE
from workbench.ir import Data, Entries


def notes(
    stages: Sequence[int],
    order: Sequence[int] | None = None,
    copies: Any = None,
    async_stages: Sequence[int] | None = None,
) -> dict[str, Data]:
    """The notes of a loop whose statements have these stages, as `sch.pipeline` takes them."""
    places = tuple(range(len(stages)) if order is None else order)
    made: dict[str, Data] = {STAGE: tuple(stages), ORDER: places}
    if async_stages:
        made[ASYNC] = tuple(async_stages)
    named = copies if isinstance(copies, Entries) else Entries.of(copies or {})
    return made | ({COPIES: named} if named.pairs else {})
