"""Today's name of tvm.tir, of which schedules have gone to tvm.s_tir: tvm.tirx."""

from workbench.tvm.not_carried import refusing
from workbench.tvm.tir import *  # noqa: F403
from workbench.tvm.tir import __all__ as __all__

__getattr__ = refusing(__name__)
