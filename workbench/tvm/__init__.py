"""TVM's names for what the workbench has: a TVM lesson runs here by changing its imports.

``import tvm`` becomes ``import workbench.tvm as tvm``, and ``from tvm…`` ``from workbench.tvm…``,
in the course's spelling (``tvm.tir``, ``tvm.nd``) or in today's (``tvm.s_tir``, ``tvm.tirx``). What
is not carried says so, and names what to use instead.
"""

from workbench import __version__
from workbench.tvm import (
    contrib,
    ir,
    nd,
    runtime,
    s_tir,
    script,
    target,
    te,
    testing,
    tir,
    tirx,
    topi,
    transform,
)
from workbench.tvm.driver import build, compile, lower
from workbench.tvm.ir import IRModule
from workbench.tvm.not_carried import NotCarried, refusing
from workbench.tvm.runtime import cpu, cuda, device, metal, opencl

__all__ = [
    "IRModule",
    "NotCarried",
    "__version__",
    "build",
    "compile",
    "contrib",
    "cpu",
    "cuda",
    "device",
    "ir",
    "lower",
    "metal",
    "nd",
    "opencl",
    "runtime",
    "s_tir",
    "script",
    "target",
    "te",
    "testing",
    "tir",
    "tirx",
    "topi",
    "transform",
]

__getattr__ = refusing(__name__)
