"""Arrays, as the course spells them: tvm.nd. Today they are tvm.runtime.tensor and its kind."""

from workbench.tvm.not_carried import refusing
from workbench.tvm.runtime import Tensor as NDArray
from workbench.tvm.runtime import cpu, cuda, device, empty, metal, opencl
from workbench.tvm.runtime import cuda as gpu
from workbench.tvm.runtime import tensor as array

__all__ = ["NDArray", "array", "cpu", "cuda", "device", "empty", "gpu", "metal", "opencl"]

__getattr__ = refusing(__name__)
