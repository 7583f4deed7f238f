"""The picture of banks: who is served in which turn, of single reads and of vectors."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench import lesson
from workbench.diag import Fail
from workbench.ir import PrimFunc
from workbench.lesson.banks import most_wavefronts, sectors_of
from workbench.lesson.convolutions import convolution, one_output_each, tiled_convolution
from workbench.lesson.goals import reads_in_one_turn

SMALL = convolution(2, 8, 64, 64)


@pytest.fixture(scope="module")
def neighbours() -> PrimFunc:
    return tiled_convolution(SMALL)


@pytest.fixture(scope="module")
def strided() -> PrimFunc:
    return tiled_convolution(SMALL, copies=(1, 2))


def test_neighbours_meet_in_a_bank_and_strided_cells_do_not(
    neighbours: PrimFunc, strided: PrimFunc
):
    assert str(lesson.banks(neighbours, "Apad_shared")).splitlines() == [
        "Each of 4,608 reads of Apad_shared, Apad_shared[rc_1 * 64 + n_2 * 8 + ax0]: 2 wavefronts. "
        "Columns are banks, rows wavefronts by number; at boxes stand the lanes served. "
        "Brown boxes are wavefronts beyond the fewest that their bytes need.",
        "wavefront 1 | 0: 0 8 16 24 | 8: 1 9 17 25 | 16: 2 10 18 26 | 24: 3 11 19 27",
        "wavefront 2 | 0: 4 12 20 28 | 8: 5 13 21 29 | 16: 6 14 22 30 | 24: 7 15 23 31",
    ]
    (row,) = lesson.banks(wb.Schedule(strided), "Apad_shared").rows
    assert sorted(row.banks) == [0, 4, 8, 12, 16, 20, 24, 28]
    assert (
        most_wavefronts(neighbours, "Apad_shared"),
        most_wavefronts(strided, "Apad_shared"),
    ) == (2, 1)


def test_lanes_that_want_one_number_share_it(neighbours: PrimFunc):
    (row,) = lesson.banks(neighbours, "W_shared").rows
    assert row.banks == {8 * k: tuple(range(8 * k, 8 * k + 8)) for k in range(4)}
    assert "0: 0 1 2 +5 | 8: 8 9 10 +5" in str(lesson.banks(neighbours, "W_shared"))


def test_a_vector_of_16_bytes_is_served_a_quarter_of_a_warp_at_a_time(neighbours: PrimFunc):
    found = lesson.banks(neighbours, "Apad_shared", "write")
    assert [line.split(" |")[0] for line in str(found).splitlines()[1:]] == [
        f"lanes {first}–{first + 7}, wavefront {turn}"
        for first in (0, 8, 16, 24)
        for turn in (1, 2)
    ]
    assert found.rows[0].banks == {8 * lane + k: (lane,) for lane in range(4) for k in range(4)}
    assert (
        all(len(row.banks) == 16 for row in found.rows)
        and found.requests.least == 4 * found.requests.count
    )


VECTORS = """
@T.prim_func
def main(A: T.Buffer((256,), "float32"), C: T.Buffer((256,), "float32")):
    S = T.alloc_buffer((256,), scope="shared")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for k in T.vectorized(4):
            S[i * 8 + k] = A[i * 8 + k]
        for k in T.vectorized(4):
            C[i * 8 + k] = S[{cell} + k]
"""


@pytest.mark.parametrize(
    "cell, told", [("i * 8", (False, "8 wavefronts for S")), ("0", (True, "1 wavefront for S"))]
)
def test_the_goal_of_one_turn_tells_all_most_wavefronts_a_vector(cell: str, told: tuple[bool, str]):
    """16 bytes, 32 apart: each quarter of a warp asks 16 banks for two numbers each."""
    func = wb.script.parse(VECTORS.format(cell=cell))
    assert isinstance(func, PrimFunc)
    assert reads_in_one_turn().found(func) == told


def test_a_notebook_has_a_picture_that_says_the_same(neighbours: PrimFunc):
    found = lesson.banks(neighbours, "Apad_shared")
    html = found._repr_html_()
    assert html.count("<rect") == 2 * 4 and html.count("← lanes 2 10 18 26<") == 1
    assert 'role="img"' in html and "wavefront 1 | 0: 0 8 16 24" in html and "modelled" in html


@pytest.mark.parametrize("buffer", ["A", "Apad", "B_local"])
def test_what_is_not_in_shared_memory_has_no_banks(neighbours: PrimFunc, buffer: str):
    with pytest.raises(Fail) as refused:
        lesson.banks(neighbours, buffer)
    assert str(refused.value) == (
        f"Can't show banks: no warp reads {buffer} in shared memory.\n"
        "do:    name a buffer of the scope shared, once its kernel builds"
    )


def test_what_is_no_program_has_no_banks():
    with pytest.raises(Fail) as refused:
        lesson.banks("convolution", "A")  # type: ignore[arg-type]
    assert str(refused.value) == (
        "Can't show banks of a str: it is not a program.\n"
        "do:    pass a Schedule, or a function made with @T.prim_func."
    )


def test_sectors_by_layout():
    by_picture = convolution(2, 8, 64, 64, layout="NCHW")
    found = [sectors_of(one_output_each(func), "A") for func in (SMALL, by_picture)]
    assert found == [4, 32]


def test_the_wavefronts_a_read_are_a_cost_that_a_lab_can_name(neighbours: PrimFunc):
    sch = wb.Schedule(neighbours)
    lab = wb.widgets.Lab(sch, costs=["wavefronts a shared read", "barriers a block"])
    lab.session.ask({"do": "count"})
    strip = lab.session.page["costs"]
    assert [(row["name"], row["after"]) for row in strip["rows"]] == [
        ("wavefronts a shared read", "2"),
        ("barriers a block", "18"),
    ]
    assert strip["kind"] == "modelled" and "32 banks" in strip["text"]
