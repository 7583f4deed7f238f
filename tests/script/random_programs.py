"""Random expressions and programs for hypothesis: every kind of node, odd names, every type."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from workbench import arith
from workbench.ir import (
    BITWISE,
    MATHS,
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    For,
    IfThenElse,
    IterVar,
    Not,
    PrimFunc,
    Range,
    Select,
    Stmt,
    Var,
    const,
    dtypes,
    seq,
)

# Clashes, keywords, and what means something where programs are read.
NAMES = ["i", "i", "A", "for", "T", "range", "i_1", "é", "lambda", "None", "_"]
TYPES = [*dtypes.BITS]
INTS = [t for t in TYPES if dtypes.is_int(t)]
FLOATS = [t for t in TYPES if dtypes.is_float(t)]


def constants(dtype: str, small: bool = False) -> st.SearchStrategy[Const]:
    """Any constant of the type, the awkward ones often; small ones where arrays are indexed."""
    if small and dtypes.is_int(dtype):
        return st.integers(0, 9).map(lambda v: Const(v, dtype))
    if dtype == "bool":
        return st.booleans().map(lambda v: Const(v, dtype))
    if dtypes.is_float(dtype):
        odd = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e-30, 1e20, math.inf, -math.inf, math.nan])
        return (odd | st.floats()).map(lambda v: Const(float(v), dtype))
    bits = dtypes.BITS[dtype]
    low, high = (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return st.sampled_from([low, high, 0, 1, min(5, high), max(-3, low)]).map(
        lambda v: Const(v, dtype)
    )


class Scope:
    """The variables and buffers that an expression may use; an index may not use `own` ones.

    A region cannot name an element of an array that exists only inside its block.
    """

    def __init__(
        self, variables: list[Var], buffers: list[Buffer], own: list[Buffer] | None = None
    ) -> None:
        self.variables = variables
        self.buffers = [*buffers, *(own or ())]
        self.index = Scope(variables, buffers) if own else self


@st.composite
def expressions(
    draw: st.DrawFn, scope: Scope, dtype: str, depth: int = 3, small: bool = False
) -> Expr:
    """An expression of the type, unfolded operators included."""
    leaves: list[Expr] = [v for v in scope.variables if v.type == dtype]
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return (
            draw(st.sampled_from(leaves))
            if leaves and draw(st.booleans())
            else draw(constants(dtype, small))
        )

    def below(wanted: str = dtype) -> Expr:
        return draw(expressions(scope, wanted, depth - 1, small))

    kinds = ["cast", "select", "if_then_else", "load"]
    kinds += ["not", "logical", "compare"] if dtype == "bool" else ["arithmetic"] * 4
    kinds += ["call"] if dtypes.is_float(dtype) else []
    kind = draw(st.sampled_from(kinds))
    if kind == "not":
        return Not(below())
    if kind == "logical":
        return BinOp(draw(st.sampled_from(["and", "or"])), below(), below())
    if kind == "compare":
        side = draw(st.sampled_from(TYPES))
        sign = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
        return BinOp(sign, below(side), below(side))
    if kind == "arithmetic":
        signs = ["+", "-", "*", "min", "max"]
        signs += ["/"] if dtypes.is_float(dtype) else ["//", "%", *sorted(BITWISE)]
        return BinOp(draw(st.sampled_from(signs)), below(), below())
    if kind == "call":
        name = draw(st.sampled_from(sorted(MATHS)))
        return Call(name, tuple(below() for _ in range(MATHS[name])), dtype)
    if kind == "select":
        return Select(below("bool"), below(), below())
    if kind == "if_then_else":
        return Call("if_then_else", (below("bool"), below(), below()), dtype)
    of_type = [b for b in scope.buffers if b.type == dtype]
    if kind == "load" and of_type:
        buffer = draw(st.sampled_from(of_type))
        return BufferLoad(
            buffer, tuple(draw(expressions(scope.index, "int32", 1, True)) for _ in buffer.shape)
        )
    return Cast(dtype, below(draw(st.sampled_from(TYPES))))


@st.composite
def buffers(draw: st.DrawFn, scope: str = "global") -> Buffer:
    """A buffer of up to three dimensions under any name."""
    shape = tuple(draw(st.lists(st.integers(1, 5), max_size=3)))
    strides: tuple[int, ...] = ()
    for size in reversed(shape):
        inside = size_inside * strides[0] if strides else 1
        strides, size_inside = (inside + draw(st.integers(0, 3)), *strides), size
    padded = scope != "global" and draw(st.integers(0, 4)) == 0
    name, dtype = draw(st.sampled_from(NAMES)), draw(st.sampled_from(TYPES))
    return Buffer(name, shape, dtype, scope, strides if padded else ())


@st.composite
def _leaf(draw: st.DrawFn, scope: Scope) -> Stmt:
    buffer = draw(st.sampled_from(scope.buffers))
    indices = tuple(draw(expressions(scope.index, "int32", 1, True)) for _ in buffer.shape)
    store = BufferStore(buffer, draw(expressions(scope, buffer.type, 2)), indices)
    if draw(st.integers(0, 3)) == 0:
        other = draw(_leaf(scope)) if draw(st.booleans()) else None
        return IfThenElse(draw(expressions(scope, "bool", 2)), store, other)
    return store


@st.composite
def _block(draw: st.DrawFn, loops: list[For], around: Scope) -> BlockRealize:
    outer = Scope([loop.loop_var for loop in loops], [])
    iters, values = [], []
    for loop in loops:
        var = Var(draw(st.sampled_from(NAMES)), loop.loop_var.type)
        whole = draw(st.booleans())
        value = loop.loop_var if whole else draw(expressions(outer, var.type, 1))
        dom = Range(loop.min, loop.extent) if whole else Range(const(0, var.type), loop.extent)
        iters.append(IterVar(var, dom, draw(st.sampled_from(["spatial", "reduce"]))))
        values.append(value)
    allocs = draw(st.lists(buffers("local"), max_size=1))
    scope = Scope([i.var for i in iters], around.buffers, allocs)
    body = seq(*draw(st.lists(_leaf(scope), min_size=1, max_size=2)))
    init = draw(st.none() | _leaf(scope))
    name = draw(st.sampled_from(["C", 'a"b', "x'y", "back\\slash", ""]))
    notes = draw(st.sampled_from([(), (("k", 1),), (("a", (1, "x", -2.5)), ("b", True))]))
    bare = Block(name, tuple(iters), (), (), body, init, tuple(allocs), notes)
    reads, writes = arith.access_regions(bare)
    block = Block(name, tuple(iters), reads, writes, body, init, tuple(allocs), notes)
    predicate = draw(st.just(TRUE) | expressions(outer, "bool", 2))
    return BlockRealize(tuple(values), predicate, block)


@st.composite
def _nest(draw: st.DrawFn, scope: Scope) -> Stmt:
    loops: list[For] = []
    for _ in range(draw(st.integers(0, 3))):
        var = Var(draw(st.sampled_from(NAMES)), draw(st.sampled_from(["int32", "int32", "int64"])))
        kind = draw(
            st.sampled_from(
                [
                    "serial",
                    "serial",
                    "serial",
                    "parallel",
                    "vectorized",
                    "unrolled",
                    "thread_binding",
                ]
            )
        )
        low = const(draw(st.sampled_from([0, 0, 0, 2])), var.type)
        extent: Expr = const(draw(st.integers(1, 6)), var.type)
        outer = [loop.loop_var for loop in loops if loop.loop_var.type == var.type]
        if outer and draw(st.integers(0, 4)) == 0:
            extent = BinOp("+", outer[-1], const(1, var.type))
        thread = "threadIdx.x" if kind == "thread_binding" else None
        notes = draw(st.sampled_from([(), (), (("pragma", 1), ("name", "x"))]))
        loops.append(For(var, low, extent, kind, seq_placeholder, thread, notes))
    body: Stmt = draw(_block(loops, scope))
    for loop in reversed(loops):
        body = For(
            loop.loop_var, loop.min, loop.extent, loop.kind, body, loop.thread, loop.annotations
        )
    return body


seq_placeholder = BufferStore(Buffer("nothing", ()), const(0.0, "float32"), ())


@st.composite
def programs(draw: st.DrawFn) -> PrimFunc:
    """A well-formed program of one to three nests."""
    params = draw(st.lists(buffers(), min_size=1, max_size=3))
    allocs = draw(st.lists(buffers("shared"), max_size=2))
    scope = Scope([], [*params, *allocs])
    nests = draw(st.lists(_nest(scope), min_size=1, max_size=3))
    root = Block("root", (), (), (), seq(*nests), None, tuple(allocs))
    attrs = draw(st.sampled_from([(), (("tir.noalias", True),), (("x", (1, 2)), ("y", -0.5))]))
    name = draw(st.sampled_from(["main", "odd name", "for", "f2"]))
    return PrimFunc(name, tuple(params), BlockRealize((), TRUE, root), attrs)
