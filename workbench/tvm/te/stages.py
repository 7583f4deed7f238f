"""The schedule of stages of TVM's older lessons, as a declaration: what each stage is to become.

Nothing is done when a stage is split, cached or attached: it is noted, and `Schedule.applied` turns
the notes into steps of a `wb.Schedule`. So the order in which stages are attached, inlined and
cached changes nothing, and extents that consumers decide are known by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.schedule import ScheduleError
from workbench.te import Axis, Operation, ScanOp, Tensor
from workbench.te.tensor import operations
from workbench.tvm.not_carried import LEFT_OUT, not_carried, unknown
from workbench.tvm.te.axes import IterVar, Loop, Turn
from workbench.tvm.te.tensor_intrin import TensorIntrin


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
        text = f"{self}.fuse({names(args)})"
        self._check(text, args)
        kind = "reduce" if any(loop.kind == "reduce" for loop in args) else "spatial"
        fused = IterVar(".".join([*(loop.name for loop in args), "fused"]), kind)
        self._replace(text, args, (fused,))
        self.calls.append(Call(text, "fuse", args, (fused,)))
        return fused

    def reorder(self, *args: Loop) -> None:
        """Put loops into the order given; other loops keep their places."""
        text = f"{self}.reorder({names(args)})"
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
        text = f"{self}.bind({names([ivar, thread_ivar])})"
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

    def tensorize(self, var: Loop, tensor_intrin: TensorIntrin) -> None:
        """Let an intrinsic of `te.decl_tensor_intrin` run a loop and all inside it.

        Of a sum that it adds to, what is inside it of the start is run by its init.
        """
        if not isinstance(tensor_intrin, TensorIntrin):
            raise TypeError(f"tensorize takes a te.decl_tensor_intrin, not {tensor_intrin!r}")
        text = f"{self}.tensorize({_name(var)}, {tensor_intrin.name})"
        self._mark(text, "tensorize", var, {"intrin": tensor_intrin})

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
                f"Can't fuse {names(old)}: they are not each directly in the one before",
                asked=text,
                hint=f"reorder them first; the loops are {names(self.leaf_iter_vars)}",
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
            hint=f"name, each once: {names(there)}",
        )

    def __getattr__(self, name: str) -> object:
        raise missing("Stage", name, type(self))

    def __repr__(self) -> str:
        return f"s[{self.name}]"


class Stages:
    """The stages of a graph, indexed by tensor or operation; `outputs` are what it is for."""

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
                hint=f"it has {names(self.stages)}",
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


def _name(of: Any) -> str:
    return f"[{names(of)}]" if isinstance(of, list | tuple) else str(getattr(of, "name", of))


def names(of: Sequence[Any]) -> str:
    """The names of stages, tensors or loops, as words of a refusal."""
    return ", ".join(map(_name, of))


def missing(kind: str, name: str, owner: type) -> AttributeError:
    """The refusal of a name that `owner`, TVM's `kind`, does not have here."""
    if name.startswith("_"):
        return AttributeError(name)
    called = f"tvm.te.{kind}.{name}"
    if called in LEFT_OUT:
        return not_carried(called)
    return unknown(called, [own for own in dir(owner) if not own.startswith("_")])
