"""What lessons ask of ``tvm_ffi``: ``import tvm_ffi`` becomes ``import workbench.tvm_ffi``."""

from workbench.ir import structural_equal
from workbench.tvm.not_carried import refusing

__all__ = ["structural_equal"]

__getattr__ = refusing(__name__)
