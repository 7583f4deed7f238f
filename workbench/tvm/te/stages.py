"""The schedule of stages of TVM's older lessons, as a declaration: what each stage is to become.

Nothing is done when a stage is split, cached or attached: it is noted, and `Schedule.applied` turns
the notes into steps of a `wb.Schedule`. So the order in which stages are attached, inlined and
cached changes nothing, and extents that consumers decide are known by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from workbench import schedule
from workbench.ir import Const, Expr, Range, Size, Var, const, size_expr, substitute
from workbench.schedule import ScheduleError
from workbench.te import Axis, Operation, ScanOp, Tensor, compute
from workbench.te.tensor import Reduction, operations
from workbench.tvm.not_carried import LEFT_OUT, not_carried, unknown
from workbench.tvm.te.applied import apply
from workbench.tvm.te.axes import IterVar, Loop, Turn


@dataclass(slots=True, eq=False)
class Body:
    """What fills a stage's tensor, a block to be: of the graph itself, or a copy.

    `inputs` are the stages that it reads. A copy for readers has `scope`, the memory that it
    fills. `copies_out` are what `cache_write` made of it, each with the memory that the body
    then fills in its place, and `parts` what `rfactor` did, in the order of the calls.
    """

    name: str
    inputs: list[Stage]
    scope: str = ""
    copies_out: list[tuple[Body, str]] = field(default_factory=list)
    parts: list[Parts] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Call:
    """A call on a stage: the verb of `wb.Schedule` that it becomes, and on which loops."""

    text: str
    verb: str
    loops: tuple[Loop, ...]
    made: tuple[IterVar, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parts:
    """A call of `rfactor`: the stage that it made, by which loop of the sum and at which axis.

    `axes` are the loops of the sum ahead of `calls`, which came before, `became` tells for each of
    its loops behind them the one of the parts; what is left sums them over `left`.
    """

    text: str
    stage: Stage
    loop: Loop
    factor_axis: int
    axes: tuple[Loop, ...]
    calls: tuple[Call, ...]
    became: dict[Loop, Axis]
    left: Axis


class Stage:
    """A tensor of the graph, or a copy of one, and how its loops are to run."""

    def __init__(self, op: Operation, body: Body | None, timed: bool = False) -> None:
        self.op = op
        self.body = body  # None for a placeholder
        self.timed = timed  # inside a scan, whose loop is that of its first axis
        self.calls: list[Call] = []
        self.attached: tuple[Stage, Loop, str] | None = None
        self.inlined = ""  # the call that asked for it
        self.leaf_iter_vars: list[Loop] = [*self.axes, *op.reduce_axis]
        self._became: dict[Loop, IterVar] = {}  # of a loop that was split, the inner part

    @property
    def name(self) -> str:
        """What its tensor is called."""
        return self.op.name

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Those of its tensor that it has loops for."""
        return self.op.axis[1:] if self.timed else self.op.axis

    # --- loops -----------------------------------------------------------------------------------

    def split(
        self, parent: Loop, factor: int | None = None, nparts: int | None = None
    ) -> tuple[IterVar, IterVar]:
        """Cut a loop into two, the inner of `factor` turns or the outer of `nparts`."""
        given = f"factor={factor}" if nparts is None else f"nparts={nparts}"
        text = f"{self}.split({_name(parent)}, {given})"
        if (factor is None) == (nparts is None):
            raise ScheduleError(
                f"Can't split `{_name(parent)}`: it takes factor or nparts, one of the two",
                asked=text,
                hint="write factor=8 for inner loops of 8 turns, nparts=8 for 8 of them",
            )
        self._check(text, (parent,))
        made = tuple(IterVar(f"{parent.name}.{part}", parent.kind) for part in ("outer", "inner"))
        self._replace(text, (parent,), made)
        factors = [nparts, factor]
        self.calls.append(Call(text, "split", (parent,), made, {"factors": factors}))
        return made[0], made[1]

    def fuse(self, *args: Loop) -> IterVar:
        """Make one loop of loops that stand directly in each other, outermost first."""
        text = f"{self}.fuse({_names(args)})"
        self._check(text, args)
        kind = "reduce" if any(loop.kind == "reduce" for loop in args) else "spatial"
        fused = IterVar(".".join([*(loop.name for loop in args), "fused"]), kind)
        self._replace(text, args, (fused,))
        self.calls.append(Call(text, "fuse", args, (fused,)))
        return fused

    def reorder(self, *args: Loop) -> None:
        """Put loops into the order given; other loops keep their places."""
        text = f"{self}.reorder({_names(args)})"
        self._check(text, args)
        following = iter(args)
        self.leaf_iter_vars = [
            next(following) if loop in args else loop for loop in self.leaf_iter_vars
        ]
        self.calls.append(Call(text, "reorder", args))

    def tile(
        self, x_parent: Loop, y_parent: Loop, x_factor: int, y_factor: int
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two loops, and put the inner parts inside: x_outer, y_outer, x_inner, y_inner."""
        x_outer, x_inner = self.split(x_parent, factor=x_factor)
        y_outer, y_inner = self.split(y_parent, factor=y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def bind(self, ivar: Loop, thread_ivar: IterVar) -> None:
        """Let the threads or blocks of an axis do the turns of a loop."""
        text = f"{self}.bind({_names([ivar, thread_ivar])})"
        if not isinstance(thread_ivar, IterVar) or not thread_ivar.thread_tag:
            raise ScheduleError(
                f"Can't bind `{_name(ivar)}` to `{_name(thread_ivar)}`: that is no thread axis",
                asked=text,
                hint='make one: te.thread_axis("threadIdx.x")',
            )
        data = {"thread_axis": thread_ivar.thread_tag, "extent": thread_ivar.extent}
        self._mark(text, "bind", ivar, data)

    def vectorize(self, var: Loop) -> None:
        """Let one instruction do the turns of a loop."""
        self._mark(f"{self}.vectorize({_name(var)})", "vectorize", var)

    def unroll(self, var: Loop) -> None:
        """Write out the turns of a loop."""
        self._mark(f"{self}.unroll({_name(var)})", "unroll", var)

    def parallel(self, var: Loop) -> None:
        """Let the turns of a loop run at once."""
        self._mark(f"{self}.parallel({_name(var)})", "parallel", var)

    def pragma(self, var: Loop, pragma_type: str, pragma_value: Any = None) -> None:
        """Note something for the code of a loop: "unroll", "auto_unroll_max_step".

        "unroll_explicit", which says how TVM unrolls, changes nothing here: nvcc unrolls what is
        marked.
        """
        text = f"{self}.pragma({_name(var)}, {pragma_type!r}, {pragma_value})"
        if pragma_type == "auto_unroll_max_step":
            self._mark(text, pragma_type, var, {"steps": int(pragma_value)})
        elif pragma_type == "unroll":
            self._mark(text, "unroll", var)
        elif pragma_type != "unroll_explicit":
            raise ScheduleError(
                f"Can't note {pragma_type!r} at `{_name(var)}`: the code here does not heed it",
                asked=text,
                hint="it heeds 'unroll', 'auto_unroll_max_step' and 'unroll_explicit'",
            )

    # --- the tensor ------------------------------------------------------------------------------

    def set_scope(self, scope: str) -> None:
        """Keep the tensor in the memory `scope`: "global", "shared" or "local"."""
        self.calls.append(
            Call(f"{self}.set_scope({scope!r})", "set_scope", (), data={"storage_scope": scope})
        )

    def storage_align(self, axis: Axis, factor: int, offset: int) -> None:
        """Let rows along `axis` begin at multiples of `factor` elements, plus `offset`."""
        text = f"{self}.storage_align({_name(axis)}, {factor}, {offset})"
        if axis not in self.op.axis:
            raise self._no_loop(text, axis, self.op.axis, "an axis of its tensor")
        data = {"axis": self.op.axis.index(axis), "factor": factor, "offset": offset}
        self.calls.append(Call(text, "storage_align", (), data=data))

    def double_buffer(self) -> None:
        """Keep two copies of the tensor, used in turn."""
        self.calls.append(Call(f"{self}.double_buffer()", "double_buffer", ()))

    def set_store_predicate(self, predicate: Turn) -> None:
        """Let one of the threads that share its sum out store it: ``tx.var.equal(0)``.

        That is so without it.
        """
        if not isinstance(predicate, Turn) or not predicate.axis.thread_tag:
            raise ScheduleError(
                f"Can't store {self.name} by that predicate: it names no thread",
                asked=f"{self}.set_store_predicate({predicate})",
                hint='write tx.var.equal(0), with tx = te.thread_axis("threadIdx.x")',
            )
        axis, number = predicate.axis.thread_tag, predicate.number
        text = f"{self}.set_store_predicate({predicate.axis.name}.var.equal({number}))"
        data = {"thread_axis": axis, "number": number}
        self.calls.append(Call(text, "set_store_predicate", (), data=data))

    # --- where it is computed --------------------------------------------------------------------

    def compute_at(self, parent: Stage, scope: Loop) -> None:
        """Compute inside a loop of another stage, as much as is read there."""
        text = f"{self}.compute_at({parent}, {_name(scope)})"
        parent._check(text, (scope,))
        self.attached, self.inlined = (parent, scope, text), ""

    def compute_inline(self) -> None:
        """Compute each element where it is read."""
        self.attached, self.inlined = None, f"{self}.compute_inline()"

    def compute_root(self) -> None:
        """Compute ahead of all that reads it, which is how a stage begins."""
        self.attached, self.inlined = None, ""

    def where(self, loop: Loop) -> Loop:
        """The loop that `loop` has become: of one that was split the inner part, as in TVM."""
        while loop in self._became:
            loop = self._became[loop]
        return loop

    # ---------------------------------------------------------------------------------------------

    def _mark(self, text: str, verb: str, loop: Loop, data: dict[str, Any] | None = None) -> None:
        self._check(text, (loop,))
        self.calls.append(Call(text, verb, (loop,), data=data or {}))

    def _replace(self, text: str, old: tuple[Loop, ...], new: tuple[IterVar, ...]) -> None:
        """Put the loops `new` in the place of `old`, which stand directly in each other."""
        at = self.leaf_iter_vars.index(old[0])
        if self.leaf_iter_vars[at : at + len(old)] != list(old):
            raise ScheduleError(
                f"Can't fuse {_names(old)}: they are not each directly in the one before",
                asked=text,
                hint=f"reorder them first; the loops are {_names(self.leaf_iter_vars)}",
            )
        self.leaf_iter_vars[at : at + len(old)] = new
        self._became |= dict.fromkeys(old, new[-1])

    def _check(self, text: str, loops: Sequence[Loop]) -> None:
        if not loops:
            raise ScheduleError("Can't take no loops at all", asked=text, hint="name some")
        for loop in loops:
            if loop not in self.leaf_iter_vars or loops.count(loop) > 1:
                raise self._no_loop(text, loop, self.leaf_iter_vars, "a loop of the stage")

    def _no_loop(self, text: str, loop: Loop, there: Sequence[Loop], what: str) -> ScheduleError:
        name = _name(loop)
        return ScheduleError(
            f"Can't use `{name}` there: it is not, or no more, {what} {self.name}",
            asked=text,
            hint=f"name, each once: {_names(there)}",
        )

    def __getattr__(self, name: str) -> object:
        raise _missing("Stage", name, type(self))

    def __repr__(self) -> str:
        return f"s[{self.name}]"


class Schedule:
    """Stages in place of loops: what `te.create_schedule` makes; indexed by tensor or operation."""

    def __init__(self, outputs: Sequence[Operation]) -> None:
        self.outputs = list(outputs)
        self.bodies: dict[Operation, Body] = {}  # of the graph itself
        self._stages: dict[Operation, Stage] = {}
        self.updates: dict[Stage, Stage] = {}  # of a scan's state what fills it at each time
        ops = operations([op.output(0) for op in outputs])
        timed = {one for op in ops if isinstance(op, ScanOp) for one in op.inside}
        for op in ops:
            if op.body:
                self.bodies[op] = Body(op.name, [self[t] for t in op.input_tensors])
            self._stages[op] = Stage(op, self.bodies.get(op), op in timed)
            if isinstance(op, ScanOp):
                self.updates |= zip(
                    map(self.__getitem__, op.state), map(self.__getitem__, op.update), strict=True
                )

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        op = key.op if isinstance(key, Tensor) else key
        if op not in self._stages:
            raise ScheduleError(
                f"Can't find a stage of `{getattr(op, 'name', op)}` in this schedule",
                hint=f"it has {_names(self.stages)}",
            )
        return self._stages[op]

    @property
    def stages(self) -> list[Stage]:
        """Every stage, each after those that it reads."""
        stages: dict[Stage, None] = {}

        def visit(stage: Stage) -> None:
            if stage in stages:
                return
            for each in stage.body.inputs if stage.body else ():
                visit(each)
            stages[stage] = None

        for op in self.outputs:
            visit(self[op])
        return list(stages)

    def cache_read(
        self, tensor: Tensor, scope: str, readers: Sequence[Tensor | Operation] | Tensor
    ) -> Tensor:
        """Let `readers` read `tensor` through a copy in `scope`; returns the copy."""
        wanted = [readers] if isinstance(readers, Tensor | Operation) else list(readers)
        text = f"s.cache_read({tensor.name}, {scope!r}, [{_names(wanted)}])"
        source, reading = self._single(tensor, text), [self[reader] for reader in wanted]
        for stage in reading:
            if stage.body is None or source not in stage.body.inputs:
                raise ScheduleError(
                    f"Can't cache {tensor.name} for {stage.name}, which does not read it",
                    asked=text,
                    hint=f"it reads {_names(stage.body.inputs if stage.body else ()) or 'nothing'}",
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
        raise _missing("Schedule", name, type(self))


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


def _name(of: Any) -> str:
    return f"[{_names(of)}]" if isinstance(of, list | tuple) else str(getattr(of, "name", of))


def _names(of: Sequence[Any]) -> str:
    return ", ".join(map(_name, of))


def _missing(kind: str, name: str, owner: type) -> AttributeError:
    if name.startswith("_"):
        return AttributeError(name)
    called = f"tvm.te.{kind}.{name}"
    if called in LEFT_OUT:
        return not_carried(called)
    return unknown(called, [own for own in dir(owner) if not own.startswith("_")])
