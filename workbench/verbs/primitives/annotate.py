"""annotate: leave a note on a loop or a block."""

from __future__ import annotations

from typing import TypeAlias

from workbench.ir import Block, Data, For, PrimFunc
from workbench.verbs.nest import annotated
from workbench.verbs.primitive import Edit, primitive

Scalar: TypeAlias = bool | int | float | str


@primitive(group="notes", sizes=True)
def annotate(
    func: PrimFunc,
    block_or_loop: Block | For,
    ann_key: str,
    ann_val: Scalar | list[Scalar] | dict[str, Scalar | list[Scalar]],
) -> Edit[None]:
    """Leave the note `ann_key` = `ann_val` on a loop or a block; a note of that key is replaced.

    A note is a number, a text, True or False, a list of such, or a dictionary of these by texts.

    >>> sch.annotate("i", "pragma_auto_unroll_max_step", 16)
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.serial(8, annotations={"pragma_auto_unroll_max_step": 16}):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    """
    notes: dict[str, Data] = dict(block_or_loop.annotations)
    notes[ann_key] = ann_val  # type: ignore[assignment]  # lists and dictionaries arrive frozen
    return Edit(annotated(func, block_or_loop, tuple(notes.items())))
