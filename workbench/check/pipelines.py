"""What a program does in turns: its pipelines written out, proved to do what their loops do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from workbench import arith
from workbench.access.async_copies import with_groups
from workbench.access.pipelines import (
    Needs,
    Pipeline,
    copied,
    is_pipeline,
    with_copies,
    with_statements,
)
from workbench.arith import Bounds
from workbench.check.double_buffers import doubled, with_double_buffers
from workbench.check.finding import Finding
from workbench.check.pipeline_of import asked_copies, pipeline_of
from workbench.check.pipeline_order import copies_of, refuse_broken, refuse_copied_again
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    Buffer,
    For,
    PrimFunc,
    Stmt,
    Var,
    once,
    replace_node,
    walk_statements,
)


@dataclass(frozen=True)
class WrittenOut:
    """A program with the turns of its pipelines written out, the inner ones first.

    In `body`, statements that `with_statements` told apart still are; `buffers` says what became of
    those that live in it, and `spare` which have more copies than the number that would do. Of each
    of the `pipelines` there is what it was, and what it became.
    """

    body: Stmt
    buffers: dict[Buffer, Buffer]
    spare: dict[Buffer, int]
    pipelines: tuple[tuple[Pipeline, Injected], ...]


@once
def written_out(func: PrimFunc) -> WrittenOut:
    """What `func` does in turns. Raises Refusal where a pipeline is not what its loop is."""
    own = {
        b: b
        for node in walk_statements(func.body)
        if isinstance(node, Block)
        for b in node.alloc_buffers
    }
    body: Stmt = with_statements(with_double_buffers(func.body))
    twice, spare = doubled(func.body), dict[Buffer, int]()
    found: list[tuple[Pipeline, Injected]] = []
    while loop := innermost(body):
        known = arith.loop_bounds([node for node in walk_statements(body) if isinstance(node, For)])
        private = [buffer for buffer in own.values() if buffer.scope != "global"]
        made = injected(loop, body, known, private, doubled=twice)
        found.append((pipeline_of(loop), made))
        spare |= made.spare
        own = {old: made.copies.get(new, new) for old, new in own.items()}
        body = replace_node(body, loop, made.stmt)
    return WrittenOut(body, own, spare, tuple(found))


@once
def copies(func: PrimFunc) -> dict[Buffer, int]:
    """How many copies there are of a buffer, where there are several. Raises as `written_out`."""
    counts: dict[Buffer, int] = {}
    for buffer, made in written_out(func).buffers.items():
        more = made.shape[: len(made.shape) - len(buffer.shape)]
        counts |= {buffer: prod(map(int, more))} if more else {}
    return counts


def spare_copies(func: PrimFunc) -> Iterator[Finding]:
    """Buffers of which there are more copies than do, as TVM's rule has it."""
    for buffer, least in written_out(func).spare.items():
        yield Finding(
            f"{buffer.name} has {copies(func)[buffer]} copies, and {least} would do",
            (buffer,),
            hint=f'say so: sch.pipeline(…, copies={{"{buffer.name}": {least}}})',
            detail="TVM counts the stages, wherever in a turn it is read and written",
            kind="warning",
        )


def has_pipelines(func: PrimFunc) -> bool:
    """Whether statements of a loop of `func` run in turns of their own, and may."""
    try:
        return bool(written_out(func).pipelines)
    except Refusal:
        return False


def innermost(body: Stmt) -> For | None:
    """A pipeline that holds no other, if there is one."""
    loops = [node for node in walk_statements(body) if isinstance(node, For) and is_pipeline(node)]
    return loops[-1] if loops else None


@dataclass(frozen=True)
class Injected:
    """What becomes of a pipeline, and of the buffers of which it has copies."""

    stmt: Stmt
    copies: dict[Buffer, Buffer]
    least: dict[Buffer, int]  # how many would do
    spare: dict[Buffer, int]  # the same, where more was not asked for


def injected(
    loop: For,
    body: Stmt,
    known: Bounds,
    private: Collection[Buffer],
    axes: Sequence[tuple[str, Var]] = (),
    doubled: Collection[Buffer] = (),
    waits: bool = False,
    marked: Callable[[Pipeline], Pipeline] = lambda pipeline: pipeline,
) -> Injected:
    """What becomes of the pipeline `loop`, the innermost one in `body`; see `Needs` for the rest.

    Of those that are `doubled` there are two copies at least. With `waits`, what an asynchronous
    stage copies is begun, and waited for; else just made. What is proved may be `marked` before it
    is written out. Raises Refusal where it would not do what the loop does.
    """
    pipeline = pipeline_of(loop)
    needs = Needs(pipeline, body, known, private, axes)
    counts = copies_of(needs, doubled)
    refuse_broken(needs, counts)
    refuse_copied_again(needs)
    copies = {buffer: copied(buffer, count) for buffer, count in counts.items() if count > 1}
    least = {buffer: needs.least_copies(buffer) for buffer in copies}
    spare = {
        buffer: count
        for buffer, count in least.items()
        if buffer not in doubled
        and buffer.name not in asked_copies(loop)
        and counts[buffer] == needs.copies(buffer) > count
    }
    made = pipeline_of(with_copies(loop, loop, copies))
    if waits and made.async_stages:
        alone = [stage in made.async_stages for stage in made.stages]
        made = with_groups(made, [*needs.all(counts, lambda first, then, lag: alone[first])])
    return Injected(marked(made).expanded(known), copies, least, spare)
