"""The schedule of stages by the module that TVM keeps it in, tvm.te.schedule, and its functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from workbench import schedule
from workbench.ir import Const, Expr, Range, Size, Var, const, size_expr, substitute
from workbench.schedule import ScheduleError
from workbench.te import Axis, ComputeOp, Operation, ScanOp, Tensor, compute
from workbench.te.tensor import Reduction
from workbench.tvm.not_carried import refusing
from workbench.tvm.te.applied import apply
from workbench.tvm.te.axes import Loop
from workbench.tvm.te.stages import Body, Parts, Stage, Stages, missing, names

__all__ = ["AutoInlineInjective", "Schedule", "Stage", "create_schedule"]


class Schedule(Stages):
    """Stages in place of loops: what `te.create_schedule` makes; indexed by tensor or operation."""

    def cache_read(
        self, tensor: Tensor, scope: str, readers: Sequence[Tensor | Operation] | Tensor
    ) -> Tensor:
        """Let `readers` read `tensor` through a copy in `scope`; returns the copy."""
        wanted = [readers] if isinstance(readers, Tensor | Operation) else list(readers)
        text = f"s.cache_read({tensor.name}, {scope!r}, [{names(wanted)}])"
        source, reading = self._single(tensor, text), [self[reader] for reader in wanted]
        for stage in reading:
            if stage.body is None or source not in stage.body.inputs:
                raise ScheduleError(
                    f"Can't cache {tensor.name} for {stage.name}, which does not read it",
                    asked=text,
                    hint=f"it reads {names(stage.body.inputs if stage.body else ()) or 'nothing'}",
                )
        copy = _copy(tensor, f"{tensor.name}.{scope}")
        made = Stage(copy.op, Body(text, [source], scope))
        for stage in reading:
            assert stage.body is not None
            stage.body.inputs = [made if s is source else s for s in stage.body.inputs]
        self._stages[copy.op] = made
        return copy

    def cache_write(self, tensor: Tensor, scope: str) -> Tensor:
        """Compute `tensor` in `scope`, and copy it from there; returns what is computed there."""
        text = f"s.cache_write({tensor.name}, {scope!r})"
        stage = self._single(tensor, text)
        moved = any(call.verb in ("split", "fuse", "reorder") for call in stage.calls)
        if stage.body is None or moved or stage.body.parts:
            raise ScheduleError(
                f"Can't cache what {stage.name} writes: "
                + ("it is given" if stage.body is None else "its loops are split already"),
                asked=text,
                hint="take s.cache_read" if stage.body is None else "take cache_write first",
            )
        every = [each.body for each in self._stages.values() if each.body]
        if any(stage is parts.stage for body in every for parts in body.parts):
            raise ScheduleError(
                f"Can't cache what {stage.name} writes: it holds parts of a sum already",
                asked=text,
                hint=f"keep them in that memory: {stage}.set_scope({scope!r})",
            )
        inner, copy = _parted(stage.op, scope)
        made = Stage(inner, stage.body, stage.timed)
        out = Body(text, [made])
        stage.body.copies_out.append((out, scope))
        stage.op, stage.body = copy, out
        stage.leaf_iter_vars = list(stage.axes)
        stage.calls = [call for call in stage.calls if {*call.loops} <= {*stage.axes}]
        self._stages |= {inner: made, copy: stage}
        return inner.output(0)

    def rfactor(self, tensor: Tensor, axis: Loop, factor_axis: int = 0) -> Tensor:
        """Sum up `tensor` in parts, one for each turn of `axis`; returns the parts.

        `axis` is a loop of its sum, split and fused before. The parts have an axis for it, at
        `factor_axis` among those of `tensor`, and the other loops of the sum; what is left of it is
        the sum of the parts, over ``s[tensor].op.reduce_axis[0]``. Raises ScheduleError where other
        loops than those of the sum have been changed already.
        """
        text = f"s.rfactor({tensor.name}, {getattr(axis, 'name', axis)}, {factor_axis})"
        stage = self._single(tensor, text, "factor")
        stage._check(text, (axis,))
        asked = {loop for call in stage.calls for loop in call.loops}
        if stage.body is None or any(loop.kind != "reduce" for loop in (axis, *asked)):
            raise ScheduleError(
                f"Can't factor {stage.name} by `{axis.name}`: "
                + (
                    "other loops than its sum's are changed"
                    if asked
                    else "that is no loop of a sum"
                ),
                asked=text,
                hint=f"split the loops of its sum alone, take rfactor, then the others of {stage}",
            )
        if any(call.verb not in ("split", "fuse") for call in stage.calls):
            raise ScheduleError(
                f"Can't factor {stage.name} by `{axis.name}`: more is asked of it than to split",
                asked=text,
                hint=f"take rfactor right behind split and fuse, then the others of {stage}",
            )
        parts = _parts(stage, axis, factor_axis, text)
        total = stage.op.body[0]
        assert isinstance(total, Reduction)
        at = [*stage.axes]
        at.insert(factor_axis % (len(at) + 1), parts.left)
        cell = parts.stage.op.output(0)[tuple(at)]
        stage.op = replace(stage.op, body=(replace(total, value=cell, axes=(parts.left,)),))
        stage.body.inputs, stage.calls = [parts.stage], []
        stage.body.parts.append(parts)
        stage.leaf_iter_vars = [*stage.axes, parts.left]
        self._stages |= {parts.stage.op: parts.stage, stage.op: stage}
        return parts.stage.op.output(0)

    def applied(self, args: Sequence[Tensor], name: str = "main") -> schedule.Schedule:
        """The same schedule as steps of a `wb.Schedule`, for the program of `args`.

        Raises ScheduleError for what no step does, and for an output that is not in `args`.
        """
        return apply(self, args, name)

    def _single(self, tensor: Tensor, text: str, does: str = "cache") -> Stage:
        """The stage of a tensor; refused where it is one of several that are computed at once."""
        if tensor.op.num_outputs > 1:
            raise ScheduleError(
                f"Can't {does} {tensor.name}: it is computed together with others",
                asked=text,
                hint="compute a tensor of its own for each, or schedule te.create_prim_func(args)",
            )
        return self[tensor]

    def __getattr__(self, name: str) -> object:
        raise missing("Schedule", name, type(self))


def create_schedule(ops: Operation | Sequence[Operation]) -> Schedule:
    """The schedule of what computes `ops`, and of all that it reads.

    Raises TypeError for what is no operation.
    """
    wanted = [ops] if isinstance(ops, Operation) else ops
    if not isinstance(wanted, Sequence) or not all(isinstance(op, Operation) for op in wanted):
        raise TypeError(f"create_schedule takes operations, such as B.op, not {ops!r}")
    return Schedule(wanted)


def _copy(tensor: Tensor, name: str) -> Tensor:
    axes = [f"ax{k}" for k in range(len(tensor.shape))]
    return compute(tensor.shape, lambda *i: tensor[i], name=name, varargs_names=axes)


def _parted(op: Operation, scope: str) -> tuple[Operation, Operation]:
    """What computes `op` in `scope`, with axes of its own, and what copies it from there.

    As in TVM, where the copy keeps the axes: a lesson may split them under either name.
    """
    axes = tuple(replace(axis, name=f"{axis.name}.c") for axis in op.axis)
    own: dict[Var, Expr] = dict(zip(op.axis, axes, strict=True))
    body = tuple(substitute(value, own) for value in op.body)
    inner = replace(op, name=f"{op.name}.{scope}", axis=axes, body=body)
    return inner, replace(op, body=(inner.output(0)[op.axis],), attrs=())


def _parts(stage: Stage, factor: Loop, factor_axis: int, text: str) -> Parts:
    """What `rfactor` makes of a stage that sums: the stage of the parts, which has its inputs."""
    turns = _turns(stage)
    became: dict[Loop, Axis] = {
        loop: replace(loop)
        if isinstance(loop, Axis)
        else Axis(loop.name, dom=Range(const(0, "int32"), size_expr(turns[loop], "int32")))
        for loop in stage.leaf_iter_vars
    }
    became[factor] = replace(became[factor], kind="spatial")
    axes = [became[axis] for axis in stage.axes]
    axes.insert(factor_axis % (len(axes) + 1), became[factor])
    total = stage.op.body[0]
    assert isinstance(total, Reduction) and stage.body is not None
    over = tuple(axis for axis in became.values() if axis.kind == "reduce")
    op = replace(
        stage.op,
        name=f"{stage.name}.rf",
        shape=tuple(map(_size, axes)),
        axis=tuple(axes),
        body=(replace(total, axes=over),),  # its value is told by the step
    )
    made = Stage(op, Body(text, stage.body.inputs))
    before = (*stage.axes, *stage.op.reduce_axis)
    left = replace(became[factor], name=f"{factor.name}.v", kind="reduce")
    return Parts(text, made, factor, factor_axis, before, tuple(stage.calls), became, left)


def _turns(stage: Stage) -> dict[Loop, Size]:
    """How often the loops of a stage's sum run, whoever reads it."""
    turns: dict[Loop, Size] = {axis: _size(axis) for axis in stage.op.reduce_axis}
    for call in stage.calls:
        whole = prod(turns[loop] for loop in call.loops)
        if call.verb == "fuse":
            turns[call.made[0]] = whole
        else:
            size = next(factor for factor in call.data["factors"] if factor is not None)
            rest = (whole + (size - 1)) // max(size, 1)
            outer_is_told = call.data["factors"][0] is not None
            turns |= zip(call.made, (size, rest) if outer_is_told else (rest, size), strict=True)
    return turns


def _size(axis: Axis) -> Size:
    extent = axis.dom.extent
    return int(extent.value) if isinstance(extent, Const) else extent


def AutoInlineInjective(sch: Schedule) -> None:
    """Inline every stage that sums nothing up, is no output, and of which nothing was asked yet.

    >>> te.schedule.AutoInlineInjective(s)
    """
    scans = [stage.op for stage in sch.stages if isinstance(stage.op, ScanOp)]
    kept = {*sch.outputs, *(tensor.op for scan in scans for tensor in scan.input_tensors)}
    for stage in sch.stages:
        asked = stage.calls or stage.attached or stage.inlined
        if _injective(stage.op) and stage.op not in kept and not asked:
            stage.compute_inline()


def _injective(op: Operation) -> bool:
    return isinstance(op, ComputeOp) and not any(isinstance(value, Reduction) for value in op.body)


__getattr__ = refusing(__name__)
