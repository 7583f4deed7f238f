"""Calls of a warp on the GPU: products and a small convolution compared, TVM's tutorial timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

import workbench as wb
from benchmarks.beside import compiled, launched, our_text
from benchmarks.steps import SECONDS, Results
from tests.support import mma_conv, mma_product
from tests.support.tensor_core_conv import SMALL, Sizes, expected, tensorized
from tests.support.tensor_core_product import in_place, whole
from workbench.emulate.numbers import numpy_type
from workbench.runtime.events import graph_sample
from workbench.runtime.libraries import torch_graph_sample

AMPERE = "nvidia/a100"  # the first with mma.sync of halves; its text runs on all that came after
HOPPER = "nvidia/h200"  # with room for four tiles of a product in shared memory
MMA_SMALL = [
    mma_product.SMALL,
    replace(mma_product.SMALL, trans=False),
    replace(mma_product.SMALL, stages=1, ahead=0),
    replace(mma_product.SMALL, terms=32, swizzle=False),
    replace(mma_product.SMALL, dtype="bfloat16"),
    replace(mma_product.SMALL, terms=64, dtype="int8"),
    replace(mma_product.SMALL, terms=32, dtype="float32"),
]
ROUNDS, AT_A_TIME = 7, 10  # of the large products, and runs in a graph
PRODUCTS = [
    (dtype, trans, pad)
    for dtype in ("float32", "float16")
    for trans in (False, True)
    for pad in (0, 8)
]
OTHERS = [  # sums, what is multiplied, and whether B lies by columns
    ("float32", "bfloat16", False),
    ("float32", "bfloat16", True),
    ("int32", "int8", True),  # with B by rows, a tile begins at 16 bytes, and must at 32
]


def compare() -> list[Results]:
    """Each with whether it agrees; the convolution of the tutorial with its time."""
    return [*compare_small(), time_tutorial()]


def _given(sch: wb.Schedule) -> list[np.ndarray]:
    """Small whole numbers, of which every sum is exact."""
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, p.shape).astype(numpy_type(p.dtype)) for p in sch.func.params]


def compare_small() -> list[Results]:
    """Each on the GPU and on the emulator: all bits are the same."""
    made = {f"product of {d}, trans={t}, pad={p}": whole(d, t, p) for d, t, p in PRODUCTS}
    made |= {f"mma.sync, {of}": mma_product.scheduled(of) for of in MMA_SMALL}
    for dtype, of, trans in OTHERS:
        made[f"product of {of}, trans={trans}"] = whole(dtype, trans, of=of)
    made["C in place"] = in_place()
    made["mma.sync, convolution"] = mma_conv.scheduled(mma_conv.SMALL)
    rows: list[Results] = []
    for name, sch in {**made, "convolution": tensorized(SMALL)}.items():
        target = AMPERE if name.startswith("mma") or "bfloat16" in name else "cuda"
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
    """fp16 products of 4096 with sums in fp32, feature by feature, each beside cuBLAS."""
    every = {**mma_product.LADDER, **mma_product.VARIANTS}
    return products_beside_cublas(
        {name: (mma_product.scheduled(of), of.trans) for name, of in every.items()}
    )


def products_beside_cublas(made: Mapping[str, tuple[wb.Schedule, bool]]) -> list[Results]:
    """Schedules of fp16 products of 4096, each with whether B lies by column and term.

    cuBLAS has its result in fp16, which is half as much to write.
    """
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    whole = [torch.randint(-3, 4, (4096, 4096), device="cuda").half() for _ in "AB"]
    usual = [torch.randn(4096, 4096, device="cuda").half() for _ in "AB"]
    result, out = torch.mm(*(m.float() for m in whole)), torch.empty_like(usual[0])
    cublas = torch_graph_sample(lambda: torch.mm(*usual, out=out), AT_A_TIME)
    timed = _Timed({"cuBLAS": cublas})
    for name, (sch, trans) in made.items():
        a, b = ([m.t().contiguous() if trans else m for m in each] for each in (whole, usual))
        timed.add(
            name,
            sch,
            [(whole[0], a[1]), (usual[0], b[1])],
            lambda made: torch.equal(made, result),
        )
    return timed.rows()


def convolutions() -> list[Results]:
    """The convolution of TVM's tutorial by ``mma.sync``, feature by feature, and by ``wmma``."""
    import torch

    made = {"best": mma_conv.Overlapped(), **mma_conv.VARIANTS}
    schedules = {name: mma_conv.scheduled(of) for name, of in made.items()}
    schedules = {"wmma": tensorized(Sizes()), **schedules}
    shapes = [p.shape for p in schedules["best"].func.params]
    whole = [torch.randint(-3, 4, shape, device="cuda").half() for shape in shapes[:2]]
    usual = [torch.rand(shape, device="cuda").half() for shape in shapes[:2]]
    a, w = (array.float() for array in whole)
    padded, result = torch.nn.functional.pad(a, (0,) * 6 + (1,) * 4), torch.zeros(shapes[2])
    result = result.cuda()
    for y, x in np.ndindex(3, 3):
        part = padded[:, y : y + shapes[0][1], x : x + shapes[0][2]]
        result += torch.einsum("nhwcij,cojk->nhwoik", part, w[y, x])
    timed = _Timed({})
    for name, sch in schedules.items():
        timed.add(name, sch, [whole, usual], lambda made: torch.equal(made, result))
    return timed.rows()


class _Timed:
    """Kernels timed by turns: `samples` by name, how to take one; the first is the measure."""

    def __init__(self, samples: dict[str, Callable[[], float]]) -> None:
        self.samples = samples
        self.known: dict[str, Results] = {name: {} for name in samples}
        self.kept: list[object] = []  # what graphs have the addresses of

    def add(
        self,
        name: str,
        sch: wb.Schedule,
        inputs: Sequence[Sequence[Any]],
        right: Callable[[Any], bool],
    ) -> None:
        """Take the kernel of `sch`: on the first `inputs` it is `right`, on the second it is timed.

        NVRTC compiles it; its output is the last parameter.
        """
        import cupy
        import torch

        text = our_text(wb.build(sch, HOPPER))
        function = compiled(text)
        params = [(p.name, p.shape) for p in sch.func.params]
        output = cupy.empty(params[-1][1], "float32")
        works = []
        for given in inputs:
            arrays = [*map(cupy.asarray, given), output]
            works.append(launched(function, text, tuple(name for name, _ in params), arrays))
        self.kept.append(works)
        works[0]()
        cupy.cuda.Device().synchronize()
        agrees = right(torch.as_tensor(output, device="cuda"))
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            self.samples[name] = graph_sample(stream, works[1], AT_A_TIME)
        self.known[name] = {"right": agrees, "registers": function.num_regs}
        self.known[name]["bytes spilled"] = function.local_size_bytes

    def rows(self) -> list[Results]:
        """Medians of rounds, and of the first's time over each."""
        rounds = [{who: take() for who, take in self.samples.items()} for _ in range(ROUNDS)]
        first, *_ = self.samples
        rows = []
        for name, known in self.known.items():
            seconds = median(times[name] for times in rounds)
            ratio = median(times[first] / times[name] for times in rounds)
            told = {"seconds": seconds, f"{first} / it": round(ratio, 4)}
            rows.append({"label": name, **known, **told})
        return rows
