"""Where TVM has what tvm.transform names again: tvm.ir.transform."""

from workbench.tvm.not_carried import refusing
from workbench.tvm.transform import PassContext

__all__ = ["PassContext"]

__getattr__ = refusing(__name__)
