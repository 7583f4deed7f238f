"""GPUs and the CPU by name: tvm.target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import target as targets
from workbench.tvm.not_carried import refusing

__all__ = ["Target", "cuda", "metal"]


def Target(name: str | Mapping[str, Any] | targets.Target, host: object = None) -> targets.Target:
    """The GPU, or every GPU of a kind, called `name`; the options behind a kind are left out.

    So are those beside one in a mapping such as ``{"kind": "cuda", "arch": "sm_80"}``.

    "llvm" and "c" are this machine's CPU, whatever `-mcpu` says. Raises TargetError for a name that
    the catalogue does not have. `host` is TVM's: here Python is the host.

    >>> Target("cuda -arch=sm_80").name
    'cuda'
    """
    if isinstance(name, Mapping):
        name = name.get("tag") or name.get("kind") or ""
    kind = name.split()[0] if isinstance(name, str) and name.strip() else name
    return targets.get(kind)


def cuda(model: str = "") -> targets.Target:
    """Every CUDA GPU; which `model` it is changes nothing in TVM's code for it."""
    return Target("cuda")


def metal(model: str = "") -> targets.Target:
    """Every Apple GPU; which `model` it is changes nothing in TVM's code for it."""
    return Target("metal")


__getattr__ = refusing(__name__)
