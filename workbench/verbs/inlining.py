"""What the two inlining primitives share: a block's one store, and its indices turned round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from workbench import arith
from workbench.access.counters import rows_in
from workbench.arith import Bounds
from workbench.diag import Refusal
from workbench.ir import (
    DEEPEST,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    Node,
    PrimFunc,
    Range,
    Var,
    as_expr,
    binary,
    cast,
    const,
    rebuild,
    rewrite,
    size_expr,
    substitute,
    too_deep,
    walk,
)
from workbench.ir.places import places
from workbench.verbs.domains import with_turns
from workbench.verbs.moving import removed
from workbench.verbs.scope import reallocate
from workbench.verbs.site import Site, with_block

T = TypeVar("T", bound=Node)


def only_store(site: Site[Block]) -> BufferStore:
    """The store that is all that the block does."""
    if site.node.init is not None:
        raise site.refuse(
            "it is a sum, which no single expression gives",
            hint="inline blocks that compute each cell at once; move a sum with compute_at",
        )
    if not isinstance(site.node.body, BufferStore):
        raise site.refuse(
            "it does more than to store one value",
            hint="inline blocks whose body is one assignment",
        )
    return site.node.body


# Each index is read as a number of mixed radix: a sum of digits of iterators, or of sums of them,
# ``(v * 4 + w) // 6``. From the value of the index its digits are divided out, the largest factor
# first; the digits of one base are added up to its value, and a base that is a sum is such an index
# again. Where put into each other the two maps are proved to give back every iterator, no other
# iteration is at that cell.
def inverse(
    indices: tuple[Expr, ...], cell: tuple[Expr, ...], ends: Bounds, dom: Bounds
) -> tuple[dict[Var, Expr], list[Expr]] | None:
    """The iterators for which `indices` are `cell`; None where they are not decided by it.

    Also what must hold, beside that they are in their domains `ends`, so that the cell is one of
    those. `dom` bounds the variables of `cell`. Where an index is an iterator and the cell names a
    variable there it is that variable, also where it has a single value, as in TVM.
    """
    slots = [Var(f"c{k}", index.dtype) for k, index in enumerate(indices)]
    asked: list[Expr] = []
    solved = _solved(arith.Simplifier(ends), [*zip(indices, slots, strict=True)], ends, asked)
    back = dict(zip(slots, indices, strict=True))
    if solved is None or not all(
        arith.equal(substitute(value, back), var, ends) for var, value in solved.items()
    ):
        return None
    at = dict(zip(slots, cell, strict=True))
    conditions = [substitute(condition, at) for condition in asked]
    named = {i: v for i, v in zip(indices, cell, strict=True) if isinstance(v, Var)}
    values = {
        var: named[var] if var in named else arith.simplify(substitute(value, at), dom)
        for var, value in solved.items()
    }
    conditions = [arith.simplify(c, dom) for c in conditions if not arith.prove(c, dom)]
    some = with_turns(dom)
    divisors = {n.b for e in (*values.values(), *conditions) for n in walk(e)
                if isinstance(n, BinOp) and n.op in ("//", "%")}  # fmt: skip
    if not all(arith.prove(by >= 1, some) for by in divisors):
        return None  # a size that may be 0 though there is a cell
    return values, conditions


def _solved(
    known: arith.Simplifier,
    equations: list[tuple[Expr, Expr]],
    ends: Bounds,
    asked: list[Expr],
) -> dict[Var, Expr] | None:
    """The value of each iterator where each index of `equations` has its value, if they tell it."""
    solved: dict[Var, Expr] = {}
    while equations:
        parts: dict[Expr, Expr] = {}
        for index, value in equations:
            for base, share in _digits(known, index, value, asked):
                parts[base] = parts[base] + share if base in parts else share
        equations = _whole_rows(parts, asked)
        for base, value in parts.items():
            if not isinstance(base, Var):
                equations.append((base, value))
            if known.sum_of(base).alone() and (base in solved or base not in ends):
                return None
            if isinstance(base, Var):
                solved[base] = value
    for var, (low, high) in ends.items():
        if low == high:
            solved.setdefault(var, const(low, var.dtype))
    return solved if set(solved) == set(ends) else None


def _whole_rows(parts: dict[Expr, Expr], asked: list[Expr]) -> list[tuple[Expr, Expr]]:
    """Takes each ``x // width`` and ``x % width`` out of `parts`: what `x` is, by their values."""
    whole = []
    for row in [base for base in parts if isinstance(base, BinOp) and base.op == "//"]:
        width = row.b
        cell = next((e for e in parts if arith.equal(e, row.a % width)), None)
        if cell is not None:
            within = parts.pop(cell)
            asked.extend((binary("<=", 0, within), within < width))
            whole.append((row.a, parts.pop(row) * width + within))
    return whole


def _digits(
    known: arith.Simplifier, index: Expr, value: Expr, asked: list[Expr]
) -> Iterator[tuple[Expr, Expr]]:
    """What each digit of `index` adds to its base, where the index is `value`: (base, share)."""
    for row, width, cell in rows_in(index):
        yield from _digits(known, row, value // width, asked)
        yield from _digits(known, cell, value % width, asked)
        return
    total = known.sum_of(index)
    above, offset = 0, as_expr(const(total.const, value.dtype))
    digits = []
    for digit, factor in sorted(total.digits.items(), key=lambda item: -abs(item[1])):
        part = known.part(digit)
        ends = arith.bounds(part, known.dom)
        if ends is None:
            return
        if arith.by_sizes(part):
            offset += part * factor
            continue
        low, high = ends[0], arith.last_of(known.dom[part] if isinstance(part, Var) else ends)
        digits.append((digit, factor, low, high))
        offset += size_expr((high if factor < 0 else low), value.dtype) * factor
    offset = arith.simplify(offset)
    if not digits:
        asked.append(binary("==", value, offset))
        return
    rest = value - offset
    for digit, factor, low, high in digits:
        size = abs(factor)
        left = rest % above if above else rest
        at = left // size if size > 1 else left
        if digit.upper is not None and (not above or -(-above // size) > high - low + 1):
            asked.extend((binary("<=", 0, at), at < high - low + 1))
        mine = high - at if factor < 0 else at + low if low else at
        base = known.base(digit)
        mine = cast(base.dtype, mine)
        yield base, mine * digit.lower if digit.lower > 1 else mine
        rest = left if above % size else rest  # what is left of both is the same where it divides
        above = size
    if above > 1:
        asked.append(binary("==", rest % above, 0))


def inlined(
    realize: BlockRealize, buffer: Buffer, change: Callable[[BufferLoad | BufferStore], Node]
) -> BlockRealize:
    """`realize` with `change` applied to loads and stores of `buffer`, and its regions inferred.

    A block may also say that it reads `buffer`, and not do so: then that region alone goes.
    """

    def visit(node: Node) -> Node | None:
        changed = rebuild(node, visit)
        if isinstance(changed, (BufferLoad, BufferStore)) and changed.buffer is buffer:
            return change(changed)
        if isinstance(changed, Block) and isinstance(node, Block):
            same = changed.body is node.body and changed.init is node.init
            if same and all(r.buffer is not buffer for r in (*node.reads, *node.writes)):
                return node
            return with_regions(changed)
        return changed

    result = visit(realize)
    assert isinstance(result, BlockRealize)
    if too_deep(result):
        raise Refusal(
            f"Can't inline into `{realize.block.name}`: its expression would be too deep",
            realize,
            hint=f"at most {DEEPEST} levels can be nested; keep this value in its buffer",
        )
    return result


def tidied(tree: T, dom: Bounds) -> T:
    """`tree` with its indices and ranges simplified; `dom` bounds the variables in them.

    A variable stays, also one that has a single value, as in TVM.
    """

    def short(index: Expr) -> Expr:
        return index if isinstance(index, Var) else arith.simplify(index, dom)

    def change(node: Node) -> Node:
        match node:
            case BufferLoad(indices=indices) | BufferStore(indices=indices):
                return replace(node, indices=tuple(map(short, indices)))
            case Range(low, extent):
                return Range(short(low), short(extent))
        return node

    return rewrite(tree, change)


def with_regions(block: Block) -> Block:
    """`block` with what it reads and writes inferred from what it does."""
    reads, writes = arith.access_regions(block)
    return replace(block, reads=reads, writes=writes)


def without_block(
    site: Site[Block], changed: PrimFunc, buffer: Buffer
) -> tuple[PrimFunc, tuple[Var, ...]]:
    """`changed` without the block and `buffer`; also the variables of the loops that are gone."""
    made = places(changed)
    left, gone = removed(made, made.realize(site.node))
    kept = [b for b in site.scope.block.alloc_buffers if b is not buffer]
    func = reallocate(places(left), site.scope, kept)
    for realize in places(func).blocks.values():  # a block may declare what it does not read
        if any(region.buffer is buffer for region in realize.block.reads):
            reads = tuple(region for region in realize.block.reads if region.buffer is not buffer)
            where = places(func)
            now = where.realize(realize.block).block
            func = with_block(where, replace(now, reads=reads))
    return func, gone


def domain_conditions(ends: Bounds, values: dict[Var, Expr], dom: Bounds) -> list[Expr]:
    """What must hold beside `dom` so that `values` are between the `ends` of their iterators."""
    asked = []
    for var, each in ends.items():
        low, high = each[0], arith.last_of(each)
        for condition in (binary("<=", low, values[var]), values[var] < high + 1):
            if not arith.prove(condition, dom):
                asked.append(arith.simplify(condition, dom))
    return asked
