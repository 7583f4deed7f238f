"""tensorize: what is taken means the same, and with the implementation in its place, too."""

from __future__ import annotations

import random

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from tests.support.random_lanes import random_lanes
from tests.support.random_tensorized import random_tensorized
from tests.support.steps import SameTerms
from tests.support.tensor_core_product import whole
from tests.support.tvm_oracle import file_verdict
from workbench import script
from workbench.access import difference, random_data
from workbench.diag import Refusal
from workbench.ir.places import places
from workbench.lower import inline_tensor_intrinsics
from workbench.verbs.primitive import discover

MATMUL = """@T.prim_func
def main(
    A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")
):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
ROWS = """@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (n, 8), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i, k_0, k_1 in T.grid(n, 2, 4):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            vk = T.axis.reduce(8, k_0 * 4 + k_1)
            C[vi] = C[vi] + A[vi, vk] * B[vi, vk]
"""
ALWAYS = """@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((1,), "float32")):
    for k_0, k_1 in T.grid(1, 4):
        with T.block("C"):
            vk = T.axis.reduce(4, k_0 * 4 + k_1)
            T.where(k_0 * 4 + k_1 < 4)
            C[0] = C[0] + A[vk] * B[vk]
"""


def tiled() -> wb.Schedule:
    """A product in tiles of 4 x 4, the sum outside of the tile."""
    sch = wb.Schedule(script.parse(MATMUL))
    i, j, k = sch.get_loops("C")
    i_0, i_1 = sch.split(i, factors=[None, 4])
    j_0, j_1 = sch.split(j, factors=[None, 4])
    sch.reorder(i_0, j_0, k, i_1, j_1)
    sch.decompose_reduction("C", k)
    return sch


def test_a_product_of_outer_products_runs():
    sch = tiled()
    before = sch.func
    assert sch.tensorize("i_1", "outer4x4") is None
    impl = inline_tensor_intrinsics(sch.func)
    for made in (sch.func, impl):
        SameTerms(before).check(made)
    assert "tensor_intrin" not in script.show(impl)
    sch.bind("i_0", "blockIdx.x")
    sch.bind("j_0", "threadIdx.x")
    for target in ("cuda", "c"):
        kernel = wb.build(sch if target == "cuda" else tensorized_only(), target=target)
        assert "row[4]" in kernel.source
        assert kernel.lowered.history[0].name == "inline_tensor_intrinsics"
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (8, 8)).astype("float32") for _ in range(2))
    c = np.zeros((8, 8), "float32")
    wb.build(sch).emulate(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def tensorized_only() -> wb.Schedule:
    sch = tiled()
    sch.tensorize("i_1", "outer4x4")
    return sch


def test_a_condition_that_always_holds_is_none():
    sch = wb.Schedule(script.parse(ALWAYS))
    before = sch.func
    sch.tensorize("k_0", "dot4")
    SameTerms(before).check(inline_tensor_intrinsics(sch.func))


def test_a_block_is_taken_as_a_loop_is():
    one, other = tiled(), tensorized_only()
    one.tensorize(one.blockize("i_1"), "outer4x4")
    wb.assert_structural_equal(one.func, other.func)


def test_tiles_of_a_program_for_any_size():
    sch = wb.Schedule(script.parse(ROWS))
    before = sch.func
    i_0, i_1 = sch.split("i", factors=[None, 32])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    sch.tensorize("k_1", "dot4")
    kernel, rng = wb.build(sch), np.random.default_rng(0)
    for n in (1, 33):
        numbers = {"n": n}
        SameTerms(before.specialize(numbers)).check(
            inline_tensor_intrinsics(sch.func.specialize(numbers))
        )
        a, b = (rng.integers(-4, 5, (n, 8)).astype("float32") for _ in range(2))
        c = np.zeros(n, "float32")
        kernel.emulate(a, b, c)
        np.testing.assert_array_equal(c, (a * b).sum(1))


def test_actions_name_the_intrinsics_that_fit():
    sch = tiled()
    (verdict,) = sch.actions("i_1", ["tensorize"])
    assert verdict.choices == [{"tensor_intrin": "outer4x4"}]
    (verdict,) = sch.actions("k", ["tensorize"])
    assert verdict.why_not == "Can't tensorize here: there is no tensor_intrin for it"


def test_a_note_is_held_against_what_the_block_does_now():
    sch = tensorized_only()
    sch.split("j_1", factors=[2, 2])
    with pytest.raises(wb.ScheduleError) as refused:
        wb.build(sch, target="c")
    assert str(refused.value).startswith(
        "Can't build this: `C_update_o` is no outer4x4, of which it has a note: `j_1_0` runs "
        "2 times, in the description 4."
    )
    sch = tiled()
    sch.annotate("C_update", "tensor_intrin", "dot5")
    with pytest.raises(wb.ScheduleError, match="tensor intrinsic 'dot5', and there is none such"):
        wb.build(sch, target="c")


def test_a_file_for_tvm_registers_and_tensorizes_at_its_end(tmp_path):
    path = tmp_path / "steps.py"
    tensorized_only().to_tvm(path)
    text = path.read_text()
    compared, _, tiles = text.partition("short(Scheduled))")
    assert "tensorize" not in compared and tiles.splitlines()[-2:] == [
        'sch.tensorize(i_1, "outer4x4")',
        "module = sch.mod",
    ]
    assert 'tvm.s_tir.TensorIntrin.register("outer4x4", outer4x4_desc, outer4x4_impl)' in tiles
    assert "        T.reads(C[0:4, 0:4], A[0:4, 0:1], B[0:1, 0:4])" in tiles
    whole().to_tvm(path)
    of_tvm = path.read_text()
    assert "register(" not in of_tvm and "import tvm.s_tir.tensor_intrin.cuda" in of_tvm
    sch = tensorized_only()
    sch.bind("i_0", "threadIdx.x")
    with pytest.raises(wb.ScheduleError) as refused:
        sch.to_tvm(path)
    assert refused.value.headline == (
        "Can't write this for TVM: step 5, tensorize, makes another program there, and other steps "
        "follow."
    )


@pytest.mark.tool
def test_tvm_takes_the_file():
    pytest.importorskip("tvm")
    assert file_verdict(tensorized_only()) == ""


@pytest.mark.fuzz
def test_random_programs_mean_the_same():
    taken = 0
    for seed in seeds(4):
        func, name, loop = random_tensorized(random.Random(seed))
        sch = wb.Schedule(func)
        try:
            sch.tensorize(loop, name)
        except wb.ScheduleError as refused:
            assert refused.hint and refused.headline.startswith(f"Can't tensorize `{loop}`: ")
            continue
        meaning = SameTerms(func, seed)
        meaning.check(sch.func)
        meaning.check(inline_tensor_intrinsics(sch.func))
        taken += 1
    assert taken > CASES  # else it refuses what it should take


@pytest.mark.fuzz
def test_random_tiles_by_lanes_mean_the_same():
    """Of ``mma.sync`` and ``ldmatrix``: what is taken does what it did, what is not is told why."""
    taken, tensorize = 0, discover()["tensorize"]
    for seed in range(CASES // 2):
        func, name, loop = random_lanes(random.Random(seed))
        outermost = next(f for var, f in places(func).loops.items() if var.name == loop)
        try:
            made = tensorize.take(func, outermost, name).func
        except Refusal as refused:
            assert refused.hint and refused.headline.startswith(f"Can't tensorize `{loop}`: ")
            continue
        assert difference(func, inline_tensor_intrinsics(made), random_data(func, seed)) == ""
        taken += 1
    assert taken >= CASES // 4
