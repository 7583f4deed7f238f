"""Implementations as TVM writes them: their calls are read as the loops that they do."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench import ParseError, script
from workbench.intrin import tensor_intrin
from workbench.ir import PrimFunc

NUMBER = "{0}.elem_offset // 256 + T.floordiv(T.floormod({0}.elem_offset, 256), 16)"


def tile(name: str, dtype: str, scope: str, strides: str = "") -> str:
    given = f'{name.lower()}, (16, 16), "{dtype}", align=128, offset_factor=16, scope="{scope}"'
    return f"    {name} = T.match_buffer({given}{strides})\n"


def implementation(tiles: list[str], call: str) -> str:
    """A function as TVM's are written, of parameters a, b, c as far as there are `tiles`."""
    names = [text.split()[0].lower() for text in tiles]
    params = ", ".join(f"{name}: T.handle" for name in names)
    strides = '    s1 = T.var("int32")\n    s0 = T.int32()\n'
    head = f"@T.prim_func\ndef wmma({params}) -> None:\n{strides}{''.join(tiles)}"
    reads = '    with T.block("root"):\n        T.reads()\n'
    return f"{head}{reads}        T.evaluate({call})\n"


STRIDED = ", strides=[s1, s0]"
LOAD = implementation(
    [tile("A", "float16", "shared", STRIDED), tile("C", "float16", "wmma.matrix_b")],
    f"T.tvm_load_matrix_sync(C.data, 16, 16, 16, {NUMBER.format('C')}, "
    'A.access_ptr("r"), s1, "col_major", dtype="handle")',
)
SYNC = implementation(
    [
        tile("A", "float16", "wmma.matrix_a"),
        tile("B", "float16", "wmma.matrix_b"),
        tile("C", "float32", "wmma.accumulator"),
    ],
    f"T.tvm_mma_sync({', '.join(f'{n}.data, {NUMBER.format(n)}' for n in 'CABC')})",
)
FILL = implementation(
    [tile("C", "float32", "wmma.accumulator")],
    f'T.tvm_fill_fragment(C.data, 16, 16, 16, {NUMBER.format("C")}, T.float32(0), dtype="handle")',
)
STORE = implementation(
    [tile("A", "float32", "wmma.accumulator"), tile("C", "float32", "global", STRIDED)],
    f"T.tvm_store_matrix_sync(A.data, 16, 16, 16, {NUMBER.format('A')}, "
    'C.access_ptr("w"), s1, "row_major", dtype="handle")',
)
PRINTED = """@T.prim_func
def wmma(
    A: T.Buffer((16, 16), "float16", strides=("s1", "s0"), scope="shared", offset_factor=16),
    C: T.Buffer((16, 16), "float16", strides=("d1", "d0"), scope="wmma.matrix_b", offset_factor=16),
):
    with T.sblock("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.tvm_load_matrix_sync(
            C.data, 16, 16, 16, C.elem_offset // C.strides[0] // 16,
            T.tvm_access_ptr(
                T.type_annotation("float16"), A.data, A.elem_offset, A.strides[0] * 16, 1
            ),
            A.strides[0], "row_major")
"""
SAME = {
    "wmma_load_16x16x16_f16_b_shared": PRINTED,
    "wmma_load_16x16x16_f16_b_trans_shared": LOAD,
    "wmma_fill_16x16x16_f32": FILL,
    "wmma_store_16x16x16_f32_global": STORE,
}


def parsed(text: str) -> PrimFunc:
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize("name", SAME)
def test_a_call_is_the_loops_of_ours(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tensor_intrin, "_registered", {})
    ours = wb.TensorIntrin.get(name)
    made = wb.TensorIntrin.register("theirs", ours.desc, parsed(SAME[name]))
    assert script.show(made.impl).splitlines()[3:] == script.show(ours.impl).splitlines()[3:]


@pytest.mark.parametrize("trans", ["", "_trans"])
def test_a_product_has_the_order_of_its_description(trans: str):
    ours = wb.TensorIntrin.get(f"wmma_sync_16x16x16_f16f16f32{trans}")
    made = tensor_intrin.in_order(ours.desc, parsed(SYNC))
    assert script.show(made).splitlines()[3:] == script.show(ours.impl).splitlines()[3:]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (LOAD.replace("16, 16, 16, C", "8, 8, 32, C"), "a tile has 16 rows, columns and terms"),
        (LOAD.replace(", s1, ", ", 16, "), "rows are as far apart as the first stride of A"),
        (LOAD.replace("A.access_ptr", "A.elements"), 'a tile is C.data or A.access_ptr("r"), of'),
        (FILL.replace(', dtype="handle"', ", 1"), "it takes 6 arguments"),
        (SYNC.replace("C.data", "A.data", 1), "it adds to what is in the fragment that it writes"),
    ],
)
def test_other_calls_are_refused(text: str, hint: str):
    with pytest.raises(ParseError) as refused:
        script.parse(text)
    assert refused.value.headline == "Can't read this call of a warp."
    assert refused.value.hint.startswith(hint)
