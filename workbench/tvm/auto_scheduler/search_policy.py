"""How candidates are chosen: tvm.auto_scheduler.search_policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tvm.auto_scheduler.cost_model import RandomModel, XGBModel
from workbench.tvm.not_carried import refusing

__all__ = ["PreloadMeasuredStates", "SketchPolicy"]


@dataclass(frozen=True, slots=True)
class PreloadMeasuredStates:
    """Go on with the search of the record `filename`: what it has tried is not tried again."""

    filename: str = "auto_scheduler_tuning.json"


class SketchPolicy:
    """The search of `wb.tune` in the ready space: by chance with a RandomModel, else evolved."""

    def __init__(
        self,
        task: object,
        program_cost_model: XGBModel | RandomModel | None = None,
        *,
        seed: int | None = None,
        init_search_callbacks: Sequence[PreloadMeasuredStates] = (),
    ) -> None:
        self.task = task  # which it is given to, too
        self.model = program_cost_model or XGBModel()
        self.seed = seed or 0
        self.preloaded = [one.filename for one in init_search_callbacks]


__getattr__ = refusing(__name__)
