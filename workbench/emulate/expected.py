"""expected: what a learner's reference makes of the arrays; its own mistakes are told as such."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from traceback import extract_tb, format_exception_only
from types import TracebackType
from typing import Any

import numpy as np

from workbench.emulate.errors import EmulationError
from workbench.emulate.first_wrong import Wrong
from workbench.ir import Buffer

Array = np.ndarray[Any, Any]

_PACKAGE = PurePath(__file__).parents[1]
_LINES = 6  # of a traceback that are told: an endless recursion has a thousand


@dataclass(frozen=True, slots=True)
class Expected:
    """What the arrays should become; `untouched` are the outputs that the reference left alone."""

    arrays: Sequence[Array]
    untouched: frozenset[Buffer] = frozenset()

    def refuse_untouched(self, param: Buffer, wrong: Wrong) -> None:
        """Raise EmulationError where `wrong` stems from a reference that wrote nothing there."""
        if param in self.untouched:
            raise _misused(
                f"it left `{param.name}` as it was",
                hint=f"write into the array: {_written([param])}; "
                f"`{param.name} = …` makes a new one that nobody sees",
                detail=f"{wrong.cell} is {wrong.got} after the run, still {wrong.want} after it",
            )


def expected(
    reference: Callable[..., object],
    params: Sequence[Buffer],
    args: Sequence[Array],
    outputs: Collection[Buffer],
) -> Expected:
    """Call `reference` with copies of `args`, of which it writes `outputs` in place.

    Raises EmulationError for what it raises, with the line in the learner's function, and where it
    changes an input or the shape of an array, or returns results instead of writing them.
    """
    wanted = [np.copy(array) for array in args]
    written = [param for param in params if param in outputs]
    try:
        returned = reference(*wanted)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and _is_main_thread():
            raise  # the learner's own: no other thread gets those
        raise _raised(error, params, written) from None
    untouched = set()
    for param, before, after in zip(params, args, wanted, strict=True):
        if after.shape != before.shape:
            found = f"it gave `{param.name}` the shape {after.shape}"
            hint = f"keep its shape, {before.shape}, and write into it: {_written([param])}"
            raise _misused(found, hint)
        if _same(before, after):
            untouched.add(param)
        elif param not in outputs:
            hint = f"change a copy, {param.name}.copy(), and write into outputs only"
            raise _misused(f"it changed its input `{param.name}`", hint)
    if not all(_is_one_of(value, wanted) for value in _flat(returned)):
        found = f"it returned a value ({type(returned).__name__}) that nobody looks at"
        raise _misused(found, f"write the result into the output: {_written(written)}")
    return Expected(wanted, frozenset(untouched))


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _same(before: Array, after: Array) -> bool:
    return bool(((before == after) | ((before != before) & (after != after))).all())


def _flat(returned: object) -> list[object]:
    values = returned if isinstance(returned, (tuple, list)) else (returned,)
    return [value for value in values if value is not None]


def _is_one_of(value: object, arrays: Sequence[Array]) -> bool:
    """Whether it is one of the arrays, as ``np.add(A, B, out=C)`` returns C."""
    return isinstance(value, np.ndarray) and any(np.may_share_memory(value, a) for a in arrays)


def _written(params: Sequence[Buffer]) -> str:
    return ", ".join(f"{param.name}[...] = …" for param in params)


def _raised(
    error: BaseException, params: Sequence[Buffer], written: Sequence[Buffer]
) -> EmulationError:
    said = "".join(format_exception_only(error)).strip()
    first, _, rest = said.partition("\n")
    names = ", ".join(param.name for param in params)
    return _misused(
        f"it raised {first}",
        hint=f"it is called with {names}, in this order, and is to write {_written(written)}",
        where=_traceback(error.__traceback__),
        detail=said if rest else "",
    )


def _traceback(trace: TracebackType | None) -> str:
    """The lines outside of the package that led to an error, the outermost first."""
    lines = [
        f"  line {frame.lineno}, in {frame.name}: {frame.line}"
        for frame in extract_tb(trace)
        if not PurePath(frame.filename).is_relative_to(_PACKAGE)
    ]
    if len(lines) > _LINES:
        lines[_LINES // 2 : -_LINES // 2] = ["  …"]
    return "\n".join(lines)


def _misused(found: str, hint: str, *, where: str = "", detail: str = "") -> EmulationError:
    headline = f"Can't compare with the reference: {found}"
    return EmulationError(headline, where=where, detail=detail, hint=hint)
