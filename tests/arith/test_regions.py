"""What statements read and write: the regions that TVM 0.27 infers."""

from __future__ import annotations

import pytest

from workbench import script
from workbench.arith import region_of, union_regions
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    PrimFunc,
    Range,
    Var,
    const,
    walk,
)


def blocks(text: str) -> list[Block]:
    """The blocks of a program whose regions are inferred."""
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return [n.block for n in walk(func.root.body) if isinstance(n, BlockRealize)]


def shown(text: str) -> list[str]:
    """The T.reads and T.writes lines of a program that does not write them."""
    func = script.parse(text)
    return [
        line.strip()
        for line in script.show(func).splitlines()
        if line.strip().startswith(("T.reads", "T.writes"))
    ]


HEAD = """
@T.prim_func
def main(
    A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32"),
    C: T.Buffer((64, 64), "float32"),
):
"""


def test_window():
    text = """
    for i in range(1024):
        with T.block("B"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""
    assert shown(HEAD + text) == ["T.reads(A[vi : vi + 3])", "T.writes(B[vi])"]


def test_a_reduction_with_init_does_not_list_what_it_writes():
    text = """
    for i, k in T.grid(64, 64):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + C[vi, vk] * A[vk]
"""
    assert shown(HEAD + text) == ["T.reads(C[vi, vk], A[vk])", "T.writes(B[vi])"]


def test_an_update_without_init_lists_its_own_cell_first():
    text = """
    for i, k in T.grid(64, 64):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi] = B[vi] + C[vi, vk] * A[vk]
"""
    assert shown(HEAD + text) == ["T.reads(B[vi], C[vi, vk], A[vk])", "T.writes(B[vi])"]


def test_loops_inside_a_block_are_relaxed():
    text = """
    for i, j in T.grid(64, 16):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            for k in range(4):
                C[vi, vj * 4 + k] = A[vi * 3 + k // 2]
"""
    assert shown(HEAD + text) == [
        "T.reads(A[vi * 3 : vi * 3 + 2])",
        "T.writes(C[vi, vj * 4 : vj * 4 + 4])",
    ]


def test_a_block_inside_counts_with_what_it_declares():
    text = """
    for i in range(16):
        with T.block("outer"):
            vo = T.axis.spatial(16, i)
            for j in range(4):
                with T.block("inner"):
                    vi = T.axis.spatial(64, vo * 4 + j)
                    B[vi] = A[vi] + A[vi + 2]
"""
    assert shown(HEAD + text)[:2] == [
        "T.reads(A[vo * 4 : vo * 4 + 6])",
        "T.writes(B[vo * 4 : vo * 4 + 4])",
    ]


def test_an_index_loaded_from_a_buffer_of_the_block_itself_may_be_any():
    text = """
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            own = T.alloc_buffer((), "int32", scope="local")
            own[()] = vi * 3
            C[vi, own[()] % 64] = A[own[()] + 1]
"""
    assert shown(HEAD + text) == ["T.reads(A[0:1027])", "T.writes(C[vi, 0:64])"]
    again = script.show(script.parse(HEAD + text))
    assert script.show(script.parse(again)) == again


def test_region_of_an_index_without_ends_needs_a_shape():
    A, i = Buffer("A", (8,), "int32"), Var("i")
    load = BufferLoad(A, (i,))
    with pytest.raises(ValueError) as caught:
        region_of([load], {i: (0, 7)})
    assert str(caught.value) == "this index has no bounds and no shape limits it"
    (side,) = region_of([load], {i: (0, 7)}, [20])
    assert [script.expr_text(e) for e in (side.min, side.extent)] == ["0", "20"]


def test_union_of_neighbours():
    i = Var("i")
    a, b = ((Range(i + n, const(1, "int32")),) for n in (0, 2))
    (side,) = union_regions(a, b)
    assert [script.expr_text(e) for e in (side.min, side.extent)] == ["i", "3"]


def test_a_hundred_places_that_cannot_be_ordered_are_the_whole_dimension():
    places = " + ".join(f"A[(vi + {k}) % 1027]" for k in range(100))
    reads, _ = shown(
        HEAD
        + f"""    for i in range(1024):
        with T.block("B"):
            vi = T.axis.spatial(1024, i)
            B[vi] = {places}
"""
    )
    assert reads == "T.reads(A[0:1027])"


def test_three_places_that_cannot_be_ordered_are_told_apart():
    reads, _ = shown(
        HEAD
        + """    for i in range(1024):
        with T.block("B"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi % 7] + A[vi % 5] + A[vi % 3]
"""
    )
    assert reads.startswith("T.reads(A[T.min(")
