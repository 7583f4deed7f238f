"""TVM's names for the search: tvm.meta_schedule, in the course's spelling and in that of 0.10."""

from workbench.tvm.meta_schedule import space_generator, tir_integration
from workbench.tvm.meta_schedule.tir_integration import Database, TuneConfig, tune_tir
from workbench.tvm.not_carried import refusing

__all__ = ["Database", "TuneConfig", "space_generator", "tir_integration", "tune_tir"]

__getattr__ = refusing(__name__)
