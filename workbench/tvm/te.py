"""Compute expressions: tvm.te."""

from workbench.te import *  # noqa: F403
from workbench.te import __all__ as __all__
from workbench.tvm.not_carried import refusing

__getattr__ = refusing(__name__)
