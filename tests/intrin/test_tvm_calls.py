"""Implementations as TVM writes them: their calls are read as the loops that they do."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import workbench as wb
from tests.support.random_programs import random_inputs
from workbench import ParseError, emulate, script
from workbench.intrin import tensor_intrin
from workbench.ir import PrimFunc, structural_equal

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


def by_threads(params: str, *calls: str) -> str:
    """A function as TVM prints those whose threads call."""
    lines = "".join(f"            T.{call}\n" for call in calls)
    loop = '        for tx in T.thread_binding(32, thread="threadIdx.x"):\n'
    return f'@T.prim_func\ndef f({params}):\n    with T.block("root"):\n{loop}{lines}'


def held(name: str, dtype: str = "float16", cells: int = 8) -> str:
    return f'{name}: T.Buffer((32, {cells}), "{dtype}", scope="warp", offset_factor=16)'


ROWS = (
    'shared: T.Buffer((16, 16), "float16", strides=("s0", "s1"), scope="shared", offset_factor=16)'
)
BYTES = ROWS.replace("(16, 16)", "(32, 16)").replace("float16", "int8")
POINTER = 'T.tvm_access_ptr(T.type_annotation("float16"), shared.data, shared.elem_offset, 256, 1)'


def ldmatrix(turned: bool, place: str) -> str:
    given = f'T.bool({turned}), 4, ".b16", warp.data, warp.elem_offset + 8 * tx, {POINTER}, {place}'
    return by_threads(f"{held('warp')}, {ROWS}", f"ptx_legacy.ldmatrix({given})")


def product(half: int) -> str:
    of_b, of_c = (f" + {half}", f" + {half}") if half else ("", "")
    types = '"m16n8k16", "row", "col", "fp16", "fp16", "fp32"'
    places = f"A.data, A.elem_offset + tx * 8, B.data, B.elem_offset + tx * 8{of_b}, "
    return f"ptx_legacy.mma({types}, {places}C.data, C.elem_offset + tx * 8{of_c}, T.bool(False))"


STRIDE = "shared.strides[0]"
LOWER = f"{STRIDE} * 8 * (tx // 16) + {STRIDE} * (tx % 8) + 8 * (tx % 16 // 8)"
UPPER = f"{STRIDE} * (tx % 16) + 8 * (tx // 16)"
STORED = 'C: T.Buffer((16, 16), "float32", strides=("s0", "s1"), offset_factor=16)'
MMA = by_threads(f"{held('A')}, {held('B')}, {held('C', 'float32')}", product(0), product(4))
SAME_BY_THREADS = {
    "mma_ldmatrix_f16_a": ldmatrix(False, UPPER),
    "mma_ldmatrix_f16_a_trans": ldmatrix(True, LOWER),
    "mma_ldmatrix_f16_b": ldmatrix(True, UPPER),
    "mma_ldmatrix_f16_b_trans": ldmatrix(False, LOWER),
    "mma_ldmatrix_i8_b": by_threads(
        f"{held('warp', 'int8', 16)}, {BYTES}",
        'ptx_legacy.ldmatrix(T.bool(True), 4, ".b16", warp.data, warp.elem_offset + 16 * tx, '
        f"{POINTER.replace('float16', 'int8').replace('256', '512')}, {STRIDE})",
    ),
    "mma_f16f16f32": MMA,
    "mma_fill_16x16_f32": by_threads(
        held("C", "float32"), "cuda.mma_fill_legacy(8, C.data, C.elem_offset)"
    ),
    "mma_store_16x16_f32_global_": by_threads(
        f"{held('C_warp', 'float32')}, {STORED}",
        "cuda.mma_store_legacy(16, 16, C.access_ptr('w'), C_warp.data, C_warp.elem_offset, s0)",
    ),
}
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


# Fragments that TVM lays out in a pass: the number of a register is told, and not read.
SOURCE = 'src: T.Buffer(({}), "float16", {}scope="shared.dyn", offset_factor=1)'
STRIDES = 'strides=("s0", "s1"), '


def laid_out(name: str, part: str, shape: str = "16, 8", dtype: str = "float16") -> str:
    return f'{name}: T.Buffer(({shape}), "{dtype}", scope="m16n8k8.matrix{part}", offset_factor=1)'


def described(params: str, loops: str, statement: str) -> str:
    return f"@T.prim_func\ndef f({params}):\n    for {loops}:\n        {statement}\n"


def loads(shape: str, part: str, turned: bool, place: str) -> tuple[str, str]:
    to = laid_out("dst", part, shape)
    call = (
        f'ptx_legacy.ldmatrix(T.bool({turned}), 4, ".b16", dst.data, dst.elem_offset // 8, '
        'T.tvm_access_ptr(T.type_annotation("float16"), src.data, src.elem_offset, 256, 1), '
        f"{place})"
    )
    says = described(
        f"{SOURCE.format(shape, '')}, {to}", f"i, j in T.grid({shape})", "dst[i, j] = src[i, j]"
    )
    return says, by_threads(f"{SOURCE.format(shape, STRIDES)}, {to}", call)


TILES = ", ".join((laid_out("A", "A"), laid_out("B", "B", "8, 8"), laid_out("C", "C")))
SMALL = (
    f'@T.prim_func\ndef f({TILES}):\n    with T.block("root"):\n        T.ptx_legacy.mma('
    '"m16n8k8", "row", "col", "float16", "float16", "float16", A.data, A.elem_offset // 16, '
    "B.data, 0, C.data, 0, T.bool(False))\n"
)
LAID_OUT = {
    "load_a": loads("32, 8", "A", False, "tx * src.strides[0]"),
    "load_b": loads("8, 32", "B", True, "tx % 8 * src.strides[0] + tx // 8 * 8"),
    "multiply": (
        described(TILES, "i, j, k in T.grid(16, 8, 8)", "C[i, j] = C[i, j] + A[i, k] * B[k, j]"),
        SMALL,
    ),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_calls_on_fragments_that_tvm_lays_out_do_what_they_say(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tensor_intrin, "_registered", {})
    desc, impl = map(parsed, LAID_OUT[name])
    assert structural_equal(script.parse(script.show(impl, "tvm")), impl)
    made = wb.TensorIntrin.register(name, desc, impl)  # which proves it
    one, other = random_inputs(desc, random.Random(0)), random_inputs(desc, random.Random(0))
    emulate.evaluate(made.desc, one)
    emulate.evaluate(made.impl, other)
    for wanted, got in zip(one, other, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_no_kernel_is_made_of_fragments_that_tvm_lays_out():
    text = """@T.prim_func
def main(O: T.Buffer((16, 8), "float16")):
    C = T.alloc_buffer((16, 8), "float16", scope="m16n8k8.matrixC")
    for x in T.thread_binding(32, thread="threadIdx.x"):
        for i in range(4):
            with T.block("C"):
                v = T.axis.spatial(128, x * 4 + i)
                C[v // 8, v % 8] = T.float16(0)
        for i in range(4):
            with T.block("O"):
                v = T.axis.spatial(128, x * 4 + i)
                O[v // 8, v % 8] = C[v // 8, v % 8]
"""
    with pytest.raises(wb.ScheduleError) as refused:
        wb.build(wb.Schedule(script.parse(text)), target="nvidia/a100")
    assert refused.value.headline == (
        "Can't build this: C is in m16n8k8.matrixC, which a pass of TVM's lays out."
    )
    assert refused.value.hint == (
        "keep its tiles in warp memory, and take mma_ldmatrix_f16_a, mma_f16f16f32 and their kind"
    )


def test_a_block_in_the_root_block_may_have_its_name():
    text = LAID_OUT["load_a"][0].replace("    for", '    with T.block("root"):\n      for')
    text = text.replace("        dst[", '        with T.block("root"):\n            dst[')
    func = parsed(text)
    assert 'T.block("root_1")' in script.show(func)


@pytest.mark.parametrize("name", SAME)
def test_a_call_is_the_loops_of_ours(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tensor_intrin, "_registered", {})
    ours = wb.TensorIntrin.get(name)
    made = wb.TensorIntrin.register("theirs", ours.desc, parsed(SAME[name]))
    assert script.show(made.impl).splitlines()[3:] == script.show(ours.impl).splitlines()[3:]


@pytest.mark.parametrize("name", SAME_BY_THREADS)
def test_what_threads_call_for_is_the_loops_of_ours(name: str):
    theirs, ours = parsed(SAME_BY_THREADS[name]), wb.TensorIntrin.get(name).impl
    assert script.show(theirs).splitlines()[3:] == script.show(ours).splitlines()[3:]


@pytest.mark.parametrize("trans", ["", "_trans"])
def test_a_product_has_the_order_of_its_description(trans: str):
    ours = wb.TensorIntrin.get(f"wmma_sync_16x16x16_f16f16f32{trans}")
    made = tensor_intrin.in_order(ours.desc, parsed(SYNC))
    assert script.show(made).splitlines()[3:] == script.show(ours.impl).splitlines()[3:]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            LOAD.replace("16, 16, 16, C", "8, 8, 32, C"),
            "a tile has 16 rows, columns and terms; 8 x 8 x 32",
        ),
        (LOAD.replace(", s1, ", ", 16, "), "rows are as far apart as the first stride of A"),
        (LOAD.replace("A.access_ptr", "A.elements"), 'a tile is C.data or A.access_ptr("r"), of'),
        (FILL.replace(', dtype="handle"', ", 1"), "it takes 6 arguments"),
        (SYNC.replace("C.data", "A.data", 1), "it adds to what is in the fragment that it writes"),
        (ldmatrix(False, f"{STRIDE} * (tx % 8)"), "its threads give the rows of no tile of A or B"),
        (
            MMA.replace("tx * 8 + 4, C", "tx * 8 + 2, C"),
            "of B a thread has 8 cells, by halves",
        ),
        (MMA.replace("m16n8k16", "m16n8k8"), 'of float16 it is "m16n8k16", "row", "col"'),
        (by_threads(held("C"), product(0)), "two products make one of 16 x 16"),
        (ldmatrix(False, UPPER).replace("), 4, ", "), 2, "), "a tile is four matrices of 8 rows"),
        (ldmatrix(False, UPPER).replace("+ 8 * tx", "+ 4 * tx"), "a thread has 8 cells of warp, "),
        (SMALL.replace('"row", "col"', '"col", "col"'), 'of float16 it is "m16n8k8", "row", "col"'),
        (SMALL.replace("B.data", "C.data"), "it multiplies tiles in m16n8k8.matrixA, m16n8k8.mat"),
        (LAID_OUT["load_b"][1].replace("tx // 8 * 8", "tx // 8"), "its threads give the rows of "),
    ],
)
def test_other_calls_are_refused(text: str, hint: str):
    with pytest.raises(ParseError) as refused:
        script.parse(text)
    assert refused.value.headline == "Can't read this call of a warp."
    assert refused.value.hint.startswith(hint)


DP4A = """@T.prim_func
def main(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "uint8"), C: T.Buffer((1,), "int32")):
    C[0] = C[0] + T.call_pure_extern("int32", "__dp4a", A[T.Ramp(0, 1, 4)], B[T.Ramp(0, 1, 4)], 0)
"""


def test_a_dot_product_of_bytes_is_four_products():
    (line,) = script.show(parsed(DP4A)).splitlines()[3:]
    products = [f'T.Cast("int32", A[{k}]) * T.Cast("int32", B[{k}])' for k in range(4)]
    assert line.strip() == f"C[0] = C[0] + ({' + '.join(products)})"


@pytest.mark.parametrize("old", ["__dp4a", "Ramp(0, 1, 4)"])
def test_other_functions_of_a_library_are_not_read(old: str):
    with pytest.raises(ParseError) as refused:
        script.parse(DP4A.replace(old, old.replace("4", "8")))
    assert refused.value.headline.startswith("Can't ")


def test_a_dot_product_of_what_is_no_byte_is_not_read():
    with pytest.raises(ParseError) as refused:
        script.parse(DP4A.replace('A: T.Buffer((4,), "int8")', 'A: T.Buffer((4,), "int16")'))
    assert refused.value.headline == "Can't read this `__dp4a`."
    assert refused.value.hint == "it takes A[T.Ramp(0, 1, 4)], of bytes, twice"


# As TVM prints what dlight has tensorized, "A = S" for a view of all of S; numbers are not read.
PROGRAM = """@T.prim_func
def main(
    X: T.Buffer((16, 16), "float16"), Y: T.Buffer((16, 16), "float16"),
    O: T.Buffer((16, 16), "float16")
):
    S = T.sblock_alloc_buffer((16, 16), "float16", scope="shared.dyn")
    R = T.sblock_alloc_buffer((16, 16), "float16", scope="shared.dyn")
    U = T.sblock_alloc_buffer((16, 16), "float16", scope="wmma.matrix_a")
    V = T.sblock_alloc_buffer((16, 16), "float16", scope="wmma.matrix_b")
    W = T.sblock_alloc_buffer((16, 16), "float16", scope="wmma.accumulator")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for i in range(8):
            for x in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("copy"):
                    v, w = T.axis.remap("SS", [i, x])
                    S[v * 2 + w // 16, w % 16] = X[v * 2 + w // 16, w % 16]
                    R[v * 2 + w // 16, w % 16] = Y[v * 2 + w // 16, w % 16]
        with T.sblock("fill"):
            C = W
            T.tvm_fill_fragment(C.data, 16, 16, 16, 0, T.float32(0.0))
        with T.sblock("load_a"):
            A = S
            C = U
            T.tvm_load_matrix_sync(C.data, 16, 16, 16, 0, {read}, A.strides[0], "row_major")
        with T.sblock("load_b"):
            A = R
            C = V
            T.tvm_load_matrix_sync(C.data, 16, 16, 16, 0, {read}, A.strides[0], "{order}")
        with T.sblock("product"):
            A = U
            B = V
            C = W
            T.tvm_mma_sync(C.data, 0, A.data, 0, B.data, 0, C.data, 0)
        with T.sblock("store"):
            A = W
            C = O
            T.tvm_store_matrix_sync(A.data, 16, 16, 16, 0, {write}, C.strides[0], "row_major")
"""
SCOPES = dict(zip("SRUVWO", ["shared.dyn"] * 2 + [f"wmma.{x}" for x in (
    "matrix_a", "matrix_b", "accumulator")] + ["global"], strict=True))  # fmt: skip


@pytest.mark.parametrize("order", ["row_major", "col_major"])
def test_a_whole_program_multiplies_tiles_as_it_has_loaded_them(order: str):
    """The call of a product does not say it; a number of another type fills, too."""
    pointer = 'T.tvm_access_ptr(T.type_annotation("float16"), {0}.data, {0}.elem_offset, 256, {1})'
    text = PROGRAM.format(order=order, read=pointer.format("A", 1), write=pointer.format("C", 2))
    text = re.sub(
        r"(\b[ABC]) = ([A-Z])$",
        lambda m: (
            f'{m[1]} = T.match_buffer({m[2]}[0:16, 0:16], (16, 16), "float16", '
            f'strides=("{m[1]}_0", "{m[1]}_1"), scope="{SCOPES[m[2]]}", offset_factor=16)'
        ),
        text,
        flags=re.MULTILINE,
    )
    func = script.parse(text)
    assert structural_equal(script.parse(script.show(func)), func)
    kernel = wb.build(wb.Schedule(func), target="nvidia/a100")
    assert f"wmma_mma_f16_{order[:3]}(" in kernel.source
    rng = np.random.default_rng(0)
    x, y, out = (rng.integers(-2, 3, (16, 16)).astype("float16") for _ in range(3))
    kernel.emulate(x, y, out)
    np.testing.assert_array_equal(out, x @ (y.T if order == "col_major" else y))
