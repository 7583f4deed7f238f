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
from workbench.script.writer import identifier
from workbench.te.reduce import identity
from workbench.te.tensor import Axis, Operation, Reduction, Tensor, TensorLoad, TupleReduction


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
    _check_arguments(args, ops)
    tensors = [tensor for op in ops for tensor in op.outputs]
    buffers = {t: Buffer(identifier(t.name), t.shape, t.dtype) for t in tensors}
    computed = [tensor for op in stages for tensor in op.outputs]
    names = _block_names([tensor for op in stages for tensor in in_blocks(op)])
    body = seq(*(_stage(op, names, buffers) for op in stages))
    allocated = tuple(buffers[t] for t in computed if t not in args)
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


def operations(args: Sequence[Tensor]) -> list[Operation]:
    """The operations of `args` and of all that they read, each after those that it reads."""
    done: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        if op not in done:
            for tensor in op.input_tensors:
                visit(tensor.op)
            done[op] = None

    for arg in args:
        visit(arg.op)
    return list(done)


def in_blocks(op: Operation) -> tuple[Tensor, ...]:
    """The outputs of `op` that have a block each: the first stands for those reduced at once."""
    return op.outputs[:1] if isinstance(op.body[0], TupleReduction) else op.outputs


def _check_arguments(args: Sequence[Tensor], ops: Sequence[Operation]) -> None:
    for op in ops:
        if not op.body and op.output(0) not in args:
            raise ValueError(f"{op.name} is read and is not an argument")
    for position, arg in enumerate(args):
        if arg in args[:position]:
            raise ValueError(f"{arg.name} is an argument twice")


def _attributes(
    args: Sequence[Tensor], stages: Sequence[Operation]
) -> tuple[tuple[str, Data], ...]:
    """What TVM writes at the function: which arguments may be laid out anew, and no aliases."""
    free = {args.index(t) for op in stages for t in op.layout_free if t in args}
    layout = (("layout_free_buffers", tuple(sorted(free))),) if free else ()
    return (*layout, ("tir.noalias", True))


def _block_names(stages: Sequence[Tensor]) -> dict[Tensor, str]:
    names: dict[Tensor, str] = {}
    for tensor in stages:
        together = isinstance(tensor.op.body[0], TupleReduction)  # made in one block
        first = name = tensor.op.name if together else tensor.name.replace(".", "_")
        count = 0
        while name in names.values():
            count += 1
            name = f"{first}_{count}"
        names[tensor] = name
    return names


def _stage(op: Operation, names: dict[Tensor, str], buffers: dict[Tensor, Buffer]) -> Stmt:
    """The loops that compute the outputs of `op`, with a block for each."""
    axes = (*op.axis, *op.reduce_axis)
    loops = [Var(identifier(axis.name), axis.type) for axis in axes]
    values: tuple[Expr, ...] = tuple(loops) or (const(0, "int32"),)
    result: Stmt = seq(
        *(BlockRealize(values, TRUE, _block(names[t], t, axes, buffers)) for t in in_blocks(op))
    )
    for loop, axis in reversed(list(zip(loops, axes, strict=True))):
        result = For(loop, axis.dom.min, axis.dom.extent, "serial", result)
    return result


def _block(name: str, tensor: Tensor, axes: Sequence[Axis], buffers: dict[Tensor, Buffer]) -> Block:
    """The block that stores an element of `tensor`, and of those that are made with it."""
    iterators = tuple(
        IterVar(Var(identifier(f"v_{axis.name}"), axis.type), axis.dom, axis.kind) for axis in axes
    )
    own: dict[Var, Expr] = {axis: it.var for axis, it in zip(axes, iterators, strict=True)}
    at = tuple(it.var for it in iterators[: len(tensor.shape)])
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
    block = Block(name, iterators, (), (), store, init=init, annotations=tensor.op.attrs)
    reads, writes = access_regions(block)
    return replace(block, reads=reads, writes=writes)


def _together(
    value: TupleReduction, results: Sequence[BufferLoad], terms: Sequence[Expr]
) -> tuple[Stmt, Stmt]:
    """The stores that start `results`, and those that combine `terms` with them.

    The latter come in an order in which each result is loaded before it changes.
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
    return init, update


def _tidy(value: Expr) -> Expr:
    """`value` with its indices and conditions as TVM leaves them: short, and told by < and <=."""

    def turned(part: Node) -> Node:
        if isinstance(part, BinOp) and part.op in _TURNED:
            return BinOp(_TURNED[part.op], part.b, part.a)
        return part

    return rewrite(simplify(value), turned)


_TURNED = {">": "<", ">=": "<="}
