"""merge: run two or more loops of equal length, one after the other so far, as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise, permutations

from workbench.access.iterations import apart, in_order
from workbench.access.units import Unit, units
from workbench.arith import Bounds, by_sizes
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    Expr,
    For,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    const,
    seq,
    substitute,
)
from workbench.ir.places import Places, places
from workbench.verbs.crossing import stores_the_same
from workbench.verbs.domains import units_in
from workbench.verbs.feeding import check_fed
from workbench.verbs.nest import constant_extent, nest, same_turns
from workbench.verbs.primitive import Edit, Key, primitive
from workbench.verbs.scope import refuse_bare
from workbench.verbs.site import Site, declared_reads, declared_writes, named, site_of


def _choices(func: PrimFunc, loop: For) -> Iterator[dict[str, tuple[For, ...]]]:
    site = site_of(func, loop, "merge")
    holder = site.places.parent.get(loop)
    beside = holder.stmts if isinstance(holder, SeqStmt) else ()
    after = next(iter(beside[beside.index(loop) + 1 :]), None) if loop in beside else None
    if not isinstance(after, For):
        raise site.refuse(
            "no loop stands directly after it",
            hint="choose the first of two loops that stand one after the other",
        )
    yield {"loops": (after,)}


@primitive(group="loops", sizes=True, choices=_choices)
def merge(func: PrimFunc, *loops: For) -> Edit[Var]:
    """Make one loop of several that stand one after the other and run equally often.

    Each turn then does that turn of the first, of the second, and so on. Loops around them, up to
    one that holds them all, are merged too. Returns the loop made of those named.

    >>> sch.merge("i", "j")
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
        for j in range(8):
            with T.block("C"):
                vj = T.axis.spatial(8, j)
                T.reads(B[vj])
                T.writes(C[vj])
                C[vj] = B[vj] + T.float32(1)
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((8,))
        for i_m in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i_m)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
            with T.block("C"):
                vj = T.axis.spatial(8, i_m)
                T.reads(B[vj])
                T.writes(C[vj])
                C[vj] = B[vj] + T.float32(1)
    """
    if len(loops) < 2 or len(set(loops)) < len(loops):
        raise Refusal(
            "Can't merge: it takes two or more different loops",
            *loops,
            hint="name two or more, in the order of the program",
        )
    site = Site(places(func), loops[0], f"merge {named(loops)}")
    chains = _chains(site, loops)
    _check_equal(site, chains)
    tops = [chain[0] for chain in chains]
    stmts, at = _beside(site, tops)
    new = tuple(Var(f"{one.loop_var.name}_m", one.loop_var.type) for one in chains[0])
    by_place = sorted(chains, key=lambda chain: stmts.index(chain[0]))
    pairs = zip(chains[0], new, strict=True)
    merged = [replace(one, loop_var=var, min=const(0, var.type)) for one, var in pairs]
    body = nest(merged, seq(*(_body(chain, new) for chain in by_place)))
    beside = seq(*stmts[:at], body, *stmts[at + len(tops) :])
    changed = site.places.replace(site.places.parent[tops[0]], beside)
    became: dict[Key, tuple[Key, ...]] = {
        one.loop_var: (var,) for chain in chains for one, var in zip(chain, new, strict=True)
    }
    edit = Edit(changed, new[-1], became)
    _check_order(site, edit.places, by_place, new)
    return edit


def _chains(site: Site[For], loops: tuple[For, ...]) -> list[list[For]]:
    """For each of `loops`, the nest down to it from below the loop that holds them all."""
    where = site.places
    nests = [[*where.loops_above(one), one] for one in loops]
    common = [one for one in nests[0] if all(one in nest for nest in nests)]
    chains = [[one for one in nest if one not in common] for nest in nests]
    for chain, last in zip(chains, loops, strict=True):
        if where.scope(last) is not site.scope or not chain:
            raise site.refuse(
                "they are not in nests of their own in one block",
                *loops,
                hint="merge takes loops that stand one after the other",
            )
        for outer, inner in pairwise(chain):
            if outer.body is not inner:
                raise site.refuse(
                    f"`{outer.loop_var.name}` holds more than `{inner.loop_var.name}`",
                    outer,
                    hint="merge the outer loops first",
                )
    return chains


def _check_equal(site: Site[For], chains: list[list[For]]) -> None:
    for one in (loop for chain in chains for loop in chain):
        if one.kind != "serial" or one.annotations:
            raise site.refuse(
                f"`{one.loop_var.name}` is no plain loop any more",
                one,
                hint="merge before bind, vectorize, unroll, parallel and annotate",
            )
    first = chains[0]
    kinds = sorted({one.loop_var.type for chain in chains for one in chain})
    if len(kinds) > 1:
        raise site.refuse(
            f"some count in {kinds[0]}, some in {kinds[1]}",
            *first,
            hint="write all loops with numbers of one type",
        )
    for chain in chains[1:]:
        varies = any(constant_extent(one) is None and not by_sizes(one.extent) for one in chain)
        as_often = len(chain) == len(first) and all(map(same_turns, chain, first))
        if varies or not as_often:
            raise site.refuse(
                "they do not run equally often, nest by nest",
                *first,
                *chain,
                hint="split the longer one, so that a part of it is as long as the other",
            )


def _beside(site: Site[For], tops: list[For]) -> tuple[tuple[Stmt, ...], int]:
    """The statements among which `tops` stand side by side, and where the first of them is."""
    holder = site.places.parent[tops[0]]
    stmts = holder.stmts if isinstance(holder, SeqStmt) else ()
    spots = sorted(stmts.index(top) for top in tops if top in stmts)
    if len(spots) < len(tops) or spots[-1] - spots[0] != len(tops) - 1:
        raise site.refuse(
            "something stands between them",
            *tops,
            hint="merge takes loops that stand directly one after the other",
        )
    return stmts, spots[0]


def _body(chain: list[For], new: tuple[Var, ...]) -> Stmt:
    values: dict[Var, Expr] = {
        one.loop_var: one.min + var for one, var in zip(chain, new, strict=True)
    }
    return substitute(chain[-1].body, values)


def _check_order(
    site: Site[For], changed: Places, chains: list[list[For]], new: tuple[Var, ...]
) -> None:
    """Refuse where a turn of one loop needs what a later turn of another does, or undoes it."""
    _check_no_bare_statement(site, chains)
    groups = [site.places.blocks_under(chain[-1]) for chain in chains]

    def kept(one: BlockRealize, other: BlockRealize, buffer: Buffer) -> bool:
        return _in_order(changed, new, one.block, other.block, buffer)

    for k, group in enumerate(groups):
        for realize in group:
            behind = [r for later in groups[k + 1 :] for r in later]
            pairs = [(r, realize) for earlier in groups[:k] for r in earlier]
            pairs += [(realize, r) for r in behind]
            for other in behind:
                both = [
                    b
                    for b in declared_writes(realize.block)
                    if b in declared_writes(other.block) and not kept(realize, other, b)
                ]
                if both:
                    raise site.refuse(
                        f"`{realize.block.name}` and `{other.block.name}` both "
                        f"write {both[0].name}",
                        realize,
                        other,
                        detail="turn by turn, one could undo what the other did",
                        hint="let one of the two write another buffer",
                    )
            for buffer in declared_reads(realize.block):
                late = [one for one, two in pairs if not kept(one, two, buffer)]
                if late:
                    check_fed(site, site.after(changed, realize.block.id), only=buffer)
                for maker in late:
                    _check_for_good(site, changed, new, maker, realize, buffer)


def _check_no_bare_statement(site: Site[For], chains: list[list[For]]) -> None:
    """Refuse where a statement outside any block shares a buffer with what another loop runs."""
    for one, other in permutations([[*units(chain[-1].body)] for chain in chains], 2):
        for bare in (unit for unit in one if unit.block is None):
            for unit in other:
                shared = bare.writes & (unit.reads | unit.writes) | bare.reads & unit.writes
                if shared:
                    raise refuse_bare(site, bare, min(buffer.name for buffer in shared))


def _in_order(
    where: Places, merged: tuple[Var, ...], one: Block, other: Block, buffer: Buffer
) -> bool:
    """Whether `one`, which ran before all of `other`, still does for each cell that both touch.

    It is so where, in one turn of the loops around each of `merged`, `other` touches no cell of
    `buffer` in an earlier turn than `one`, if either writes it. Iterations around them that run at
    once may hand each other values; nothing is said of those.
    """
    outside = where.all_loops_above(where.loops[merged[0]])
    if any(loop.kind not in ("serial", "unrolled") for loop in outside):
        return False
    for var in merged:
        loop = where.loops[var]
        below, dom = units_in(where, loop.body)
        first, second = (_unit(below, block) for block in (one, other))
        if first is None or second is None:
            return False
        for mine, theirs in (("write", "read"), ("read", "write"), ("write", "write")):
            if not in_order(loop, (first, mine), (second, theirs), buffer, dom):
                return False
    return True


def _check_for_good(
    site: Site[For],
    where: Places,
    merged: tuple[Var, ...],
    maker: BlockRealize,
    reader: BlockRealize,
    buffer: Buffer,
) -> None:
    """Refuse where `maker`, which is done before `reader` so far, may write again what that read.

    It does not where no two turns of a merged loop write one cell, or all store the same there.
    """
    if maker is reader or buffer not in declared_writes(maker.block):
        return
    for var in merged:
        below, dom = units_in(where, where.loops[var].body)
        unit = _unit(below, maker.block)
        if unit is None or not _stays(where.loops[var], unit, dom):
            raise site.refuse(
                f"`{reader.block.name}` would read {buffer.name} too early",
                maker,
                reader,
                detail=f"later turns of `{maker.block.name}` may write again what it reads",
                hint=f"let each turn of `{maker.block.name}` write cells of its own, or leave the "
                "loops apart",
            )


def _stays(loop: For, unit: Unit, dom: Bounds) -> bool:
    """Whether no turn of `loop` changes what `unit` stored in an earlier one."""
    changed = {buffer for other in units(loop.body) for buffer in other.writes}
    alike = not unit.uses_itself((loop, *unit.loops)) and stores_the_same(unit, changed)
    return alike or apart(loop, unit, dom)


def _unit(below: Iterable[Unit], block: Block) -> Unit | None:
    """That block among what runs in a turn; None where it is further inside."""
    return next((unit for unit in below if unit.block and unit.block.id is block.id), None)
