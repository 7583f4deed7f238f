"""The record of what was tried: tvm.auto_scheduler.measure_record."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.tvm.not_carried import refusing

__all__ = ["RecordToFile"]


@dataclass(frozen=True, slots=True)
class RecordToFile:
    """Write each trial of a search to the file `filename`, as `wb.tune` does: see `record`."""

    filename: str = "auto_scheduler_tuning.json"


__getattr__ = refusing(__name__)
