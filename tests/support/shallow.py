"""Calls of TVM that read programs, without most of the time that it takes to look at the stack."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import ParamSpec, TypeVar
from unittest.mock import patch

Given = ParamSpec("Given")
Result = TypeVar("Result")


def shallow(act: Callable[Given, Result], *args: Given.args, **named: Given.kwargs) -> Result:
    """What `act` returns or raises, called in a thread of its own, which has a short stack.

    For each program that it reads, TVM asks `inspect` for the line of every frame; under pytest
    that took as long as all else, and 100 seconds where it imports its tensor intrinsics.
    """
    with ThreadPoolExecutor(1) as own, patch.object(inspect, "getouterframes", outer_frames):
        return own.submit(act, *args, **named).result()


def outer_frames(frame: FrameType | None, context: int = 1) -> list[inspect.FrameInfo]:
    """What `inspect.getouterframes` says, each with the one line that it is at.

    Python's goes through all modules for a frame of none of them, as those of an import are.
    """
    found = []
    while frame is not None:
        name, line = frame.f_code.co_filename, frame.f_lineno
        text = linecache.getline(name, line, frame.f_globals)
        lines = [text] if text else None
        found.append(inspect.FrameInfo(frame, name, line, frame.f_code.co_name, lines, 0))
        frame = frame.f_back
    return found
