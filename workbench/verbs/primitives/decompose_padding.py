"""decompose_padding: fill with the padding first, then write what is inside over it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench import arith
from workbench.access.counters import variables
from workbench.access.facts import fact
from workbench.access.units import writes_apart
from workbench.arith import Bounds, SizedEnds, last_of
from workbench.ir import (
    Block,
    BlockId,
    BlockRealize,
    BufferStore,
    Call,
    Const,
    Expr,
    For,
    PrimFunc,
    Select,
    Size,
    SizeVar,
    Stmt,
    Var,
    as_expr,
    binary,
    seq,
    substitute,
)
from workbench.verbs.bindings import conjuncts
from workbench.verbs.domains import count_in, domain
from workbench.verbs.inlining import only_store, tidied, with_regions
from workbench.verbs.nest import fresh_nest, iter_var, nest, resized
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.scope import check_stage, last_counts, loop_choices, loops_from
from workbench.verbs.site import Site, site_of


@dataclass(frozen=True, slots=True)
class Padding:
    """A store of `inside` where iterators are in `box` and all of `asked` hold, else of `outside`.

    `asked` are about iterators of the block around.
    """

    store: BufferStore
    box: Bounds
    asked: list[Expr]
    inside: Expr
    outside: Const


@primitive(group="blocks", sizes=True, choices=loop_choices)
def decompose_padding(func: PrimFunc, block: Block, loop: For) -> Edit[BlockId]:
    """Cut a block that pads in two: one fills all with the padding, one copies what is inside.

    Both go where `loop` is, a loop around the block. Then neither asks a question for each cell.
    Returns the new block, …_pad_const.

    >>> sch.decompose_padding("P", "i")
    @T.prim_func
    def main(A: T.Buffer((6,), "float32"), P: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i in range(8):
            with T.block("P"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi - 1])
                T.writes(P[vi])
                P[vi] = T.if_then_else(1 <= vi and vi < 7, A[vi - 1], T.float32(0))
    ---
    @T.prim_func
    def main(A: T.Buffer((6,), "float32"), P: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i in range(8):
            with T.block("P_pad_const"):
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(P[vi])
                P[vi] = T.float32(0)
        for i in range(6):
            with T.block("P"):
                vi = T.axis.spatial(6, i)
                T.reads(A[vi])
                T.writes(P[vi + 1])
                P[vi + 1] = A[vi]
    """
    plain = site_of(func, block, "decompose_padding")
    site = plain.at(loop)
    loops = loops_from(site, loop)
    others = site.others_in(loop)
    if others:
        raise site.refuse(
            f"`{others[0].block.name}` is in that loop too",
            loop,
            *others,
            hint="name a loop that holds nothing but the block that pads",
        )
    check_stage(plain)
    _check_each_once(site, loops)
    padding = _padding(site)
    filled, new = _filled(site.realize, loops, padding)
    copied = _copied(site.realize, loops, padding, site.bounds)
    return Edit(site.places.replace(loop, seq(filled, copied)), new)


def _check_each_once(site: Site[Block], loops: list[For]) -> None:
    """Refuse where a turn of `loops` may fill a cell over what an earlier one has copied."""
    turning = {one.loop_var for one in loops}
    still = (v for v, value in site.realize.bindings.items() if not variables(value) & turning)
    if writes_apart(site.node, frozenset(still)) is not True:
        hint = f"give {site.node.writes[0].buffer.name} an axis more, so that each iteration has "
        raise last_counts(site, site.name, hint=f"{hint}its own cell")


def _padding(site: Site[Block]) -> Padding:
    """The padding that the block does, refused where it does something else."""
    store = only_store(site)
    match store.value:
        case Call("if_then_else", (condition, inside, Const() as outside)):
            pass
        case Select(condition, inside, Const() as outside):
            pass
        case _:
            raise site.refuse(
                "it does not choose between a value and a constant",
                hint="it takes P[v] = T.if_then_else(lo <= v and v < hi, A[v - lo], 0)",
            )
    ends = domain(site.node)
    parts = conjuncts(condition)
    mine = arith.joined(c for c in parts if variables(c) & set(ends))
    asked = [c for c in parts if not variables(c) & set(ends)]
    around = [v for c in parts if c not in asked for v in _counted(c) if v not in ends]
    if around:
        raise site.refuse(
            f"its condition also goes by `{around[0].name}`, an iterator of a block around",
            hint="take this step before blockize",
        )
    single = all(len(_counted(c)) == 1 and not arith.reads_memory(c) for c in parts)
    box = _box(ends, mine)
    if not single or box is None or not arith.prove(mine, box):
        raise site.refuse(
            "its condition is no range of each iterator",
            hint="it takes conditions such as 1 <= vi and vi < 7, joined by `and`",
        )
    return Padding(store, box, asked, inside, outside)


def _counted(condition: Expr) -> list[Var]:
    """The variables that take values of their own, of which sizes have one."""
    return [v for v in variables(condition) if not isinstance(v, SizeVar)]


def _box(ends: Bounds, mine: Expr) -> dict[Var, tuple[int, int]] | None:
    """The values of iterators, between `ends`, for which the conditions `mine` hold.

    What sizes tell goes up to a last value that they tell, too. None where there may be less than
    none for some sizes, and where it is not seen.
    """
    box: dict[Var, tuple[int, int]] = {}
    for var, (low, high) in arith.narrow(ends, mine).items():
        whole = ends[var]
        stops = [whole.last] if isinstance(whole, SizedEnds) else []
        stops += [last for c in arith.conjuncts(mine) if (last := _last(c, var)) is not None]
        box[var] = low, high
        if stops:
            last = next((a for a in stops if all(arith.prove(a <= b, {}) for b in stops)), None)
            if last is None or not arith.prove(last <= high, {}):
                return None
            box[var] = SizedEnds(low, high, last)
        if not arith.prove(as_expr(count_in(box[var])) >= 0, {}) or (not stops and low > high):
            return None
    return box


def _last(condition: Expr, var: Var) -> Expr | None:
    """The last value of `var` for which `condition` holds, where sizes tell it."""
    at_least = fact(condition)
    terms = None if at_least is None else arith.linear(at_least, [var])
    if terms is None or terms[0].get(var) != -1 or not arith.by_sizes(terms[1]):
        return None
    return terms[1]


def _filled(realize: BlockRealize, loops: list[For], padding: Padding) -> tuple[Stmt, BlockId]:
    """The loops and the block that fill with the constant, and the block's identity."""
    name = f"{realize.block.name}_pad_const"
    body = replace(padding.store, value=padding.outside)
    block = with_regions(replace(realize.block, name=name, body=body))
    return fresh_nest(loops, replace(realize, block=block))


def _copied(realize: BlockRealize, loops: list[For], padding: Padding, dom: Bounds) -> Stmt:
    """The old block for what is inside, its loops shortened where they are an iterator each."""
    block = realize.block
    short: dict[Var, Size] = {}
    values: list[Expr] = []
    limits: list[Expr] = []
    counted = [v for value in realize.iter_values for v in variables(value)]
    counted += variables(realize.predicate)
    # threads keep their number, and each writes over what it has filled itself
    inner = {one.loop_var for one in loops if one.kind != "thread_binding"}
    for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True):
        box = padding.box[iterator.var]
        low, whole = box[0], box == domain(block)[iterator.var]
        alone = isinstance(value, Var) and value in inner and counted.count(value) == 1
        if isinstance(value, Var) and alone and dom[value] == domain(block)[iterator.var]:
            short[value] = count_in(box)
            values.append(value)
            continue
        values.append(value if low == 0 else arith.simplify(value - low, dom))
        if not whole:
            limits += [binary("<=", low, value), value < arith.simplify(as_expr(last_of(box)) + 1)]
    limits = [c for c in (*limits, *padding.asked) if not arith.prove(c, dom)]
    predicate = arith.joined((*limits, *conjuncts(realize.predicate)))
    return nest(
        resized(loops, short), BlockRealize(tuple(values), predicate, _inside(block, padding))
    )


def _inside(block: Block, padding: Padding) -> Block:
    """The block for what is inside, its iterators counting from 0."""
    sizes = {var: count_in(ends) for var, ends in padding.box.items()}
    iterators = tuple(iter_var(it.var, sizes[it.var], it.kind) for it in block.iter_vars)
    moved: dict[Var, Expr] = {var: var + low for var, (low, _) in padding.box.items() if low}
    body = substitute(replace(padding.store, value=padding.inside), moved)
    ends = {var: arith.up_to(size, var.type) for var, size in sizes.items()}
    return with_regions(replace(block, iter_vars=iterators, body=tidied(body, ends)))
