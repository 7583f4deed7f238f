"""GPUs and the CPU by name: tvm.target."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import fields
from typing import Any, TypeAlias

from workbench import target as targets
from workbench.tvm.not_carried import refusing
from workbench.tvm.runtime.devices import Device
from workbench.tvm.runtime.devices import device as make_device

__all__ = ["Target", "create", "cuda", "current_target", "metal"]


TargetLike: TypeAlias = "str | targets.Target | Mapping[str, Any]"


class Kind(str):
    """The kind of a target, which lessons ask for its name: ``target.kind.name``."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """As TVM calls it: of a CPU "llvm", which "c" means here."""
        return "llvm" if self == "c" else str(self)


class Target(targets.Target):
    """The GPU, or every GPU of a kind, called `target`; the options behind a kind are left out.

    "llvm" and "c" are this machine's CPU, whatever `-mcpu` says. In TVM's other form it is a
    dictionary, of which "kind" is read, or "tag". Inside ``with Target("cuda"):`` programs are
    built for it, where no other is named. Raises TargetError for a name that the catalogue does not
    have. `host` is TVM's: here Python is the host.

    >>> Target("cuda -arch=sm_80").name, Target({"kind": "cuda", "arch": "sm_80"}).name
    ('cuda', 'cuda')
    """

    __slots__ = ("_before",)

    _before: list[Token[Target | None]]

    def __init__(self, target: TargetLike, host: object = None) -> None:
        if isinstance(target, Mapping):
            target = str(target.get("tag") or target.get("kind") or "")
        called = target.split()[0] if isinstance(target, str) and target.strip() else target
        known = targets.get(called)
        for fact in fields(targets.Target):
            object.__setattr__(self, fact.name, getattr(known, fact.name))
        object.__setattr__(self, "kind", Kind(known.kind))
        object.__setattr__(self, "_before", [])

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """That of the innermost ``with`` around. Raises ValueError where one is needed."""
        if _CURRENT.get() is None and not allow_none:
            raise ValueError('there is no target here: write it in with tvm.target.Target("cuda"):')
        return _CURRENT.get()

    @staticmethod
    def from_device(device: str | Device) -> Target:
        """The target of a device: of a GPU that is not here, all of its kind."""
        dev = make_device(device) if isinstance(device, str) else device
        return Target(targets.of_device(dev.device_name) if dev.device_name else dev.kind)

    @property
    def max_num_threads(self) -> int:
        """The most threads of one block, as TVM calls it."""
        return self.max_threads_per_block

    @property
    def thread_warp_size(self) -> int:
        """The threads of a warp, as TVM calls it."""
        return self.warp_size

    @property
    def attrs(self) -> dict[str, str | int]:
        """What is known of it, by TVM's names."""
        return {
            "arch": self.arch,
            "max_num_threads": self.max_num_threads,
            "max_shared_memory_per_block": self.max_shared_bytes,
            "thread_warp_size": self.thread_warp_size,
        }

    def __enter__(self) -> Target:
        self._before.append(_CURRENT.set(self))
        return self

    def __exit__(self, *raised: object) -> None:
        _CURRENT.reset(self._before.pop())


_CURRENT: ContextVar[Target | None] = ContextVar("Target", default=None)


create = Target  # as TVM 0.7 and before spell both
current_target = Target.current


def cuda(model: str = "") -> targets.Target:
    """Every CUDA GPU; which `model` it is changes nothing in TVM's code for it."""
    return Target("cuda")


def metal(model: str = "") -> targets.Target:
    """Every Apple GPU; which `model` it is changes nothing in TVM's code for it."""
    return Target("metal")


__getattr__ = refusing(__name__)
