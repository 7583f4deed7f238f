"""cache_read: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import FORK, SELF, SUM, WINDOW
from tests.support.steps import refusal

EARLY = """\
@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "float32"),
    D: T.Buffer((16,), "float32"),
):
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = A[vi] + 1.0
    for k in range(16):
        with T.block("W"):
            vk = T.axis.spatial(16, k)
            A[vk] = 5.0
    for j in range(16):
        with T.block("D"):
            vj = T.axis.spatial(16, j)
            D[vj] = A[vj] + 1.0
"""

HOLES = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi * 2] = A[vi] * 2.0
    for j in range(8):
        with T.block("C"):
            vj = T.axis.spatial(8, j)
            C[vj] = B[vj * 2] + 1.0
"""


def test_a_writer_that_leaves_out_cells():
    text = refusal(HOLES, lambda sch: sch.cache_read("C", 0, "shared"))
    assert (
        text
        == """\
Can't cache_read B for `C`: `B` may leave out cells of it.
asked: sch.cache_read("C", 0, "shared")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(8):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(8, i)
   8 |             T.reads(A[vi])
do:    cache_read copies a box of which every cell is written, such as C[vi, vj]"""
    )


def test_a_memory_that_is_none():
    text = refusal(WINDOW, lambda sch: sch.cache_read("C", 0, "vram"))
    assert (
        text
        == """\
Can't cache_read `C` in 'vram': there is no memory of that name.
asked: sch.cache_read("C", 0, "vram")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj : vj + 3])
do:    the memories: global, shared, local"""
    )


def test_a_buffer_that_is_not_read():
    text = refusal(WINDOW, lambda sch: sch.cache_read("C", 1, "shared"))
    assert (
        text
        == """\
Can't cache_read `C`: it reads no buffer 1.
asked: sch.cache_read("C", 1, "shared")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj : vj + 3])
do:    the buffers that it reads: 0 or 'B'"""
    )


def test_what_several_blocks_write():
    text = refusal(
        SUM,
        lambda sch: sch.decompose_reduction("C", "k"),
        lambda sch: sch.cache_read("D", 0, "shared"),
    )
    assert (
        text
        == """\
Can't cache_read C for `D`: 2 blocks write it.
asked: sch.cache_read("D", 0, "shared")
where:
   4 |     C = T.alloc_buffer((6,))
   5 |     for i in range(6):
   6 |         with T.block("C_init"):
     |         ^^^^^^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(6, i)
   8 |             T.reads()
    …
  10 |             C[vi] = T.float32(0)
  11 |         for k in range(8):
  12 |             with T.block("C_update"):
     |             ^^^^^^^^^^^^^^^^^^^^^^^^^
  13 |                 vi, vk = T.axis.remap("SR", [i, k])
  14 |                 T.reads(C[vi], A[vi, vk])
do:    cache what one block alone writes; do this before decompose_reduction"""
    )


def test_a_consumer_that_does_not_read_it():
    text = refusal(FORK, lambda sch: sch.cache_read("C", "B", "shared", consumer_blocks=["B"]))
    assert (
        text
        == """\
Can't cache_read B for `C`: `B`, a consumer block, does not read it here.
asked: sch.cache_read("C", "B", "shared", consumer_blocks=["B"])
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
do:    name blocks that read the buffer beside this one: C, D"""
    )


def test_what_the_block_itself_updates():
    text = refusal(SELF, lambda sch: sch.cache_read("C", "C", "local"))
    assert (
        text
        == """\
Can't cache_read C for `C`: `C` itself writes C.
asked: sch.cache_read("C", "C", "local")
where:
   3 |     # with T.block("root"):
   4 |     for i in range(16):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(16, i)
   7 |             T.reads(C[vi], A[vi])
do:    a copy taken before the block would not see what it writes; cache_write is for results"""
    )


def test_a_reader_ahead_of_the_writer():
    text = refusal(EARLY, lambda sch: sch.cache_read("D", "A", "shared"))
    assert (
        text
        == """\
Can't cache_read A for `D`: `C` reads it before `W` writes it.
asked: sch.cache_read("D", "A", "shared")
where:
   3 |     # with T.block("root"):
   4 |     for i in range(16):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(16, i)
   7 |             T.reads(A[vi])
    …
   9 |             C[vi] = A[vi] + T.float32(1)
  10 |     for k in range(16):
  11 |         with T.block("W"):
     |         ^^^^^^^^^^^^^^^^^^
  12 |             vk = T.axis.spatial(16, k)
  13 |             T.reads()
do:    name the blocks that are to read the copy, with consumer_blocks"""
    )


BORDER = """\
@T.prim_func
def main(A: T.Buffer((1,), "float32"), C: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.block("C"):
            vi = T.axis.spatial(2, i)
            C[vi] = T.if_then_else(vi >= 2, A[vi - 2], T.float32(1))
"""


def test_padding_all_over():
    text = refusal(
        BORDER, lambda sch: sch.blockize("i"), lambda sch: sch.cache_read("C", "A", "shared")
    )
    assert (
        text
        == """\
Can't cache_read A for `C`: its conditions keep it from every cell of A.
asked: sch.cache_read("C", "A", "shared")
where:
   7 |         T.writes(C[0:2])
   8 |         for i in range(2):
   9 |             with T.block("C"):
     |             ^^^^^^^^^^^^^^^^^^
  10 |                 vi_i = T.axis.spatial(2, i)
  11 |                 T.reads(A[vi_i - 2])
do:    leave it as it is: there is nothing to copy"""
    )
