"""Which values the iterators of a block and the loops around a statement take."""

from __future__ import annotations

from collections.abc import Iterable

from workbench import arith
from workbench.access.units import Unit, iterator_bounds, running_sizes, runs_fixed, units
from workbench.arith import Bounds, SizedEnds
from workbench.diag import Refusal
from workbench.ir import Block, BlockRealize, Const, Expr, For, Size, Stmt, Var
from workbench.ir.places import Places


def moved_by(realize: BlockRealize, kind: str) -> set[Var]:
    """The variables that the values of a block's iterators of a kind are made of."""
    return Unit(realize, ()).moved_by(kind)


def domain(block: Block) -> Bounds:
    """The lowest and highest value of each iterator of `block`; refused where they vary."""
    found = iterator_bounds(block)
    for iterator in block.iter_vars:
        fixed = isinstance(iterator.dom.min, Const) and (
            isinstance(iterator.dom.extent, Const) or arith.by_sizes(iterator.dom.extent)
        )
        if not fixed or iterator.var not in found:
            raise Refusal(
                f"Can't work with `{block.name}`: the domain of `{iterator.var.name}` varies",
                block,
                hint="let it run over all that it may, and leave iterations out with T.where",
            )
    return found


class InScope(dict[Var, tuple[int, int]]):
    """The bounds of variables in scope; to ask for those of a loop whose bounds vary is refused."""

    def __init__(self) -> None:
        super().__init__()
        self.loops: dict[Var, For] = {}  # those in scope

    def __missing__(self, var: Var) -> tuple[int, int]:
        raise Refusal(
            f"Can't work with `{var.name}`: how often it runs varies",
            *(loop for loop in (self.loops.get(var),) if loop),
            hint="let it run over all that it may, and leave iterations out with T.where",
        )

    def of(self, loops: Iterable[For]) -> Bounds:
        """The bounds of the variables of `loops` alone, each of which takes every value there."""
        return {
            (var := loop.loop_var): self[var] if self._is_exact(loop) else self.__missing__(var)
            for loop in loops
        }

    def _is_exact(self, loop: For) -> bool:
        return runs_fixed(loop) or isinstance(self.get(loop.loop_var), SizedEnds)


def bounds_at(where: Places, stmt: Stmt) -> InScope:
    """The bounds of every variable that is in scope at `stmt`."""
    found = InScope()
    for outer in where.above(stmt):
        if isinstance(outer, For):
            found.loops[outer.loop_var] = outer
            found.update(arith.loop_bounds([outer]))
        elif isinstance(outer, BlockRealize):
            found.update(domain(outer.block))
    return found


def count_in(ends: tuple[int, int]) -> Size:
    """How many values there are between `ends`: a number, or what sizes tell."""
    count = arith.last_of(ends) - ends[0] + 1
    return arith.simplify(count) if isinstance(count, Expr) else count


def with_turns(dom: Bounds) -> Bounds:
    """`dom` with the sizes that are not 0 where each of its variables has a value."""
    every = (ends.last - ends[0] + 1 for ends in dom.values() if isinstance(ends, SizedEnds))
    return {**dom, **{size: ends for each in every for size, ends in running_sizes(each).items()}}


def units_in(where: Places, stmt: Stmt) -> tuple[list[Unit], Bounds]:
    """What runs in `stmt`, and the bounds of every variable around and in it."""
    below = list(units(stmt))
    inside = [loop for unit in below for loop in unit.loops]
    loops = arith.loop_bounds([*where.all_loops_above(stmt), *inside])
    return below, {**bounds_at(where, stmt), **loops}
