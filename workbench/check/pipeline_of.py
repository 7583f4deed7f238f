"""pipeline_of: a loop read as a pipeline, by its notes; or what is wrong with these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.access.pipelines import ASYNC, COPIES, ORDER, STAGE, Mark, Pipeline
from workbench.access.units import Unit, buffers_read, buffers_written, units
from workbench.check.double_buffers import ahead, stages_of
from workbench.diag import Act, Refusal
from workbench.ir import (
    CP_ASYNC,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Data,
    Entries,
    For,
    Node,
    SeqStmt,
    Stmt,
    attrs_dict,
    stores,
)
from workbench.script.writer import string
from workbench.target import Target

MOST = 100
"""The last stage that there can be, and the most copies: lowering writes each turn out."""


def pipeline_of(loop: For) -> Pipeline:
    """The pipeline `loop`, in which `with_statements` has seen to its statements.

    Raises Refusal where its notes do not say when each of them runs.
    """
    stmts = loop.body.stmts if isinstance(loop.body, SeqStmt) else ()
    names = ", ".join(f"`{name_of(stmt)}`" for stmt in stmts)
    if loop.kind not in ("serial", "unrolled"):
        how = f"it is bound to {loop.thread}" if loop.thread else f"it is {loop.kind}"
        raise wrong(loop, f"{how}, so that its turns are made at once", "pipeline a serial loop")
    ends = buffers_read(replace(loop, body=SeqStmt(()))) & buffers_written(loop)
    for buffer in ends:
        why = f"it writes {buffer.name}, which says how often it runs"
        raise wrong(loop, why, "read how often it runs ahead of it, into a buffer of its own")
    if len(stmts) < 2:
        hint = "fetch what it uses inside of it, with cache_read and compute_at"
        raise wrong(loop, f"there is but one statement in it, {names}", hint)
    notes = attrs_dict(loop.annotations)
    if ahead(loop):
        notes = {STAGE: stages_of(loop, stmts), ORDER: tuple(range(len(stmts)))}
    stages, order = (_numbers(loop, key, notes.get(key)) for key in (STAGE, ORDER))
    for each, what in ((stages, "stages"), (order, "places in the order")):
        if len(each) != len(stmts):
            raise wrong(
                loop,
                f"there are {len(each)} {what} for {len(stmts)} statements",
                f"give each one number: {names}",
            )
    if max(stages) > MOST:
        hint = f"take at most {MOST}: each is a turn written out, and a copy"
        raise wrong(loop, f"there is a stage {max(stages)}", hint)
    if sorted(order) != list(range(len(stmts))):
        every = ", ".join(map(str, range(len(stmts))))
        raise wrong(
            loop, "two statements cannot have one place in the order", f"use each of {every} once"
        )
    pipeline = Pipeline(loop, stmts, stages, order, _async_stages(loop, stages))
    _refuse_no_copy(pipeline)
    return pipeline


def _async_stages(loop: For, stages: Sequence[int]) -> tuple[int, ...]:
    found = attrs_dict(loop.annotations).get(ASYNC, ())
    if not isinstance(found, tuple) or not set(found) <= set(stages):
        every = ", ".join(map(str, sorted(set(stages))))
        raise wrong(loop, f"{ASYNC} is not a list of its stages", f"name some of: {every}")
    return found  # type: ignore[return-value]


def _refuse_no_copy(pipeline: Pipeline) -> None:
    """Refuse what is in an asynchronous stage and not copied as it is, from global to shared."""
    for k, stmt in enumerate(pipeline.stmts):
        if pipeline.stages[k] not in pipeline.async_stages:
            continue
        for store in _stores(stmt):
            if why := _no_copy(store):
                told = "cp.async copies from global to shared memory, or fills with zeros"
                raise never_async(pipeline, stmt, why, told)


def never_async(pipeline: Pipeline, stmt: Stmt, why: str, detail: str) -> Refusal:
    """The refusal of a statement of `pipeline` in an asynchronous stage."""
    return wrong(
        pipeline.loop,
        f"`{name_of(stmt)}` can't be asynchronous: {why}",
        f"leave it to a stage that is not: {_without_async(pipeline)}",
        *nodes_of(stmt),
        detail=detail,
        act=pipelined_at(pipeline.loop),
    )


def may_be_async(stmt: Stmt) -> bool:
    """Whether all that `stmt` does is to copy from global to shared memory."""
    return not any(map(_no_copy, _stores(stmt)))


def _stores(stmt: Stmt) -> Iterator[BufferStore]:
    """What `stmt` stores, but for the marks of a pipeline in it."""
    return (store for store in stores(stmt) if not isinstance(store.buffer, Mark))


def refuse_async(loop: For, target: Target) -> None:
    """Refuse asynchronous stages of `loop` where `target` has none."""
    pipeline = pipeline_of(loop)
    if pipeline.async_stages and not target.async_copy_bytes:
        raise wrong(
            loop,
            f"{target.title} ({target.arch}) has no asynchronous copies",
            f'name a GPU that has them, as "nvidia/a100", or take {_without_async(pipeline)}',
            detail="cp.async is of CUDA GPUs from sm_80 on",
            act=pipelined_at(loop),
        )


def _no_copy(store: BufferStore) -> str:
    """Why `store` is no copy from global to shared memory; "" where it is one."""
    value, buffer = store.value, store.buffer
    match value:
        case Call(op, (begun,)) if op == CP_ASYNC:  # by a pipeline in it, which waits for it
            value = begun
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


def _without_async(pipeline: Pipeline) -> str:
    """The step that makes `pipeline`, but for its asynchronous stages."""
    order, stages = list(pipeline.order), list(pipeline.stages)
    turn = "" if order == sorted(order) else f", order={order}"
    return as_step(pipeline.loop, f"stages={stages}{turn}")


def as_step(loop: For, given: str) -> str:
    """The step that makes a pipeline of `loop`, with the arguments `given`."""
    return f"sch.pipeline({string(loop.loop_var.name)}, {given})"


def _numbers(loop: For, key: str, found: Data | None) -> tuple[int, ...]:
    numbers = found if isinstance(found, tuple) else ()
    if not numbers or not all(type(number) is int and number >= 0 for number in numbers):
        hint = f"give each statement a number from 0: {as_step(loop, 'stages=…')}"
        why = f"{key} is not a list of numbers from 0"
        raise wrong(loop, why, hint, act=pipelined_at(loop))
    return numbers  # type: ignore[return-value]


def pipelined_at(loop: For) -> Act:
    """The step that makes a pipeline of `loop`."""
    return Act("pipeline", loop.loop_var)


def wrong(
    loop: For, why: str, hint: str, *at: Node, detail: str = "", act: Act | None = None
) -> Refusal:
    """The refusal of `loop` as a pipeline; it marks the nodes `at`, too."""
    names = " and ".join(ahead(loop))
    task = f"double-buffer {names}" if names else f"pipeline `{loop.loop_var.name}`"
    return Refusal(f"Can't {task}: {why}", loop.loop_var, *at, hint=hint, detail=detail, act=act)


def _unit(stmt: Stmt) -> Unit | None:
    """What stands for a statement of a pipeline: the last block or store in it, if there is one."""
    unit = next(reversed([*units(stmt)]), None)
    if unit and unit.block and not unit.block.name:  # around a statement, maybe of an inner one
        return _unit(unit.block.body)
    return unit


def name_of(stmt: Stmt) -> str:
    """What people call a statement of a pipeline."""
    unit = _unit(stmt)
    return unit.name if unit else "nothing"


def nodes_of(stmt: Stmt) -> list[Node]:
    """What is marked of a statement of a pipeline: a block, or a store."""
    unit = _unit(stmt)
    return [unit.block.id if unit.block else unit.stmt] if unit else []


def asked_copies(loop: For) -> dict[str, Data]:
    """How many copies its notes ask for, by the name of the buffer.

    Raises Refusal for a note that is no dictionary.
    """
    asked = attrs_dict(loop.annotations).get(COPIES, Entries(()))
    if not isinstance(asked, Entries):
        raise wrong(loop, f"{COPIES} is not a dictionary", 'write {"name of a buffer": 2}')
    return dict(asked.pairs)
