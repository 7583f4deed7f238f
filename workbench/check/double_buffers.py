"""Double buffers: which there are, and the pipelines that TVM's note asks for.

`double_buffer_scope` of a block asks for two copies of a buffer that it writes, and lets the block
run a turn ahead of what uses it. So it is a pipeline of two stages, in the order of the program, of
the innermost loop around all that touches the buffer; if that is one already, it keeps its stages.

TVM: src/s_tir/transform/inject_double_buffer.cc, which asks nothing of the program, and takes the
innermost loop around the fetch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.access.accesses import accesses, by_buffer
from workbench.access.fed import common_loops
from workbench.access.pipelines import DOUBLE, DOUBLED, is_pipeline, statements, uses
from workbench.diag import Act, Refusal
from workbench.ir import (
    Block,
    Buffer,
    For,
    Node,
    Stmt,
    Var,
    attrs_dict,
    once,
    rewrite,
    walk_statements,
)
from workbench.script.writer import string


@once
def doubled(body: Stmt) -> dict[Buffer, Block]:
    """The buffers of which two copies are asked for, each with the block whose note says so."""
    return dict(_doubled(body))


def _doubled(body: Stmt) -> Iterator[tuple[Buffer, Block]]:
    for block in (node for node in walk_statements(body) if isinstance(node, Block)):
        which = attrs_dict(block.annotations).get(DOUBLE)
        if which is None:
            continue
        if not isinstance(which, int) or not 0 <= which < len(block.writes):
            raise Refusal(
                f"Can't double-buffer what `{block.name}` writes: it writes no buffer {which!r}",
                block.id,
                hint="number what it writes from 0: "
                f'sch.annotate({string(block.name)}, "{DOUBLE}", 0)',
                act=Act("annotate", block.id),
            )
        yield block.writes[which].buffer, block


def with_double_buffers(body: Stmt) -> Stmt:
    """`body` with notes on the loops that double buffers make pipelines: the names of these.

    Raises Refusal where there is no such loop for a buffer.
    """
    asked = doubled(body)
    if not asked:
        return body
    found, names = by_buffer(accesses(body)), defaultdict[Var, list[str]](list)
    for buffer, block in asked.items():
        loop = _turns(buffer, block, common_loops(found[buffer]))
        if not is_pipeline(loop):
            names[loop.loop_var].append(buffer.name)

    def visit(node: Node) -> Node:
        if not isinstance(node, For) or node.loop_var not in names:
            return node
        note = DOUBLED, tuple(names[node.loop_var])
        return replace(node, annotations=(*node.annotations, note))

    return rewrite(body, visit)


def ahead(loop: For) -> tuple[str, ...]:
    """The buffers that make `loop` a pipeline, where it is given no stages."""
    return attrs_dict(loop.annotations).get(DOUBLED, ())  # type: ignore[return-value]


def stages_of(loop: For, stmts: Sequence[Stmt]) -> tuple[int, ...]:
    """The stages of its statements: what fetches one of those buffers runs a turn ahead."""
    names = set(ahead(loop))
    return tuple(int(names.isdisjoint(b.name for b in doubled(stmt))) for stmt in stmts)


def _turns(buffer: Buffer, block: Block, around: tuple[For, ...]) -> For:
    """The loop in whose turns the copies are used, of those around all that touches the buffer."""
    task, off = f"Can't double-buffer {buffer.name}", "or take the note off"
    if buffer.scope == "global":
        hint = f'sch.set_scope({string(block.name)}, 0, "shared"), {off}'
        raise Refusal(
            f"{task}: it is in global memory, which all blocks share",
            block.id,
            hint=hint,
            act=Act("set_scope", block.id),
        )
    serial = [loop for loop in around if not loop.thread]
    if not serial:
        hint = f"move the copy into a loop with compute_at, {off}"
        raise Refusal(f"{task}: no loop holds all that fills and uses it", block.id, hint=hint)
    loop = serial[-1]
    if sum(uses(stmt, buffer) > 0 for stmt in statements(loop)) < 2:
        name = loop.loop_var.name
        raise Refusal(
            f"{task}: a turn of `{name}` fetches and uses it in one statement",
            block.id,
            hint=f"move the copy to `{name}` with compute_at, {off}",
            detail="the statement that fetches runs a turn ahead of the one that uses",
        )
    return loop
