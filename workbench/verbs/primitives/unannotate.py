"""unannotate: take a note off a loop or a block."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.ir import Block, For, PrimFunc
from workbench.script.writer import string
from workbench.verbs.nest import annotated
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import site_of


def _check(func: PrimFunc, block_or_loop: Block | For, ann_key: str) -> None:
    keys = [key for key, _ in block_or_loop.annotations]
    if ann_key not in keys:
        raise site_of(func, block_or_loop, "unannotate").refuse(
            f"it has no note {string(ann_key)}" if ann_key or keys else "it has no notes",
            hint=f"its notes: {', '.join(keys)}" if keys else "annotate puts one on it first",
        )


def _choices(func: PrimFunc, block_or_loop: Block | For) -> Iterator[dict[str, str]]:
    yield from ({"ann_key": key} for key, _ in block_or_loop.annotations or (("", 0),))


@primitive(group="notes", sizes=True, check=_check, choices=_choices)
def unannotate(func: PrimFunc, block_or_loop: Block | For, ann_key: str) -> Edit[None]:
    """Take the note `ann_key` off a loop or a block.

    >>> sch.unannotate("i", "pragma_auto_unroll_max_step")
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.serial(8, annotations={"pragma_auto_unroll_max_step": 16}):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    """
    left = tuple((key, value) for key, value in block_or_loop.annotations if key != ann_key)
    return Edit(annotated(func, block_or_loop, left))
