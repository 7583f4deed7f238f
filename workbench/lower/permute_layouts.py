"""permute_layouts: columns of 16 bytes change places from row to row, where a block asks for it.

The note is TVM's, ``permuted_layout`` (src/s_tir/transform/inject_permuted_layout.cc), on a block
that touches shared memory; and so is the rule. In rows of a multiple of 128 bytes column c of row
r lies at ``c ^ r % 8``, of a multiple of 64 bytes at ``c ^ r % 8 // 2``; and, where TVM has no
rule, of a multiple of 32 bytes at ``c ^ r % 8 // 4``. Then no two of the eight rows that
``ldmatrix`` fetches at a time begin in one bank, and what lies together goes to different banks,
too. What moves is where a buffer's cells lie, for all who touch it, whichever block asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.diag import Refusal
from workbench.ir import (
    WARP_CALL,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Kernel,
    Node,
    attrs_dict,
    dtypes,
    is_warp_call,
    rewrite,
    walk,
    walk_statements,
)
from workbench.target import Target

PERMUTED = "permuted_layout"
COLUMN = 16  # bytes


def permute_layouts(kernel: Kernel, target: Target) -> Kernel:
    """Let columns of 16 bytes change places from row to row in the shared arrays that ask for it.

    Asked by the note `permuted_layout` of a block. Raises Refusal for an array that cannot.
    """
    asked = dict(_asked(kernel))
    if not asked:
        return kernel
    over = {buffer: _divisor(kernel, buffer, block) for buffer, block in asked.items()}
    _refuse_regular(kernel, asked)
    return replace(kernel, body=rewrite(kernel.body, lambda node: _moved(node, over)))


def _asked(kernel: Kernel) -> Iterator[tuple[Buffer, Block]]:
    """The shared arrays that a block with the note touches."""
    for block in (node for node in walk_statements(kernel.body) if isinstance(node, Block)):
        if attrs_dict(block.annotations).get(PERMUTED):
            for region in (*block.reads, *block.writes):
                if region.buffer.scope == "shared":
                    yield region.buffer, block


def _divisor(kernel: Kernel, buffer: Buffer, block: Block) -> int:
    """After how many rows the columns change places: 1, 2 or 4."""
    whole = dict(kernel.views)[buffer]
    width = buffer.shape[-1]
    size = dtypes.itemsize(buffer.type)
    if len(buffer.shape) > 1 and isinstance(width, int) and not buffer.strides:
        for rows, apart in ((1, 128), (2, 64), (4, 32)):
            if width * size % apart == 0:
                return rows
    found = "of no number of cells" if not isinstance(width, int) else f"of {width * size} bytes"
    raise Refusal(
        f"`{block.name}` has the note {PERMUTED}, and {whole.name} has rows {found}"
        + (", padded" if buffer.strides else ""),
        whole,
        block.id,
        hint="let rows of a block's tile be a multiple of 32 bytes, without storage_align",
        detail=f"columns of {COLUMN} bytes change places in rows of a multiple of 32 bytes",
    )


def _refuse_regular(kernel: Kernel, asked: Mapping[Buffer, Block]) -> None:
    """Refuse such an array in a call that takes rows a fixed number of cells apart."""
    for loop in (node for node in walk_statements(kernel.body) if is_warp_call(node)):
        assert isinstance(loop, For)
        call = attrs_dict(loop.annotations)[WARP_CALL]
        name = call[0] if isinstance(call, tuple) else call
        for node in walk(loop) if name != "ptx_ldmatrix" else ():
            if isinstance(node, (BufferLoad, BufferStore)) and node.buffer in asked:
                whole = dict(kernel.views)[node.buffer]
                raise Refusal(
                    f"{name} takes a tile of {whole.name} in rows as they come, and its columns "
                    "change places",
                    whole,
                    asked[node.buffer].id,
                    hint=f"load it by ldmatrix, or take the note {PERMUTED} away",
                )


def _moved(node: Node, over: Mapping[Buffer, int]) -> Node:
    if not isinstance(node, (BufferLoad, BufferStore)) or node.buffer not in over:
        return node
    *ahead, row, column = node.indices
    cells = COLUMN // dtypes.itemsize(node.buffer.type)
    return replace(node, indices=(*ahead, row, _place(row, column, cells, over[node.buffer])))


def _place(row: Expr, column: Expr, cells: int, rows: int) -> Expr:
    turn = row % 8 // rows
    return (column // cells ^ turn) * cells + column % cells
