"""Today's name of tvm.meta_schedule: tvm.s_tir.meta_schedule."""

from workbench.tvm.meta_schedule import (
    Database,
    TuneConfig,
    space_generator,
    tir_integration,
    tune_tir,
)
from workbench.tvm.not_carried import refusing

__all__ = ["Database", "TuneConfig", "space_generator", "tir_integration", "tune_tir"]

__getattr__ = refusing(__name__)
