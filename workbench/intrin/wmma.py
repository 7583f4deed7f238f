"""Tensor Cores by ``wmma``, tiles of 16 x 16 x 16: load, fill, multiply and add, store.

Names, shapes and memories are TVM's (``python/tvm/s_tir/tensor_intrin/cuda.py``), and so is what
each describes. TVM has none of bfloat16, and none that loads sums: these are named alike. What runs
is the same, as one call of a warp: the loops say what the call does, so that all that is asked of a
program is asked of them; the note WARP_CALL has TVM's name of the call and how its tiles lie in
memory. What these calls are in a text says `codegen`.
"""

from __future__ import annotations

from workbench.ir import WARP_CALL

N = 16  # rows, columns and terms of a tile


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


def _load(dtype: str, fragment: str, scope: str, order: str) -> tuple[str, str]:
    tiles = [("A", dtype, scope), ("C", dtype, f"wmma.{fragment}")]
    return _pair(tiles, "ij", "C[i, j] = A[i, j]", ("tvm_load_matrix_sync", order))


def _fill(dtype: str) -> tuple[str, str]:
    tiles = [("C", dtype, "wmma.accumulator")]
    return _pair(tiles, "ij", f"C[i, j] = T.{dtype}(0)", ("tvm_fill_fragment",))


def _sync(dtype: str, out: str, order: str) -> tuple[str, str]:
    tiles = [
        ("A", dtype, "wmma.matrix_a"),
        ("B", dtype, "wmma.matrix_b"),
        ("C", out, "wmma.accumulator"),
    ]
    a, b = "A[i, k]", "B[k, j]" if order == "row_major" else "B[j, k]"
    if out != dtype:
        a, b = f'T.Cast("{out}", {a})', f'T.Cast("{out}", {b})'
    call = ("tvm_mma_sync", "row_major", order)
    return _pair(tiles, "ijk", f"C[i, j] = C[i, j] + {a} * {b}", call)


def _store(dtype: str, scope: str) -> tuple[str, str]:
    tiles = [("A", dtype, "wmma.accumulator"), ("C", dtype, scope)]
    return _pair(tiles, "ij", "C[i, j] = A[i, j]", ("tvm_store_matrix_sync", "row_major"))


_SCOPES = {"shared": "shared", "shared.dyn": "shared_dyn", "global": "global"}
SHORT = {"float16": "f16", "bfloat16": "bf16", "int8": "s8", "float32": "f32", "int32": "s32"}

TEXTS: dict[str, tuple[str, str]] = {}
"""By name, the text of the description and that of the implementation."""
for _dtype, _outs in (
    ("float16", ("float16", "float32")),
    ("bfloat16", ("float32",)),
    ("int8", ("int32",)),
):
    _short = SHORT[_dtype]
    TEXTS |= {
        f"wmma_load_16x16x16_{_short}_{part}{trans}_{_SCOPES[scope]}": _load(
            _dtype, f"matrix_{part}", scope, order
        )
        for scope in ("shared", "shared.dyn")
        for part, trans, order in (
            ("a", "", "row_major"),
            ("b", "", "row_major"),
            ("b", "_trans", "col_major"),
        )
    }
    TEXTS |= {
        f"wmma_sync_16x16x16_{_short}{_short}{SHORT[out]}{trans}": _sync(_dtype, out, order)
        for out in _outs
        for trans, order in (("", "row_major"), ("_trans", "col_major"))
    }
for _dtype in ("float16", "float32", "int32"):
    _short = SHORT[_dtype]
    TEXTS[f"wmma_fill_16x16x16_{_short}"] = _fill(_dtype)
    for _scope, _called in _SCOPES.items():
        TEXTS |= {
            f"wmma_store_16x16x16_{_short}_{_called}": _store(_dtype, _scope),
            f"wmma_load_16x16x16_{_short}_c_{_called}": _load(
                _dtype, "accumulator", _scope, "row_major"
            ),
        }
