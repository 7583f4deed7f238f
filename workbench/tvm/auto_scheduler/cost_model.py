"""What candidates are ranked by before they are measured: tvm.auto_scheduler.cost_model."""

from __future__ import annotations

from workbench import tuning
from workbench.tvm.not_carried import refusing

__all__ = ["RandomModel", "XGBModel"]


class RandomModel:
    """Ranks nothing: candidates are drawn."""


class XGBModel:
    """Ranks candidates by the modelled time of their kernels, and by what was measured.

    A search learns from its own record: `update_from_file` reads one, so that a file that is none
    is told of here, and there is nothing else to bring up to date.
    """

    def update_from_file(self, file_name: str, n_lines: int | None = None) -> None:
        """Read a record. Raises RecordError where it is none, OSError where it is not there."""
        tuning.read(file_name)


__getattr__ = refusing(__name__)
