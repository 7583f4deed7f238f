"""pipeline: let a loop's statements run in turns of their own, so that fetch and work overlap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.access.pipelines import NOTES, is_pipeline, statements, uses
from workbench.access.units import buffers_read, buffers_written
from workbench.check.pipeline_of import may_be_async
from workbench.check.pipelines import written_out
from workbench.ir import Block, For, PrimFunc, Stmt, walk_statements
from workbench.verbs.nest import annotated
from workbench.verbs.pipeline_notes import notes
from workbench.verbs.primitive import Edit, primitive


def _choices(func: PrimFunc, loop: For) -> Iterator[Mapping[str, Any]]:
    """Fetch ahead of the work; through registers, stored behind it, in one copy or in two.

    And asynchronously, a turn ahead or two, where all that is fetched is copied as it is. Around a
    pipeline as `_around` says.
    """
    stmts = statements(loop)
    *fetching, last = stmts
    if fetching and isinstance(last, For) and is_pipeline(last):
        yield from _around(last, fetching)
        return
    own = {
        b
        for node in walk_statements(func.body)
        if isinstance(node, Block)
        for b in node.alloc_buffers
    }
    passed = {b for b in own if uses(func.body, b) == uses(loop, b)}
    fetches = [k for k, stmt in enumerate(stmts[:-1]) if buffers_written(stmt) <= passed]
    fetched = {b for k in fetches for b in buffers_written(stmts[k])}
    stores = [k for k in fetches if buffers_read(stmts[k]) & fetched]
    stages = [int(k not in fetches) for k in range(len(stmts))]
    yield {"stages": stages}
    if stores:
        turn = sorted(range(len(stmts)), key=lambda k: (k in stores, stages[k]))
        way = {"stages": stages, "order": [turn.index(k) for k in range(len(stmts))]}
        yield way
        stored = {b.name for k in stores for b in buffers_written(stmts[k])}
        yield {**way, "copies": dict.fromkeys(sorted(stored), 2)}
    elif fetches and all(may_be_async(stmts[k]) for k in fetches):
        for depth in (1, 2):
            yield {"stages": [depth * stage for stage in stages], "async_stages": [0]}


def _around(inner: For, fetching: Sequence[Stmt]) -> Iterator[Mapping[str, Any]]:
    """A pipeline in it is three statements: its first turn, those with all of it, and its last.

    So what is fetched may be ahead of all three; and what the first one holds, of the last one of
    the turn before.
    """
    first = [0] * len(fetching)
    yield {"stages": [*first, 1, 1, 1]}
    if not all(map(may_be_async, fetching)):
        return
    for depth in (1, 2):
        yield {"stages": [*first, depth, depth, depth], "async_stages": [0]}
    held = {b.name for stmt in statements(inner)[:-1] for b in buffers_written(stmt)}
    start = len(first)
    yield {
        "stages": [*first, 1, 2, 2],
        "order": [*range(start), start + 1, start, start + 2],
        "copies": dict.fromkeys(sorted(held), 1),
        "async_stages": [0],
    }


@primitive(group="loops", sizes=True, choices=_choices, whole=True)
def pipeline(
    func: PrimFunc,
    loop: For,
    stages: list[int],
    order: list[int] | None = None,
    copies: dict[str, int] | None = None,
    async_stages: list[int] | None = None,
) -> Edit[None]:
    """Run statement k of iteration i of `loop` in turn ``i + stages[k]``: fetch ahead of the work.

    Each statement of the body has a stage, from 0, and a place in the `order` of a turn, which is
    that of the program unless it is given. Lowering writes out the turns in which not all of them
    run, before the loop and behind it. What a statement hands on to a later stage has as many
    copies as in TVM, used in turn, or as `copies` says by name: one more can save a barrier. What
    is in one of `async_stages` copies from global to shared memory, and its threads go on meanwhile
    (CUDA's cp.async, from sm_80 on); they wait for it before it is used. The notes on the loop are
    TVM's, ``software_pipeline_stage``, ``…_order`` and ``…_async_stages``.

    Raises ScheduleError where a statement would find a cell before another one has written or read
    it, which TVM does not ask; for the wrong number of stages; and for what is asynchronous and no
    plain copy.

    >>> sch.pipeline("k", stages=[0, 1])
    @T.prim_func
    def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
        # with T.block("root"):
        S = T.alloc_buffer((8, 32), scope="shared")
        for k in range(8):
            for t in range(32):
                with T.block("S"):
                    vk, vt = T.axis.remap("SS", [k, t])
                    T.reads(A[vk, vt])
                    T.writes(S[vk, vt])
                    S[vk, vt] = A[vk, vt]
            for t in range(32):
                with T.block("B"):
                    vk, vt = T.axis.remap("SS", [k, t])
                    T.reads(S[vk, 31 - vt])
                    T.writes(B[vk, vt])
                    B[vk, vt] = S[vk, 31 - vt]
    ---
    @T.prim_func
    def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
        # with T.block("root"):
        S = T.alloc_buffer((8, 32), scope="shared")
        for k in T.serial(8, annotations={"software_pipeline_stage": [0, 1], \
"software_pipeline_order": [0, 1]}):
            for t in range(32):
                with T.block("S"):
                    vk, vt = T.axis.remap("SS", [k, t])
                    T.reads(A[vk, vt])
                    T.writes(S[vk, vt])
                    S[vk, vt] = A[vk, vt]
            for t in range(32):
                with T.block("B"):
                    vk, vt = T.axis.remap("SS", [k, t])
                    T.reads(S[vk, 31 - vt])
                    T.writes(B[vk, vt])
                    B[vk, vt] = S[vk, 31 - vt]
    """
    kept = {key: value for key, value in loop.annotations if key not in NOTES}
    added = notes(stages, order, copies, async_stages)
    made = annotated(func, loop, tuple((kept | added).items()))
    written_out(made)  # raises Refusal where it would do something else
    return Edit(made)
