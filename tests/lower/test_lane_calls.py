"""mma.sync, ldmatrix and the swizzle: what runs of them, what is refused, what is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.codegen.test_nvcc import compiled
from tests.lower.test_warp_calls import inputs
from tests.support.cpp import compile_cpp
from tests.support.mma_product import Product, scheduled
from workbench import emulate, insight, script
from workbench.codegen.cuda_mma import CUDA_MMA
from workbench.ir import (
    BinOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    Stmt,
    const,
    replace_node,
    rewrite,
    substitute,
    walk,
)
from workbench.lower.faults import faults as all_faults
from workbench.lower.faults import with_fault
from workbench.lower.warp_calls import warp_call, warp_calls
from workbench.runtime import Built
from workbench.target import get

AMPERE = "nvidia/a100"
# A turn of its own for what comes ahead of the first, in the middle and behind the last.
ALL = Product(32, 32, 96, 32, 32, 32, 1, 2, stages=3)
PLAIN = replace(ALL, trans=False, swizzle=False, stages=1, ahead=0)
BYTES = replace(PLAIN, trans=True, k=64, terms=64, dtype="int8")
TF32 = replace(PLAIN, trans=True, k=16, terms=16, dtype="float32")


@cache
def built(of: Product) -> Built:
    return wb.build(scheduled(of), target=AMPERE)


def test_products_are_right_on_the_emulator_and_as_cpp(gxx: str):
    halves = replace(ALL, k=64, sums="float16", onto=True)
    every = (ALL, replace(PLAIN, onto=True), halves, BYTES, replace(BYTES, trans=False), TF32)
    kernels = [built(of) for of in every]
    jobs, wanted = [], []
    for number, (kernel, of) in enumerate(zip(kernels, every, strict=True)):
        a, b, *before, c = inputs(wb.Schedule(kernel.func))
        wanted.append(a.astype("float32") @ (b.T if of.trans else b).astype("float32"))
        wanted[-1] += sum(before)
        other = c.copy()
        kernel.emulate(a, b, *before, c)
        np.testing.assert_array_equal(c, wanted[-1])
        jobs.append((number, [a, b, *before, other]))
    compile_cpp([kernel.lowered for kernel in kernels]).run(jobs)
    for (_, arrays), right in zip(jobs, wanted, strict=True):
        np.testing.assert_array_equal(arrays[-1], right)


def test_factors_of_float32_are_rounded_to_tf32():
    rng, kernel = np.random.default_rng(0), built(TF32)
    a, b, c = (rng.standard_normal(p.shape).astype("float32") for p in kernel.func.params)
    kernel.emulate(a, b, c)
    nearest = [((x.view("uint32") + 0x1000) >> 13 << 13).view("float32") for x in (a, b)]
    rounded, whole = (one @ other.T for one, other in (nearest, (a, b)))
    assert np.abs(c - rounded).max() < 1e-5 < 1e-3 < np.abs(c - whole).max()


def test_sums_of_bfloat16_are_float32():
    kernel = built(replace(PLAIN, k=32, dtype="bfloat16"))
    a, b, c = (np.full(p.shape, 1.5, "float32") for p in kernel.func.params)
    a[0, 0] = 2**-9  # of which a sum in bfloat16 would know nothing
    kernel.emulate(a, b, c)
    assert c[0, 0] == 31 * 2.25 + 1.5 * 2**-9 and c[1, 0] == 32 * 2.25


@pytest.mark.parametrize("arch", ["sm_80"])
def test_nvcc_takes_the_calls(nvcc: str, tmp_path: Path, arch: str):
    of = Product(128, 64, 96, 64, 32, 32, 2, 2, stages=3)
    text = wb.build(scheduled(of), target=AMPERE).source
    assert "ldmatrix_x4(" in text and "mma_f16f16f32(" in text and ") ^ (" in text
    others = enumerate(f for name, f in CUDA_MMA.items() if f"{name}(" not in text)
    functions = "\n".join(f.format(function="__device__ ", name=f"f{k}") for k, f in others)
    text += f"namespace others {{\n{functions}\n}}\n"
    said = compiled(nvcc, text, tmp_path, f"-arch={arch}", "-cubin")
    assert "0 bytes spill stores" in said


@pytest.mark.parametrize(("swizzle", "worst"), [(False, 32), (True, 4)])
def test_the_swizzle_leaves_one_turn_of_the_banks_for_eight_rows(swizzle: bool, worst: int):
    kernel = built(replace(PLAIN, k=64, terms=64, swizzle=swizzle))
    uses = {(use.buffer, use.access): use for use in insight.conflicts(kernel.kernels).uses}
    assert (uses["A_shared", "read"].wavefronts, uses["A_shared", "read"].least) == (worst, 4)
    assert uses["A_shared", "write"].wavefronts == uses["B_shared", "write"].wavefronts == 4
    asked = {(one.buffer, one.access): one for one in insight.issued(kernel.kernels).asked}
    loads = 2 * 2 * 4  # of two warps, each of two tiles in each of four steps
    found = asked["A_shared", "read"]
    assert (found.requests, found.wavefronts, found.bytes_per_lane) == (loads, loads * worst, 16)
    assert asked["C", "write"].sectors == 32 * 32 * 4 // 32  # each once, by whole ones
    assert insight.issued(kernel.kernels).left_out == ()


WARPS = """@T.prim_func
def main(A: T.Buffer((32, 16), "float16"), C: T.Buffer((32, 16), "float16")):
    S = T.alloc_buffer((32, 16), "float16", scope="shared")
    W = T.alloc_buffer((32, 8), "float16", scope="warp")
    for block in T.thread_binding(1, thread="blockIdx.x"):
        for i in range(8):
            for y in T.thread_binding(2, thread="threadIdx.y"):
                for x in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("S"):
                        vi = T.axis.spatial(32, i * 4 + y * 2 + x // 16)
                        vj = T.axis.spatial(16, x % 16)
                        S[vi, vj] = A[vi, vj]
        for w in T.thread_binding(2, thread="threadIdx.y"):
            with T.block("load"):
                vw = T.axis.spatial(2, w)
                T.block_attr({"tensor_intrin": "mma_ldmatrix_f16_a"})
                for i, j in T.grid(16, 16):
                    W[i % 8 * 4 + j % 8 // 2, j // 8 * 4 + i // 8 * 2 + j % 2] = S[vw * 16 + i, j]
            with T.block("store"):
                vw = T.axis.spatial(2, w)
                T.block_attr({"tensor_intrin": "mma_store_16x16_f16_global_"})
                for i, j in T.grid(16, 16):
                    C[vw * 16 + i, j] = W[i % 8 * 4 + j % 8 // 2, j // 8 * 4 + i // 8 * 2 + j % 2]
"""


def test_each_warp_has_a_fragment_of_its_own():
    """Two warps of a block name the same fragment, each loads its own rows to it first."""
    kernel = wb.build(wb.Schedule(script.parse(WARPS)), target=AMPERE)
    a, c = inputs(wb.Schedule(kernel.func))
    kernel.emulate(a, c)
    np.testing.assert_array_equal(c, a)
    text = WARPS.replace("S[vw * 16 + i, j]", "S[i, j]").replace("C[vw * 16", "C[(1 - vw) * 16")
    kernel = wb.build(wb.Schedule(script.parse(text)), target=AMPERE)
    kernel.emulate(a, c)
    np.testing.assert_array_equal(c, np.tile(a[:16], (2, 1)))


# --- refusals ------------------------------------------------------------------------------------


def narrow() -> str:
    """Both tiles by warps of 16 threads along x and two along y."""
    text = WARPS.replace("T.thread_binding(32,", "T.thread_binding(16,")
    text = text.replace("range(8)", "range(16)").replace("y * 2 + x // 16", "y")
    text = text.replace("i * 4 +", "i * 2 +").replace("x % 16", "x")
    return text.replace('for w in T.thread_binding(2, thread="threadIdx.y")', "for w in range(2)")


def wide() -> str:
    """Rows of 24 halves, whose columns of 16 bytes are to change places."""
    text = WARPS.replace("S = T.alloc_buffer((32, 16)", "S = T.alloc_buffer((32, 24)")
    text = text.replace("A: T.Buffer((32, 16)", "A: T.Buffer((32, 24)").replace(
        "range(8)", "range(12)"
    )
    cell, note = "i * 64 + y * 32 + x", 'T.block_attr({"permuted_layout": 1})'
    text = text.replace("(32, i * 4 + y * 2 + x // 16)", f"(32, ({cell}) // 24)")
    return text.replace("(16, x % 16)", f"(24, ({cell}) % 24)\n{' ' * 24}{note}")


ODD = {
    "two warps store one tile": (
        lambda: WARPS.replace("C[vw * 16 + i, j]", "C[i, j]"),
        "`w` can't be threadIdx.y: threads w=0 and w=1 would both write C[0, 0].",
    ),
    "a warp across y": (
        narrow,
        "a call of a warp takes 32 threads along threadIdx.x, and the block has 16.",
    ),
    "a swizzle of rows of 48 bytes": (
        wide,
        "`S` has the note permuted_layout, and S has rows of 48 bytes.",
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_tiles_are_refused(case: str):
    make, why = ODD[case]
    with pytest.raises(wb.ScheduleError) as error:
        wb.build(wb.Schedule(script.parse(make())), target=AMPERE)
    assert error.value.headline == f"Can't build this: {why}" and error.value.hint


def test_two_warps_that_store_one_tile_are_a_race():
    kernel = wb.build(wb.Schedule(script.parse(WARPS)), target=AMPERE)
    (made,) = kernel.kernels
    store = next(call for call in warp_calls(made) if warp_call(call).name == "mma_store")
    y = dict(made.axes)["threadIdx.y"]

    def visit(node: Node) -> Node:
        return substitute(node, {y: const(0, "int32")}) if isinstance(node, BufferStore) else node

    both = replace(made, body=replace_node(made.body, store, rewrite(store, visit)))
    with pytest.raises(wb.EmulationError) as error:
        emulate.run([both], inputs(wb.Schedule(kernel.func)), params=kernel.func.params)
    assert error.value.headline == (
        "Race on C[0]: several threads write it, with different values."
    )


REFUSED: dict[str, tuple[Callable[[], wb.Schedule], str, str]] = {
    "an older GPU": (
        lambda: scheduled(PLAIN),
        "cuda",
        "any CUDA GPU, sm_75, has no mma.sync of 16 x 8 x 16",
    ),
    "rows of 8 bytes": (
        lambda: aligned(PLAIN, 4),
        AMPERE,
        "rows of A_shared are not proved to begin at multiples of 16 bytes, as ldmatrix asks",
    ),
    "a swizzle of padded rows": (
        lambda: aligned(replace(PLAIN, k=64, terms=64, swizzle=True), 0),
        AMPERE,
        "`A_shared` has the note permuted_layout, and A_shared has rows of 128 bytes, padded",
    ),
    "a swizzle of short rows": (
        lambda: aligned(replace(PLAIN, k=64, terms=16, swizzle=True), 8),
        AMPERE,
        "`A_shared` has the note permuted_layout, and A_shared has rows of 32 bytes, padded",
    ),
}


def aligned(of: Product, offset: int) -> wb.Schedule:
    sch = scheduled(of)
    sch.storage_align("A_shared", 0, 0, 16, offset or 8)
    return sch


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_hardware_cannot_is_refused(case: str):
    make, where, why = REFUSED[case]
    with pytest.raises(wb.ScheduleError) as error:
        wb.build(make(), target=where)
    assert error.value.headline == f"Can't build this: {why}."
    assert len(error.value.headline) <= 120 and error.value.hint


# --- what the emulator finds ---------------------------------------------------------------------

OVERLAPPED = replace(ALL, k=64, stages=2, ahead=1)
ONCE = Product(16, 16, 16, 16, 16, 16, 1, 1, trans=False, swizzle=False, stages=1, ahead=0)
SWIZZLED = replace(ONCE, swizzle=True)


def found(kernel: Kernel, of: Product) -> str:
    """What the emulator alone finds of a kernel that should make the product `of`."""
    func = built(of).func
    a, b, c = inputs(wb.Schedule(func))
    try:
        emulate.run([kernel], [a, b, c], params=func.params)
    except wb.EmulationError as error:
        return error.headline
    right = a.astype("float32") @ (b.T if of.trans else b).astype("float32")
    return "" if np.array_equal(c, right) else "the sums are wrong"


def moved(call: For, side: type, to: Callable[[Expr, Expr], tuple[Expr, Expr]], by: int) -> Stmt:
    """`call` with another thread, register and place of what it loads, or of what it stores."""
    t, l = call.loop_var, call.body.loop_var
    other = dict(zip((t, l), to(t, l), strict=True))

    def visit(node: Node) -> Node:
        if not isinstance(node, side):
            return node
        return replace(node, indices=tuple(substitute(i, other) + by for i in node.indices))

    return rewrite(call, visit)


MOVES: dict[str, tuple[Callable[[Expr, Expr], tuple[Expr, Expr]], int]] = {
    "another thread": (lambda t, l: (t // 16 * 16 + t % 4 * 4 + t % 16 // 4, l), 0),
    "another register": (lambda t, l: (t, l % 4 * 2 + l // 4), 0),
    "8 cells on": (lambda t, l: (t, l), 8),
}


def faults_of_calls(kernel: Kernel) -> Iterator[tuple[str, Stmt]]:
    x = dict(kernel.axes)["threadIdx.x"]
    for number, call in enumerate(warp_calls(kernel)):
        name = f"{number}, {warp_call(call).name}"
        yield f"{name} left out", replace_node(kernel.body, call, IfThenElse(x < 0, call))
        yield f"{name} by half a warp", replace_node(kernel.body, call, IfThenElse(x < 16, call))
        for side in (BufferLoad, BufferStore):
            for how, (to, by) in MOVES.items():
                if name.endswith("fill") and how != "8 cells on":
                    continue  # zeros are zeros, whoever puts them there
                broken = moved(call, side, to, by)
                if broken is not call:
                    yield f"{name} {side.__name__} {how}", replace_node(kernel.body, call, broken)
        held = {n.buffer for n in walk(call) if isinstance(n, BufferLoad)}
        others = [b for b in held if b.name in ("A_shared_warp", "B_shared_warp")]
        if len(others) == 2:
            swapped = dict(zip(others, others[::-1], strict=True))
            yield f"{name} A for B", replace_node(kernel.body, call, with_buffers(call, swapped))


def with_buffers(call: For, other: dict[Buffer, Buffer]) -> Stmt:
    def visit(node: Node) -> Node:
        if isinstance(node, BufferLoad) and node.buffer in other:
            return replace(node, buffer=other[node.buffer])
        return node

    return rewrite(call, visit)


def faults_of_swizzles(kernel: Kernel) -> Iterator[tuple[str, Stmt]]:
    """Columns change places for all who touch a shared array but for one: a store, or a load."""
    touched = (n for n in walk(kernel.body) if isinstance(n, (BufferLoad, BufferStore)))
    for node in (n for n in touched if n.buffer.scope == "shared"):
        index = rewrite(
            node.indices[0], lambda e: e.a if isinstance(e, BinOp) and e.op == "^" else e
        )
        as_it_was = replace(node, indices=(index,))
        yield (
            f"{type(node).__name__} {node.buffer.name} as it was",
            rewrite(kernel.body, lambda n, node=node, other=as_it_was: other if n is node else n),
        )


def missed(of: Product, faults: dict[str, Stmt]) -> list[str]:
    """Those of the faults of a right kernel that are no finding, and lead to no other sum."""
    (kernel,) = built(of).kernels
    assert found(kernel, of) == ""
    return [name for name, body in faults.items() if not found(replace(kernel, body=body), of)]


@pytest.mark.parametrize(
    ("call", "number"),
    [(0, 3), (1, 8), (2, 8), pytest.param(3, 9, marks=pytest.mark.fuzz), (4, 8)],
)
def test_every_fault_of_a_call_is_found(call: int, number: int):
    """With those of swizzles 40 of 40."""
    (kernel,) = built(ONCE).kernels
    every = faults_of_calls(kernel)
    faults = {name: body for name, body in every if name.startswith(f"{call},")}
    assert len(faults) == number and missed(ONCE, faults) == []


def test_every_fault_of_a_swizzle_is_found():
    (kernel,) = built(SWIZZLED).kernels
    faults = dict(faults_of_swizzles(kernel))
    assert len(faults) == 4 and missed(SWIZZLED, faults) == []


def test_every_wait_and_barrier_is_needed():
    lowered = built(OVERLAPPED).lowered
    faults = [f for f in all_faults(lowered) if f.kind in ("barrier", "wait", "copy")]
    assert len(faults) == 8
    for fault in faults:
        (kernel,) = with_fault(lowered, fault, get(AMPERE)).kernels
        assert found(kernel, OVERLAPPED), fault
