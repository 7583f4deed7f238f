"""build, compile and lower: from programs to what runs: tvm.driver."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from workbench import runtime
from workbench import target as targets
from workbench.ir import IRModule
from workbench.ir.places import places
from workbench.runtime import Built
from workbench.schedule import Schedule, ScheduleError
from workbench.target import Target as GPU
from workbench.te import Tensor
from workbench.tvm.not_carried import refusing
from workbench.tvm.runtime import Module
from workbench.tvm.target import Target, TargetLike
from workbench.tvm.te import Schedule as Stages
from workbench.tvm.te.applied import unroll_small
from workbench.tvm.transform import PassContext

__all__ = ["build", "compile", "lower"]


def build(
    inputs: Any, args: Any = None, target: TargetLike | None = None, name: str = "main"
) -> Module:
    """Build a module, a function or a schedule for `target`, which may stand second, as today.

    Without a target it is that of the ``with`` around, else this machine's CPU, as in TVM. A
    schedule of stages takes the tensors `args` that are given and computed, and the `name` of its
    function. Raises and warns as `wb.build` does.
    """
    if isinstance(args, str | GPU | Mapping):
        args, target = None, args
    return _module(_program(inputs, args, name), target)


def lower(
    inp: Any,
    args: Sequence[Tensor] | None = None,
    name: str = "main",
    binds: None = None,
    simple_mode: bool = False,
) -> Any:
    """The program that a schedule of stages makes of the tensors `args`, as a module.

    Outputs that `args` leaves out come last. A `wb.Schedule` gives its module. Anything else is a
    program already, and is returned as it is. TVM's passes go on from there; here they are part of
    `build`, and `simple_mode` changes nothing. Raises ScheduleError.
    """
    if isinstance(inp, Stages) and args is not None:
        named = {tensor.op for tensor in args}
        args = [*args, *(op.output(0) for op in inp.outputs if op not in named)]
    return inp.mod if isinstance(inp, Schedule) else _program(inp, args, name)


def _program(inp: Any, args: Sequence[Tensor] | None, name: str) -> Any:
    """See `lower`; all outputs are among `args`."""
    if not isinstance(inp, Stages):
        return inp
    if args is None:
        raise ScheduleError(
            "Can't build a schedule of stages without its tensors",
            hint="name what is given and what is computed: tvm.build(s, [A, B], target)",
        )
    made, steps = inp.applied(args, name), PassContext.current().unrolled_steps
    known = places(made.func)
    for loop in known.loops.values() if steps else ():
        if not known.all_loops_above(loop):
            unroll_small(made, loop, steps)
    return made.mod


def compile(mod: Any, target: TargetLike | None = None) -> Module:
    """`build`, as today's TVM calls it."""
    return _module(mod, target)


def _module(program: Any, target: TargetLike | None) -> Module:
    gpu = targets.get(Target(target or Target.current() or "llvm").name)
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
