"""What a CUDA GPU can do: tvm.contrib.nvcc."""

from __future__ import annotations

from workbench.tvm.not_carried import refusing
from workbench.tvm.runtime import cuda

__all__ = ["have_tensorcore"]

_FIRST_WITH_TENSOR_CORES = 7  # Volta, compute capability 7.0


def have_tensorcore(compute_version: str | None = None) -> bool:
    """Whether a GPU of that compute capability, such as "9.0", has tensor cores.

    Without one it is asked of the GPU here; False where there is none.
    """
    version = compute_version or cuda(0).compute_version
    return version is not None and int(version.partition(".")[0]) >= _FIRST_WITH_TENSOR_CORES


__getattr__ = refusing(__name__)
