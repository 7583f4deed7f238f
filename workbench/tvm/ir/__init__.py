"""Programs: tvm.ir."""

from workbench.ir import IRModule
from workbench.ir import assert_structural_equal as assert_structural_equal
from workbench.ir import structural_equal as structural_equal
from workbench.ir.nodes import GlobalVar
from workbench.tvm.ir import module, transform
from workbench.tvm.not_carried import refusing

__all__ = [
    "GlobalVar",
    "IRModule",
    "assert_structural_equal",
    "module",
    "structural_equal",
    "transform",
]

__getattr__ = refusing(__name__)
