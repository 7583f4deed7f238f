"""What the turns of a pipeline must keep: copies of what is handed on, and who comes first.

`access/pipelines.py` says what statements need of each other; here is what is refused for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import product

from workbench.access.meet import Meets
from workbench.access.pipelines import Need, Needs, Pipeline
from workbench.check.double_buffers import ahead
from workbench.check.pipeline_of import (
    MOST,
    as_step,
    asked_copies,
    name_of,
    never_async,
    nodes_of,
    pipelined_at,
    wrong,
)
from workbench.diag import Act, Refusal
from workbench.ir import Buffer


def copies_of(needs: Needs, doubled: Collection[Buffer]) -> dict[Buffer, int]:
    """How many copies there are of each buffer; of those that are `doubled` two at least.

    Raises Refusal for a number that its notes ask for and that can't be.
    """
    loop = needs.pipeline.loop
    wanted = asked_copies(loop)
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
                raise wrong(
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
        raise wrong(loop, f"nothing in it uses {next(iter(wanted))}", f"copies are of: {names}")
    return counts


def _given(needs: Needs, buffer: Buffer, given: object) -> int:
    least = needs.least_copies(buffer)
    if type(given) is not int or not least <= given <= MOST:
        raise wrong(
            needs.pipeline.loop,
            f"{buffer.name} can have {least} to {MOST} copies, not {given}",
            f'copies={{"{buffer.name}": {least}}}, or leave it out',
            detail="with fewer, an iteration would write what one before it still reads",
        )
    return given


def refuse_broken(needs: Needs, counts: Mapping[Buffer, int]) -> None:
    """Refuse a pipeline whose turns, with so many copies, do not keep what is needed."""
    for need in needs.broken(counts):
        raise _refused(needs, need, counts)


def refuse_copied_again(needs: Needs) -> None:
    """Refuse asynchronous statements that copy into one cell twice: copies come in any order."""
    pipeline = needs.pipeline
    for k, stmt in enumerate(pipeline.stmts):
        if pipeline.stages[k] in pipeline.async_stages:
            for buffer, answer in needs.copied_again(k):
                why = f"it is not proved to copy into each cell of {buffer.name} once"
                if isinstance(answer, Meets):
                    why = f"it copies into {answer.first.text} twice in an iteration"
                raise never_async(pipeline, stmt, why, "copies of a thread arrive in any order")


def _refused(needs: Needs, need: Need, counts: Mapping[Buffer, int]) -> Refusal:
    pipeline, var, answer = needs.pipeline, needs.pipeline.loop.loop_var, needs.meet(need)
    low, at = needs.fed.known.get(var, (0, 0))[0], f"a cell of {need.buffer.name}"
    if isinstance(answer, Meets):
        low, at = answer.first.env.get(var, low), answer.first.text
    used = need.first, need.then
    names = [name_of(pipeline.stmts[k]) for k in used]
    if names[0] == names[1]:
        names = [f"{name} ({k})" for name, k in zip(names, used, strict=True)]
    turns = low + pipeline.stages[need.first], low + need.lag + pipeline.stages[need.then]
    when = f"in turn {turns[1]}" if turns[0] != turns[1] else "earlier in that turn"
    early = " and ".join(ahead(pipeline.loop))
    why = f"what fetches {early} runs a turn ahead: " if early else ""
    one = f"; {need.buffer.name} has one copy, since an iteration may read what another one wrote"
    alone = needs.copies(need.buffer) > counts[need.buffer]
    hint, act = _repaired(needs, counts)
    return wrong(
        pipeline.loop,
        f"`{names[1]}` would be at {at} before `{names[0]}` is",
        hint,
        *(place for k in used for place in nodes_of(pipeline.stmts[k])),
        detail=f"{why}`{names[0]}` of {var.name}={low} would run in turn {turns[0]}, and "
        f"`{names[1]}` of {var.name}={low + need.lag} {when}" + (one if alone else ""),
        act=act,
    )


def _repaired(needs: Needs, counts: Mapping[Buffer, int]) -> tuple[str, Act | None]:
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
                return as_step(pipeline.loop, given), pipelined_at(pipeline.loop)
    if ahead(pipeline.loop):
        return "take the note off", None
    return "leave all statements in one stage, in the order of the program", None


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
