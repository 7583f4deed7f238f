"""Calls of a warp in CUDA: functions of inline PTX, and what a thread holds of a fragment.

PTX ISA, Warp Level Matrix Instructions: ``wmma.load``, ``wmma.mma`` and ``wmma.store`` of
m16n16k16. NVRTC has no ``mma.h``, and these instructions are what it comes to. Which thread holds
which cells of a tile PTX does not say: only that the instructions agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.codegen.language import SHORT
from workbench.ir import Buffer, dtypes
from workbench.lower.warp_calls import WMMA_PRODUCTS
from workbench.lower.warp_tiles import WARP

# How many registers hold a thread's part of a tile that is multiplied; halves are held twice.
_MULTIPLIED = {"float16": 8, "bfloat16": 4, "int8": 2}
REGISTERS = {
    **{("wmma.matrix_a", dtype): ("unsigned", n) for dtype, n in _MULTIPLIED.items()},
    **{("wmma.matrix_b", dtype): ("unsigned", n) for dtype, n in _MULTIPLIED.items()},
    ("wmma.accumulator", "float16"): ("unsigned", 4),
    ("wmma.accumulator", "float32"): ("float", 8),
    ("wmma.accumulator", "int32"): ("int", 8),
}
"""Of a fragment and its type, the C type of a thread's registers and how many there are."""


def registers(buffer: Buffer, cells: int) -> tuple[str, int] | None:
    """The C type of a thread's registers of a fragment of so many `cells`, and how many; or None.

    In "warp" memory each holds 32 bits of what the thread has; sums have their own type.
    """
    if buffer.tag != "warp":
        return REGISTERS.get((buffer.tag, buffer.type))
    count = cells // WARP * dtypes.itemsize(buffer.type) // 4
    return {"float32": "float", "int32": "int"}.get(buffer.type, "unsigned"), count


_SUMS = ("float16", "float32", "int32")
_CELLS = {
    "float16": "half",
    "bfloat16": "__nv_bfloat16",
    "int8": "signed char",
    "float32": "float",
    "int32": "int",
}
_PTX = {"float16": "f16", "bfloat16": "bf16", "int8": "s8", "float32": "f32", "int32": "s32"}
_BREAK = ",\n                 "
_LETTERS = {"unsigned": "r", "int": "r", "float": "f"}


def numbered(first: int, count: int) -> str:
    """So many operands of inline PTX, in braces."""
    return "{{" + ", ".join(f"%{first + k}" for k in range(count)) + "}}"


def operands(name: str, ctype: str, count: int, how: str = "") -> str:
    """The registers `name` as operands, with `how` they are used, four to a line."""
    every = [f'"{how}{_LETTERS[ctype]}"({name}[{k}])' for k in range(count)]
    return _BREAK.join(", ".join(every[k : k + 4]) for k in range(0, count, 4))


def _address(space: str, name: str) -> str:
    shared = f'"r"((unsigned)__cvta_generic_to_shared({name}))'
    return shared if space == "shared" else f'"l"({name})'


def of_type(name: str, dtype: str) -> str:
    """The name of a function, with the type that it multiplies, which is float16 where it has none.

    It is called so in the text, and found so in the table below.
    """
    return name if dtype == "float16" else f"{name}_{SHORT[dtype]}"


def _load(name: str, tag: str, dtype: str, order: str, space: str) -> tuple[str, str]:
    (ctype, count), part = REGISTERS[tag, dtype], "c" if tag == "wmma.accumulator" else tag[-1]
    told = f"wmma.load.{part}.sync.aligned.m16n16k16.{order}.{space}.{_PTX[dtype]}"
    return (
        name,
        f"""{{function}}void {{name}}({ctype}* to, const {_CELLS[dtype]}* from, int stride) {{{{
  asm volatile("{told} "
               "{numbered(0, count)}, [%{count}], %{count + 1};"
               : {operands("to", ctype, count, "=")}
               : {_address(space, "from")}, "r"(stride) : "memory");
}}}}""",
    )


def _loads() -> Iterator[tuple[str, str]]:
    for dtype in _MULTIPLIED:
        for part in "ab":
            for order in ("row", "col"):
                name = of_type(f"wmma_load_{part}_{order}", dtype)
                yield _load(name, f"wmma.matrix_{part}", dtype, order, "shared")
    for dtype in _SUMS:
        for space in ("shared", "global"):
            name = f"wmma_load_c_{SHORT[dtype]}_{space}"
            yield _load(name, "wmma.accumulator", dtype, "row", space)


def _fills() -> Iterator[tuple[str, str]]:
    for dtype in _SUMS:
        ctype, count = REGISTERS["wmma.accumulator", dtype]
        cells = 2 if ctype == "unsigned" else 1  # of 16 bits in a register
        yield (
            f"wmma_fill_{SHORT[dtype]}",
            f"""{{function}}void {{name}}({ctype}* to, {_CELLS[dtype]} value) {{{{
  for (int k = 0; k < {count * cells}; ++k) (({_CELLS[dtype]}*)to)[k] = value;
}}}}""",
        )


def _products() -> Iterator[tuple[str, str]]:
    for dtype, out in WMMA_PRODUCTS:
        types = [_PTX[out], _PTX[out]]  # of halves those of the sums are told, of others all
        if dtype != "float16":
            types[1:1] = [_PTX[dtype]] * 2
        for order in ("row", "col"):
            ctype, count = REGISTERS["wmma.accumulator", out]
            each = _MULTIPLIED[dtype]
            a, b = numbered(count, each), numbered(count + each, each)
            yield (
                of_type(f"wmma_mma_{SHORT[out]}_{order}", dtype),
                f"""{{function}}void {{name}}(
    {ctype}* sum, const unsigned* a, const unsigned* b) {{{{
  asm volatile("wmma.mma.sync.aligned.row.{order}.m16n16k16.{".".join(types)} "
               "{numbered(0, count)}, "
               "{a}, "
               "{b}, "
               "{numbered(0, count)};"
               : {operands("sum", ctype, count, "+")}
               : {operands("a", "unsigned", each)},
                 {operands("b", "unsigned", each)});
}}}}""",
            )


def _stores() -> Iterator[tuple[str, str]]:
    for dtype in _SUMS:
        for space in ("shared", "global"):
            ctype, count = REGISTERS["wmma.accumulator", dtype]
            yield (
                f"wmma_store_{SHORT[dtype]}_{space}",
                f"""{{function}}void {{name}}(
    {_CELLS[dtype]}* to, const {ctype}* from, int stride) {{{{
  asm volatile("wmma.store.d.sync.aligned.m16n16k16.row.{space}.{_PTX[dtype]} "
               "[%{count}], {numbered(0, count)}, %{count + 1};"
               :: {operands("from", ctype, count)},
                  {_address(space, "to")}, "r"(stride) : "memory");
}}}}""",
            )


CUDA_WARPS = {**dict(_loads()), **dict(_fills()), **dict(_products()), **dict(_stores())}
"""By the name of a function its text: a format of {function} and {name}, as other helpers'."""
