"""Compute expressions, and the schedule of stages that older lessons give them: tvm.te."""

from workbench import te as _expressions
from workbench.te import *  # noqa: F403
from workbench.tvm.not_carried import refusing
from workbench.tvm.te import schedule
from workbench.tvm.te.axes import IterVar, thread_axis
from workbench.tvm.te.schedule import Schedule, create_schedule
from workbench.tvm.te.stages import Stage
from workbench.tvm.te.tensor_intrin import TensorIntrin, decl_tensor_intrin

__all__ = [  # noqa: PLE0604
    *_expressions.__all__,
    "IterVar",
    "Schedule",
    "Stage",
    "TensorIntrin",
    "create_schedule",
    "decl_tensor_intrin",
    "schedule",
    "thread_axis",
]

__getattr__ = refusing(__name__)
