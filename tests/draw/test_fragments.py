"""The picture of fragments: who of a warp holds which cell, box by box."""

from __future__ import annotations

import pytest

from tests.draw.test_pictures import PHONE
from tests.support.mma_product import Product, scheduled
from tests.support.tensor_core_product import whole
from workbench import draw, script
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
