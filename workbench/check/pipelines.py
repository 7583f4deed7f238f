"""Pipelines that cannot be: what is wrong with their notes, and what the turns would break."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from workbench import arith
from workbench.access.async_copies import with_groups
from workbench.access.meet import Meets
from workbench.access.pipelines import (
    ASYNC,
    COPIES,
    ORDER,
    STAGE,
    Need,
    Needs,
    Pipeline,
    copied,
    is_pipeline,
    with_copies,
    with_statements,
)
from workbench.access.units import Unit, buffers_read, buffers_written, units
from workbench.arith import Bounds
from workbench.check.double_buffers import ahead, doubled, stages_of, with_double_buffers
from workbench.check.finding import Finding
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Data,
    Entries,
    For,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    attrs_dict,
    once,
    replace_node,
    stores,
    walk,
)
from workbench.script.writer import string
from workbench.target import Target

MOST = 100
"""The last stage that there can be, and the most copies: lowering writes each turn out."""


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
    own = {b: b for node in walk(func.body) if isinstance(node, Block) for b in node.alloc_buffers}
    body: Stmt = with_statements(with_double_buffers(func.body))
    twice, spare = doubled(func.body), dict[Buffer, int]()
    found: list[tuple[Pipeline, Injected]] = []
    while loop := innermost(body):
        known = arith.loop_bounds([node for node in walk(body) if isinstance(node, For)])
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


def innermost(body: Stmt) -> For | None:
    """A pipeline that holds no other, if there is one."""
    loops = [node for node in walk(body) if isinstance(node, For) and is_pipeline(node)]
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
    counts = _copies(needs, doubled)
    for need in needs.broken(counts):
        raise _refused(needs, need, counts)
    copies = {buffer: copied(buffer, count) for buffer, count in counts.items() if count > 1}
    least = {buffer: needs.least_copies(buffer) for buffer in copies}
    spare = {
        buffer: count
        for buffer, count in least.items()
        if buffer not in doubled
        and buffer.name not in _asked(loop)
        and counts[buffer] == needs.copies(buffer) > count
    }
    made = pipeline_of(with_copies(loop, loop, copies))
    if waits and made.async_stages:
        alone = [stage in made.async_stages for stage in made.stages]
        made = with_groups(made, [*needs.all(counts, lambda first, then, lag: alone[first])])
    return Injected(marked(made).expanded(known), copies, least, spare)


def pipeline_of(loop: For) -> Pipeline:
    """The pipeline `loop`, in which `with_statements` has seen to its statements.

    Raises Refusal where its notes do not say when each of them runs.
    """
    stmts = loop.body.stmts if isinstance(loop.body, SeqStmt) else ()
    names = ", ".join(f"`{_name(stmt)}`" for stmt in stmts)
    if loop.kind not in ("serial", "unrolled"):
        how = f"it is bound to {loop.thread}" if loop.thread else f"it is {loop.kind}"
        raise _wrong(loop, f"{how}, so that its turns are made at once", "pipeline a serial loop")
    ends = buffers_read(replace(loop, body=SeqStmt(()))) & buffers_written(loop)
    for buffer in ends:
        why = f"it writes {buffer.name}, which says how often it runs"
        raise _wrong(loop, why, "read how often it runs ahead of it, into a buffer of its own")
    if len(stmts) < 2:
        hint = "fetch what it uses inside of it, with cache_read and compute_at"
        raise _wrong(loop, f"there is but one statement in it, {names}", hint)
    notes = attrs_dict(loop.annotations)
    if ahead(loop):
        notes = {STAGE: stages_of(loop, stmts), ORDER: tuple(range(len(stmts)))}
    stages, order = (_numbers(loop, key, notes.get(key)) for key in (STAGE, ORDER))
    for each, what in ((stages, "stages"), (order, "places in the order")):
        if len(each) != len(stmts):
            raise _wrong(
                loop,
                f"there are {len(each)} {what} for {len(stmts)} statements",
                f"give each one number: {names}",
            )
    if max(stages) > MOST:
        hint = f"take at most {MOST}: each is a turn written out, and a copy"
        raise _wrong(loop, f"there is a stage {max(stages)}", hint)
    if sorted(order) != list(range(len(stmts))):
        every = ", ".join(map(str, range(len(stmts))))
        raise _wrong(
            loop, "two statements cannot have one place in the order", f"use each of {every} once"
        )
    pipeline = Pipeline(loop, stmts, stages, order, _async_stages(loop, stages))
    refuse_no_copy(pipeline)
    return pipeline


def _async_stages(loop: For, stages: Sequence[int]) -> tuple[int, ...]:
    found = attrs_dict(loop.annotations).get(ASYNC, ())
    if not isinstance(found, tuple) or not set(found) <= set(stages):
        every = ", ".join(map(str, sorted(set(stages))))
        raise _wrong(loop, f"{ASYNC} is not a list of its stages", f"name some of: {every}")
    return found  # type: ignore[return-value]


def refuse_no_copy(pipeline: Pipeline) -> None:
    """Refuse what is in an asynchronous stage and not copied as it is, from global to shared."""
    for k, stmt in enumerate(pipeline.stmts):
        if pipeline.stages[k] not in pipeline.async_stages:
            continue
        for store in stores(stmt):
            if why := _no_copy(store):
                raise _wrong(
                    pipeline.loop,
                    f"`{_name(stmt)}` can't be asynchronous: {why}",
                    f"leave it to a stage that is not: {as_call(pipeline)}",
                    *_places(stmt),
                    detail="cp.async copies from global to shared memory, or fills with zeros",
                )


def may_be_async(stmt: Stmt) -> bool:
    """Whether all that `stmt` does is to copy from global to shared memory."""
    return not any(map(_no_copy, stores(stmt)))


def refuse_async(loop: For, target: Target) -> None:
    """Refuse asynchronous stages of `loop` where `target` has none."""
    pipeline = pipeline_of(loop)
    if pipeline.async_stages and not target.async_copy_bytes:
        raise _wrong(
            loop,
            f"{target.title} ({target.arch}) has no asynchronous copies",
            f'name a GPU that has them, as "nvidia/a100", or take {as_call(pipeline)}',
            detail="cp.async is of CUDA GPUs from sm_80 on",
        )


def _no_copy(store: BufferStore) -> str:
    """Why `store` is no copy from global to shared memory; "" where it is one."""
    value, buffer = store.value, store.buffer
    match value:
        case Call("if_then_else", (_, BufferLoad() as load, other)):
            if not isinstance(other, Const) or str(other.value) not in ("0", "0.0", "False"):
                return f"it fills {buffer.name} with other than zeros"
            value = load
    if buffer.scope != "shared":
        return f"{buffer.name} is in {buffer.scope} memory"
    if not isinstance(value, BufferLoad):
        return f"what it stores in {buffer.name} is computed"
    if value.buffer.scope != "global":
        return f"{value.buffer.name} is in {value.buffer.scope} memory"
    return ""


def as_call(pipeline: Pipeline) -> str:
    """The step that made `pipeline`, without its asynchronous stages."""
    order, stages = list(pipeline.order), list(pipeline.stages)
    turn = "" if order == sorted(order) else f", order={order}"
    return f"sch.pipeline({string(_loop(pipeline.loop))}, stages={stages}{turn})"


def _numbers(loop: For, key: str, found: Data | None) -> tuple[int, ...]:
    numbers = found if isinstance(found, tuple) else ()
    if not numbers or not all(type(number) is int and number >= 0 for number in numbers):
        hint = f"give each statement a number from 0: sch.pipeline({string(_loop(loop))}, stages=…)"
        raise _wrong(loop, f"{key} is not a list of numbers from 0", hint)
    return numbers  # type: ignore[return-value]


def _loop(loop: For) -> str:
    return loop.loop_var.name


def _wrong(loop: For, why: str, hint: str, *at: Node, detail: str = "") -> Refusal:
    names = " and ".join(ahead(loop))
    task = f"double-buffer {names}" if names else f"pipeline `{_loop(loop)}`"
    return Refusal(f"Can't {task}: {why}", loop.loop_var, *at, hint=hint, detail=detail)


def _unit(stmt: Stmt) -> Unit | None:
    """What stands for a statement of a pipeline: the last block or store in it, if there is one."""
    unit = next(reversed([*units(stmt)]), None)
    if unit and unit.block and not unit.block.name:  # around a statement, maybe of an inner one
        return _unit(unit.block.body)
    return unit


def _name(stmt: Stmt) -> str:
    unit = _unit(stmt)
    return unit.name if unit else "nothing"


def _places(stmt: Stmt) -> list[Node]:
    unit = _unit(stmt)
    return [unit.block.id if unit.block else unit.stmt] if unit else []


# --- copies ---------------------------------------------------------------------------------------


def _copies(needs: Needs, doubled: Collection[Buffer]) -> dict[Buffer, int]:
    """How many copies there are of each buffer."""
    loop = needs.pipeline.loop
    wanted = _asked(loop)
    counts: dict[Buffer, int] = {}
    for buffer in dict.fromkeys(buffer for found in needs.found for buffer in found):
        users = sum(buffer in found for found in needs.found)
        twice = buffer in doubled and users > 1 and needs.holds(buffer)
        count = max(needs.copies(buffer), 2 if twice else 1)
        given = wanted.pop(buffer.name, None)
        if given is not None:
            count = _given(needs, buffer, given)
        if count > 1 and not needs.may_copy(buffer):
            if twice or given is not None:
                raise _wrong(
                    loop,
                    f"each iteration would have a copy of {buffer.name}, and may read what "
                    "another one wrote",
                    f"let each iteration write all that it reads of {buffer.name}, or "
                    + ("leave out its copies" if given is not None else "take the note off"),
                )
            count = 1
        counts[buffer] = count
    if wanted:
        names = ", ".join(buffer.name for buffer in counts if buffer in needs.private)
        raise _wrong(loop, f"nothing in it uses {next(iter(wanted))}", f"copies are of: {names}")
    return counts


def _asked(loop: For) -> dict[str, Data]:
    asked = attrs_dict(loop.annotations).get(COPIES, Entries(()))
    if not isinstance(asked, Entries):
        raise _wrong(loop, f"{COPIES} is not a dictionary", 'write {"name of a buffer": 2}')
    return dict(asked.pairs)


def _given(needs: Needs, buffer: Buffer, given: object) -> int:
    least = needs.least_copies(buffer)
    if type(given) is not int or not least <= given <= MOST:
        raise _wrong(
            needs.pipeline.loop,
            f"{buffer.name} can have {least} to {MOST} copies, not {given}",
            f'copies={{"{buffer.name}": {least}}}, or leave it out',
            detail="with fewer, an iteration would write what one before it still reads",
        )
    return given


# --- what the turns would break -------------------------------------------------------------------


def _refused(needs: Needs, need: Need, counts: Mapping[Buffer, int]) -> Refusal:
    pipeline, var, answer = needs.pipeline, needs.pipeline.loop.loop_var, needs.meet(need)
    low, at = needs.fed.known.get(var, (0, 0))[0], f"a cell of {need.buffer.name}"
    if isinstance(answer, Meets):
        low, at = answer.first.env.get(var, low), answer.first.text
    used = need.first, need.then
    names = [_name(pipeline.stmts[k]) for k in used]
    if names[0] == names[1]:
        names = [f"{name} ({k})" for name, k in zip(names, used, strict=True)]
    turns = low + pipeline.stages[need.first], low + need.lag + pipeline.stages[need.then]
    when = f"in turn {turns[1]}" if turns[0] != turns[1] else "earlier in that turn"
    early = " and ".join(ahead(pipeline.loop))
    why = f"what fetches {early} runs a turn ahead: " if early else ""
    one = f"; {need.buffer.name} has one copy, since an iteration may read what another one wrote"
    alone = needs.copies(need.buffer) > counts[need.buffer]
    return _wrong(
        pipeline.loop,
        f"`{names[1]}` would be at {at} before `{names[0]}` is",
        _repaired(needs, counts),
        *(place for k in used for place in _places(pipeline.stmts[k])),
        detail=f"{why}`{names[0]}` of {var.name}={low} would run in turn {turns[0]}, and "
        f"`{names[1]}` of {var.name}={low + need.lag} {when}" + (one if alone else ""),
    )


def _repaired(needs: Needs, counts: Mapping[Buffer, int]) -> str:
    """What to change, as little as can be, so that the turns keep all that is needed."""
    pipeline = needs.pipeline
    free = {buffer: 2 for buffer in counts if needs.may_copy(buffer)}
    every = list(needs.all(free, lambda *need: True))
    last = pipeline.depth
    ways = product(range(last + 1), repeat=len(pipeline.stages)) if len(pipeline.stages) < 7 else ()

    def change(stages: tuple[int, ...]) -> int:
        return sum(abs(a - b) for a, b in zip(stages, pipeline.stages, strict=True))

    for stages in sorted(ways, key=change):
        for order in (pipeline.order, _ordered(replace(pipeline, stages=stages), every)):
            made = replace(pipeline, stages=stages, order=order)
            if all(made.before(*need[:3]) for need in every):
                given = f"stages={list(stages)}, order={list(order)}"
                return f"sch.pipeline({string(_loop(pipeline.loop))}, {given})"
    if ahead(pipeline.loop):
        return "take the note off"
    return "leave all statements in one stage, in the order of the program"


def _ordered(pipeline: Pipeline, every: Collection[Need]) -> tuple[int, ...]:
    """An order of these stages that keeps what is needed within a turn, as near as it can be."""
    left = sorted(range(len(pipeline.order)), key=lambda k: pipeline.order[k])
    waits = {
        (need.then, need.first)
        for need in every
        if pipeline.stages[need.first] == pipeline.stages[need.then] + need.lag
    }
    done: list[int] = []
    while left:
        free = [k for k in left if not any((k, other) in waits for other in left)]
        done.append((free or left)[0])
        left.remove(done[-1])
    return tuple(done.index(k) for k in range(len(done)))
