"""Memory: what lives in shared and local memory stays with the threads that can see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from math import prod

from workbench import arith
from workbench.access.accesses import Around, accesses
from workbench.access.cells import of_unit
from workbench.access.cover import made_there, missed
from workbench.access.iterations import apart, never_meet
from workbench.access.meet import Never, Question, meet
from workbench.access.units import Unit, opened, units
from workbench.check.conflict import in_any_turn
from workbench.check.finding import Finding
from workbench.check.kernels import Nest, touching
from workbench.diag import Act
from workbench.ir import (
    BlockRealize,
    Buffer,
    Const,
    Expr,
    For,
    PrimFunc,
    Stmt,
    Var,
    walk,
)
from workbench.ir.places import within
from workbench.script.writer import string


def crossing_errors(func: PrimFunc, kernels: list[Nest]) -> Iterator[Finding]:
    """Shared and local buffers that more than one kernel touches."""
    for buffer in _private(func):
        users = [nest for nest in kernels if any(touching(nest, buffer))]
        if len(users) < 2:
            continue
        units = [next(touching(nest, buffer)) for nest in users[:2]]
        yield Finding(
            f"buffer {buffer.name}, in {buffer.scope} memory, ends with the kernel of "
            f"{_called(units[0])}, but {_called(units[1])} needs it",
            tuple(unit.stmt for unit in units),
            hint=f'put both into one kernel with compute_at, or keep {buffer.name} in "global"',
            detail="each nest of loops under the root is a kernel of its own",
        )


def _called(unit: Unit) -> str:
    """A copy's block is called as its buffer is: which of them is meant is said."""
    return f"block `{unit.name}`" if unit.block else f"the store to `{unit.name}`"


def _private(func: PrimFunc) -> Iterator[Buffer]:
    for buffer in func.root.alloc_buffers:
        if buffer.scope != "global":
            yield buffer


def private_errors(func: PrimFunc, nest: Nest) -> Iterator[Finding]:
    """Cells of a local or shared buffer that one thread or block writes and another reads."""
    for buffer in _private(func):
        kinds = ("threadIdx", "blockIdx") if buffer.scope == "local" else ("blockIdx",)
        writers = [u for u in nest.units if buffer in u.writes]
        readers = [u for u in nest.units if buffer in u.reads]
        for writer, reader in product(writers, readers):
            axis, verb = _foreign(nest, writer, reader, buffer, kinds)
            if axis and _each_its_own(nest, writer, reader, buffer, kinds):
                continue
            if axis.startswith("threadIdx"):
                yield _fetch_error(buffer, writer, reader, axis, verb)
                return
            if axis:
                yield _own_error(buffer, writer, reader, axis, verb)
                return


def instance_errors(nest: Nest) -> Iterator[Finding]:
    """Buffers that a block has for each of its instances, in memory that threads share."""
    for outer in within(nest.stmt):
        if not isinstance(outer, BlockRealize):
            continue
        bound = [loop for loop in nest.known.all_loops_above(outer) if loop.thread]
        for buffer in outer.block.alloc_buffers:
            kinds = {
                "global": ("blockIdx", "threadIdx", "vthread"),
                "shared": ("threadIdx", "vthread"),
            }
            sharing = [
                loop
                for loop in bound
                if (loop.thread or "").startswith(kinds.get(buffer.scope, ("none",)))
                and nest.size(loop.thread or "") > 1
            ]
            if sharing:
                yield Finding(
                    f"each instance of `{outer.block.name}` has a {buffer.name} of its own, and "
                    f"there is one in {buffer.scope} memory for all",
                    (*sharing, outer),
                    hint=f'allocate {buffer.name} in "local" memory, in the program or by '
                    "set_scope of the block that writes it",
                    detail=f"threads that differ in {sharing[0].thread} run different instances",
                )
                return


def scratch_errors(nest: Nest) -> Iterator[Finding]:
    """Global buffers through which blocks of one kernel would meet: nothing orders blocks.

    Several write the same cells, if only with equal values, while they read them; or one reads
    what another writes.
    """
    for writer in nest.units:
        for buffer in writer.writes:
            readers = [u for u in nest.units if buffer in u.reads and u.stmt is not writer.stmt]
            if buffer.scope != "global" or not readers:
                continue
            sharing, repeats = nest.doers(writer, "blockIdx")
            idle = [loop for loop in sharing if not apart(loop, in_any_turn(writer), nest.dom)]
            if repeats > 1 or any(nest.size(loop.thread or "") > 1 for loop in idle):
                yield Finding(
                    f"several blocks would write the same cells of {buffer.name} while others "
                    "read them",
                    (*idle, writer.stmt, readers[0].stmt),
                    hint="give each block its own: "
                    f'sch.set_scope({string(writer.name)}, 0, "shared")',
                    detail=f"{buffer.name} is in global memory, which all blocks share, and "
                    "nothing orders them",
                    act=_shared(writer),
                )
                return
            for reader in readers:
                axis, verb = _foreign(nest, writer, reader, buffer, ("blockIdx",))
                if axis:
                    yield _block_error(buffer, writer, reader, axis, verb)
                    return


def turn_errors(nest: Nest) -> Iterator[Finding]:
    """Cells of a global buffer that several blocks write, each in turns with values of their own.

    A block that is in an earlier turn would write over what another one wrote in a later turn.
    """
    for unit in nest.units:
        if unit.accumulates or all(buffer.scope != "global" for buffer in unit.writes):
            continue  # updates that all do are an error of their own
        sharing, repeats = nest.doers(unit, "blockIdx")
        idle = [one for one in sharing if one.loop_var not in unit.used]
        repeats *= prod(nest.size(loop.thread or "") for loop in idle)
        for part in opened(unit) if repeats > 1 else ():
            buffer = next(iter(part.writes))
            loop = _written_again(part) if buffer.scope == "global" else None
            if loop is not None:
                name = loop.loop_var.name
                yield Finding(
                    f"all {repeats} blocks would write the same cells of {buffer.name}, again as "
                    f"`{name}` goes on",
                    (*idle, loop, part.stmt),
                    hint=f"give `{unit.name}` a nest of its own, or bind loops that tell its cells",
                    detail=f"a block may be in another turn of `{name}` than those that write "
                    "there too, and nothing orders blocks",
                )
                return


def _written_again(part: Unit) -> For | None:
    """A loop in whose turns the statement may write one cell with different values.

    Whichever threads do: those of another block may be in another turn.
    """
    loops = [loop for loop in part.loops if loop.thread is None]
    threads = [loop for loop in in_any_turn(part).loops if loop.thread is not None]
    dom, used = arith.loop_bounds(part.loops), part.used
    for k, loop in enumerate(loops):
        changed = {buffer for unit in units(loop.body) for buffer in unit.writes}
        alike = loop.loop_var not in used and part.reads.isdisjoint(changed)
        inside = replace(part, loops=(*threads, *loops[k + 1 :]))
        if not alike and not apart(loop, inside, dom):
            return loop
    return None


def overwriting_errors(nest: Nest) -> Iterator[Finding]:
    """Cells of a global buffer that two units of one kernel write in different blocks."""
    for one, other in combinations(nest.units, 2):
        for buffer in sorted(one.writes & other.writes, key=lambda b: b.name):  # always the same
            axis = _out_of_step(nest, one, other, buffer) if buffer.scope == "global" else ""
            if axis:
                yield Finding(
                    f"`{one.name}` and `{other.name}` would write the same cells of {buffer.name} "
                    "in different blocks",
                    (one.stmt, other.stmt),
                    hint=f"bind a loop around both to {axis}, or give each its own nest of loops",
                    detail="what stays there would be that of the block which comes last, and "
                    "nothing orders blocks",
                )
                return


def _out_of_step(nest: Nest, one: Unit, other: Unit, buffer: Buffer) -> str:
    """An axis of blocks along which different blocks may write one cell; "" for none.

    A loop around both is looked at on its own, as one whose iterations are done all at once.
    """
    loops = [
        {loop.thread: loop for loop in nest.doers(unit, "blockIdx")[0]} for unit in (one, other)
    ]
    for axis in (f"blockIdx.{letter}" for letter in "xyz"):
        mine, theirs = (found.get(axis) for found in loops)
        alone = mine is theirs or nest.size(axis) == 1
        if alone or never_meet(one, other, buffer, nest.dom, nest.written):
            continue
        if mine is None or theirs is None:
            return axis
        sides = (one, mine, theirs), (other, theirs, mine)
        if not any(
            apart(loop, in_any_turn(unit), nest.dom)
            and made_there(
                loop.body,
                part.body,
                buffer,
                nest.dom,
                _same_thread(loop, part),
                "write",
                changing=nest.written,
            )
            for unit, loop, part in sides
        ):
            return axis
    return ""


def _own_error(buffer: Buffer, writer: Unit, reader: Unit, axis: str, verb: str) -> Finding:
    return Finding(
        f"`{reader.name}` {verb} cells of {buffer.name} that only other blocks write",
        (writer.stmt, reader.stmt),
        hint=f"bind a loop around both `{writer.name}` and `{reader.name}` to {axis}",
        detail=f"each block has a {buffer.name} of its own in {buffer.scope} memory, and "
        f"`{writer.name}` writes a part in each over {axis}",
    )


def _block_error(buffer: Buffer, writer: Unit, reader: Unit, axis: str, verb: str) -> Finding:
    return Finding(
        f"`{reader.name}` {verb} cells of {buffer.name} that other blocks write in the same kernel",
        (writer.stmt, reader.stmt),
        hint=f"give `{reader.name}` its own nest of loops: it then runs when the first is done",
        detail=f"`{writer.name}` spreads {buffer.name} over {axis}, and nothing orders blocks",
    )


def _shared(writer: Unit) -> Act | None:
    """The step that puts what `writer` makes where threads share it."""
    return Act("set_scope", writer.block.id) if writer.block else None


def _fetch_error(buffer: Buffer, writer: Unit, reader: Unit, axis: str, verb: str) -> Finding:
    load = next(n for n in reader.loads if n.buffer is buffer)
    return Finding(
        f"`{reader.name}` {verb} cells of {buffer.name} that other threads hold in registers",
        (writer.stmt, load),
        hint=f'share it: sch.set_scope({string(writer.name)}, 0, "shared")',
        detail=f"local memory is one thread's own; `{writer.name}` gives each its part over {axis}",
        act=_shared(writer),
    )


def _foreign(
    nest: Nest,
    writer: Unit,
    reader: Unit,
    buffer: Buffer,
    kinds: Sequence[str],
) -> tuple[str, str]:
    """The axis over which `writer` spreads what one thread of `reader` needs; "" for none.

    And what to say of it: that `reader` reads such cells, or that it may, where it is not proved.
    """
    for loop in (loop for kind in kinds for loop in nest.doers(writer, kind)[0]):
        other = next((o for o in reversed(reader.loops) if o.thread == loop.thread), None)
        if other is loop or not _spreads(loop, writer, buffer):
            continue
        assert loop.thread is not None
        reads = other.body if other else _outside(reader, loop)
        same = _same_thread(loop, other) if other else {}
        if not made_there(loop.body, reads, buffer, nest.dom, same, changing=nest.written):
            sure = missed(loop, accesses(reads, Around(values=same)), buffer, nest.dom)
            return loop.thread, "reads" if sure else "may read"
    return "", ""


def _spreads(loop: For, writer: Unit, buffer: Buffer) -> bool:
    """Whether the threads of `loop` write different cells of `buffer`, or not all of them do."""
    made = [one for one in accesses(loop.body) if one.writes and one.buffer is buffer]
    # a sum that threads share is put together in each of them, whoever has a part of it
    summed = loop.loop_var in writer.moved_by("reduce")
    return any(
        loop.loop_var in (one.cell_variables() if summed else one.variables()) for one in made
    )


def _each_its_own(
    nest: Nest, writer: Unit, reader: Unit, buffer: Buffer, kinds: Sequence[str]
) -> bool:
    """Whether no thread ever reads a cell that `writer` writes in another one, all axes at once.

    `_foreign` asks of one axis, and that each turn of what is around makes what it reads: nests
    whose axes stand in another order, or under loops of their own, it can't compare. Here all
    loops run, and two that are bound to one axis are one thread. If a cell has one thread for good,
    what that thread finds there is what was written last, in the order of the program. So it is in
    the virtual threads that it runs: that these need nothing of each other, their loops must show.
    """
    mine, its = (
        {loop.thread: loop for kind in kinds for loop in nest.doers(unit, kind)[0]}
        for unit in (writer, reader)
    )
    # a bound loop around both stands still: what its other threads or blocks hold is their own
    both = {loop for axis, loop in mine.items() if its.get(axis) is loop}
    separate = {axis: loop for axis, loop in mine.items() if loop not in both}
    spread = {axis: loop for axis, loop in separate.items() if _spreads(loop, writer, buffer)}
    loops = (*writer.loops, *reader.loops)
    if not all(
        axis in its and isinstance(loop.min, Const) and isinstance(its[axis].min, Const)
        for axis, loop in spread.items()
    ):
        return False
    same: dict[Var, Expr] = {}
    for axis, loop in spread.items():
        same |= _same_thread(loop, its[axis])
    question = Question(
        arith.Simplifier(nest.dom),
        {loop.loop_var for loop in loops if loop not in both},
        (tuple(loop.loop_var for loop in spread.values()),),
        nest.written,
    )
    sides = product(of_unit(writer, buffer, "write", {}), of_unit(reader, buffer, "read", same))
    return isinstance(meet(sides, question), Never)


def _same_thread(loop: For, other: For) -> dict[Var, Expr]:
    """What the variable of `other` is in the thread that is in a turn of `loop`, on one axis.

    Threads count from 0, wherever a loop begins.
    """
    return {} if other is loop else {other.loop_var: loop.loop_var + (other.min - loop.min)}


def _outside(reader: Unit, loop: For) -> Stmt:
    """The largest statement around `reader` that is not around `loop`: what one thread runs."""
    below = {id(n) for n in walk(loop)}
    for outer in reader.loops:
        if id(outer) not in below and not any(n is loop for n in walk(outer)):
            return outer
    return reader.stmt
