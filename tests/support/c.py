"""Runs programs as C on the CPU, many in one text, in the worker that learners' programs run in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench import emulate, script, target
from workbench.codegen import source
from workbench.ir import PrimFunc
from workbench.lower import lower
from workbench.runtime.devices import CPU_WORKER
from workbench.runtime.job import Failed, Launch, Ran, Run

C = target.get("c")
Job = tuple[PrimFunc, Sequence[np.ndarray]]


class CFailure(AssertionError):
    """A text that the compiler does not take, or a program that ends its worker."""


def wrong_in_c(jobs: Sequence[Job]) -> dict[int, str]:
    """Of programs that are compiled together, those that do not compute what they mean, and why."""
    try:
        return _compared(jobs)
    except CFailure as error:  # one of them: each alone tells
        if len(jobs) == 1:
            return {0: str(error)}
        each = (wrong_in_c([job]) for job in jobs)
        return {k: found[0] for k, found in enumerate(each) if found}


def _compared(jobs: Sequence[Job]) -> dict[int, str]:
    meant = [[array.copy() for array in given] for _, given in jobs]
    for (func, _), wanted in zip(jobs, meant, strict=True):
        emulate.evaluate(func, wanted)
    got = [(func, [array.copy() for array in given]) for func, given in jobs]
    run_c(got)
    return {
        number: f"another value in C: {param.name}\n{script.show(func)}"
        for number, ((func, made), wanted) in enumerate(zip(got, meant, strict=True))
        for param, a, b in zip(func.params, made, wanted, strict=True)
        if not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
    }


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
