"""Calls of a warp on the GPU: products and a small convolution compared, TVM's tutorial timed."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import numpy as np

import workbench as wb
from benchmarks.beside import compiled, launched, our_text
from benchmarks.steps import SECONDS, Results
from tests.support import mma_product
from tests.support.tensor_core_conv import SMALL, Sizes, expected, tensorized
from tests.support.tensor_core_product import whole

AMPERE = "nvidia/a100"  # the first with mma.sync of halves; its text runs on all that came after
MMA_SMALL = [
    mma_product.SMALL,
    replace(mma_product.SMALL, trans=False),
    replace(mma_product.SMALL, stages=1, ahead=0),
    replace(mma_product.SMALL, terms=32, swizzle=False),
]
ROUNDS, AT_A_TIME = 7, 10  # of the large products, and runs in a graph
PRODUCTS = [
    (dtype, trans, pad)
    for dtype in ("float32", "float16")
    for trans in (False, True)
    for pad in (0, 8)
]


def compare() -> list[Results]:
    """Each with whether it agrees; the convolution of the tutorial with its time."""
    return [*compare_small(), time_tutorial()]


def _given(sch: wb.Schedule) -> list[np.ndarray]:
    """Small whole numbers, of which every sum is exact."""
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, p.shape).astype(p.dtype) for p in sch.func.params]


def compare_small() -> list[Results]:
    """Each on the GPU and on the emulator: all bits are the same."""
    made = {f"product of {d}, trans={t}, pad={p}": whole(d, t, p) for d, t, p in PRODUCTS}
    made |= {f"mma.sync, {of}": mma_product.scheduled(of) for of in MMA_SMALL}
    rows: list[Results] = []
    for name, sch in {**made, "convolution": tensorized(SMALL)}.items():
        target = AMPERE if name.startswith("mma") else "cuda"
        built, on_gpu = wb.build(sch, target=target), _given(sch)
        emulated = [array.copy() for array in on_gpu]
        built(*on_gpu)
        built.emulate(*emulated)
        rows.append({"label": name, "agrees": bool(np.array_equal(on_gpu[-1], emulated[-1]))})
    return rows


def time_tutorial() -> Results:
    """The convolution as TVM's tutorial has it: right to 1e-3 of the largest, and its time."""
    sch = tensorized(Sizes())
    built, rng = wb.build(sch, target="cuda"), np.random.default_rng(0)
    a, w, out = (rng.random(p.shape).astype(p.dtype) for p in sch.func.params)
    built(a, w, out)
    wanted = expected(Sizes(), a, w)
    right = bool(np.abs(out - wanted).max() <= 1e-3 * np.abs(wanted).max())
    timing = built.time(a, w, out, seconds=SECONDS)
    return {"label": "tutorial", "agrees": right, "seconds": timing.median}


def beside_cublas() -> list[Results]:
    """fp16 products of 4096 with sums in fp32, feature by feature, each beside cuBLAS.

    cuBLAS has its result in fp16, which is half as much to write.
    """
    import cupy
    import torch

    from workbench.runtime.events import graph_sample
    from workbench.runtime.libraries import torch_graph_sample

    whole = [torch.randint(-3, 4, (4096, 4096), device="cuda").half() for _ in "AB"]
    usual = [torch.randn(4096, 4096, device="cuda").half() for _ in "AB"]
    torch.backends.cuda.matmul.allow_tf32 = False
    result, out = torch.mm(*(m.float() for m in whole)), torch.empty_like(usual[0])
    sum_of, rows = cupy.empty((4096, 4096), "float32"), list[Results]()
    stream = cupy.cuda.Stream(non_blocking=True)
    samples = {"cuBLAS": torch_graph_sample(lambda: torch.mm(*usual, out=out), AT_A_TIME)}
    for name, of in {**mma_product.LADDER, **mma_product.VARIANTS}.items():
        text = our_text(wb.build(mma_product.scheduled(of), AMPERE))
        function = compiled(text)
        for given in (whole, usual):
            a, b = given
            b = b.t().contiguous() if of.trans else b
            arrays = [*(cupy.asarray(m) for m in (a, b)), sum_of]
            work = launched(function, text, ("A", "B", "C"), arrays)
            if given is whole:
                work()
                right = bool(torch.equal(torch.as_tensor(sum_of, device="cuda"), result))
        with stream:
            samples[name] = graph_sample(stream, work, AT_A_TIME)
        rows.append({"label": name, "right": right, "registers": function.num_regs})
        rows[-1]["bytes spilled"] = function.local_size_bytes
    with stream:
        rounds = [{who: take() for who, take in samples.items()} for _ in range(ROUNDS)]
    for row in rows:
        row["seconds"] = median(times[row["label"]] for times in rounds)
        ratios = [times["cuBLAS"] / times[row["label"]] for times in rounds]
        row["of cuBLAS"] = round(median(ratios), 4)
    seconds = median(times["cuBLAS"] for times in rounds)
    return [{"label": "cuBLAS", "seconds": seconds}, *rows]
