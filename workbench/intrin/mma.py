"""Tensor Cores by ``mma.sync`` and ``ldmatrix``: fill, load, multiply and add, store.

Names, shapes and memories are TVM's (``python/tvm/s_tir/tensor_intrin/cuda.py``). A tile lies in
"warp" memory, by thread and register, A by row and term, B by column and term, sums by row and
column, as `held_at` says. PTX ISA, Matrix Fragments for mma.m16n8k16: two of these products make
one of 16 x 16, and B has all registers of the first ahead of those of the second. So what
multiplies is the same for each order of memory, and what loads turns a tile where it has to. (TVM's
programs name other registers for B than its code fills, and its loads and products agree on these.)

What runs goes by threads and registers, as one call of a warp with the note WARP_CALL.
"""

from __future__ import annotations

from workbench.ir import WARP_CALL, dtypes

WARP = 32  # threads
N = 16  # rows of A and C, columns of B and C
SHORT = {"float16": "f16", "bfloat16": "bf16", "int8": "i8", "float32": "f32", "int32": "i32"}


# To the 10 bits behind the point that TF32 has, the nearest, ties away from zero: PTX's cvt.rna.
_BITS = 'T.reinterpret("uint32", {}) + T.uint32(0x1000) & T.uint32(0xFFFFE000)'
_ROUNDED = f'T.reinterpret("float32", {_BITS})'


def _packed(dtype: str) -> int:
    """How many cells of a tile that is multiplied are in a register of 32 bits."""
    return 4 // dtypes.itemsize(dtype)


def held_at(i: str, j: str, packed: int = 2, *, b: bool = False) -> str:
    """The thread and the register that hold the cell (i, j), of B or of A or a sum."""
    near, far = (packed, 2 * packed) if b else (2 * packed, packed)
    return (
        f"{i} % 8 * 4 + {j} % {4 * packed} // {packed}, "
        f"{j} // {4 * packed} * {near} + {i} // 8 * {far} + {j} % {packed}"
    )


def _cell(packed: int = 2, *, b: bool = False) -> tuple[str, str]:
    """The cell (i, j) that register l of thread t holds, of B or of A or a sum."""
    first, second = f"l // {2 * packed}", f"l % {2 * packed} // {packed}"
    i, j = (first, second) if b else (second, first)
    return f"{i} * 8 + t // 4", f"{j} * {4 * packed} + t % 4 * {packed} + l % {packed}"


def _pair(
    tiles: str, says: tuple[dict[str, int], str], does: tuple[dict[str, int], str], call: list[str]
) -> tuple[str, str]:
    """The texts of a description and an implementation: each some loops and a statement."""
    head, texts = f"@T.prim_func\ndef mma({tiles}):\n", []
    for (loops, statement), note in ((says, None), (does, call)):
        lines = [f"for {name} in range({extent}):" for name, extent in loops.items()]
        if note is not None:
            (name, extent), *_ = loops.items()
            lines[0] = f"for {name} in T.serial({extent}, annotations={{{WARP_CALL!r}: {note!r}}}):"
        lines.append(statement)
        texts.append(head + "".join(f"{'    ' * (k + 1)}{x}\n" for k, x in enumerate(lines)))
    return texts[0], texts[1]


def _tile(name: str, dtype: str, cells: int = 8, scope: str = "warp") -> str:
    rows = WARP if scope == "warp" else N
    return f'{name}: T.Buffer(({rows}, {cells}), "{dtype}", scope="{scope}", offset_factor=16)'


def _load(dtype: str, scope: str, turned: bool, b: bool) -> tuple[str, str]:
    """A tile of A or B by rows of memory, each row or column of the product, or `turned`."""
    packed = _packed(dtype)
    terms = 8 * packed
    tiles = f"{_tile('warp', dtype, 4 * packed)}, {_tile('shared', dtype, terms, scope)}"
    row, column = _cell(packed, b=b)
    i, j = "ji" if turned else "ij"
    held = held_at(i, j, packed, b=b)
    return _pair(
        tiles,
        ({"i": N, "j": terms}, f"warp[{held}] = shared[i, j]"),
        (
            {"t": WARP, "l": 4 * packed},
            f"warp[t, l] = shared[{f'{column}, {row}' if turned else f'{row}, {column}'}]",
        ),
        ["ptx_ldmatrix", *(["trans"] if turned else [])],
    )


def _load_turned(scope: str) -> tuple[str, str]:
    """A tile of B in bytes by term and column, each by itself: ldmatrix turns no bytes."""
    row, column = _cell(4, b=True)
    return _pair(
        f"{_tile('warp', 'int8', 16)}, {_bytes(scope)}",
        ({"i": 32, "j": N}, f"warp[{held_at('j', 'i', 4, b=True)}] = shared[i, j]"),
        ({"t": WARP, "l": 16}, f"warp[t, l] = shared[{column}, {row}]"),
        ["mma_load"],
    )


def _bytes(scope: str) -> str:
    return f'shared: T.Buffer((32, {N}), "int8", scope="{scope}", offset_factor=16)'


def _load_sums(dtype: str, scope: str) -> tuple[str, str]:
    row, column = _cell()
    return _pair(
        f"{_tile('C', dtype, N, scope)}, {_tile('C_warp', dtype)}",
        ({"i": N, "j": N}, f"C_warp[{held_at('i', 'j')}] = C[i, j]"),
        ({"t": WARP, "l": 8}, f"C_warp[t, l] = C[{row}, {column}]"),
        ["mma_load"],
    )


def _product(dtype: str, out: str) -> tuple[str, str]:
    packed = _packed(dtype)
    terms = 8 * packed
    sizes = ("A", dtype, 4 * packed), ("B", dtype, 4 * packed), ("C", out, 8)
    tiles = ", ".join(_tile(*size) for size in sizes)
    row, column = _cell()

    def added(c: str, i: str, j: str) -> str:
        a, b = f"A[{held_at(i, 'k', packed)}]", f"B[{held_at(j, 'k', packed, b=True)}]"
        if out != dtype:
            a, b = f'T.Cast("{out}", {a})', f'T.Cast("{out}", {b})'
        elif dtype == "float32":
            a, b = _ROUNDED.format(a), _ROUNDED.format(b)
        return f"C[{c}] = C[{c}] + {a} * {b}"

    return _pair(
        tiles,
        ({"i": N, "j": N, "k": terms}, added(held_at("i", "j"), "i", "j")),
        ({"t": WARP, "l": 8, "k": terms}, added("t, l", f"({row})", f"({column})")),
        ["ptx_mma", f"m16n8k{terms}"],
    )


def _fill(dtype: str) -> tuple[str, str]:
    zero = f"T.{dtype}(0)"
    return _pair(
        _tile("C", dtype),
        ({"i": N, "j": N}, f"C[{held_at('i', 'j')}] = {zero}"),
        ({"t": WARP, "l": 8}, f"C[t, l] = {zero}"),
        ["mma_fill"],
    )


def _store(dtype: str, scope: str) -> tuple[str, str]:
    row, column = _cell()
    return _pair(
        f"{_tile('C_warp', dtype)}, {_tile('C', dtype, N, scope)}",
        ({"i": N, "j": N}, f"C[i, j] = C_warp[{held_at('i', 'j')}]"),
        ({"t": WARP, "l": 8}, f"C[{row}, {column}] = C_warp[t, l]"),
        ["mma_store"],
    )


TEXTS: dict[str, tuple[str, str]] = {}
"""By name, the text of the description and that of the implementation."""
for _dtype, _outs in (
    ("float16", ("float32", "float16")),
    ("bfloat16", ("float32",)),
    ("int8", ("int32",)),
    ("float32", ("float32",)),
):
    _short = "tf32" if _dtype == "float32" else SHORT[_dtype]
    # ldmatrix turns matrices of 16 bits alone: of others B has to lie by column and term
    TEXTS |= {
        f"mma_ldmatrix_{_short}_{part}{trans}{dyn}": _load(_dtype, scope, turned, part == "b")
        for scope, dyn in (("shared", ""), ("shared.dyn", "_dyn"))
        for part in "ab"
        for trans in ("", "_trans")
        if not (turned := (part == "b") != bool(trans)) or _packed(_dtype) == 2
    }
    TEXTS |= {
        f"mma_{_short * 2}{SHORT[_out]}{trans}": _product(_dtype, _out)
        for _out in _outs
        for trans in ("", "_trans_a", "_trans_b", "_trans_a_trans_b")
    }
for _scope, _dyn in (("shared", ""), ("shared.dyn", "_dyn")):
    TEXTS[f"mma_ldmatrix_i8_b{_dyn}"] = _load_turned(_scope)
for _out in ("float32", "float16", "int32"):
    TEXTS[f"mma_fill_16x16_{SHORT[_out]}"] = _fill(_out)
    TEXTS |= {  # not TVM's
        f"mma_load_16x16_{SHORT[_out]}_{scope.replace('.', '_')}": _load_sums(_out, scope)
        for scope in ("global", "shared", "shared.dyn")
    }
    TEXTS |= {
        f"mma_store_16x16_{SHORT[_out]}_{called}": _store(_out, scope)
        for scope, called in (
            ("global", "global_"),
            ("shared.dyn", "shared_dyn_"),
            ("shared.dyn", "shared_dyn_simple_"),
        )
    }
