"""The auto-scheduler's names for `wb.tune`, of TVM's tutorials on it: tvm.auto_scheduler."""

from workbench.tvm import tir  # noqa: F401  (te needs it whole, and is needed by it)
from workbench.tvm.auto_scheduler.compute_dag import ComputeDAG
from workbench.tvm.auto_scheduler.cost_model import RandomModel, XGBModel
from workbench.tvm.auto_scheduler.measure import LocalRPCMeasureContext
from workbench.tvm.auto_scheduler.measure_record import RecordToFile
from workbench.tvm.auto_scheduler.search_policy import PreloadMeasuredStates, SketchPolicy
from workbench.tvm.auto_scheduler.search_task import SearchTask, TuningOptions
from workbench.tvm.auto_scheduler.workload_registry import register_workload
from workbench.tvm.not_carried import refusing

__all__ = [
    "ComputeDAG",
    "LocalRPCMeasureContext",
    "PreloadMeasuredStates",
    "RandomModel",
    "RecordToFile",
    "SearchTask",
    "SketchPolicy",
    "TuningOptions",
    "XGBModel",
    "register_workload",
]

__getattr__ = refusing(__name__)
