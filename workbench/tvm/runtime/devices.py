"""Devices by TVM's names; which one runs kernels here, and why, says ``wb.device()``."""

from __future__ import annotations

from dataclasses import dataclass

from workbench import runtime
from workbench import target as targets
from workbench.tvm.not_carried import NotCarried

KINDS = (*(name for name in targets.names() if "/" not in name and name != "c"), "cpu")

_ALSO = {"gpu": "cuda", "llvm": "cpu", "c": "cpu"}


@dataclass(frozen=True, slots=True)
class Device:
    """Where a lesson of TVM's puts its arrays: `kind` is one of `KINDS`."""

    kind: str
    index: int = 0

    @property
    def exist(self) -> bool:
        """Whether it is here: else the emulator runs its kernels."""
        return self.kind == "cpu" or (self.kind == "cuda" and runtime.device().is_gpu)

    @property
    def device_name(self) -> str | None:
        """What its driver calls it; None where there is none."""
        return runtime.device().which if self.kind == "cuda" and self.exist else None

    @property
    def compute_version(self) -> str | None:
        """The compute capability of a CUDA GPU, such as "9.0"; None where there is none."""
        gpu = runtime.device().gpu if self.kind == "cuda" else None
        if gpu is None:
            return None
        digits = gpu.arch.removeprefix("sm_")
        return f"{digits[:-1]}.{digits[-1]}"

    @property
    def max_threads_per_block(self) -> int | None:
        """The most threads of one block; None of a CPU."""
        return self._known.max_threads_per_block if self._known else None

    @property
    def max_thread_dimensions(self) -> list[int] | None:
        """The most threads of one block along x, y and z; None of a CPU."""
        return list(self._known.max_block) if self._known else None

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """The bytes of shared memory that one block may use; None of a CPU."""
        return self._known.max_shared_bytes if self._known else None

    @property
    def warp_size(self) -> int | None:
        """The threads of a warp; None of a CPU."""
        return self._known.warp_size if self._known else None

    @property
    def multi_processor_count(self) -> int | None:
        """The multiprocessors of the GPU; None where it is not known which one."""
        return self._known.sm_count if self._known else None

    @property
    def _known(self) -> targets.Target | None:
        """What is known of the GPU: without one, of every GPU of its kind."""
        if self.kind == "cpu":
            return None
        return runtime.device().target if self.kind == "cuda" else targets.get(self.kind)

    def sync(self, stream: object = None) -> None:
        """Wait for what runs on it: a call of a kernel has done so already."""

    def __str__(self) -> str:
        return f"{self.kind}({self.index})"

    __repr__ = __str__


def device(dev: str, index: int = 0) -> Device:
    """The device called `dev`, "cuda" or "cuda:0"; of a target its first word is read.

    Raises NotCarried for one that is not used.
    """
    kind, _, number = (str(dev).split() or [""])[0].partition(":")
    kind, asked = _ALSO.get(kind, kind), number or index
    if kind in KINDS and str(asked) == "0":
        return Device(kind)
    *most, last = (f"tvm.{known}(0)" for known in KINDS)
    raise NotCarried(
        f"Can't use {kind}({asked}): kernels run on one GPU here, or on the emulator",
        asked=f"tvm.device({dev!r}, {index})",
        hint=f"wb.device() says which; the devices are {', '.join(most)} and {last}",
    )


def enabled(target: str) -> bool:
    """Whether programs can be built for `target`: for every kind of device here they can."""
    kind = (target.split() or [""])[0]
    return _ALSO.get(kind, kind) in KINDS


def cpu(dev_id: int = 0) -> Device:
    """The host, where arrays lie, and what is built for a CPU runs."""
    return device("cpu", dev_id)


def cuda(dev_id: int = 0) -> Device:
    """The CUDA GPU, or the emulator in its place."""
    return device("cuda", dev_id)


def metal(dev_id: int = 0) -> Device:
    """The Apple GPU, in whose place the emulator runs kernels."""
    return device("metal", dev_id)


def opencl(dev_id: int = 0) -> Device:
    """A GPU by OpenCL, in whose place the emulator runs kernels."""
    return device("opencl", dev_id)
