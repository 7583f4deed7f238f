"""TVM's names for what the workbench has: a TVM lesson runs here by changing its imports.

``import tvm`` becomes ``import workbench.tvm as tvm``, and ``from tvm…`` ``from workbench.tvm…``,
in the course's spelling (``tvm.tir``, ``tvm.nd``), in today's (``tvm.s_tir``, ``tvm.tirx``) or in
that of 0.6 and before, where what is now in ``tvm.te`` stood in ``tvm``. What is not carried says
so, and names what to use instead.
"""

from workbench.diag import Fail as TVMError
from workbench.tvm import (
    auto_scheduler,
    contrib,
    ir,
    meta_schedule,
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
from workbench.tvm.not_carried import LEFT_OUT, NotCarried, refusing
from workbench.tvm.runtime import convert, cpu, cuda, device, metal, opencl
from workbench.tvm.runtime import cuda as gpu
from workbench.tvm.runtime import device as context
from workbench.tvm.transform import build_config
from workbench.version import __version__

__all__ = [
    "IRModule",
    "NotCarried",
    "TVMError",
    "__version__",
    "auto_scheduler",
    "build",
    "build_config",
    "compile",
    "context",
    "contrib",
    "convert",
    "cpu",
    "cuda",
    "device",
    "gpu",
    "ir",
    "lower",
    "meta_schedule",
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

_refuse = refusing(__name__)


def __getattr__(name: str) -> object:
    """A name of `te`, which TVM 0.6 and before had here; others are refused."""
    if name in te.__all__ or f"tvm.te.{name}" in LEFT_OUT:
        return getattr(te, name)
    return _refuse(name)
