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
from tests.support.cpp import run_cpp
from tests.support.tensor_core_conv import SMALL, expected, tensorized
from tests.support.tensor_core_product import product, tensorize, whole
from workbench import emulate, insight, script, target
from workbench.codegen.cuda import CUDA
from workbench.codegen.cuda_warps import CUDA_WARPS
from workbench.diag import Refusal
from workbench.intrin import tensor_intrin
from workbench.ir import (
    WARP_CALL,
    Barrier,
    For,
    IfThenElse,
    Kernel,
    Stmt,
    attrs_dict,
    is_warp_call,
    replace_node,
    walk,
)
from workbench.lower import lower
from workbench.lower.warp_calls import check_warp_calls, warp_call, warp_calls


def inputs(sch: wb.Schedule) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, p.shape).astype(p.dtype) for p in sch.func.params]


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
    ("dtype", "trans", "pad"),
    [("float32", False, 0), ("float32", True, 0), ("float16", False, 8), ("float16", True, 0)],
)
def test_products_are_right_on_the_emulator_and_as_cpp(gxx: str, dtype: str, trans: bool, pad: int):
    sch = whole(dtype, trans, pad)
    a, b, c = inputs(sch)
    kernel, other = wb.build(sch), c.copy()
    wanted = a.astype("float32") @ (b.T if trans else b).astype("float32")
    kernel.emulate(a, b, c)
    np.testing.assert_array_equal(c, wanted)
    run_cpp(kernel.lowered, [a, b, other])
    np.testing.assert_array_equal(other, wanted)


def test_nvcc_takes_every_function(nvcc: str, tmp_path: Path):
    functions = [t.format(function=CUDA.function, name=n) for n, t in CUDA_WARPS.items()]
    others = "\n".join(functions).replace("static ", "")
    text = f"{wb.build(whole('float16', trans=True)).source}namespace others {{\n{others}\n}}\n"
    compiled(nvcc, text, tmp_path, "-arch=sm_75", "-cubin")


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
