"""Tensor Cores by ``wmma``, tiles of 16 x 16 x 16: load, fill, multiply and add, store.

Names, shapes and memories are TVM's (``python/tvm/s_tir/tensor_intrin/cuda.py``), and so is what
each describes. What runs is the same, as one call of a warp: the loops say what the call does, so
that all that is asked of a program is asked of them; the note WARP_CALL has TVM's name of the call
and how its tiles lie in memory. What these calls are in a text says `codegen`.
"""

from __future__ import annotations

from workbench.ir import WARP_CALL

N = 16  # rows, columns and terms of a tile
_ZERO = {"float16": "T.float16(0)", "float32": "T.float32(0)"}


def _pair(
    tiles: list[tuple[str, str, str]], loops: str, update: str, call: tuple[str, ...]
) -> tuple[str, str]:
    """The texts of a description and an implementation; each of `tiles` is a name, type, scope."""
    params = ", ".join(
        f'{name}: T.Buffer(({N}, {N}), "{dtype}", scope="{scope}", offset_factor={N})'
        for name, dtype, scope in tiles
    )
    head = f"@T.prim_func\ndef wmma({params}):\n"
    plain = [f"{'    ' * (k + 1)}for {loop} in range({N}):\n" for k, loop in enumerate(loops)]
    noted = f"    for {loops[0]} in T.serial({N}, annotations={{{WARP_CALL!r}: {list(call)!r}}}):\n"
    inside = f"{'    ' * (len(loops) + 1)}{update}\n"
    return head + "".join(plain) + inside, head + noted + "".join(plain[1:]) + inside


def _load(part: str, scope: str, order: str) -> tuple[str, str]:
    tiles = [("A", "float16", scope), ("C", "float16", f"wmma.matrix_{part}")]
    return _pair(tiles, "ij", "C[i, j] = A[i, j]", ("tvm_load_matrix_sync", order))


def _fill(dtype: str) -> tuple[str, str]:
    tiles = [("C", dtype, "wmma.accumulator")]
    return _pair(tiles, "ij", f"C[i, j] = {_ZERO[dtype]}", ("tvm_fill_fragment",))


def _sync(dtype: str, order: str) -> tuple[str, str]:
    tiles = [
        ("A", "float16", "wmma.matrix_a"),
        ("B", "float16", "wmma.matrix_b"),
        ("C", dtype, "wmma.accumulator"),
    ]
    a, b = "A[i, k]", "B[k, j]" if order == "row_major" else "B[j, k]"
    if dtype != "float16":
        a, b = f'T.Cast("{dtype}", {a})', f'T.Cast("{dtype}", {b})'
    call = ("tvm_mma_sync", "row_major", order)
    return _pair(tiles, "ijk", f"C[i, j] = C[i, j] + {a} * {b}", call)


def _store(dtype: str, scope: str) -> tuple[str, str]:
    tiles = [("A", dtype, "wmma.accumulator"), ("C", dtype, scope)]
    return _pair(tiles, "ij", "C[i, j] = A[i, j]", ("tvm_store_matrix_sync", "row_major"))


_SCOPES = {"shared": "shared", "shared.dyn": "shared_dyn", "global": "global"}

TEXTS: dict[str, tuple[str, str]] = {
    f"wmma_load_16x16x16_f16_{part}{trans}_{_SCOPES[scope]}": _load(part, scope, order)
    for scope in ("shared", "shared.dyn")
    for part, trans, order in (
        ("a", "", "row_major"),
        ("b", "", "row_major"),
        ("b", "_trans", "col_major"),
    )
}
"""By name, the text of the description and that of the implementation."""
for _dtype, _short in (("float16", "f16"), ("float32", "f32")):
    TEXTS |= {
        f"wmma_fill_16x16x16_{_short}": _fill(_dtype),
        f"wmma_sync_16x16x16_f16f16{_short}": _sync(_dtype, "row_major"),
        f"wmma_sync_16x16x16_f16f16{_short}_trans": _sync(_dtype, "col_major"),
    }
    TEXTS |= {
        f"wmma_store_16x16x16_{_short}_{called}": _store(_dtype, scope)
        for scope, called in _SCOPES.items()
    }
