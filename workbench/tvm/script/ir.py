"""Modules of programs, as ``from tvm.script import ir as I`` has them: tvm.script.ir."""

from workbench.script import ir_module
from workbench.tvm.not_carried import refusing

__all__ = ["ir_module"]

__getattr__ = refusing(__name__)
