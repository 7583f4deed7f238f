"""``mma.sync`` and ``ldmatrix`` in CUDA: functions of inline PTX.

PTX ISA, Warp Level Matrix Instructions: ``ldmatrix`` of four matrices of 8 rows of 16 bytes, and
``mma.sync`` of m16n8k16. A tile of 16 columns is two of these products, of registers side by side,
as a machine instruction takes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.codegen.cuda_warps import numbered, operands
from workbench.codegen.language import SHORT
from workbench.ir import dtypes
from workbench.lower.lane_calls import MULTIPLIED, SUMS

# What a thread holds of a sum, the C type of a cell, and how two neighbours are made of them.
_SUMS = {
    "float32": ("float", 8, "float", "float2", "make_float2(from[2 * k], from[2 * k + 1])"),
    "float16": ("unsigned", 4, "half", "unsigned", "from[k]"),
    "int32": ("int", 8, "int", "int2", "make_int2(from[2 * k], from[2 * k + 1])"),
}
_PTX = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "s8", "int32": "s32"}


_ROUNDED = "".join(f"cvt.rna.tf32.f32 r{k}, %{8 + k}; " for k in range(8))


def _loads() -> Iterator[tuple[str, str]]:
    for how in ("", "_trans"):
        yield (
            f"ldmatrix_x4{how}",
            f"""{{function}}void {{name}}(void* to, const void* row) {{{{
  asm volatile("ldmatrix.sync.aligned.m8n8.x4{how.replace("_", ".")}.shared.b16 "
               "{{{{%0, %1, %2, %3}}}}, [%4];"
               : "=r"(((unsigned*)to)[0]), "=r"(((unsigned*)to)[1]),
                 "=r"(((unsigned*)to)[2]), "=r"(((unsigned*)to)[3])
               : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}}}}""",
        )


def _loads_of_sums() -> Iterator[tuple[str, str]]:
    for out, (ctype, _, cell, pair, _) in _SUMS.items():
        taken = "to[k] = two;" if out == "float16" else "to[2 * k] = two.x, to[2 * k + 1] = two.y;"
        yield (
            f"mma_load_{SHORT[out]}",
            f"""{{function}}void {{name}}({ctype}* to, const {cell}* from, int stride) {{{{
  from += threadIdx.x / 4 * stride + threadIdx.x % 4 * 2;
#pragma unroll
  for (int k = 0; k < 4; ++k) {{{{
    {pair} two = *(const {pair}*)&from[k % 2 * 8 * stride + k / 2 * 8];
    {taken}
  }}}}
}}}}""",
        )
    yield (  # of B by term and column, which ldmatrix cannot turn
        f"mma_load_{SHORT['int8']}",
        """{function}void {name}(unsigned* to, const signed char* from, int stride) {{
  from += threadIdx.x % 4 * 4 * stride + threadIdx.x / 4;
#pragma unroll
  for (int k = 0; k < 16; ++k)
    ((signed char*)to)[k] = from[(k % 8 / 4 * 16 + k % 4) * stride + k / 8 * 8];
}}""",
    )


def _products() -> Iterator[tuple[str, str]]:
    for dtype, out in MULTIPLIED[:-1]:
        ctype, count, *_ = _SUMS[out]
        half = count // 2  # registers of 8 columns of the sum
        types = ".".join(_PTX[each] for each in (out, dtype, dtype, out))
        a, told = numbered(count, 4), f"m16n8k{32 // dtypes.itemsize(dtype)}.row.col.{types}"
        products = []
        for part in range(2):
            sums, b = numbered(part * half, half), numbered(count + 4 + 2 * part, 2)
            products.append(
                f'"mma.sync.aligned.{told} "\n               "{sums}, {a}, {b}, {sums};"'
            )
        yield (
            f"mma_{SHORT[dtype] * 2}{SHORT[out]}",
            f"""{{function}}void {{name}}(
    {ctype}* sum, const unsigned* a, const unsigned* b) {{{{
  asm volatile({(chr(10) + " " * 15).join(products)}
               : {operands("sum", ctype, count, "+")}
               : {operands("a", "unsigned", 4)},
                 {operands("b", "unsigned", 4)});
}}}}""",
        )


def _rounded_product() -> tuple[str, str]:
    """Of float32: each factor is rounded to TF32, and a product has 8 terms."""
    products = []
    for part in range(2):
        sums, b = numbered(part * 4, 4), f"{{{{r{4 + 2 * part}, r{5 + 2 * part}}}}}"
        told = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
        products.append(f'"{told} "\n               "{sums}, {{{{r0, r1, r2, r3}}}}, {b}, {sums};"')
    return (
        "mma_tf32tf32f32",
        f"""{{function}}void {{name}}(float* sum, const float* a, const float* b) {{{{
  asm volatile("{{{{.reg .b32 r<8>; "
               "{_ROUNDED[: len(_ROUNDED) // 2]}"
               "{_ROUNDED[len(_ROUNDED) // 2 :]}"
               {(chr(10) + " " * 15).join(products)} "}}}}"
               : {operands("sum", "float", 8, "+")}
               : {operands("a", "float", 4)},
                 {operands("b", "float", 4)});
}}}}""",
    )


def _fills() -> Iterator[tuple[str, str]]:
    for out, (ctype, _, cell, *_) in _SUMS.items():
        yield (
            f"mma_fill_{SHORT[out]}",
            f"""{{function}}void {{name}}({ctype}* to, {cell} value) {{{{
#pragma unroll
  for (int k = 0; k < {SUMS}; ++k) (({cell}*)to)[k] = value;
}}}}""",
        )


def _stores() -> Iterator[tuple[str, str]]:
    for out, (ctype, _, cell, pair, made) in _SUMS.items():
        yield (
            f"mma_store_{SHORT[out]}",
            f"""{{function}}void {{name}}({cell}* to, const {ctype}* from, int stride) {{{{
  to += threadIdx.x / 4 * stride + threadIdx.x % 4 * 2;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    *({pair}*)&to[k % 2 * 8 * stride + k / 2 * 8] = {made};
}}}}""",
        )


CUDA_MMA = dict(
    (
        *(*_loads(), *_loads_of_sums()),
        *(*_products(), _rounded_product()),
        *(*_fills(), *_stores()),
    )
)
"""By the name of a function its text: a format of {function} and {name}, as other helpers'."""
