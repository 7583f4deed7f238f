"""The picture of fragments: who of a warp holds which cell, box by box."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.draw.test_pictures import PHONE
from tests.support.mma_product import Product, scheduled
from tests.support.tensor_core_product import whole
from workbench import draw, insight, lesson, script
from workbench.diag import Fail
from workbench.draw.scene import Path, Scene, Words
from workbench.ir import PrimFunc
from workbench.widgets.page.pictures import picture_pane


@pytest.fixture(scope="module")
def product() -> PrimFunc:
    """B by term and column, which is turned as it is loaded."""
    return scheduled(Product(32, 32, 32, 32, 32, 32, 1, 2, False, False, 1, 0)).func


def boxes(scene: Scene, lane: int) -> list[tuple[str, list[tuple[float, ...]]]]:
    """The role and the edges (left, top, right, bottom) of each tile's boxes of a lane."""
    drawn = [s for s in scene.shapes if isinstance(s, Path) and s.of.lanes == (lane,)]
    return [(path.role, [(*line[0], *line[2]) for line in path.lines]) for path in drawn]


def said(scene: Scene) -> list[str]:
    return [words.label for words in scene.shapes if isinstance(words, Words)]


def test_each_box_of_a_product_stands_at_its_row_and_column(product: PrimFunc):
    """A's rows are C's, B's columns are C's; lane 13 is in row 3 of A and C, in column 3 of B."""
    first, second = draw.picture_of(product, "fragments").strips
    (_, of_a), (_, of_b), (_, of_c) = boxes(first, 13)
    assert [box[1::2] for box in of_a[:2]] == [of_c[0][1::2]] * 2, "row 3, its terms 2 and 10"
    assert [box[1::2] for box in of_a[2:]] == [of_c[1][1::2]] * 2, "row 11"
    assert of_b[0][::2] == of_b[1][::2], "one above the other, terms 2 and 10"
    wide, high = of_a[0][2] - of_a[0][0], of_a[0][3] - of_a[0][1]
    assert (of_b[0][2] - of_b[0][0], of_b[0][3] - of_b[0][1]) == (wide, high)
    left = boxes(first, 0)[1][1][0][0]  # of B's first column
    assert of_b[0][0] == left + 3 * wide and of_c[0][0] == left + 2 * wide
    (_, b_on), (_, c_on) = boxes(second, 13)
    assert [box[0] for box in b_on + c_on] == [3 * wide] * 2 + [2 * wide] * 2
    assert first.height == second.height and first.width < PHONE + 25
    assert [w for w in said(first) if w.startswith("reg")] == [
        "register 0", "register 2", "register 1", "register 3",
        "register 0", "register 1", "registers 0, 1", "registers 2, 3",
    ]  # fmt: skip
    assert [w for w in said(second) if w.startswith("reg")] == [
        "register 2", "register 3", "registers 4, 5", "registers 6, 7"
    ]  # fmt: skip


def test_a_lane_that_is_chosen_stands_out_and_is_told(product: PrimFunc):
    picture = draw.picture_of(product, "fragments", select={"threadIdx.x": 13})
    for scene in picture.strips:
        assert {role for role, _ in boxes(scene, 13)} == {"chosen"}
        assert {role for k in (0, 12, 31) for role, _ in boxes(scene, k)} == {"soft"}
        chosen = [s for s in scene.shapes if s.of.lanes == (13,) and isinstance(s, Words)]
        assert {words.label for words in chosen} == {"13"}
    assert picture.caption == (
        "Lane 13 holds cells: 8 of A in 4 registers, 8 of B in 4, 8 of C in 8."
    )
    assert picture.full.splitlines()[2:] == [
        "Lane 13 of A: register 0 [3, 2:4], 1 [11, 2:4], 2 [3, 10:12], 3 [11, 10:12].",
        "Lane 13 of B: register 0 [2:4, 3], 1 [10:12, 3], 2 [2:4, 11], 3 [10:12, 11].",
        "Lane 13 of C: registers 0 1 [3, 2:4], 2 3 [11, 2:4], 4 5 [3, 10:12], 6 7 [11, 10:12].",
    ]
    assert picture.table.columns == ("lane", "A_shared_warp", "B_shared_warp", "C_warp")
    assert picture.table.rows[13][:2] == (
        13, "register 0 [3, 2:4], 1 [11, 2:4], 2 [3, 10:12], 3 [11, 10:12]"
    )  # fmt: skip
    plain = draw.picture_of(product, "fragments")
    assert plain.caption.startswith("Each lane holds cells") and len(plain.table.rows) == 32


def test_left_of_each_row_stands_the_lane_that_gives_it(product: PrimFunc):
    """Of ldmatrix.trans a box is two rows of one column, and every row has a lane that gives it."""
    for call, across in ((0, 4), (1, 8)):
        picture = draw.picture_of(product, "fragments", select={"call": call, "threadIdx.x": 13})
        (scene,) = picture.strips
        assert scene.width <= PHONE
        given = [s for s in scene.shapes if isinstance(s, Words) and " gives the row" in s.of.title]
        assert [words.label for words in given] == [*map(str, range(32))]
        assert len({(words.x, words.y) for words in given}) == 32
        ((_, own),), ((_, zero),) = boxes(scene, 13), boxes(scene, 0)
        left, top, right, _ = zero[0]
        down = given[1].y - given[0].y
        if across == 4:  # row 3, the second of four boxes
            assert own[0][:2] == (left + (right - left), top + 3 * down)
        else:  # column 3, the second of four boxes, each two rows high
            assert own[0][:2] == (left + 3 * (right - left), top + 2 * down)
        assert picture.caption == "Lane 13 gives the row at [13, 0], and gets its boxes."
        heads = [w for w in said(scene) if w.startswith("matrix")]
        assert heads == [f"matrix {k}, register {k}" for k in (0, 2, 1, 3)]
        assert picture.table.columns[1:] == (
            f"gives the row of {'AB'[call]}_shared at", f"{'AB'[call]}_shared_warp"
        )  # fmt: skip
        assert picture.table.rows[13][1] == "[13, 0]"


def test_a_store_goes_from_registers_to_memory(product: PrimFunc):
    picture = draw.picture_of(product, "fragments", select={"call": 3})
    assert "C_warp → C" in said(picture.strips[0])
    assert picture.caption == (
        "Each lane stores cells: 8 of C in 8 registers, two neighbours at a time."
    )


@pytest.mark.parametrize(
    ("select", "why"),
    [
        ({"call": 4}, "call runs from 0 to 3, not to 4; choose one of these values"),
        ({"thread": 32}, "threadIdx.x runs from 0 to 31, not to 32; choose one of these values"),
        ({"k": 0}, "the program has no axis 'k'; it has: call, threadIdx.x"),
    ],
)
def test_what_there_is_not_cannot_be_chosen(product: PrimFunc, select: dict[str, int], why: str):
    with pytest.raises(ValueError) as refused:
        draw.picture_of(product, "fragments", select=select)
    assert str(refused.value) == why


def test_of_wmma_it_says_that_nobody_knows():
    picture = draw.picture_of(whole().func, "fragments")
    assert picture.caption == "3 fragments a warp; wmma does not tell who holds which cell."
    assert picture.table.rows[0] == ("A_shared_wmma_matrix_a", "wmma.matrix_a", "float16", 1, 8)
    assert "?" in said(picture.strips[0])


def test_without_fragments_it_says_what_would_make_some():
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    for i in range(32):
        C[i] = A[i]
""")
    picture = draw.picture_of(func, "fragments")
    assert picture.caption == "No call of a warp multiplies tiles here; tensorize has it do so."
    assert said(picture.strips[0]) == ["none"] * 3
    assert "at" not in picture_pane("fragments", func)


def test_without_an_intrinsic_of_that_name_there_is_no_picture(product: PrimFunc):
    func = script.parse(script.show(product).replace('"mma_f16f16f32"', '"mma_f16"'))
    assert isinstance(func, PrimFunc)
    with pytest.raises(Fail) as refused:
        draw.picture_of(func, "fragments")
    assert str(refused.value) == (
        "Can't draw fragments: `C_update_o` has a note of the tensor intrinsic 'mma_f16', and "
        "there is none such.\n"
        "found: near it: mma_f16f16f32, mma_f16f16f16, mma_bf16bf16f32\n"
        "do:    register it first: wb.TensorIntrin.register(name, desc, impl)"
    )


def test_in_a_lesson_it_stands_in_the_text(product: PrimFunc):
    held = lesson.fragments(product, lane=13)
    assert "Lane 13 of B: register 0 [2:4, 3], 1 [10:12, 3], 2 [2:4, 11]" in repr(held)
    shown = held._repr_html_()
    assert shown.count("<svg") == 2 and shown.count("wb-chosen") > 5
    with pytest.raises(ValueError, match="call runs from 0 to 3, not to 4"):
        lesson.fragments(product, call=4)


# --- what ldmatrix fetches, in banks --------------------------------------------------------------

ROWS = """@T.prim_func
def main(A: T.Buffer((16, {cells}), "float16"), C: T.Buffer((16, 16), "float16")):
    S = T.alloc_buffer((16, {cells}), "float16", scope="shared")
    W = T.alloc_buffer((32, 8), "float16", scope="warp")
    for block in T.thread_binding(1, thread="blockIdx.x"):
        for i in range({cells} // 2):
            for x in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("S"):
                    vi = T.axis.spatial(16, (i * 32 + x) // {cells})
                    vj = T.axis.spatial({cells}, (i * 32 + x) % {cells})
                    T.block_attr({{"permuted_layout": {swizzle}}})
                    S[vi, vj] = A[vi, vj]
        for i, j in T.grid(16, 16):
            with T.block("W"):
                vi, vj = T.axis.remap("SS", [i, j])
                W[vi % 8 * 4 + vj % 8 // 2, vj // 8 * 4 + vi // 8 * 2 + vj % 2] = S[vi, vj]
        for i, j in T.grid(16, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = W[vi % 8 * 4 + vj % 8 // 2, vj // 8 * 4 + vi // 8 * 2 + vj % 2]
"""


def program(cells: int, swizzle: bool) -> PrimFunc:
    """A warp that loads a tile from rows of so many halves by ldmatrix, and stores it."""
    sch = wb.Schedule(script.parse(ROWS.format(cells=cells, swizzle=int(swizzle))))
    sch.tensorize(sch.get_loops("W")[1], "mma_ldmatrix_f16_a")
    sch.tensorize(sch.get_loops("C")[1], "mma_store_16x16_f16_global_")
    return sch.func


# Of rows of so many halves, without and with a swizzle, the wavefronts of lanes 0 to 7, which give
# rows 0 to 7 of the first 16 bytes: by the first of four banks that serve a lane. On paper: row r
# begins at word cells / 2 · r, which is bank 0 for 64 halves, 16 (r % 2) for 32, 8 (r % 4) for 16.
# Swizzled it lies at column 0 ^ r, 0 ^ r // 2, 0 ^ r // 4 of 4 banks each.
FETCHED = {
    (64, False): [{0: lane} for lane in range(8)],
    (64, True): [{4 * lane: lane for lane in range(8)}],
    (32, False): [{0: lane, 16: lane + 1} for lane in (0, 2, 4, 6)],
    (32, True): [{0: 0, 16: 1, 4: 2, 20: 3, 8: 4, 24: 5, 12: 6, 28: 7}],
    (16, False): [{0: 0, 8: 1, 16: 2, 24: 3}, {0: 4, 8: 5, 16: 6, 24: 7}],
    (16, True): [{0: 0, 8: 1, 16: 2, 24: 3, 4: 4, 12: 5, 20: 6, 28: 7}],
}


@pytest.mark.parametrize(("cells", "swizzle"), FETCHED)
def test_a_swizzle_leaves_one_wavefront_of_eight_rows(cells: int, swizzle: bool):
    func, wanted = program(cells, swizzle), FETCHED[cells, swizzle]
    found, _ = insight.requests_of(draw.Source().kernels(func), "shared")
    (read,) = (one for one in found if one.kind == "read")
    served = insight.wavefronts_of(read.lanes(read.worst))
    first = [row for row in served if row.first == 0]
    assert [
        {bank: those[0] for bank, those in row.banks.items() if bank % 4 == 0} for row in first
    ] == wanted
    assert len(served) == 4 * len(wanted), "each eight rows as the first"
    if (cells, swizzle) == (64, True):  # the third eight begin 16 bytes on, at column 1 ^ r
        third = {bank: those[0] for bank, those in served[2].banks.items() if bank % 4 == 0}
        assert third == {0: 17, 4: 16, 8: 19, 12: 18, 16: 21, 20: 20, 24: 23, 28: 22}
    picture = draw.picture_of(func, "banks", select={"access": found.index(read)})
    takes = "4 wavefronts, the least" if swizzle else f"{4 * len(wanted)} wavefronts, 4 would do"
    assert picture.caption == f"The only read of S: {takes}."
