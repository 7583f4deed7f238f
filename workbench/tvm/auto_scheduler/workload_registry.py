"""Computations by name: tvm.auto_scheduler.workload_registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar, overload

from workbench.te import Tensor
from workbench.tuning import TuneError
from workbench.tvm.not_carried import refusing

__all__ = ["register_workload"]

Workload: TypeAlias = Callable[..., Sequence[Tensor]]
"""Makes the tensors of a computation, those that are given and those that are computed."""
Made = TypeVar("Made", bound=Workload)

_KNOWN: dict[str, Workload] = {}


@overload
def register_workload(func: Made) -> Made: ...
@overload
def register_workload(func: str) -> Callable[[Made], Made]: ...
def register_workload(func: Workload | str) -> object:
    """Keep a function that makes tensors by its name; a later one of that name takes its place.

    With a name in its place, what keeps a function by that.

    >>> @auto_scheduler.register_workload
    ... def doubled(n):
    ...     a = te.placeholder((n,), name="a")
    ...     return [a, te.compute((n,), lambda i: a[i] * 2.0, name="b")]
    >>> task = auto_scheduler.SearchTask(func="doubled", args=(8,), target="nvidia/h200")
    """
    if isinstance(func, str):
        return partial(_keep, func)
    return _keep(func.__name__, func)


def _keep(name: str, func: Made) -> Made:
    _KNOWN[name] = func
    return func


def workload(func: str | Workload) -> Workload:
    """The function itself, or that of the name. Raises TuneError for a name that none has."""
    if not isinstance(func, str):
        return func
    if func not in _KNOWN:
        raise TuneError(
            f"Can't find the workload {func!r}: none of that name is registered"[:119],
            hint="write @auto_scheduler.register_workload above the function that makes it",
        )
    return _KNOWN[func]


__getattr__ = refusing(__name__)
