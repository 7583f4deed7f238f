"""pad_einsum: run a block for rounder numbers of iterations, on copies filled up with zeros."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from workbench import arith
from workbench.access.counters import variables
from workbench.access.units import same_cell
from workbench.ir import (
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
    PrimFunc,
    Range,
    Size,
    Stmt,
    Var,
    as_expr,
    binary,
    const,
    dtypes,
    seq,
    size_expr,
    stores,
    substitute_buffers,
    walk,
)
from workbench.ir.places import places
from workbench.verbs.copies import check_copied, reads_always
from workbench.verbs.domains import count_in, domain
from workbench.verbs.factoring import sum_of
from workbench.verbs.inlining import with_regions
from workbench.verbs.nest import iter_var, nest, nest_over, resized
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.regions import covers_domain
from workbench.verbs.scope import check_stage, check_started, check_stores, reallocate
from workbench.verbs.site import Site, declared_reads, declared_writes, site_of


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How often each iterator runs, and how often it is to run."""

    now: dict[Var, Size]
    then: dict[Var, Size]

    def grows(self, index: Expr) -> bool:
        """Whether `index` is an iterator that is to run more often."""
        return isinstance(index, Var) and self.now[index] != self.then[index]

    def read(self, index: Expr, size: Size) -> Size:
        """How many cells of a dimension of that size are read at `index`."""
        if not isinstance(index, Var):
            return 1
        fewer = arith.simplify(binary("min", as_expr(self.now[index]), size))
        return fewer.value if isinstance(fewer, Const) else fewer

    def filled(self, index: Expr, size: Size) -> Size:
        """How many cells of that dimension a copy is to hold a value in."""
        if isinstance(index, Var) and self.grows(index):
            return self.then[index]
        return self.read(index, size)


def _choices(func: PrimFunc, block: Block) -> Iterator[dict[str, list[int]]]:
    yield from ({"padding": [size] * len(block.iter_vars)} for size in (4, 16))


@primitive(group="blocks", sizes=True, choices=_choices)
def pad_einsum(func: PrimFunc, block: Block, padding: list[int]) -> Edit[None]:
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
    site = site_of(func, block, "pad_einsum")
    _check_numbers(site, padding)
    now = {var: count_in(ends) + ends[0] for var, ends in domain(block).items()}
    then = {var: _rounded(now[var], by) for var, by in zip(now, padding, strict=True)}
    if now == then:
        return Edit(func)
    _check_counts(site, then)
    check_stage(site, sole=False)
    sizes = _Sizes(now, then)
    cells = _cells(site)
    loops = _loops(site, sizes)
    _check_kept_apart(site, sizes, cells)
    _check_sum(site, sizes)
    _check_divisions(site)
    grown = [b for b in cells if any(map(sizes.grows, cells[b]))]
    check_started(site, [b for b in grown if b in declared_writes(block)])
    copies = {b: _copy(b, cells[b], sizes) for b in grown}
    started = {s.buffer for s in stores(block.init)} if block.init else set()  # before its reads
    needed = [b for b in grown if b in declared_reads(block) and b not in started]
    ahead = [_filled(b, copies[b], cells[b], sizes) for b in needed]
    behind = [_kept(b, copies[b], cells[b], sizes) for b in grown if b in declared_writes(block)]
    grown_nest = _grown(site.realize, loops, copies, sizes)
    changed = site.places.replace(loops[0], seq(*ahead, grown_nest, *behind))
    buffers = (*site.scope.block.alloc_buffers, *copies.values())
    edit: Edit[None] = Edit(reallocate(places(changed), site.scope, buffers))
    for buffer in needed:
        if not reads_always(site, buffer):
            (filled,) = site.after(edit.places, block.id).writers(copies[buffer])
            check_copied(site, site.after(edit.places, filled.block.id), buffer)
    return edit


# --- what it takes -------------------------------------------------------------------------------


def _rounded(size: Size, by: int) -> Size:
    """`size` rounded up to a multiple of `by`: itself where it is one."""
    up = (size + (by - 1)) // by * by
    if isinstance(up, int):
        return size if up == size else up
    return size if arith.equal(up, size) else arith.simplify(up)


def _check_numbers(site: Site[Block], padding: list[int]) -> None:
    block = site.node
    names = ", ".join(it.var.name for it in block.iter_vars)
    if len(padding) != len(block.iter_vars):
        raise site.refuse(
            f"it has {len(block.iter_vars)} iterators, and {len(padding)} numbers were given",
            hint=f"give a number for each of {names}; 1 leaves an iterator as it is",
        )
    bad = [by for by in padding if by < 1]
    if bad:
        raise site.refuse(
            f"{bad[0]} is not positive",
            hint="1 leaves an iterator as it is, 16 rounds it up to a multiple of 16",
        )


def _check_counts(site: Site[Block], then: dict[Var, Size]) -> None:
    """Refuse more turns than an iterator counts, or one of a copy, which counts in 32 bits."""
    for var, turns in then.items():
        dtype = min(var.type, "int32", key=lambda one: dtypes.limits(one)[1])
        if isinstance(turns, int) and turns > dtypes.limits(dtype)[1]:
            raise site.refuse(
                f"{var.name} would run {turns} times, and {dtype} does not count so far",
                hint="give smaller numbers, such as 16",
            )


def _loops(site: Site[Block], sizes: _Sizes) -> list[For]:
    """The loops around the block, of which each iterator that grows has one for itself."""
    loops, dom, realize = site.loops, site.bounds, site.realize
    used = [v for value in realize.iter_values for v in variables(value)]
    used += variables(realize.predicate)
    ends = domain(realize.block)
    for var, value in zip(ends, realize.iter_values, strict=True):
        own = isinstance(value, Var) and used.count(value) == 1 and dom[value] == ends[var]
        if sizes.grows(var) and not own:
            raise site.refuse(
                f"{var.name}, which is to run more often, has no loop of its own",
                hint="pad a block before its loops are split or fused",
            )
    whole = covers_domain(realize, dom.of(loops))
    if not whole or any(low for low, _ in ends.values()):
        raise site.refuse(
            "the loops around it may leave out cells",
            hint="the copies hold only what it writes: pad a block that runs for all its domain",
        )
    others = site.others_in(loops[0])
    if others:
        shared = next(one for one in reversed(loops) if others[0] in site.places.blocks_under(one))
        raise site.refuse(
            f"`{others[0].block.name}` is in `{shared.loop_var.name}` too",
            realize,
            *others,
            hint="pad a block before others are moved to its loops",
        )
    return loops


def _cells(site: Site[Block]) -> dict[Buffer, tuple[Expr, ...]]:
    """The one cell of each buffer that an iteration touches, in the order of its regions."""
    block = site.node
    iterators = {it.var for it in block.iter_vars}
    cells: dict[Buffer, tuple[Expr, ...]] = {}
    for node in walk(block):
        if not isinstance(node, BufferLoad | BufferStore):
            continue
        plain = all(i in iterators or isinstance(i, Const) for i in node.indices)
        cell = cells.setdefault(node.buffer, node.indices)
        if not plain or not same_cell(node.indices, cell):
            raise site.refuse(
                f"it touches {node.buffer.name} at other cells than iterators name",
                hint="it takes blocks such as C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]",
            )
    _check_whole_result(site, cells)
    check_stores(site, declared_writes(block))
    order = dict.fromkeys((*declared_reads(block), *declared_writes(block)))
    return {buffer: cells[buffer] for buffer in order if buffer in cells}


def _check_whole_result(site: Site[Block], cells: dict[Buffer, tuple[Expr, ...]]) -> None:
    for buffer in declared_writes(site.node):
        pairs = zip(cells[buffer], buffer.shape, strict=True)
        named = [index for index in cells[buffer] if isinstance(index, Var)]
        part = any(isinstance(index, Const) and size != 1 for index, size in pairs)
        if part or len(set(named)) < len(named):
            raise site.refuse(
                f"it writes a part of {buffer.name} only",
                hint="pad blocks that write whole buffers, such as C[vi, vj]",
            )


def _check_kept_apart(
    site: Site[Block], sizes: _Sizes, cells: dict[Buffer, tuple[Expr, ...]]
) -> None:
    """Refuse more turns of a spatial iterator that picks no cell: they would store on top."""
    for iterator in site.node.iter_vars:
        var = iterator.var
        if iterator.kind == "reduce" or not sizes.grows(var):
            continue
        if any(var not in cells[buffer] for buffer in declared_writes(site.node)):
            raise site.refuse(
                f"more turns of {var.name} would write the same cells again",
                hint=f"give 1 for {var.name}, which is no index of what the block writes",
            )


def _check_sum(site: Site[Block], sizes: _Sizes) -> None:
    """Refuse unless each term that a sum gets in addition is surely zero."""
    for iterator in site.node.iter_vars:
        if iterator.kind != "reduce" or not sizes.grows(iterator.var):
            continue
        update = sum_of(site.node)
        if update is None or update.op != "+" or not _is_zero(update.term, iterator.var):
            raise site.refuse(
                f"more terms along {iterator.var.name} would change its result",
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
            return zero and all(isinstance(f, Const) or _is_zero(f, var) for f in (a, b))
        case BinOp("+" | "-" | "min" | "max", a, b):
            return _is_zero(a, var) and _is_zero(b, var)
    return False


def _check_divisions(site: Site[Block]) -> None:
    for node in walk(site.node.body):
        match node:
            case BinOp("/" | "//" | "%", _, divisor) if not isinstance(divisor, Const):
                raise site.refuse(
                    "it would divide by the zeros that fill its copies",
                    node,
                    hint="pad blocks that add and multiply",
                )


# --- what it makes -------------------------------------------------------------------------------


def _copy(buffer: Buffer, cell: tuple[Expr, ...], sizes: _Sizes) -> Buffer:
    shape = tuple(
        sizes.then[i] if isinstance(i, Var) and sizes.grows(i) else size
        for i, size in zip(cell, buffer.shape, strict=True)
    )
    return replace(buffer, name=f"{buffer.name}_pad", shape=shape, strides=())


def _filled(buffer: Buffer, copy: Buffer, cell: tuple[Expr, ...], sizes: _Sizes) -> Stmt:
    """The loops that copy what is read into `copy`, and zeros behind it."""
    axes = _axes(buffer)
    sides = list(zip(cell, buffer.shape, strict=True))
    extents = [sizes.filled(index, size) for index, size in sides]
    # a choice may keep the block from cells that the buffer does not have
    inside = arith.joined(
        axis < sizes.read(index, size)
        for axis, (index, size) in zip(axes, sides, strict=True)
        if sizes.grows(index)
    )
    pairs = zip(axes, cell, strict=True)
    at = tuple(v if isinstance(i, Var) else arith.simplify(v + i) for v, i in pairs)
    value = Call("if_then_else", (inside, buffer[at], const(0, buffer.type)), buffer.type)
    return _stage(BufferStore(copy, value, at), copy.name, axes, extents)


def _kept(buffer: Buffer, copy: Buffer, cell: tuple[Expr, ...], sizes: _Sizes) -> Stmt:
    """The loops that copy what was meant out of `copy`."""
    extents = [
        sizes.now[index] if isinstance(index, Var) else size
        for index, size in zip(cell, buffer.shape, strict=True)
    ]
    axes = _axes(buffer)
    return _stage(BufferStore(buffer, copy[axes], axes), copy.name, axes, extents)


def _axes(buffer: Buffer) -> tuple[Var, ...]:
    return tuple(Var(f"v{k}", "int32") for k in range(len(buffer.shape)))


def _stage(store: BufferStore, name: str, axes: Sequence[Var], extents: Sequence[Size]) -> Stmt:
    """`store`, told by the iterators `axes`, under a loop for each."""
    iterators = tuple(iter_var(v, size) for v, size in zip(axes, extents, strict=True))
    block = with_regions(Block(name, iterators, (), (), store))
    return nest_over(block, (f"i{k}" for k in range(len(axes))))[0]


def _grown(
    realize: BlockRealize, loops: list[For], copies: dict[Buffer, Buffer], sizes: _Sizes
) -> Stmt:
    """The block on the copies, and its loops for as many iterations as it is to run."""
    block = substitute_buffers(realize.block, copies)
    iterators = tuple(
        replace(it, dom=Range(it.dom.min, size_expr(sizes.then[it.var], it.var.type)))
        for it in block.iter_vars
    )
    new = replace(realize, block=with_regions(replace(block, iter_vars=iterators)))
    pairs = zip(sizes.then.items(), realize.iter_values, strict=True)
    turns = {v: size for (var, size), v in pairs if isinstance(v, Var) and sizes.grows(var)}
    return nest(resized(loops, turns), new)
