"""Metal's matrices of a SIMD group, tiles of 8 x 8: fill, load, multiply and add, store.

Names, shapes and memories are TVM's (``python/tvm/s_tir/tensor_intrin/metal.py``), and so is what
each describes. What runs is the same, as one call of a SIMD group, see `wmma`.
"""

from __future__ import annotations

from workbench.ir import WARP_CALL

N = 8  # rows, columns and terms of a tile


def _pair(
    tiles: dict[str, tuple[str, str]], loops: str, update: str, *call: str
) -> tuple[str, str]:
    """The texts of a description and an implementation; each of `tiles` is a type and a scope."""
    params = ", ".join(
        f'{name}: T.Buffer(({N}, {N}), "{dtype}", scope="{scope}", offset_factor=1)'
        for name, (dtype, scope) in tiles.items()
    )
    head = f"@T.prim_func\ndef simdgroup({params}):\n"
    plain = [f"{'    ' * (k + 1)}for {loop} in range({N}):\n" for k, loop in enumerate(loops)]
    noted = f"    for {loops[0]} in T.serial({N}, annotations={{{WARP_CALL!r}: {list(call)!r}}}):\n"
    inside = f"{'    ' * (len(loops) + 1)}{update}\n"
    return head + "".join(plain) + inside, head + noted + "".join(plain[1:]) + inside


_HELD = "metal.simdgroup"


def _fill(dtype: str) -> tuple[str, str]:
    tiles = {"A": (dtype, _HELD)}
    return _pair(tiles, "ij", f"A[i, j] = T.{dtype}(0)", "make_filled_simdgroup_matrix")


def _load(to: str, order: str) -> tuple[str, str]:
    tiles = {"A": ("float16", "shared"), "C": ("float16", _HELD)}
    return _pair(tiles, "ij", f"C[{to}] = A[i, j]", "simdgroup_load", order)


def _store(scope: str) -> tuple[str, str]:
    tiles = {"A": ("float16", _HELD), "C": ("float16", scope)}
    return _pair(tiles, "ij", "C[i, j] = A[i, j]", "simdgroup_store", "row_major")


TEXTS: dict[str, tuple[str, str]] = {
    "simdgroup_make_filled_8x8x8_f16": _fill("float16"),
    "simdgroup_fill_8x8x8_f32": _fill("float32"),
    "simdgroup_fill_8x8x8_bf16": _fill("bfloat16"),
    "simdgroup_load_8x8x8_f16_shared": _load("i, j", "row_major"),
    "simdgroup_load_8x8x8_f16_shared_trans": _load("j, i", "col_major"),
    "simdgroup_store_8x8x8_f16_global": _store("global"),
    "simdgroup_store_8x8x8_f16_shared": _store("shared"),
    "simdgroup_multiply_accumulate_8x8x8_f16": _pair(
        dict.fromkeys("ABC", ("float16", _HELD)),
        "ijk",
        "C[i, j] = C[i, j] + A[i, k] * B[k, j]",
        "simdgroup_multiply_accumulate",
    ),
}
"""By name, the text of the description and that of the implementation."""
