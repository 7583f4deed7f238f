"""Stages by the module that TVM keeps them in, and what it does to all of them: tvm.te.schedule."""

from workbench.te import ComputeOp, Operation, ScanOp
from workbench.te.tensor import Reduction
from workbench.tvm.not_carried import refusing
from workbench.tvm.te.stages import Schedule, Stage, create_schedule

__all__ = ["AutoInlineInjective", "Schedule", "Stage", "create_schedule"]


def AutoInlineInjective(sch: Schedule) -> None:
    """Inline every stage that sums nothing up, is no output, and of which nothing was asked yet.

    >>> te.schedule.AutoInlineInjective(s)
    """
    scans = [stage.op for stage in sch.stages if isinstance(stage.op, ScanOp)]
    kept = {*sch.outputs, *(tensor.op for scan in scans for tensor in scan.input_tensors)}
    for stage in sch.stages:
        asked = stage.calls or stage.attached or stage.inlined
        if _injective(stage.op) and stage.op not in kept and not asked:
            stage.compute_inline()


def _injective(op: Operation) -> bool:
    return isinstance(op, ComputeOp) and not any(isinstance(value, Reduction) for value in op.body)


__getattr__ = refusing(__name__)
