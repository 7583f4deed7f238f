"""A cache of a buffer that a block reads in two places at once: the copy holds both."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.support.steps import SameTerms, after
from workbench import script
from workbench.ir import PrimFunc

TEXT = """
@T.prim_func
def main(
    A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")
):
    B = T.alloc_buffer((32,))
    for i in range(32):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi] = D[vi] * 2.0
    for i in range(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = {buffer}[vi] + {buffer}[{other}]
"""
PLACES = ("31 - vi", "(vi + 16) % 32", "vi // 2 * 2 + (1 - vi % 2)", "vi * 5 % 32", "vi // 4", "7")


@pytest.mark.parametrize(("buffer", "tile"), [("A", 8), ("B", 10)])
@pytest.mark.parametrize("other", PLACES)
def test_the_copy_holds_both(buffer: str, other: str, tile: int):
    first = script.parse(TEXT.format(buffer=buffer, other=other))
    assert isinstance(first, PrimFunc)
    terms = SameTerms(first, tile)
    for depth in (0, 1):
        for early in (True, False):
            sch = wb.Schedule(first)
            if early:
                sch.split(sch.get_loops("C")[0], factors=[None, tile])
            copy = sch.cache_read("C", buffer, "shared")
            if not early:
                sch.split(sch.get_loops("C")[0], factors=[None, tile])
            sch.compute_at(copy, sch.get_loops("C")[depth])
            terms.check(sch.func)


def tile_of_copy(other: str) -> str:
    """The nest that fills the copy, where it is computed in tiles of 8."""
    text = after(
        TEXT.format(buffer="A", other=other),
        lambda sch: sch.cache_read("C", "A", "shared"),
        lambda sch: sch.split(sch.get_loops("C")[0], factors=[None, 8]),
        lambda sch: sch.compute_at("A_shared", "i_0"),
    )
    return text[text.index("    for ax0") : text.index("    for i_1")]


def test_two_ends_that_move_apart():
    assert (
        tile_of_copy("31 - vi")
        == """\
    for ax0 in range(32):
        with T.block("A_shared"):
            v0 = T.axis.spatial(32, T.min(i_0 * 8, 24 - i_0 * 8) + ax0)
            T.where(T.min(i_0 * 8, 24 - i_0 * 8) + ax0 < 32)
            T.reads(A[v0])
            T.writes(A_shared[v0])
            A_shared[v0] = A[v0]
"""
    )


def test_two_places_of_a_tile():
    assert "for ax0 in range(8):" in tile_of_copy("vi // 2 * 2 + (1 - vi % 2)")
