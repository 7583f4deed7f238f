"""TVM's operators, and their results by NumPy: tvm.topi."""

from workbench.te import topi as _operators
from workbench.te.topi import *  # noqa: F403
from workbench.tvm.not_carried import refusing
from workbench.tvm.topi import testing, utils

__all__ = [*_operators.__all__, "testing", "utils"]  # noqa: PLE0604

__getattr__ = refusing(__name__)
