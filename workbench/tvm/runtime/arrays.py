"""Arrays by TVM's names; they lie on the host, and a call takes them to the GPU and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.emulate.numbers import numpy_type
from workbench.tvm.runtime.devices import Device, cpu


class Tensor:
    """An array of a lesson of TVM's: `tvm.runtime.Tensor`, once `tvm.nd.NDArray`.

    `host` is its NumPy array, which a call reads and writes in place.
    """

    def __init__(self, host: np.ndarray[Any, Any], device: Device) -> None:
        self.host = host
        self.device = device

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self.host.shape

    @property
    def dtype(self) -> str:
        """The type of its elements."""
        return str(self.host.dtype)

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy, as a NumPy array."""
        return self.host.copy()

    asnumpy = numpy

    def copyfrom(self, source_array: Any) -> Tensor:
        """Take over the values of an array of the same shape. Raises ValueError for another."""
        source = np.asarray(host_of(source_array))
        if source.shape != self.shape:
            raise ValueError(f"shape {source.shape} does not fit into {self.shape}")
        self.host[...] = source
        return self

    def copyto(self, target: Tensor | Device) -> Tensor:
        """Give its values to `target`, of the same shape, or to a new array for a device.

        Raises ValueError for another shape.
        """
        return tensor(self, target) if isinstance(target, Device) else target.copyfrom(self)

    def __str__(self) -> str:
        return str(self.host)

    def __repr__(self) -> str:
        return f"<Tensor shape={self.shape}, {self.device}>\n{self.host!r}"


def tensor(arr: Any, device: Device | None = None, ctx: Device | None = None) -> Tensor:
    """A copy of `arr`, for `device`, which TVM 0.7 and before called `ctx`."""
    return Tensor(np.array(host_of(arr), order="C"), device or ctx or cpu())


def empty(
    shape: int | Sequence[int],
    dtype: str = "float32",
    device: Device | None = None,
    ctx: Device | None = None,
) -> Tensor:
    """An array of `shape` whose elements nobody has set, for `device`, or `ctx`."""
    return Tensor(np.empty(shape, numpy_type(dtype)), device or ctx or cpu())


def host_of(value: Any) -> Any:
    """The NumPy array of a Tensor; anything else as it is."""
    return value.host if isinstance(value, Tensor) else value
