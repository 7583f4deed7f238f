"""What a sum is made of, and whether it can be made in parts."""

from __future__ import annotations

from dataclasses import dataclass

from workbench import arith
from workbench.access.units import same_cell
from workbench.diag import Refusal
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    PrimFunc,
    binary,
    const,
    substitute,
    walk,
)
from workbench.ir.places import places
from workbench.schedule.bindings import conjuncts
from workbench.schedule.counters import variables
from workbench.schedule.domains import bindings, bounds_at
from workbench.schedule.nest import constant_extent
from workbench.schedule.regions import one_to_one

_START = {"+": 0, "*": 1, "min": None, "max": None}  # None: any start may be taken many times


@dataclass(frozen=True, slots=True)
class Sum:
    """A block's body ``result = result op term`` with its start, the value of the init."""

    store: BufferStore
    op: str
    term: Expr
    start: Expr
    term_first: bool

    def join(self, result: Expr, term: Expr) -> Expr:
        """The value that the body stores, its operands in the order of the program."""
        return binary(self.op, term, result) if self.term_first else binary(self.op, result, term)


def only_sum(func: PrimFunc, block: Block, task: str) -> Sum:
    """The sum that `block` makes, refused where it is no such thing or has another start."""
    realize = places(func).realize(block)
    store, init = block.body, block.init
    found = None
    if isinstance(store, BufferStore) and isinstance(init, BufferStore):
        found = sum_of(store, init)
    if found is None:
        raise Refusal(
            f"Can't {task}: `{block.name}` is not of the form C[…] = C[…] + term",
            realize,
            hint="the parts can be joined by +, *, T.min or T.max; the init is one store",
        )
    wanted = _START[found.op]
    if wanted is not None and not (isinstance(found.start, Const) and found.start.value == wanted):
        raise Refusal(
            f"Can't {task}: `{block.name}` does not start at {wanted}",
            realize,
            detail="every part would start there again",
            hint=f"let T.init() store {wanted}, and bring in the other value afterwards",
        )
    return found


def sum_of(store: BufferStore, init: BufferStore) -> Sum | None:
    value = store.value
    if not (isinstance(value, BinOp) and value.op in _START and init.buffer is store.buffer):
        return None
    if not same_cell(init.indices, store.indices):
        return None
    for result, term in ((value.a, value.b), (value.b, value.a)):
        if not (isinstance(result, BufferLoad) and result.buffer is store.buffer):
            continue
        if same_cell(result.indices, store.indices) and not _loads(term, store.buffer):
            return Sum(store, value.op, term, init.value, term_first=term is value.a)
    return None


def _loads(e: Expr, buffer: Buffer) -> bool:
    return any(isinstance(n, BufferLoad) and n.buffer is buffer for n in walk(e))


def sum_loops(func: PrimFunc, realize: BlockRealize, loop: For, task: str) -> list[For]:
    """The loops around a sum; refused unless `loop` runs over terms and no term comes twice."""
    where = places(func)
    loops = where.loops_above(realize)
    bound = bindings(realize)
    kinds = {
        kind: {
            v for it in realize.block.iter_vars if it.kind == kind for v in variables(bound[it.var])
        }
        for kind in ("spatial", "reduce")
    }
    for one in loops:
        if one.loop_var in kinds["spatial"] & kinds["reduce"]:
            raise Refusal(
                f"Can't {task}: `{one.loop_var.name}` says both which cell and which term",
                one,
                realize,
                hint="split the loops so that each moves the cell or the term alone",
            )
    if loop.loop_var not in kinds["reduce"]:
        raise Refusal(
            f"Can't {task}: `{realize.block.name}` does not sum over it",
            loop,
            realize,
            hint="the loops of the sum: "
            + (", ".join(f"`{o.loop_var.name}`" for o in loops if o.loop_var in kinds["reduce"])
               or "none"),
        )  # fmt: skip
    _check_nest(func, realize, loops, [o for o in loops if o.loop_var in kinds["reduce"]], task)
    return loops


def _check_nest(
    func: PrimFunc, realize: BlockRealize, loops: list[For], summed: list[For], task: str
) -> None:
    where = places(func)
    name = realize.block.name
    varying = [one for one in loops if constant_extent(one) is None]
    if varying:
        raise Refusal(
            f"Can't {task}: how often `{varying[0].loop_var.name}` runs varies",
            varying[0],
            hint="the buffer of the parts needs a fixed size",
        )
    others = [r for r in where.blocks_under(summed[0]) if r is not realize]
    ahead = where.blocks_under(loops[0])[0]
    if others or ahead is not realize:
        other = others[0] if others else ahead
        raise Refusal(
            f"Can't {task}: `{other.block.name}` is in the nest of `{name}`",
            realize,
            other,
            hint=f"take it out of the loops of `{name}` first",
        )
    dom = bounds_at(where, realize)
    inner = {one.loop_var: dom[one.loop_var] for one in loops}
    if not one_to_one(realize.iter_values, inner, dom, realize.predicate):
        raise Refusal(
            f"Can't {task}: a term may be added twice",
            realize,
            detail="its loops may run the block twice for the same iterators",
            hint="every loop of more than one turn must move a cell or a term",
        )


def check_partial(func: PrimFunc, realize: BlockRealize, loop: For, task: str) -> None:
    """Refuse where the T.where of a sum would leave a part of it without even its start."""
    bound = bindings(realize)
    summed = {
        v for it in realize.block.iter_vars if it.kind == "reduce" for v in variables(bound[it.var])
    }
    dom = bounds_at(places(func), realize)
    first = {v: const(dom[v][0], v.type) for v in summed - {loop.loop_var}}
    for condition in conjuncts(realize.predicate):
        if variables(condition) & summed and not arith.prove(substitute(condition, first), dom):
            raise Refusal(
                f"Can't {task}: its T.where leaves out whole parts",
                realize,
                detail=f"for some `{loop.loop_var.name}` no term at all is summed",
                hint=f"split by a factor that divides, or rfactor a loop inside "
                f"`{loop.loop_var.name}`",
            )
