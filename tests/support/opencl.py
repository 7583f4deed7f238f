"""Runs the OpenCL text of kernels on the CPU, where pyopencl and PoCL are installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tests.support.cpp import bytes_of, memory_of
from workbench import target
from workbench.codegen import source
from workbench.ir import Kernel
from workbench.lower import Lowered

OPENCL = target.get("opencl")
OPTIONS = ("-cl-std=CL1.2", "-cl-opt-disable", "-Werror")


def run_opencl(jobs: Sequence[tuple[Lowered, Sequence[np.ndarray]]]) -> None:
    """Run programs, compiled together, on arrays for their parameters.

    Outputs are written in place. A warning of the compiler's is an error.
    """
    cl, context, queue = _device()
    programs = [_numbered(lowered.kernels, n) for n, (lowered, _) in enumerate(jobs)]
    text = source([kernel for kernels in programs for kernel in kernels], OPENCL)
    code = cl.Program(context, text).build(options=list(OPTIONS), cache_dir=False)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    for (lowered, arrays), kernels in zip(jobs, programs, strict=True):
        whole = memory_of(lowered)
        unset = [np.full(bytes_of(buffer), 0xFF, "uint8") for buffer in whole[len(arrays) :]]
        held = [cl.Buffer(context, flags, hostbuf=data) for data in (*arrays, *unset)]
        memory = dict(zip(whole, held, strict=True))
        for kernel in kernels:
            views = dict(kernel.views)
            threads = tuple(np.multiply(kernel.grid, kernel.block).tolist())
            given = [memory[views[flat]] for flat in kernel.params]
            getattr(code, kernel.name)(queue, threads, kernel.block, *given)
        for array, there in zip(arrays, held, strict=False):
            cl.enqueue_copy(queue, array, there)


def _numbered(kernels: Sequence[Kernel], number: int) -> list[Kernel]:
    """The kernels under names that no other program has."""
    return [replace(kernel, name=f"{kernel.name}_{number}") for kernel in kernels]


@cache
def _device() -> tuple[Any, Any, Any]:
    """pyopencl, a context on a CPU, and its queue."""
    import pyopencl as cl

    devices = (d for p in cl.get_platforms() for d in p.get_devices(cl.device_type.CPU))
    context = cl.Context([next(devices)])
    return cl, context, cl.CommandQueue(context)
