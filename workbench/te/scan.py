"""scan: tensors whose elements at a time are computed from those at earlier times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.arith import equal, prove, up_to
from workbench.ir import Node, Size, Var, as_expr, binary, rewrite, substitute
from workbench.te.tensor import (
    Axis,
    ComputeOp,
    Operation,
    PlaceholderOp,
    Tensor,
    TensorLoad,
    attributes,
    operations,
    spatial_axis,
)


@dataclass(frozen=True, slots=True, eq=False)
class ScanOp(Operation):
    """What carries tensors from one time to the next: `init` first, then `update` at each time.

    `state` are the placeholders that stand for the tensors in `update`. Its only axis are the
    times after the first ones.

    >>> s, first = te.placeholder((8,), name="s"), te.compute((1,), lambda t: X[0, t])
    >>> total = te.scan(first, te.compute((8,), lambda t: s[t - 1] + X[0, t]), s)
    >>> isinstance(total.op, te.ScanOp), total.op.scan_axis.name
    (True, 'scan.idx')
    """

    init: tuple[Tensor, ...] = ()
    update: tuple[Tensor, ...] = ()
    state: tuple[Tensor, ...] = ()

    @property
    def scan_axis(self) -> Axis:
        """The times that are updated, counted from 0."""
        return self.axis[0]

    @property
    def first(self) -> int:
        """How many times `init` gives."""
        size = self.init[0].shape[0]
        assert isinstance(size, int)
        return size

    def output_shape(self, index: int) -> tuple[Size, ...]:
        return self.state[index].shape

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return (*self.init, *self.update)

    @property
    def inside(self) -> list[Operation]:
        """What is computed anew at each time, each after what it reads."""
        again = {tensor.op for tensor in (*self.state, *self.update)}
        for op in operations(self.update):
            if any(tensor.op in again for tensor in op.input_tensors):
                again.add(op)
        states = {tensor.op for tensor in self.state}
        return [op for op in operations(self.update) if op in again - states]


def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """The tensor that is `init` at the first times, and `update` at each later one, in their order.

    Time is the first dimension. `update` reads the tensor at earlier times through
    `state_placeholder`; of several states each has all three, and there is a tensor for each.
    `inputs` changes nothing. As TVM's ``te.scan``.

    Raises ValueError where shapes or types differ, and for what is not computed from earlier times.

    >>> state = te.placeholder((8, 8), name="state")
    >>> first = te.compute((1, 8), lambda t, i: X[0, i])
    >>> te.scan(first, te.compute((8, 8), lambda t, i: state[t - 1, i] + X[t, i]), state)
    Tensor('scan', (8, 8), 'float32')
    """
    starts, updates, states = map(_several, (init, update, state_placeholder))
    if not len(starts) == len(updates) == len(states):
        raise ValueError(
            f"{name}: a scan has as many init as update and state_placeholder, "
            f"not {len(starts)}, {len(updates)} and {len(states)}"
        )
    for parts in zip(starts, updates, states, strict=True):
        _check_state(name, *parts)
    first, times = starts[0].shape[0], updates[0].shape[0]
    for start, state in zip(starts, states, strict=True):
        if not _alike((start.shape[0], state.shape[0]), (first, times)):
            raise ValueError(f"{name}: {state.name} has other times than {states[0].name}")
    if not isinstance(first, int) or (isinstance(times, int) and times <= first):
        raise ValueError(
            f"{name}: init gives {first} of {times} times; it is a number of the first ones"
        )
    axis = spatial_axis(f"{name}.idx", times - first)
    dtypes = tuple(state.dtype for state in states)
    body = tuple(one[(axis, *one.op.axis[1:])] for one in updates)
    op = ScanOp(
        name, states[0].shape, dtypes, (axis,), body, tag, attributes(attrs or {}),
        init=starts, update=updates, state=states,
    )  # fmt: skip
    _check_inside(op)
    return op.output(0) if op.num_outputs == 1 else list(op.outputs)


def _several(tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _check_state(name: str, init: Tensor, update: Tensor, state: Tensor) -> None:
    for tensor in (init, update):
        if not isinstance(tensor.op, ComputeOp):
            raise ValueError(
                f"{name}: {tensor.name} is not computed; copy it: te.compute({tensor.name}.shape, "
                f"lambda *i: {tensor.name}[i])"
            )
    if not isinstance(state.op, PlaceholderOp):
        raise ValueError(f"{name}: {state.name} is computed; as a state stands a te.placeholder")
    if (
        not state.shape
        or len({one.dtype for one in (init, update, state)}) > 1
        or not (_alike(init.shape[1:], state.shape[1:]) and _alike(update.shape, state.shape))
    ):
        raise ValueError(
            f"{name}: init, update and state_placeholder are of one type, and of one shape but "
            f"for the times of init; these are {init}, {update} and {state}"
        )


def _alike(one: Sequence[Size], other: Sequence[Size]) -> bool:
    return len(one) == len(other) and all(
        equal(as_expr(a), as_expr(b)) for a, b in zip(one, other, strict=True)
    )


def _check_inside(op: ScanOp) -> None:
    """Refuse what cannot be computed at one time from earlier ones."""
    times, inside = op.state[0].shape[0], op.inside
    if len({*op.init, *op.update, *op.state}) < 3 * len(op.state):
        raise ValueError(f"{op.name}: each state has an init, update and placeholder of its own")
    before = operations(op.init)
    for state in op.state:
        if state.op in before:
            raise ValueError(f"{op.name}: init reads {state.name}, which begins with it")
    for each in inside:
        if not (isinstance(each, ComputeOp) and _alike(each.shape[:1], (times,))):
            raise ValueError(
                f"{op.name}: {each.name} reads a state, and has not the times as its first axis; "
                f"compute it for each: te.compute(({times}, …), lambda t, …)"
            )
        _check_reads(op, each)


def _check_reads(op: ScanOp, each: Operation) -> None:
    time = each.axis[0]
    now = op.scan_axis + op.first
    dom: dict[Var, tuple[int, int]] = {op.scan_axis: up_to(op.scan_axis.dom.extent)}
    computed = {tensor for one in op.inside for tensor in one.outputs}

    def check(part: Node) -> Node:
        if isinstance(part, TensorLoad):
            at = substitute(part.indices[0], {time: now})
            earlier = binary("and", binary("<=", 0, at), binary("<", at, now))
            if part.tensor in op.state and not prove(earlier, dom):
                raise ValueError(
                    f"{op.name}: {each.name} reads {part.tensor.name} at a time that is not proved "
                    f"to be an earlier one; read it at {time.name} - 1"
                    + (f" to {time.name} - {op.first}" if op.first > 1 else "")
                )
            if part.tensor in computed and not equal(at, now):
                raise ValueError(
                    f"{op.name}: {each.name} reads {part.tensor.name} at another time than its own;"
                    f" make it a state, and read that"
                )
        return part

    for value in each.body:
        rewrite(value, check)
