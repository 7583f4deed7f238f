"""Calls of a warp in CUDA: functions of inline PTX, and what a thread holds of a fragment.

PTX ISA, Warp Level Matrix Instructions: ``wmma.load``, ``wmma.mma`` and ``wmma.store`` of
m16n16k16. NVRTC has no ``mma.h``, and these instructions are what it comes to. Which thread holds
which cells of a tile PTX does not say: only that the instructions agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.codegen.language import SHORT
from workbench.ir import Buffer, dtypes
from workbench.lower.warp_tiles import WARP

REGISTERS = {
    ("wmma.matrix_a", "float16"): ("unsigned", 8),
    ("wmma.matrix_b", "float16"): ("unsigned", 8),
    ("wmma.accumulator", "float16"): ("unsigned", 4),
    ("wmma.accumulator", "float32"): ("float", 8),
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


_SUMS = {dtype: SHORT[dtype] for dtype in ("float16", "float32")}
_CELLS = {"f16": "half", "f32": "float"}
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


def _loads() -> Iterator[tuple[str, str]]:
    for part in "ab":
        for order in ("row", "col"):
            ctype, count = REGISTERS[f"wmma.matrix_{part}", "float16"]
            yield (
                f"wmma_load_{part}_{order}",
                f"""{{function}}void {{name}}({ctype}* to, const half* from, int stride) {{{{
  asm volatile("wmma.load.{part}.sync.aligned.m16n16k16.{order}.shared.f16 "
               "{numbered(0, count)}, [%{count}], %{count + 1};"
               : {operands("to", ctype, count, "=")}
               : {_address("shared", "from")}, "r"(stride) : "memory");
}}}}""",
            )


def _fills() -> Iterator[tuple[str, str]]:
    for dtype, short in _SUMS.items():
        ctype, count = REGISTERS["wmma.accumulator", dtype]
        cells = 2 if ctype == "unsigned" else 1  # of 16 bits in a register
        yield (
            f"wmma_fill_{short}",
            f"""{{function}}void {{name}}({ctype}* to, {_CELLS[short]} value) {{{{
  for (int k = 0; k < {count * cells}; ++k) (({_CELLS[short]}*)to)[k] = value;
}}}}""",
        )


def _products() -> Iterator[tuple[str, str]]:
    for dtype, short in _SUMS.items():
        for order in ("row", "col"):
            ctype, count = REGISTERS["wmma.accumulator", dtype]
            a, b = numbered(count, 8), numbered(count + 8, 8)
            yield (
                f"wmma_mma_{short}_{order}",
                f"""{{function}}void {{name}}(
    {ctype}* sum, const unsigned* a, const unsigned* b) {{{{
  asm volatile("wmma.mma.sync.aligned.row.{order}.m16n16k16.{short}.{short} "
               "{numbered(0, count)}, "
               "{a}, "
               "{b}, "
               "{numbered(0, count)};"
               : {operands("sum", ctype, count, "+")}
               : {operands("a", "unsigned", 8)},
                 {operands("b", "unsigned", 8)});
}}}}""",
            )


def _stores() -> Iterator[tuple[str, str]]:
    for dtype, short in _SUMS.items():
        for space in ("shared", "global"):
            ctype, count = REGISTERS["wmma.accumulator", dtype]
            yield (
                f"wmma_store_{short}_{space}",
                f"""{{function}}void {{name}}(
    {_CELLS[short]}* to, const {ctype}* from, int stride) {{{{
  asm volatile("wmma.store.d.sync.aligned.m16n16k16.row.{space}.{short} "
               "[%{count}], {numbered(0, count)}, %{count + 1};"
               :: {operands("from", ctype, count)},
                  {_address(space, "to")}, "r"(stride) : "memory");
}}}}""",
            )


CUDA_WARPS = {**dict(_loads()), **dict(_fills()), **dict(_products()), **dict(_stores())}
"""By the name of a function its text: a format of {function} and {name}, as other helpers'."""
