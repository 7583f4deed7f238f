"""Where TVM keeps IRModule: tvm.ir.module."""

from workbench.ir import IRModule
from workbench.tvm.not_carried import refusing

__all__ = ["IRModule"]

__getattr__ = refusing(__name__)
