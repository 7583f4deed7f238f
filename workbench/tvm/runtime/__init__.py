"""Devices, arrays and built programs: tvm.runtime."""

from workbench.tvm.not_carried import refusing
from workbench.tvm.runtime.arrays import Tensor, empty, tensor
from workbench.tvm.runtime.convert import convert
from workbench.tvm.runtime.devices import Device, cpu, cuda, device, enabled, metal, opencl
from workbench.tvm.runtime.modules import BenchmarkResult, Module

__all__ = [
    "BenchmarkResult",
    "Device",
    "Module",
    "Tensor",
    "convert",
    "cpu",
    "cuda",
    "device",
    "empty",
    "enabled",
    "metal",
    "opencl",
    "tensor",
]

__getattr__ = refusing(__name__)
