"""pad_einsum: run a block for rounder numbers of iterations, on copies filled up with zeros."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from workbench.diag import Refusal
from workbench.ir import (
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
    IterVar,
    PrimFunc,
    Range,
    Stmt,
    Var,
    const,
    seq,
    substitute_buffers,
    walk,
)
from workbench.ir.places import places
from workbench.schedule.bindings import both
from workbench.schedule.counters import variables
from workbench.schedule.domains import bounds_at, domain
from workbench.schedule.factoring import sum_of
from workbench.schedule.inlining import with_regions
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.regions import covers_domain
from workbench.schedule.scope import check_stage, check_stores, read, written


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How often each iterator runs, and how often it is to run."""

    now: dict[Var, int]
    then: dict[Var, int]

    def grows(self, index: Expr) -> bool:
        """Whether `index` is an iterator that is to run more often."""
        return isinstance(index, Var) and self.now[index] != self.then[index]


def _choices(func: PrimFunc, block: Block) -> Iterator[dict[str, list[int]]]:
    yield from ({"padding": [size] * len(block.iter_vars)} for size in (4, 16))


@primitive(group="blocks", choices=_choices)
def pad_einsum(func: PrimFunc, block: Block, padding: list[int]) -> Edit:
    """Round each iterator of `block` up to a multiple of its number in `padding`.

    The block touches each buffer at one cell, told by iterators and constants alone; those rounded
    up have a loop each. What it reads is copied first, with zeros for the rest; what it writes goes
    through a copy, of which the part that was meant is kept. Terms of sums that come in addition
    must be zero.

    >>> sch.pad_einsum("C", [1, 4])
    @T.prim_func
    def main(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i, k in T.grid(8, 6):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
    ---
    @T.prim_func
    def main(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        A_pad = T.alloc_buffer((8, 8))
        for i0, i1 in T.grid(8, 8):
            with T.block("A_pad"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                T.reads(A[v0, v1])
                T.writes(A_pad[v0, v1])
                A_pad[v0, v1] = T.if_then_else(v1 < 6, A[v0, v1], T.float32(0))
        for i, k in T.grid(8, 8):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A_pad[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A_pad[vi, vk]
    """
    task = f"pad_einsum `{block.name}`"
    _check_numbers(block, padding, task)
    now = {var: high + 1 for var, (_, high) in domain(block).items()}
    then = {var: -(-now[var] // by) * by for var, by in zip(now, padding, strict=True)}
    if now == then:
        return Edit(func)
    check_stage(func, block, "pad_einsum", sole=False)
    realize = places(func).realize(block)
    sizes = _Sizes(now, then)
    cells = _cells(func, block, task)
    loops = _loops(func, realize, sizes, task)
    _check_kept_apart(block, sizes, cells, task)
    _check_sum(block, sizes, task)
    _check_divisions(block, task)
    grown = [b for b in cells if any(map(sizes.grows, cells[b]))]
    copies = {b: _copy(b, cells[b], sizes) for b in grown}
    ahead = [_filled(b, copies[b], cells[b], sizes) for b in grown if b in read(block)]
    behind = [_kept(b, copies[b], cells[b], sizes) for b in grown if b in written(block)]
    nest = _grown(realize, loops, copies, sizes)
    return Edit(_placed(func, loops[0], seq(*ahead, nest, *behind), list(copies.values())))


# --- what it takes -------------------------------------------------------------------------------


def _check_numbers(block: Block, padding: list[int], task: str) -> None:
    names = ", ".join(it.var.name for it in block.iter_vars)
    if len(padding) != len(block.iter_vars):
        raise Refusal(
            f"Can't {task}: it has {len(block.iter_vars)} iterators, and {len(padding)} "
            "numbers were given",
            block,
            hint=f"give a number for each of {names}; 1 leaves an iterator as it is",
        )
    if any(by < 1 for by in padding):
        bad = next(by for by in padding if by < 1)
        raise Refusal(
            f"Can't {task}: {bad} is not positive",
            block,
            hint="1 leaves an iterator as it is, 16 rounds it up to a multiple of 16",
        )


def _loops(func: PrimFunc, realize: BlockRealize, sizes: _Sizes, task: str) -> list[For]:
    """The loops around the block, of which each iterator that grows has one for itself."""
    where = places(func)
    loops = where.loops_above(realize)
    dom = bounds_at(where, realize)
    used = [v for value in realize.iter_values for v in variables(value)]
    used += variables(realize.predicate)
    ends = domain(realize.block)
    for var, value in zip(ends, realize.iter_values, strict=True):
        own = isinstance(value, Var) and used.count(value) == 1 and dom[value] == ends[var]
        if sizes.grows(var) and not own:
            raise Refusal(
                f"Can't {task}: {var.name}, which is to run more often, has no loop of its own",
                realize,
                hint="pad a block before its loops are split or fused",
            )
    whole = covers_domain(realize, {one.loop_var: dom[one.loop_var] for one in loops})
    if not whole or any(low for low, _ in ends.values()):
        raise Refusal(
            f"Can't {task}: the loops around it may leave out cells",
            realize,
            hint="the copies hold only what it writes: pad a block that runs for all its domain",
        )
    others = [r for r in where.blocks_under(loops[0]) if r is not realize]
    if others:
        shared = next(one for one in reversed(loops) if others[0] in where.blocks_under(one))
        raise Refusal(
            f"Can't {task}: `{others[0].block.name}` is in `{shared.loop_var.name}` too",
            realize,
            *others,
            hint="pad a block before others are moved to its loops",
        )
    return loops


def _cells(func: PrimFunc, block: Block, task: str) -> dict[Buffer, tuple[Expr, ...]]:
    """The one cell of each buffer that an iteration touches, in the order of its regions."""
    iterators = {it.var for it in block.iter_vars}
    found: dict[Buffer, tuple[Expr, ...]] = {}
    for node in walk(block):
        if not isinstance(node, BufferLoad | BufferStore):
            continue
        plain = all(i in iterators or isinstance(i, Const) for i in node.indices)
        cell = found.setdefault(node.buffer, node.indices)
        same = all(_same(a, b) for a, b in zip(node.indices, cell, strict=True))
        if not plain or not same:
            raise Refusal(
                f"Can't {task}: it touches {node.buffer.name} at other cells than iterators name",
                places(func).realize(block),
                hint="it takes blocks such as C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]",
            )
    _check_whole_result(block, found, task)
    check_stores(func, block, written(block), task)
    order = dict.fromkeys((*read(block), *written(block)))
    return {buffer: found[buffer] for buffer in order if buffer in found}


def _check_whole_result(block: Block, cells: dict[Buffer, tuple[Expr, ...]], task: str) -> None:
    for buffer in written(block):
        pairs = zip(cells[buffer], buffer.shape, strict=True)
        named = [index for index in cells[buffer] if isinstance(index, Var)]
        part = any(isinstance(index, Const) and size > 1 for index, size in pairs)
        if part or len(set(named)) < len(named):
            raise Refusal(
                f"Can't {task}: it writes a part of {buffer.name} only",
                block,
                hint="pad blocks that write whole buffers, such as C[vi, vj]",
            )


def _check_kept_apart(
    block: Block, sizes: _Sizes, cells: dict[Buffer, tuple[Expr, ...]], task: str
) -> None:
    """Refuse more turns of a spatial iterator that picks no cell: they would store on top."""
    for iterator in block.iter_vars:
        var = iterator.var
        if iterator.kind == "reduce" or not sizes.grows(var):
            continue
        if any(var not in cells[buffer] for buffer in written(block)):
            raise Refusal(
                f"Can't {task}: more turns of {var.name} would write the same cells again",
                block,
                hint=f"give 1 for {var.name}, which is no index of what the block writes",
            )


def _same(a: Expr, b: Expr) -> bool:
    if isinstance(a, Const) and isinstance(b, Const):
        return a.value == b.value
    return a is b


def _check_sum(block: Block, sizes: _Sizes, task: str) -> None:
    """Refuse unless each term that a sum gets in addition is surely zero."""
    for iterator in block.iter_vars:
        if iterator.kind != "reduce" or not sizes.grows(iterator.var):
            continue
        store, init = block.body, block.init
        found = None
        if isinstance(store, BufferStore) and isinstance(init, BufferStore):
            found = sum_of(store, init)
        if found is None or found.op != "+" or not _is_zero(found.term, iterator.var):
            raise Refusal(
                f"Can't {task}: more terms along {iterator.var.name} would change its result",
                block,
                detail="terms that come in addition are made of zeros, and must come out as zero",
                hint=f"give 1 for {iterator.var.name}, or sum products of what {iterator.var.name} "
                "reads",
            )


def _is_zero(term: Expr, var: Var) -> bool:
    """Whether `term` is zero where every buffer that is read at `var` holds zero."""
    match term:
        case Const(value=value):
            return value == 0
        case BufferLoad(_, indices):
            return var in indices
        case Cast(_, value):
            return _is_zero(value, var)
        case BinOp("*", a, b):
            # zero times what is read elsewhere is not zero where that is infinite
            zero = _is_zero(a, var) or _is_zero(b, var)
            return zero and all(_is_known(part, var) for part in (a, b))
        case BinOp("+" | "-" | "min" | "max", a, b):
            return _is_zero(a, var) and _is_zero(b, var)
    return False


def _is_known(factor: Expr, var: Var) -> bool:
    return isinstance(factor, Const) or _is_zero(factor, var)


def _check_divisions(block: Block, task: str) -> None:
    for node in walk(block.body):
        match node:
            case BinOp("/" | "//" | "%", _, divisor) if not isinstance(divisor, Const):
                raise Refusal(
                    f"Can't {task}: it would divide by the zeros that fill its copies",
                    node,
                    hint="pad blocks that add and multiply",
                )


# --- what it makes -------------------------------------------------------------------------------


def _copy(buffer: Buffer, cell: tuple[Expr, ...], sizes: _Sizes) -> Buffer:
    shape = tuple(
        sizes.then[i] if isinstance(i, Var) and sizes.grows(i) else size
        for i, size in zip(cell, buffer.shape, strict=True)
    )
    return Buffer(f"{buffer.name}_pad", shape, buffer.type, buffer.scope)


def _filled(buffer: Buffer, copy: Buffer, cell: tuple[Expr, ...], sizes: _Sizes) -> Stmt:
    """The loops that copy what is there into `copy`, and zeros around it."""
    axes = _axes(buffer)
    inside: Expr = TRUE
    for axis, index, size in zip(axes, cell, buffer.shape, strict=True):
        if isinstance(index, Var) and sizes.grows(index):
            # a choice may keep the block from cells that the buffer does not have
            inside = both(inside, axis < min(sizes.now[index], size))
    value = Call("if_then_else", (inside, buffer[axes], const(0, buffer.type)), buffer.type)
    return _stage(BufferStore(copy, value, axes), copy.name, copy.shape)


def _kept(buffer: Buffer, copy: Buffer, cell: tuple[Expr, ...], sizes: _Sizes) -> Stmt:
    """The loops that copy what was meant out of `copy`."""
    extents = [
        sizes.now[index] if isinstance(index, Var) else size
        for index, size in zip(cell, buffer.shape, strict=True)
    ]
    axes = _axes(buffer)
    return _stage(BufferStore(buffer, copy[axes], axes), copy.name, extents)


def _axes(buffer: Buffer) -> tuple[Var, ...]:
    return tuple(Var(f"v{k}", "int32") for k in range(len(buffer.shape)))


def _stage(store: BufferStore, name: str, extents: Sequence[int]) -> Stmt:
    """`store`, whose indices are iterators, under a loop for each."""
    loops = [Var(f"i{k}", "int32") for k in range(len(extents))]
    ranges = [Range(const(0, "int32"), const(size, "int32")) for size in extents]
    pairs = zip(store.indices, ranges, strict=True)
    iterators = tuple(IterVar(v, r, "spatial") for v, r in pairs if isinstance(v, Var))
    stmt: Stmt = BlockRealize(
        tuple(loops), TRUE, with_regions(Block(name, iterators, (), (), store))
    )
    for var, r in reversed(list(zip(loops, ranges, strict=True))):
        stmt = For(var, r.min, r.extent, "serial", stmt)
    return stmt


def _grown(
    realize: BlockRealize, loops: list[For], copies: dict[Buffer, Buffer], sizes: _Sizes
) -> Stmt:
    """The block on the copies, and its loops for as many iterations as it is to run."""
    block = substitute_buffers(realize.block, copies)
    iterators = tuple(
        replace(it, dom=Range(it.dom.min, const(sizes.then[it.var], it.var.type)))
        for it in block.iter_vars
    )
    stmt: Stmt = replace(realize, block=with_regions(replace(block, iter_vars=iterators)))
    pairs = zip(sizes.then.items(), realize.iter_values, strict=True)
    extents = {value: size for (var, size), value in pairs if sizes.grows(var)}
    for one in reversed(loops):
        size = extents.get(one.loop_var)
        extent = one.extent if size is None else const(size, one.loop_var.type)
        stmt = replace(one, extent=extent, body=stmt)
    return stmt


def _placed(func: PrimFunc, nest: For, new: Stmt, copies: list[Buffer]) -> PrimFunc:
    """`func` with `new` in the place of `nest`, and the copies allocated around it."""
    scope_id = places(func).scope(nest).block.id
    func = places(func).replace(nest, new)
    scope = places(func).blocks[scope_id]
    block = replace(scope.block, alloc_buffers=(*scope.block.alloc_buffers, *copies))
    return places(func).replace(scope, replace(scope, block=block))
