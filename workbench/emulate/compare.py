"""What a result should be, by a learner's reference, and whether it is that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from traceback import extract_tb, format_exception_only
from types import TracebackType

import numpy as np

from workbench.emulate.arrays import Array, as_values
from workbench.emulate.errors import EmulationError
from workbench.ir import Buffer, dtypes

# How far two right results may lie apart: sums in another order, rounded after each addition.
_ROUNDING = {"float64": 1e-9, "float32": 1e-5, "float16": 2e-2, "bfloat16": 2e-2}

_PART = 1 << 20  # cells compared at a time: what is needed beside the arrays stays small
_SOME = 1 << 16  # values, evenly spread, from which the middle one is told
_PACKAGE = PurePath(__file__).parents[1]
_LINES = 6  # of a traceback that are told: an endless recursion has a thousand


@dataclass(frozen=True, slots=True)
class Wrong:
    """The first cell, in memory order, that is not as it should be, and how many are not."""

    cell: str  # "C[2, 5]"
    got: str
    want: str
    count: int


def first_wrong(
    name: str,
    dtype: str,
    got: Array,
    want: Array,
    *,
    tolerance: float | None = None,
    among: Array | None = None,
) -> Wrong | None:
    """Where `got`, an array called `name` with values of `dtype`, is not `want`; None: nowhere.

    NaN equals NaN, an infinity equals itself. Integers and bools must be equal. Floats may differ
    by `tolerance` of the value in `want`, and of the middle one of all values there but 0: where
    large terms cancel, what is left carries their rounding. Without `tolerance` it is that of
    `dtype`. `among` marks the cells that are looked at.

    >>> emulate.first_wrong("B", "float32", B, A)
    Wrong(cell='B[1]', got='0.0', want='1.0', count=7)
    """
    shape = got.shape
    got, want = as_values(got, dtype).reshape(-1), as_values(want, dtype).reshape(-1)
    looked = None if among is None else among.reshape(-1)
    allowed = 0.0
    if dtypes.is_float(dtype):
        allowed = _ROUNDING[dtype] if tolerance is None else tolerance
    beside = allowed * _median_size(want) if allowed else 0.0
    first, count = 0, 0
    for start in range(0, got.size, _PART):
        part = slice(start, start + _PART)
        unlike = got[part] != want[part]
        cells = np.flatnonzero(unlike if looked is None else unlike & looked[part]) + start
        if dtypes.is_float(dtype) and cells.size:
            mine, theirs = got[cells].astype(np.float64), want[cells].astype(np.float64)
            cells = cells[~np.isclose(mine, theirs, allowed, beside, equal_nan=True)]
        if cells.size:
            first, count = first if count else int(cells[0]), count + cells.size
    if not count:
        return None
    at = ", ".join(str(k) for k in np.unravel_index(first, shape)) or "()"
    return Wrong(f"{name}[{at}]", str(got[first]), str(want[first]), count)


def rounding(dtype: str) -> float:
    """By what part of its value a right result of the float type `dtype` may be off."""
    return _ROUNDING[dtype]


def _median_size(values: Array) -> float:
    """About the median of the sizes of those values that are finite and not 0; 1 where none is."""
    some = values[:: values.size // _SOME + 1].astype(np.float64)
    sizes = np.abs(some[np.isfinite(some) & (some != 0)])
    return float(np.median(sizes)) if sizes.size else 1.0


# --- what a reference says -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expected:
    """What the arrays should become; `untouched` are the outputs that the reference left alone."""

    arrays: Sequence[Array]
    untouched: frozenset[Buffer] = frozenset()

    def refuse_untouched(self, param: Buffer, wrong: Wrong) -> None:
        """Raise EmulationError where `wrong` stems from a reference that wrote nothing there."""
        if param in self.untouched:
            raise _misuse(
                f"it left `{param.name}` as it was",
                hint=f"write into the array: {_assign([param])}; "
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

    >>> def reference(A, B):
    ...     B[:] = A + 1
    >>> expected = emulate.expected(reference, add.params, [A, B], [add.params[1]])
    >>> expected.arrays[1]
    array([1., 2., 3., 4., 5., 6., 7., 8.], dtype=float32)
    """
    wanted = [np.copy(array) for array in args]
    written = [param for param in params if param in outputs]
    try:
        returned = reference(*wanted)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and _is_main_thread():
            raise  # the learner's own: no other thread gets those
        raise _explain_error(error, params, written) from None
    untouched = set()
    for param, before, after in zip(params, args, wanted, strict=True):
        if after.shape != before.shape:
            fault = f"it gave `{param.name}` the shape {after.shape}"
            hint = f"keep its shape, {before.shape}, and write into it: {_assign([param])}"
            raise _misuse(fault, hint)
        if _is_same(before, after):
            untouched.add(param)
        elif param not in outputs:
            hint = f"change a copy, {param.name}.copy(), and write into outputs only"
            raise _misuse(f"it changed its input `{param.name}`", hint)
    if not all(_is_one_of(value, wanted) for value in _list_values(returned)):
        fault = f"it returned a value ({type(returned).__name__}) that nobody looks at"
        raise _misuse(fault, f"write the result into the output: {_assign(written)}")
    return Expected(wanted, frozenset(untouched))


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_same(before: Array, after: Array) -> bool:
    return bool(((before == after) | ((before != before) & (after != after))).all())


def _list_values(returned: object) -> list[object]:
    values = returned if isinstance(returned, (tuple, list)) else (returned,)
    return [value for value in values if value is not None]


def _is_one_of(value: object, arrays: Sequence[Array]) -> bool:
    """Whether it is one of the arrays, as ``np.add(A, B, out=C)`` returns C."""
    return isinstance(value, np.ndarray) and any(np.may_share_memory(value, a) for a in arrays)


def _assign(params: Sequence[Buffer]) -> str:
    return ", ".join(f"{param.name}[...] = …" for param in params)


def _explain_error(
    error: BaseException, params: Sequence[Buffer], written: Sequence[Buffer]
) -> EmulationError:
    said = "".join(format_exception_only(error)).strip()
    first, _, rest = said.partition("\n")
    names = ", ".join(param.name for param in params)
    return _misuse(
        f"it raised {first}",
        hint=f"it is called with {names}, in this order, and is to write {_assign(written)}",
        where=_tell_lines(error.__traceback__),
        detail=said if rest else "",
    )


def _tell_lines(trace: TracebackType | None) -> str:
    """The lines outside of the package that led to an error, the outermost first."""
    lines = [
        f"  line {frame.lineno}, in {frame.name}: {frame.line}"
        for frame in extract_tb(trace)
        if not PurePath(frame.filename).is_relative_to(_PACKAGE)
    ]
    if len(lines) > _LINES:
        lines[_LINES // 2 : -_LINES // 2] = ["  …"]
    return "\n".join(lines)


def _misuse(found: str, hint: str, *, where: str = "", detail: str = "") -> EmulationError:
    headline = f"Can't compare with the reference: {found}"
    return EmulationError(headline, where=where, detail=detail, hint=hint)
