"""Calls with a short stack."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def shallow(act: Callable[Given, Result], *args: Given.args, **named: Given.kwargs) -> Result:
    """What `act` returns or raises, called in a thread of its own.

    For TVM, which looks up the source of every frame of the stack for each program that it reads:
    under pytest that takes as long as all else.
    """
    with ThreadPoolExecutor(1) as own:
        return own.submit(act, *args, **named).result()
