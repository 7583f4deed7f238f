"""create_prim_func: from computed tensors to a program of loops and blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.arith import access_regions, simplify
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Data,
    Expr,
    For,
    IterVar,
    Node,
    PrimFunc,
    Range,
    SizeVar,
    Stmt,
    Var,
    binary,
    const,
    free_vars,
    rewrite,
    seq,
    substitute,
    walk,
)
from workbench.script.lets import Bind, write_as
from workbench.script.writer import identifier
from workbench.te.reduce import identity
from workbench.te.scan import ScanOp
from workbench.te.tensor import (
    Axis,
    Operation,
    Reduction,
    Tensor,
    TensorLoad,
    TupleReduction,
    operations,
)


def create_prim_func(args: Sequence[Tensor]) -> PrimFunc:
    """The program that computes `args`, one loop nest and block for each computed tensor.

    `args` become the parameters; other tensors are allocated inside. Text and names are those of
    TVM 0.27's ``te.create_prim_func``. Raises ValueError where nothing is computed, and for a
    size that no argument has.

    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> te.create_prim_func([A, B]).show()
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        for i in range(8):
            with T.block("B"):
                v_i = T.axis.spatial(8, i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = A[v_i] + T.float32(1)
    """
    ops = operations(args)
    stages = [op for op in ops if op.body]
    if not stages:
        raise ValueError("nothing is computed: every tensor is a placeholder")
    scans = [op for op in stages if isinstance(op, ScanOp)]
    _check_arguments(args, ops)
    _check_scans(scans, args, ops)
    tensors = [tensor for op in ops for tensor in op.outputs]
    buffers = {t: Buffer(identifier(t.name), t.shape, t.dtype) for t in tensors}
    for scan in scans:  # all that makes a state, or stands for it, is in one buffer
        for parts in (scan.init, scan.update, scan.state):
            buffers |= {t: buffers[made] for t, made in zip(parts, scan.outputs, strict=True)}
    names = block_names(stages)
    inside = {op for scan in scans for op in scan.inside}
    outside = [op for op in stages if op not in inside]
    body = seq(*(_stage(op, names, buffers) for op in outside))
    made = dict.fromkeys(buffers[t] for op in outside for t in op.outputs)
    allocated = tuple(buffer for buffer in made if buffer not in {buffers[t] for t in args})
    root = Block("root", (), (), (), body, alloc_buffers=allocated)
    params = tuple(buffers[t] for t in args)
    func = PrimFunc("main", params, BlockRealize((), TRUE, root), _attributes(args, stages))
    _check_sizes(func)
    return func


def _check_sizes(func: PrimFunc) -> None:
    """Refuse sizes that no argument has, and two of one name, of which nobody knows which is."""
    for size in (v for v in walk(func.body) if isinstance(v, SizeVar)):
        if size not in func.sizes:
            raise ValueError(f"{size.name} is the size of no argument; pass an array that has it")
    names = [size.name for size in func.sizes]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two sizes are called {name}; name each apart: te.var('m')")


def in_blocks(op: Operation) -> tuple[Tensor, ...]:
    """The outputs of `op` that have a block each: the first stands for those made at once."""
    one = isinstance(op, ScanOp) or isinstance(op.body[0], TupleReduction)
    return op.outputs[:1] if one else op.outputs


def _check_arguments(args: Sequence[Tensor], ops: Sequence[Operation]) -> None:
    states = {t for op in ops if isinstance(op, ScanOp) for t in op.state}
    for op in ops:
        if not op.body and op.output(0) not in {*args, *states}:
            raise ValueError(f"{op.name} is read and is not an argument")
    for position, arg in enumerate(args):
        if arg in args[:position]:
            raise ValueError(f"{arg.name} is an argument twice")


def _check_scans(scans: Sequence[ScanOp], args: Sequence[Tensor], ops: Sequence[Operation]) -> None:
    """Refuse what is seen from outside of a scan at whose times it is made."""
    for scan in scans:
        inside = {*scan.inside, scan}
        own = {*scan.init, *scan.state, *(t for op in scan.inside for t in op.outputs)}
        for tensor in (*args, *(t for op in ops if op not in inside for t in op.input_tensors)):
            if tensor in own:
                raise ValueError(
                    f"{tensor.name} is a part of {scan.name}, and is read outside of it or an "
                    f"argument; take {scan.name}, or compute it once more"
                )


def _attributes(
    args: Sequence[Tensor], stages: Sequence[Operation]
) -> tuple[tuple[str, Data], ...]:
    """What TVM writes at the function: which arguments may be laid out anew, and no aliases."""
    free = {args.index(t) for op in stages for t in op.layout_free if t in args}
    layout = (("layout_free_buffers", tuple(sorted(free))),) if free else ()
    return (*layout, ("tir.noalias", True))


def block_names(stages: Sequence[Operation]) -> dict[Tensor, str]:
    """The name of the block of each tensor that has one."""
    names: dict[Tensor, str] = {}
    for tensor in (tensor for op in stages for tensor in in_blocks(op)):
        together = len(in_blocks(tensor.op)) < tensor.op.num_outputs
        first = name = tensor.op.name if together else tensor.name.replace(".", "_")
        count = 0
        while name in names.values():
            count += 1
            name = f"{first}_{count}"
        names[tensor] = name
    return names


def _stage(
    op: Operation,
    names: dict[Tensor, str],
    buffers: dict[Tensor, Buffer],
    time: tuple[Expr, ...] = (),
) -> Stmt:
    """The loops that compute the outputs of `op`, with a block for each; in a scan, at a `time`."""
    axes = (*op.axis[len(time) :], *op.reduce_axis)
    loops = [Var(identifier(axis.name), axis.type) for axis in axes]
    values: tuple[Expr, ...] = tuple(loops) or (const(0, "int32"),)
    result: Stmt = seq(
        *(BlockRealize(values, TRUE, _block(t, names, axes, buffers, time)) for t in in_blocks(op))
    )
    for loop, axis in reversed(list(zip(loops, axes, strict=True))):
        result = For(loop, axis.dom.min, axis.dom.extent, "serial", result)
    return result


def _block(
    tensor: Tensor,
    names: dict[Tensor, str],
    axes: Sequence[Axis],
    buffers: dict[Tensor, Buffer],
    time: tuple[Expr, ...],
) -> Block:
    """The block that stores an element of `tensor`, and of those that are made with it."""
    iterators = tuple(
        IterVar(Var(identifier(f"v_{axis.name}"), axis.type), axis.dom, axis.kind) for axis in axes
    )
    if isinstance(tensor.op, ScanOp):
        return _scan(tensor.op, names, buffers, iterators)
    own: dict[Var, Expr] = {axis: it.var for axis, it in zip(axes, iterators, strict=True)}
    own |= zip(tensor.op.axis, time, strict=False)
    at = (*time, *(it.var for it in iterators))[: len(tensor.shape)]
    if not iterators:  # a scalar: TVM gives it one iterator of one value
        iterators = (IterVar(Var("vi"), Range(const(0, "int32"), const(1, "int32")), "spatial"),)
    value, target = tensor.op.body[tensor.value_index], buffers[tensor]

    def loaded(part: Node) -> Node:
        if isinstance(part, TensorLoad):
            return BufferLoad(buffers[part.tensor], part.indices)
        return part

    def in_iterators(inner: Expr) -> Expr:
        return _tidy(substitute(rewrite(inner, loaded), own))

    init: Stmt | None = None
    if isinstance(value, TupleReduction):
        results = [BufferLoad(buffers[one], at) for one in tensor.op.outputs]
        init, store = _together(value, results, [in_iterators(one) for one in value.values])
    elif isinstance(value, Reduction):
        init = BufferStore(target, identity(value.op, target.dtype), at)
        new = binary(value.op, BufferLoad(target, at), in_iterators(value.value))
        store = BufferStore(target, new, at)
    else:
        store = BufferStore(target, in_iterators(value), at)
    return _declared(
        Block(names[tensor], iterators, (), (), store, init=init, annotations=tensor.op.attrs)
    )


def _scan(
    op: ScanOp,
    names: dict[Tensor, str],
    buffers: dict[Tensor, Buffer],
    iterators: tuple[IterVar, ...],
) -> Block:
    """The block around all that a scan computes at one time, so that a step in it is at one."""
    time = iterators[0].var + op.first
    body = seq(*(_stage(each, names, buffers, (time,)) for each in op.inside))
    steps = [t for each in op.inside for t in each.outputs if t not in op.update]
    allocated = tuple(buffers[t] for t in steps)
    name = names[op.output(0)]
    return _declared(
        Block(name, iterators, (), (), body, alloc_buffers=allocated, annotations=op.attrs)
    )


def _declared(block: Block) -> Block:
    """`block` with what it reads and writes."""
    reads, writes = access_regions(block)
    return replace(block, reads=reads, writes=writes)


def _together(
    value: TupleReduction, results: Sequence[BufferLoad], terms: Sequence[Expr]
) -> tuple[Stmt, Stmt]:
    """The stores that start `results`, and those that combine `terms` with them.

    The latter come in an order in which each result is loaded before it changes; TVM's text has
    them as names for all values, and then the stores.
    """
    f = value.combiner
    known: dict[Var, Expr] = {**dict(zip(f.lhs, results, strict=True))}
    known |= dict(zip(f.rhs, terms, strict=True))
    used = [{*free_vars(one)} for one in f.result]
    left, order = [*range(len(results))], []
    while left:
        free = (k for k in left if not any(f.lhs[k] in used[j] for j in left if j != k))
        first = next(free, None)
        if first is None:
            raise ValueError(f"{f.name}: each value needs another one as it was before it changed")
        left.remove(first)
        order.append(first)
    new = [substitute(one, known) for one in f.result]
    init, update = (
        seq(*(BufferStore(results[k].buffer, some[k], results[k].indices) for k in turn))
        for some, turn in ((f.starts, range(len(results))), (new, order))
    )
    named = [(Var(f"v_{one.buffer.name}", one.dtype), one) for one in results]
    binds = [Bind(name, value) for (name, _), value in zip(named, new, strict=True)]
    stores = [BufferStore(one.buffer, name, one.indices) for name, one in named]
    write_as(update, [*binds, *stores])
    return init, update


def _tidy(value: Expr) -> Expr:
    """`value` with its indices and conditions as TVM leaves them: short, and told by < and <=."""

    def turned(part: Node) -> Node:
        if isinstance(part, BinOp) and part.op in _TURNED:
            return BinOp(_TURNED[part.op], part.b, part.a)
        return part

    return rewrite(simplify(value), turned)


_TURNED = {">": "<", ">=": "<="}
