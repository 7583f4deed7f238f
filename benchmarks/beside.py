"""Kernels on the same job, timed by turns on one GPU, so that their ratio is what counts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np

from benchmarks.large_jobs import Job
from benchmarks.steps import Results
from workbench.lower.shared_memory import dynamic_shared
from workbench.runtime import Built
from workbench.runtime.events import between_events, graph_sample, runs_per_sample

TVM_TEXT = Path(__file__).parent / "tvm_text"
ROUNDS = 60
Compiler = Literal["nvrtc", "nvcc"]
_PARAMETER = r"(?:float|half)\* __restrict__ (\w+?)(?:_ptr)?[,)]"


@dataclass(frozen=True)
class Text:
    """One kernel as CUDA text, and how it is launched."""

    source: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int = 0  # bytes that it asks for
    name: str = "main_kernel"

    def parameters(self) -> list[str]:
        """Its buffers in the order in which the kernel takes them, which TVM changes."""
        head = self.source[self.source.index(f"{self.name}(") :]
        return re.findall(_PARAMETER, head[: head.index(")") + 1])


def our_text(built: Built) -> Text:
    """The kernel of a program that has one."""
    (kernel,) = built.kernels
    shared = dynamic_shared(kernel)[1]
    return Text(built.source, built.grid, built.block, shared, kernel.name)


def tvm_text(name: str, *, head: bool = False) -> Text:
    """TVM's kernel; with its `head` for nvcc, since NVRTC may not have the headers.

    Of these, calls of a warp need ``mma.h``; other kernels use no name from the head.
    """
    launch = json.loads((TVM_TEXT / "launches.json").read_text())[name]
    text = (TVM_TEXT / f"{name}.cu").read_text()
    text = text if head else text[text.index('extern "C"') :]
    return Text(text, tuple(launch["grid"]), tuple(launch["block"]))


def beside(
    texts: dict[str, Text], names: tuple[str, ...], job: Job, compiler: Compiler = "nvrtc"
) -> Results:
    """Times of kernels that do `job` with buffers `names`, the output last: first over second.

    All are compiled by the same compiler with the same options.
    """
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    given = [cupy.asarray(array) for array in job.usual]
    samples: dict[str, Callable[[], float]] = {}
    row: Results = {"wrong": []}
    for who, text in texts.items():
        function = compiled(text, compiler)
        output = cupy.asarray(job.output())
        launched(function, text, names, [*map(cupy.asarray, job.whole), output])()
        if not np.array_equal(output.get(), job.result):
            row["wrong"].append(who)
        work = launched(function, text, names, [*given, output])
        with stream:
            once = between_events(stream, work)
            samples[who] = graph_sample(stream, work, runs_per_sample(once))
        row[f"{who} registers"] = function.num_regs
        row[f"{who} bytes spilled"] = function.local_size_bytes
    return row | by_turns(samples)


def compiled(text: Text, compiler: Compiler = "nvrtc") -> Any:
    """The kernel's function."""
    import cupy

    module = cupy.RawModule(code=text.source, options=("-std=c++17",), backend=compiler)
    function = module.get_function(text.name)
    if text.shared:
        function.max_dynamic_shared_size_bytes = text.shared
    return function


def launched(
    function: Any, text: Text, names: tuple[str, ...], arrays: list[Any]
) -> Callable[[], None]:
    """One launch of the kernel on `arrays`, which stand in the order of `names`."""
    ordered = tuple(arrays[names.index(name)] for name in text.parameters())
    return lambda: function(text.grid, text.block, ordered, shared_mem=text.shared)


def by_turns(samples: dict[str, Callable[[], float]]) -> Results:
    """Medians of samples taken in turn, and of the first's time over the second's."""
    rounds = [{who: take() for who, take in samples.items()} for _ in range(ROUNDS)]
    row: Results = {f"{who} seconds": median(times[who] for times in rounds) for who in samples}
    first, second = samples
    ratio = median(times[first] / times[second] for times in rounds)
    return row | {f"{first} / {second}": round(ratio, 4)}
