"""cache_write: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import SELF, SUM, TWO_STAGES, WINDOW
from tests.support.steps import refusal

STRIDED = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi * 2] = A[vi]
"""


def test_a_memory_that_is_none():
    text = refusal(WINDOW, lambda sch: sch.cache_write("C", 0, "registers"))
    assert (
        text
        == """\
Can't cache_write `C` in 'registers': there is no memory of that name.
asked: sch.cache_write("C", 0, "registers")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj : vj + 3])
do:    the memories: global, shared, local"""
    )


def test_a_buffer_that_is_not_written():
    text = refusal(WINDOW, lambda sch: sch.cache_write("C", "A", "local"))
    assert (
        text
        == """\
Can't cache_write `C`: it writes no buffer 'A'.
asked: sch.cache_write("C", "A", "local")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj : vj + 3])
do:    the buffers that it writes: 0 or 'C'"""
    )


def test_what_two_blocks_write():
    text = refusal(
        SUM,
        lambda sch: sch.decompose_reduction("C", "k"),
        lambda sch: sch.cache_write("C_update", 0, "local"),
    )
    assert (
        text
        == """\
Can't cache_write C of `C_update`: `C_init` writes C too.
asked: sch.cache_write("C_update", 0, "local")
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
do:    cache the result of a block that alone writes it; do this before decompose_reduction"""
    )


def test_an_update_in_place():
    text = refusal(SELF, lambda sch: sch.cache_write("C", 0, "local"))
    assert (
        text
        == """\
Can't cache_write C of `C`: it adds to what was there before.
asked: sch.cache_write("C", 0, "local")
where:
   3 |     # with T.block("root"):
   4 |     for i in range(16):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(16, i)
   7 |             T.reads(C[vi], A[vi])
found: the new memory would begin empty
do:    give the block a T.init()"""
    )


def test_a_consumer_that_does_not_read_it():
    text = refusal(TWO_STAGES, lambda sch: sch.cache_write("B", 0, "local", consumer_blocks=["B"]))
    assert (
        text
        == """\
Can't cache_write B of `B`: `B`, a consumer block, does not read it afterwards.
asked: sch.cache_write("B", 0, "local", consumer_blocks=["B"])
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
do:    name blocks that read the buffer behind this one: C"""
    )


def test_cells_left_out():
    text = refusal(STRIDED, lambda sch: sch.cache_write("C", 0, "local"))
    assert (
        text
        == """\
Can't cache_write C of `C`: it may leave out cells, which the copy would overwrite.
asked: sch.cache_write("C", 0, "local")
where:
   3 |     # with T.block("root"):
   4 |     for i in range(8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(8, i)
   7 |             T.reads(A[vi])
do:    cache_write takes a block that writes every cell of a box, such as C[vi, vj]"""
    )


def test_what_is_read_in_the_init_that_writes_it():
    text = refusal(
        SUM,
        lambda sch: sch.blockize(sch.get_loops("C")[0]),
        lambda sch: sch.pad_einsum("C_init", [16]),
        lambda sch: sch.cache_write("C_init", 0, "shared"),
    )
    first, *_, hint = text.splitlines()
    assert first == "Can't copy what `C_init` writes: `C_pad` reads it in the init of `C_o`."
    assert 'with T.block("C_pad"):' in text
    assert hint == (
        'do:    make the init a block of its own first: sch.decompose_reduction("C_o", …)'
    )
