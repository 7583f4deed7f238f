"""Calls of a warp: what they are lowered to, what runs of them, and what is refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.codegen.test_nvcc import compiled
from tests.support.tensor_core_conv import SMALL, expected, tensorized
from tests.support.tensor_core_product import in_place, product, tensorize, whole
from tests.support.together import Together
from workbench import emulate, insight, script, target
from workbench.codegen.cuda import CUDA
from workbench.codegen.cuda_warps import CUDA_WARPS
from workbench.diag import Refusal
from workbench.intrin import tensor_intrin
from workbench.ir import (
    WARP_CALL,
    Barrier,
    BufferLoad,
    BufferStore,
    For,
    IfThenElse,
    Kernel,
    Stmt,
    attrs_dict,
    is_warp_call,
    replace_node,
    rewrite,
    walk,
)
from workbench.lower import least_target, lower
from workbench.lower.warp_calls import check_warp_calls, warp_call, warp_calls


def inputs(sch: wb.Schedule) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    types = [{"bfloat16": "float32"}.get(p.type, p.type) for p in sch.func.params]
    shapes = [p.shape for p in sch.func.params]
    return [rng.integers(-3, 4, shape).astype(t) for shape, t in zip(shapes, types, strict=True)]


@pytest.mark.fuzz
def test_the_convolution_of_the_tutorial_is_right():
    sch = tensorized(SMALL)
    a, w, out = inputs(sch)
    kernel = wb.build(sch)  # and nothing is to be warned of
    kernel.emulate(a, w, out)
    np.testing.assert_array_equal(out, expected(SMALL, a, w))
    (made,) = kernel.kernels
    assert len(list(warp_calls(made))) == 5
    calls = [line for line in kernel.source.splitlines() if line.lstrip().startswith("wmma_")]
    assert len(calls) == 5
    assert "#pragma unroll" in kernel.source


@pytest.mark.parametrize(
    ("of", "dtype", "trans", "pad"),
    [
        ("float16", "float32", False, 0),
        ("float16", "float16", False, 8),
        ("float16", "float16", True, 0),
        ("bfloat16", "float32", False, 0),
        ("int8", "int32", True, 16),
    ],
)
def test_products_are_right_on_the_emulator_and_as_cpp(
    as_cpp: Together, of: str, dtype: str, trans: bool, pad: int
):
    sch = whole(dtype, trans, pad, of)
    a, b, c = inputs(sch)
    least = least_target(sch.func)
    assert least == ("nvidia/a100" if of == "bfloat16" else "cuda")
    kernel, none = wb.build(sch, least), c.copy()
    wanted = a.astype(c.dtype) @ (b.T if trans else b).astype(c.dtype)
    kernel.emulate(a, b, c)
    np.testing.assert_array_equal(c, wanted)
    if of == "bfloat16":  # the upper halves of float32
        a, b = (x.view("uint16")[:, 1::2].copy() for x in (a, b))
    as_cpp.expect(kernel.lowered, [a, b, none], [a, b, c])


@pytest.mark.parametrize("early", [True, False])
def test_rows_that_a_tile_stores_to_are_padded_whoever_asks(
    early: bool, monkeypatch: pytest.MonkeyPatch
):
    """By the block that stores, ahead of tensorize or as it stands inside of the tile then."""
    head = '@T.prim_func\ndef main(O: T.Buffer((32, 32), "float32")):\n'
    sch = wb.Schedule(
        script.parse(
            f"{head}    for i, j in T.grid(32, 32):\n"
            '        with T.block("O"):\n'
            '            vi, vj = T.axis.remap("SS", [i, j])\n'
            "            O[vi, vj] = T.float32(1)\n"
        )
    )
    sch.cache_write("O", 0, "shared")
    sch.cache_write("O", 0, "wmma.accumulator")
    stores = "O_shared_wmma_accumulator"
    i, j = sch.get_loops("O_shared")
    i_0, i_1 = sch.split(i, factors=[None, 16])
    sch.bind(sch.split(sch.fuse(i_1, j), factors=[None, 32])[1], "threadIdx.x")
    sch.bind(i_0, "blockIdx.x")
    for block in (stores, "O"):
        sch.compute_at(block, i_0)
    monkeypatch.setattr(tensor_intrin, "_registered", {})
    fill = wb.TensorIntrin.get("wmma_fill_16x16x16_f32")
    texts = (
        func.script().replace("T.float32(0)", "T.float32(1)") for func in (fill.desc, fill.impl)
    )
    wb.TensorIntrin.register("fill_with_1", *map(script.parse, texts))
    pad = ("storage_align", stores, 0, 0, 16, 4)
    if early:
        sch.apply(*pad)
    for block, name in (("O", "fill_with_1"), (stores, "wmma_store_16x16x16_f32_shared")):
        i, j = sch.get_loops(block)[1:]
        j_0, j_1 = sch.split(j, factors=[None, 16])
        sch.reorder(j_0, i, j_1)
        sch.tensorize(i, name)
    if not early:
        sch.apply(*pad)
    kernel = wb.build(sch)
    assert re.search(r"wmma_store_f32_shared\(&O_shared.*, 36\);", kernel.source)
    out = np.zeros((32, 32), "float32")
    kernel.emulate(out)
    assert (out == 1).all()


def test_sums_go_on_from_c_in_place(as_cpp: Together):
    """C is loaded into fragments, which live through all turns of a loop with barriers in it."""
    sch = in_place()
    a, b, c = inputs(sch)
    kernel, before = wb.build(sch), c.copy()
    kernel.emulate(a, b, c)
    np.testing.assert_array_equal(c, before + a.astype("float32") @ b.astype("float32"))
    as_cpp.expect(kernel.lowered, [a, b, before], [a, b, c])
    asked = [one for one in insight.issued(kernel.kernels).asked if one.buffer == "C"]
    for how in ("read", "write"):  # both by pairs of neighbours, four of a tile for each lane
        assert sum(one.requests for one in asked if one.access == how) == 4 * 4
    assert kernel.source.count(" wmma_load_c_f32_global(D") == 1


UNEVEN = """@T.prim_func
def main(
    A: T.Buffer((30, 20), "float16"), B: T.Buffer((20, 28), "float16"),
    E: T.Buffer((30, 28), "float32"), C: T.Buffer((30, 28), "float32")
):
    D = T.alloc_buffer((30, 28))
    for i, j, k in T.grid(30, 28, 20):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(30, 28):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = D[vi, vj] * T.float32(2) + E[vi, vj] * T.float32(3)
"""


def test_sizes_that_no_tile_divides_are_padded_and_scaled_behind_the_tiles(as_cpp: Together):
    """C = 2 A B + 3 E, with tiles of zeros around, by way of shared memory."""
    sch = wb.Schedule(script.parse(UNEVEN))
    whole_tiles = sch.fork()
    i = whole_tiles.split(whole_tiles.get_loops("D")[0], factors=[None, 16])[1]
    with pytest.raises(wb.ScheduleError, match=r"its T.where cuts off a part of the last turn"):
        whole_tiles.tensorize(i, "wmma_sync_16x16x16_f16f16f32")
    sch.pad_einsum("D", [16, 16, 16])
    sch.compute_inline("D_pad")
    for block in ("D", "A_pad", "B_pad"):
        sch.set_scope(block, 0, "shared")
    held = [sch.cache_read("D", f"{n}_pad_shared", f"wmma.matrix_{n.lower()}") for n in "AB"]
    sch.cache_write("D", 0, "wmma.accumulator")
    stores = "D_pad_shared_wmma_accumulator"
    (i_0, i), (j_0, j), (k_0, k) = (
        sch.split(loop, factors=[None, 16]) for loop in sch.get_loops("D")
    )
    sch.reorder(i_0, k_0, j_0, i, j, k)
    sch.bind(i_0, "blockIdx.x")
    for block in (stores, "C"):
        sch.reverse_compute_at(block, i_0)
    for block in (*held, "A_pad", "B_pad"):
        sch.compute_at(block, k_0)
    for block in ("A_pad", "B_pad", "C"):
        cells = sch.fuse(*sch.get_loops(block)[-2:])
        sch.bind(sch.split(cells, factors=[None, 32])[1], "threadIdx.x")
    sch.decompose_reduction("D", k_0)
    for block in (held[1], stores):
        i, j = sch.get_loops(block)[-2:]
        sch.reorder(sch.split(j, factors=[None, 16])[0], i)
    tensorize(sch, "D_init", "wmma_fill_16x16x16_f32")
    for block, part in zip(held, "ab", strict=True):
        tensorize(sch, block, f"wmma_load_16x16x16_f16_{part}_shared")
    tensorize(sch, "D_update", "wmma_sync_16x16x16_f16f16f32", -3)
    tensorize(sch, stores, "wmma_store_16x16x16_f32_shared")
    a, b, e, c = inputs(sch)
    kernel, none = wb.build(sch), c.copy()
    kernel.emulate(a, b, e, c)
    np.testing.assert_array_equal(c, 2 * (a.astype("float32") @ b.astype("float32")) + 3 * e)
    as_cpp.expect(kernel.lowered, [a, b, e, none], [a, b, e, c])


def test_nvcc_takes_every_function(nvcc: str, tmp_path: Path):
    functions = [t.format(function=CUDA.function, name=n) for n, t in CUDA_WARPS.items()]
    others = "\n".join(functions).replace("static ", "")
    text = f"{wb.build(whole('float16', trans=True)).source}namespace others {{\n{others}\n}}\n"
    text = text.replace("#include <cuda_fp16.h>", "#include <cuda_fp16.h>\n#include <cuda_bf16.h>")
    compiled(nvcc, text, tmp_path, "-arch=sm_80", "-cubin")


def test_what_a_warp_does_together_counts_once():
    kernels = wb.build(whole()).kernels
    found = insight.counts(kernels)
    far, near = found.traffic[0], found.traffic[1]
    tiles = 2 * 4 * 256  # of A and of B, each of four warps, in a turn
    assert (far.loads, far.stores) == (2 * 32 * 32, 32 * 32)
    assert (near.loads, near.stores) == (2 * tiles, 2 * 32 * 32)
    assert found.work == 2 * 32**3
    levels = insight.memory(whole().func).levels
    used = {use.buffer: use for level in levels for use in level.buffers}
    assert used["A_shared"].loads == used["B_shared"].loads == tiles
    # Two tiles of A and of B for each of four warps, a request each; four for each tile of C.
    issued = insight.issued(kernels)
    requests = Counter[tuple[str, str]]()
    for one in issued.asked:
        requests[one.buffer, one.access] += one.requests
    assert (requests["A_shared", "read"], requests["B_shared", "read"]) == (2 * 4, 2 * 4)
    assert requests["C", "write"] == 4 * 4 and not issued.left_out


# --- refusals ------------------------------------------------------------------------------------


def refused(change: Callable[[wb.Schedule], object] | None, sch: wb.Schedule) -> wb.ScheduleError:
    if change is not None:
        change(sch)
    with pytest.raises(wb.ScheduleError) as error:
        wb.build(sch)
    assert len(error.value.headline) <= 120 and error.value.hint
    return error.value


def test_fragments_are_touched_by_calls_alone():
    error = refused(None, product())
    assert error.headline == (
        "Can't build this: B_shared_wmma_matrix_b is in wmma.matrix_b, which only calls of a warp "
        "touch."
    )


def test_a_fragment_has_one_order_of_memory():
    sch = product()
    sch.tensorize(
        sch.get_loops("B_shared_wmma_matrix_b")[-2], "wmma_load_16x16x16_f16_b_trans_shared"
    )
    tensorize(sch, "C_update", "wmma_sync_16x16x16_f16f16f32", -3)
    error = refused(None, sch)
    assert error.headline == (
        "Can't build this: B_shared_wmma_matrix_b is loaded row by row and multiplied column by "
        "column, or the other way round."
    )


def test_rows_have_to_be_aligned():
    error = refused(None, whole(pad=2))
    assert error.headline == (
        "Can't build this: tiles of A_shared are not proved to lie at multiples of 32 bytes, their "
        "rows of 16."
    )
    assert error.detail == "rows are 18 cells of 2 bytes apart"


def test_a_call_goes_to_its_memories_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tensor_intrin, "_registered", {})
    ours = wb.TensorIntrin.get("wmma_load_16x16x16_f16_a_shared")
    texts = (func.script().replace('scope="shared", ', "") for func in (ours.desc, ours.impl))
    wb.TensorIntrin.register("load_from_global", *map(script.parse, texts))
    text = whole().func.script()
    text = text.replace("f16_a_shared", "").replace("wmma_load_16x16x16_", "load_from_global", 1)
    copied = re.search(r"(A_shared_wmma_matrix_a\[.*\] = )A_shared(\[.*\])", text)
    text = text.replace(copied[0], f"{copied[1]}A{copied[2]}")
    text = re.sub(r"T.reads\(A_shared\[", "T.reads(A[", text)
    error = refused(None, wb.Schedule(script.parse(text)))
    assert error.headline == (
        "Can't build this: A is in global memory, and tvm_load_matrix_sync takes its tile in "
        "shared or shared.dyn."
    )


def test_a_warp_is_32_threads_along_x():
    text = whole().func.script()
    narrow = text.replace('T.thread_binding(32, thread="threadIdx.x")', "range(32)")
    error = refused(None, wb.Schedule(script.parse(narrow)))
    assert error.headline == (
        "Can't build this: a call of a warp takes 32 threads along threadIdx.x, and the block has "
        "1."
    )


def test_a_fragment_that_nothing_reads_is_refused_for_that():
    lines = whole().func.script().splitlines()
    first = next(k for k, line in enumerate(lines) if 'T.block("C_update_o")' in line)
    deep = [len(line) - len(line.lstrip()) for line in lines]
    end = next(k for k in range(first + 1, len(lines)) if deep[k] <= deep[first])
    error = refused(None, wb.Schedule(script.parse("\n".join(lines[:first] + lines[end:]))))
    assert error.headline == (
        "Can't build this: tvm_load_matrix_sync fills a fragment of A_shared_wmma_matrix_a, and "
        "nothing reads it."
    )


def test_rows_that_sizes_place_are_refused_and_rows_that_they_count_are_not():
    """A fragment stored to C: its rows are as many as a size says, or as far apart."""
    head = "@T.prim_func\ndef main(c: T.handle):\n    n = T.int32()\n"
    fill, store = "wmma_fill_16x16x16_f32", "wmma_store_16x16x16_f32_global"
    for shape, headline in (
        ("n * 16, 16", ""),
        ("16, n * 16", "how far apart rows of a tile lie is told by a size, and "),
    ):
        at = ("vb * 16 + ", "") if shape.startswith("n") else ("", "vb * 16 + ")
        body = f"""    C = T.match_buffer(c, ({shape}), "float32")
    F = T.alloc_buffer((16, 16), scope="wmma.accumulator")
    for b in T.thread_binding(n, thread="blockIdx.x"):
        for x in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("fill"):
                T.reads()
                T.writes(F[0:16, 0:16])
                T.block_attr({{"tensor_intrin": "{fill}"}})
                for i, j in T.grid(16, 16):
                    F[i, j] = T.float32(0)
            with T.block("store"):
                vb = T.axis.spatial(n, b)
                T.reads(F[0:16, 0:16])
                T.writes(C[{at[0]}0 : {at[0]}16, {at[1]}0 : {at[1]}16])
                T.block_attr({{"tensor_intrin": "{store}"}})
                for i, j in T.grid(16, 16):
                    C[{at[0]}i, {at[1]}j] = F[i, j]
"""
        sch = wb.Schedule(script.parse(head + body))
        if headline:
            assert headline in refused(None, sch).headline
        else:
            out = np.ones((48, 16), "float32")
            wb.build(sch).emulate(out)
            assert not out.any()


def test_virtual_threads_make_calls_of_their_own():
    """Two warps of the product as copies inside of one: each has its fragments."""
    text = whole().func.script()
    sch = wb.Schedule(script.parse(text.replace('"threadIdx.y"', '"vthread.y"')))
    a, b, c = inputs(sch)
    kernel = wb.build(sch)
    kernel.emulate(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))
    assert kernel.source.count(" wmma_mma_f32_row(C_") == 2 and kernel.block == (32, 1, 2)


def test_all_threads_of_a_warp_come_to_a_call():
    (kernel,) = wb.build(whole()).kernels
    parted = replace(kernel, body=for_half(kernel))
    with pytest.raises(Refusal) as refused:
        check_warp_calls(parted, target.get("cuda"))
    assert refused.value.headline == (
        "a condition or loop around a call of a warp may differ among its threads: threadIdx.x or "
        "memory decides it"
    )


def for_half(kernel: Kernel) -> Stmt:
    """The product with its multiplication done by half of each warp."""
    x = dict(kernel.axes)["threadIdx.x"]
    call = call_of(kernel, "tvm_mma_sync")
    return replace_node(kernel.body, call, IfThenElse(x < 16, call))


def call_of(kernel: Kernel, name: str) -> For:
    return next(c for c in warp_calls(kernel) if warp_call(c).name == name)


@pytest.mark.parametrize("name", ["metal", "opencl", "nvidia/tesla-p100"])
def test_other_gpus_have_no_such_calls(name: str):
    with pytest.raises(Refusal, match="has no calls of a warp on tiles of 16 x 16"):
        lower(whole().func, target.get(name))
    with pytest.raises(wb.ScheduleError, match="has no calls of a warp on tiles of 16 x 16"):
        wb.runtime.rebuild(wb.build(whole()), name)


@pytest.mark.parametrize(
    ("of", "name", "told"),
    [
        (
            "bfloat16",
            "cuda",
            "any CUDA GPU, sm_75, does not multiply bfloat16 by bfloat16 with sums in float32",
        ),
        (
            "int8",
            "nvidia/tesla-v100",
            "NVIDIA V100 SXM2, sm_70, does not multiply int8 by int8 with sums in int32",
        ),
    ],
)
def test_types_that_a_gpu_does_not_multiply(of: str, name: str, told: str):
    func = whole("int32" if of == "int8" else "float32", of=of).func
    with pytest.raises(Refusal) as refused:
        lower(func, target.get(name))
    assert refused.value.headline == told
    listed = refused.value.hint.removeprefix("build it for a GPU that does: ").split(", ")
    assert "'nvidia/a100'" in listed and f"'{name}'" not in listed


def test_tiles_of_two_types_are_not_multiplied():
    kernel = lower(whole().func, target.get("cuda")).kernels[0]
    second = next(b for b in kernel.allocs if b.tag == "wmma.matrix_b")
    other = replace(second, type="int8")

    def visit(node: object) -> object:
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer is second:
            return replace(node, buffer=other)
        return node

    mixed = replace(
        kernel,
        body=rewrite(kernel.body, visit),
        allocs=tuple(other if b is second else b for b in kernel.allocs),
        views=tuple((other if b is second else b, w) for b, w in kernel.views),
    )
    with pytest.raises(Refusal) as refused:
        check_warp_calls(mixed, target.get("cuda"))
    assert refused.value.headline == (
        "no call of a warp multiplies float16 by int8 with sums in float32"
    )
    assert refused.value.hint == (
        "let both tiles have one type, and one that is summed so: float16 in float16, float16 in "
        "float32, int8 in int32, bfloat16 in float32"
    )


def test_loops_with_a_note_of_one_s_own_are_no_call():
    kernel = lower(whole().func, target.get("cuda")).kernels[0]
    loop = next(warp_calls(kernel))
    assert attrs_dict(loop.annotations)[WARP_CALL] == ("tvm_fill_fragment",)
    assert warp_call(loop).value is not None
    inner = next(n for n in walk(loop.body) if isinstance(n, For))
    odd = replace(inner, annotations=loop.annotations)
    assert is_warp_call(odd)
    with pytest.raises(Refusal, match="is no call of a warp, of which it has a note"):
        warp_call(odd)


# --- what the emulator finds ---------------------------------------------------------------------


def emulated(change: Callable[[Kernel], Stmt]) -> str:
    """What the emulator says of the product with the body of its kernel changed."""
    sch = whole()
    (kernel,) = wb.build(sch).kernels
    with pytest.raises(wb.EmulationError) as error:
        emulate.run([replace(kernel, body=change(kernel))], inputs(sch), params=sch.func.params)
    return error.value.headline


def test_a_fragment_that_nothing_filled_is_found():
    found = emulated(lambda k: replace_node(k.body, call_of(k, "tvm_fill_fragment"), None))
    assert found.startswith("Can't read C_wmma_accumulator[") and "nothing has written" in found


def test_a_warp_of_which_some_threads_are_missing_is_found():
    assert emulated(for_half) == "Can't make a call of a warp: some of its threads do not come."


def test_each_barrier_is_needed():
    (kernel,) = wb.build(whole()).kernels
    barriers = sum(isinstance(node, Barrier) for node in walk(kernel.body))
    assert barriers >= 2
    for k in range(barriers):

        def without(kernel: Kernel, which: int = k) -> Stmt:
            found = [node for node in walk(kernel.body) if isinstance(node, Barrier)]
            return replace_node(kernel.body, found[which], None)

        assert "race" in emulated(without).lower()
