"""Runs programs as C on the CPU, many in one text, in the worker that learners' programs run in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench import target
from workbench.codegen import source
from workbench.ir import PrimFunc
from workbench.lower import lower
from workbench.runtime.devices import CPU_WORKER
from workbench.runtime.job import Failed, Launch, Ran, Run

C = target.get("c")
Job = tuple[PrimFunc, Sequence[np.ndarray]]


class CFailure(AssertionError):
    """A text that the compiler does not take, or a program that ends its worker."""


def run_c(jobs: Sequence[Job], cores_by: str = "openmp", before: str = "") -> str:
    """Run programs, compiled together, on arrays for their parameters; the text, with `before`.

    Outputs are written in place.
    """
    kernels = []
    for number, (func, _) in enumerate(jobs):
        (kernel,) = lower(func, C).kernels
        kernels.append(replace(kernel, name=f"{kernel.name}_{number}"))
    text = before + source(kernels, C, cores_by)
    for kernel, (_, arrays) in zip(kernels, jobs, strict=True):
        every = tuple(range(len(arrays)))
        launch = Launch(kernel.name, kernel.grid, kernel.block, every)
        made = CPU_WORKER.ask(Run(text, (launch,), tuple(arrays), every), 120)
        if isinstance(made, Failed):
            raise CFailure(f"{made.message}\n\n{text}")
        assert isinstance(made, Ran)
        for array, values in zip(arrays, made.outputs, strict=True):
            array[...] = values
    return text
