"""Loop nests: what the loop verbs ask of them and how they are put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any

from workbench import script
from workbench.arith import bounds, by_sizes, equal, loop_bounds
from workbench.check import doers_on
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    Block,
    BlockId,
    BlockRealize,
    Const,
    Data,
    Expr,
    For,
    IterVar,
    PrimFunc,
    Range,
    Size,
    Stmt,
    Var,
    const,
    copy_fresh,
    dtypes,
    free_vars,
    remembered,
    seq,
    size_expr,
    stmts_of,
)
from workbench.ir.places import Places, inner, places
from workbench.script.writer import string
from workbench.verbs.site import Site, with_block

MOST_LOOPS = 100
"""The most loops that a step may leave around a statement: views and code have an axis for each."""


def check_depth(before: PrimFunc, after: PrimFunc, verb: str) -> None:
    """Refuse a step that nests more loops than that, unless there were as many before."""
    depth = _deepest(after)
    if depth > max(MOST_LOOPS, _deepest(before)):
        raise Refusal(
            f"Can't {verb}: {depth} loops would be around one statement",
            hint=f"at most {MOST_LOOPS} loops can be nested: take fewer factors, or fuse loops",
        )


def _deepest(func: PrimFunc) -> int:
    """The most loops around a statement."""
    return max(map(_most_loops, inner(func.body)), default=0)


def _most_loops(stmt: Stmt) -> int:
    """The most loops around what is in `stmt`; remembered, as most steps leave most of it alone."""
    known: dict[Any, int] = remembered(stmt)
    if "loops" not in known:
        inside = max(map(_most_loops, inner(stmt)), default=0)
        known["loops"] = inside + isinstance(stmt, For)
    return known["loops"]


def nest(loops: Sequence[For], body: Stmt) -> Stmt:
    """The loops around each other, the first outermost, with `body` inside."""
    for loop in reversed(loops):
        body = replace(loop, body=body)
    return body


def fresh_nest(loops: Sequence[For], realize: BlockRealize) -> tuple[Stmt, BlockId]:
    """A copy of the loops around the block, nothing of it shared, and the new block's identity."""
    copied, fresh = copy_fresh(nest(loops, realize))
    new = fresh[realize.block.id]
    assert isinstance(new, BlockId)
    return copied, new


def resized(loops: Sequence[For], sizes: Mapping[Var, Size]) -> list[For]:
    """The loops, those whose variable is in `sizes` with that many turns."""
    return [
        replace(loop, extent=size_expr(sizes[loop.loop_var], loop.loop_var.type))
        if loop.loop_var in sizes
        else loop
        for loop in loops
    ]


def serial_nest(loops: dict[Var, Size], body: Stmt) -> Stmt:
    """A loop from 0 for each of the variables `loops`, that many turns each, around `body`."""
    for var, size in reversed(loops.items()):
        body = For(var, const(0, var.type), size_expr(size, var.type), "serial", body)
    return body


def nest_over(block: Block, names: Iterable[str]) -> tuple[Stmt, list[Var]]:
    """`block` under loops called `names` over all of its domain, and the loops' variables."""
    loops = [Var(name, it.var.type) for name, it in zip(names, block.iter_vars, strict=False)]
    stmt: Stmt = BlockRealize(tuple(loops), TRUE, block)
    for var, it in reversed(list(zip(loops, block.iter_vars, strict=True))):
        stmt = For(var, it.dom.min, it.dom.extent, "serial", stmt)
    return stmt, loops


def iter_var(var: Var, size: Size, kind: str = "spatial") -> IterVar:
    """An iterator that runs from 0 and takes `size` values."""
    return IterVar(var, Range(const(0, var.type), size_expr(size, var.type)), kind)


def statements(holder: For | BlockRealize) -> tuple[Stmt, ...]:
    """The statements of the body of a loop or a block."""
    return stmts_of(holder.body if isinstance(holder, For) else holder.block.body)


def inserted(where: Places, holder: For | BlockRealize, at: int, stmt: Stmt) -> PrimFunc:
    """The function with `stmt` at position `at` in the body of a loop or a block."""
    before = statements(holder)
    old = holder.body if isinstance(holder, For) else holder.block.body
    return where.replace(old, seq(*before[:at], stmt, *before[at:]))


def constant_extent(loop: For) -> int | None:
    """How often `loop` runs, None where that varies."""
    extent = loop.extent
    return extent.value if isinstance(extent, Const) and isinstance(extent.value, int) else None


def same_turns(one: For, other: For) -> bool:
    """Whether both loops run equally often, a fixed number of times or one that sizes tell."""
    if by_sizes(one.extent):
        return equal(one.extent, other.extent)
    return constant_extent(one) == constant_extent(other)


def most_turns(where: Places, loop: For) -> int | None:
    """The largest number of times that `loop` may run, None where that is not known."""
    if isinstance(loop.extent, Const):
        return int(loop.extent.value)
    if by_sizes(loop.extent):  # a kernel is launched where its loops' type counts so far
        return None
    ends = bounds(loop.extent, loop_bounds(where.loops.values()))
    return None if ends is None else ends[1]


def counting_type(site: Site[For], loops: Sequence[For], turns: int | None) -> str:
    """The type of a loop variable that stands for `loops` and counts `turns` turns from 0.

    That of the loops where it is wide enough or nothing is known, else a wider one of its kind.
    Raises Refusal where 64 bits do not count so far.
    """
    own = loops[0].loop_var.type
    for loop in loops[1:]:
        own = dtypes.join(own, loop.loop_var.type) or own
    kind = own.rstrip("0123456789")
    if turns is None:
        return own
    for dtype in (own, f"{kind}32", f"{kind}64"):
        if dtypes.BITS[dtype] >= dtypes.BITS[own] and turns <= dtypes.limits(dtype)[1]:
            return dtype
    raise site.refuse(
        "64 bits do not count that many turns",
        *loops,
        hint="take smaller loops, or smaller factors",
    )


def divisors(number: int) -> list[int]:
    """The divisors of a positive `number`, in order.

    Of a number above 2^32, those up to 2^16 and what they leave: they are proposed to people, who
    choose no loop of a million turns by its divisors.
    """
    small = [d for d in range(1, min(isqrt(number), 2**16) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def refuse_if_taken(site: Site[For]) -> None:
    """Raise Refusal where the loop is bound or annotated, which the verb would lose."""
    loop, verb = site.node, site.verb
    if loop.kind == "thread_binding":
        raise site.refuse(
            f"it is bound to {loop.thread}",
            hint=f"{verb} before you bind: undo the bind, {verb}, then bind the loops that result",
        )
    if loop.annotations:
        keys = [string(key) for key, _ in loop.annotations]
        raise site.refuse(
            f"it is annotated with {', '.join(keys)}",
            hint=f"take the annotation off: sch.unannotate({string(site.name)}, {keys[0]})",
        )


def perfect_nest(loop: For) -> list[For]:
    """`loop` and the loops directly inside each other below it, down to the first that is not."""
    loops = [loop]
    while isinstance(loops[-1].body, For):
        loops.append(loops[-1].body)
    return loops


def counts_by(inner: For, outer: For) -> bool:
    """Whether it goes by the variable of `outer` where `inner` begins and how often it runs."""
    return any(outer.loop_var in free_vars(e) for e in (inner.min, inner.extent))


def is_one(e: Expr) -> bool:
    """Whether `e` is the number 1."""
    return isinstance(e, Const) and e.value == 1


def refuse_if_bound(site: Site[For]) -> None:
    """Raise Refusal where threads do the iterations of the loop."""
    loop = site.node
    if loop.kind == "thread_binding":
        raise site.refuse(
            f"it is bound to {loop.thread}",
            hint="choose a loop inside it, or undo the bind",
            detail=f"each iteration of `{site.name}` is done by another "
            + doers_on(loop.thread or "threadIdx.x")[:-1],
        )


def refuse_if_one_varies(site: Site[Block | For], loops: Sequence[For], hint: str) -> None:
    """Raise Refusal where one of `loops` does not always run equally often."""
    varying = [one for one in loops if constant_extent(one) is None and not by_sizes(one.extent)]
    if varying:
        why = f"how often `{varying[0].loop_var.name}` runs varies"
        raise site.refuse(why, varying[0], hint=hint)


def refuse_if_extent_varies(site: Site[For]) -> None:
    """Raise Refusal where the loop does not always run equally often."""
    if constant_extent(site.node) is None:
        raise site.refuse(
            "the number of its iterations varies",
            detail=f"it runs {script.expr_text(site.node.extent)} times",
            hint=f"{site.verb} a loop that runs a fixed number of times",
        )


def refuse_factors(site: Site[For], factors: Sequence[int | None], example: str) -> None:
    """Raise Refusal unless there are factors, all positive, and at most one to be worked out."""
    given = [f for f in factors if f is not None]
    if not factors:
        raise site.refuse("no factors were given", hint=f"say how: factors={example}")
    if len(factors) - len(given) > 1:
        raise site.refuse(
            "only one factor can be None, to be worked out", hint="give all factors but one"
        )
    bad = [f for f in given if f < 1]
    if bad:
        raise site.refuse(f"the factor {bad[0]} is not positive", hint="factors count from 1")


def annotated(
    func: PrimFunc, target: Block | For, annotations: tuple[tuple[str, Data], ...]
) -> PrimFunc:
    """`func` with the annotations of a loop or block replaced."""
    new = replace(target, annotations=annotations)
    where = places(func)
    return with_block(where, new) if isinstance(new, Block) else where.replace(target, new)
