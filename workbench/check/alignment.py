"""alignments: which rows a block's note asks to be padded, as `storage_align` leaves it."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.diag import Act, Refusal
from workbench.ir import Block, attrs_dict
from workbench.script.writer import data, string

ALIGN = "buffer_dim_align"  # TVM's name


def alignments(block: Block) -> Iterator[tuple[int, int, int, int]]:
    """Which of the buffers that `block` writes, which axis of it, the factor and the offset.

    Raises Refusal where the note, which anybody can write, tells something else.
    """
    note = attrs_dict(block.annotations).get(ALIGN, ())
    wishes = note if isinstance(note, tuple) else (note,)
    shapes = [region.buffer.shape for region in block.writes]
    for wish in wishes:
        match wish:
            case (int(which), int(axis), int(factor), int(offset)):
                if which in range(len(shapes)) and axis in range(len(shapes[which])) and factor > 0:
                    yield which, axis, factor, offset
                    continue
        raise Refusal(
            f"Can't lay out what `{block.name}` writes: its note {ALIGN} tells no rows to pad",
            block.id,
            hint=f"sch.unannotate({string(block.name)}, {string(ALIGN)}), then sch.storage_align",
            detail="it holds lists [buffer, axis, factor, offset], all counted from 0, factors "
            f"from 1, not {data(wish)}",
            act=Act("unannotate", block.id),
        )
