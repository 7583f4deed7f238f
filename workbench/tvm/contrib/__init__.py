"""What TVM keeps beside its compiler, of which lessons ask one question: tvm.contrib."""

from workbench.tvm.contrib import nvcc
from workbench.tvm.not_carried import refusing

__all__ = ["nvcc"]

__getattr__ = refusing(__name__)
