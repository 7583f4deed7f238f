"""build and compile: from programs to what runs: tvm.driver."""

from __future__ import annotations

import warnings
from typing import Any

from workbench import runtime
from workbench.ir import IRModule
from workbench.runtime import Built
from workbench.target import Target as GPU
from workbench.tvm.not_carried import refusing
from workbench.tvm.runtime import Module
from workbench.tvm.target import Target

__all__ = ["build", "compile"]


def build(inputs: Any, args: Any = None, target: str | GPU | None = None) -> Module:
    """Build a module, a function or a schedule for `target`, which may stand second, as today.

    Without a target it is "cuda". Raises and warns as `wb.build` does.
    """
    if isinstance(args, str | GPU):
        args, target = None, args
    return _module(inputs, target)


def compile(mod: Any, target: str | GPU | None = None) -> Module:
    """`build`, as today's TVM calls it."""
    return _module(mod, target)


def _module(program: Any, target: str | GPU | None) -> Module:
    gpu = Target(target or "cuda")
    functions = program.functions if isinstance(program, IRModule) else (program,)
    made = {}
    for func in functions:  # no comprehension: it may be a frame of its own, which warnings count
        built = _built(func, gpu)
        made[built.func.name] = built
    return Module(made)


def _built(program: Any, gpu: GPU) -> Built:
    """`wb.build`, with its warnings at the line that called `build` or `compile`."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        built = runtime.build(program, gpu)
    for warning in found:
        warnings.warn(warning.message, stacklevel=4)
    return built


__getattr__ = refusing(__name__)
