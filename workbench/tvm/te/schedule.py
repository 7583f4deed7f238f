"""Stages by the module that TVM keeps them in, and what it does to all of them: tvm.te.schedule."""

from workbench.te import Operation
from workbench.te.tensor import Reduction
from workbench.tvm.not_carried import refusing
from workbench.tvm.te.stages import Schedule, Stage, create_schedule

__all__ = ["AutoInlineInjective", "Schedule", "Stage", "create_schedule"]


def AutoInlineInjective(sch: Schedule) -> None:
    """Inline every stage that sums nothing up, is no output, and of which nothing was asked yet.

    >>> te.schedule.AutoInlineInjective(s)
    """
    for stage in sch.stages:
        asked = stage.calls or stage.attached or stage.inlined
        if _injective(stage.op) and stage.op not in sch.outputs and not asked:
            stage.compute_inline()


def _injective(op: Operation) -> bool:
    return bool(op.body) and not any(isinstance(value, Reduction) for value in op.body)


__getattr__ = refusing(__name__)
