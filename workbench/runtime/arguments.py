"""Arrays from the learner's hands to NumPy and back: counted, checked, never silently copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from threading import TIMEOUT_MAX, Event
from typing import Any

import numpy as np

from workbench.diag import count_text
from workbench.emulate.arrays import from_number
from workbench.emulate.numbers import numpy_type, round_bfloat16
from workbench.ir import Buffer, BufferLoad, PrimFunc, stores, walk
from workbench.runtime.errors import ArgumentError
from workbench.script.memory import size_text

_KEPT = ", made before the call, so that you can read the result."
_DLPACK_CPU = (1, 3)  # DLDeviceType: kDLCPU and kDLCUDAHost


@dataclass(frozen=True)
class Argument:
    """One array of a call: what the learner passed, its values on the host, and what it is for."""

    given: Any
    host: np.ndarray
    buffer: Buffer
    written: bool

    def write_back(self) -> None:
        """Put the host's values where the learner's array lives, when that is elsewhere."""
        if not self.written or self.host is self.given or _dlpack_on_host(self.given):
            return
        _cupy_view(self.given).set(self.host)


def check_seconds(seconds: object) -> float:
    """A time limit. Raises ArgumentError for what is no number of seconds above 0."""
    is_number = isinstance(seconds, Real) and not isinstance(seconds, bool)
    if is_number and 0 < seconds <= TIMEOUT_MAX:  # type: ignore[operator]
        return float(seconds)  # type: ignore[arg-type]
    raise ArgumentError(
        f"Can't wait for {seconds!r} seconds",
        hint="give a number above 0 and below a million: seconds=60.",
    )


def check_watched(progress: object, stop: object) -> None:
    """How a run is followed and ended. Raises ArgumentError for what can do neither."""
    if progress is not None and not callable(progress):
        raise ArgumentError(
            f"Can't call progress={progress!r}",
            hint="give a function of two numbers, the blocks done and those in all: progress=print",
        )
    if stop is not None and not isinstance(stop, Event):
        raise ArgumentError(
            f"Can't be stopped by stop={stop!r}", hint="give an event: stop=threading.Event()"
        )


def written_params(func: PrimFunc) -> tuple[Buffer, ...]:
    """The parameters that `func` stores to, in order."""
    stored = {store.buffer for store in stores(func)}
    return tuple(param for param in func.params if param in stored)


def check_arguments(func: PrimFunc, arrays: Sequence[Any]) -> list[Argument]:
    """The arrays of a call of `func`, each checked against its parameter.

    Raises ArgumentError for a wrong count, kind, shape, type or layout, for an output that cannot
    be written, and for an output that shares memory with another argument.
    """
    if len(arrays) != len(func.params):
        raise ArgumentError(
            f"Can't call {func.name} with {count_text(len(arrays), 'array')}: "
            f"it takes {len(func.params)}",
            asked=signature(func),
            hint="pass " + ", ".join(b.name for b in func.params) + ", outputs included.",
        )
    written = written_params(func)
    arguments = [
        _argument(func, given, buffer, buffer in written)
        for given, buffer in zip(arrays, func.params, strict=True)
    ]
    _check_apart(func, arguments)
    return arguments


def _argument(func: PrimFunc, given: Any, buffer: Buffer, written: bool) -> Argument:
    host = _to_host(func, given, buffer)
    name, wanted = buffer.name, numpy_type(buffer.dtype)
    if isinstance(host, np.ma.MaskedArray):
        raise _unfit(
            func,
            f"`{name}` is masked, and a kernel would use what the mask hides",
            f"pass {name}.filled(0)" + (_KEPT if written else "."),
        )
    if host.shape != buffer.shape:
        raise _unfit(
            func,
            f"`{name}` has shape {_shape(host.shape)}, not {_shape(buffer.shape)}",
            f"pass an array of shape {_shape(buffer.shape)}.",
        )
    if host.dtype != wanted:
        part = ".real" if host.dtype.kind == "c" else ""
        cast = f'pass {name}{part}.astype("{wanted}")' + (_KEPT if written else ".")
        no_numbers = host.dtype.kind in "SU" or host.dtype.names
        raise _unfit(
            func,
            f"`{name}` holds {host.dtype}, not {wanted}",
            f"pass an array of {wanted}." if no_numbers else cast,
        )
    if not host.flags.c_contiguous:
        raise _unfit(
            func,
            f"the elements of `{name}` do not lie one after the other in memory",
            f"pass np.ascontiguousarray({name})" + (_KEPT if written else "."),
            detail=f"strides {host.strides} in bytes, for {host.dtype} of shape {host.shape}",
        )
    if written and not host.flags.writeable:
        raise _unfit(
            func,
            f"`{name}` is an output and its array is read-only",
            f"pass {name}.copy()" + _KEPT,
        )
    return Argument(given, host, buffer, written)


def _to_host(func: PrimFunc, given: Any, buffer: Buffer) -> np.ndarray:
    given = from_number(buffer, given)
    if isinstance(given, np.ndarray):
        return given
    if not isinstance(given, type):  # which has the methods of its arrays
        if _dlpack_on_host(given):
            return np.from_dlpack(given)
        if hasattr(given, "__cuda_array_interface__") or hasattr(given, "__dlpack_device__"):
            return _cupy_view(given).get()
    if buffer.scalar:
        hint = f"pass a number that {buffer.dtype} holds."
        raise _unfit(func, f"`{buffer.name}` is {given!r}, not {buffer.dtype}", hint)
    raise _unfit(
        func,
        f"`{buffer.name}` is a {type(given).__name__}, not an array",
        f'pass np.array(..., dtype="{numpy_type(buffer.dtype)}"), or a CuPy or DLPack array.',
    )


def _dlpack_on_host(given: Any) -> bool:
    return hasattr(given, "__dlpack_device__") and given.__dlpack_device__()[0] in _DLPACK_CPU


def _cupy_view(given: Any) -> Any:
    """`given`, an array in GPU memory, as a CuPy array of the same memory."""
    import cupy

    if isinstance(given, cupy.ndarray):
        return given
    return cupy.from_dlpack(given) if hasattr(given, "__dlpack__") else cupy.asarray(given)


def _check_apart(func: PrimFunc, arguments: list[Argument]) -> None:
    for k, one in enumerate(arguments):
        for two in arguments[k + 1 :]:
            if (one.written or two.written) and np.may_share_memory(one.host, two.host):
                a, b = one.buffer.name, two.buffer.name
                output = one.buffer if one.written else two.buffer
                made = f'np.empty({_shape(output.shape)}, "{numpy_type(output.dtype)}")'
                if any(isinstance(n, BufferLoad) and n.buffer is output for n in walk(func)):
                    made = f"{output.name}.copy()"  # the program reads what it held before
                raise _unfit(
                    func,
                    f"`{a}` and `{b}` share memory, and `{output.name}` is an output",
                    f"give it an array of its own: out = {made}, and pass out for {output.name}.",
                )


def _unfit(func: PrimFunc, found: str, hint: str, detail: str = "") -> ArgumentError:
    return ArgumentError(
        f"Can't call {func.name}: {found}", asked=signature(func), detail=detail, hint=hint
    )


def signature(func: PrimFunc) -> str:
    """What `func` takes, in a line."""
    params = ", ".join(
        f"{b.name}: {b.dtype}[{', '.join(map(size_text, b.shape))}]" for b in func.params
    )
    return f"{func.name}({params})"


def _shape(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def to_bits(argument: Argument) -> np.ndarray:
    """The host's values as the GPU stores them: bfloat16, which NumPy lacks, as its bits."""
    if argument.buffer.dtype != "bfloat16":
        return np.asarray(argument.host)  # of NumPy's own class: the worker knows no other
    return (round_bfloat16(argument.host).view(np.uint32) >> np.uint32(16)).astype(np.uint16)


def from_bits(values: np.ndarray, argument: Argument) -> np.ndarray:
    """What `to_bits` made, or the GPU wrote in its place, as values of the host's array."""
    if argument.buffer.dtype != "bfloat16":
        return values
    return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
