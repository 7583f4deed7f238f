"""TVMScript: tvm.script, with T under both of TVM's names, ``tir`` and ``tirx``."""

from workbench.script import T as tir
from workbench.script import ir_module
from workbench.script import parse as from_source
from workbench.tvm.not_carried import refusing
from workbench.tvm.script import ir

tirx = tir

__all__ = ["from_source", "ir", "ir_module", "tir", "tirx"]

__getattr__ = refusing(__name__)
