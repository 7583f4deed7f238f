"""convert: Python's values as those that programs are written with."""

from __future__ import annotations

from typing import Any

from workbench import te


def convert(value: Any) -> Any:
    """A number as a constant, int32 or float32; lists and dictionaries of such; else `value`.

    >>> tvm.convert([4, 0.5])[0].dtype
    'int32'
    """
    if isinstance(value, bool | int | float):
        return te.const(value)
    if isinstance(value, list | tuple):
        return [convert(one) for one in value]
    return {key: convert(one) for key, one in value.items()} if isinstance(value, dict) else value
