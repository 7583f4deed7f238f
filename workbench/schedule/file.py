"""Saved schedules: a program's text and the tree of steps on it, as JSON that holds only data."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from workbench import script
from workbench.ir import IRModule, PrimFunc
from workbench.schedule.errors import ScheduleError
from workbench.schedule.history import History, HistoryNode
from workbench.schedule.step import Ref, Step, Value
from workbench.schedule.trace import Trace

FORMAT = "workbench-schedule"
VERSION = 1

# What reading damaged data raises.
DAMAGE = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


def to_data(history: History, at: HistoryNode) -> dict[str, Any]:
    """A whole history, and where in it a schedule stands, as data that JSON can hold."""
    nodes = [
        {"parent": node.parent.id, "mark": node.mark, "step": step_to_data(node.step)}
        for node in history
        if node.parent and node.step
    ]
    root = history.root
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": script.show(_single(root.mod)),
        "mark": root.mark,
        "nodes": nodes,  # in the order of their numbers, from 1
        "at": at.id,
        "answers": dict(history.answers),
    }


def save(history: History, at: HistoryNode, path: str | Path) -> None:
    """Write a whole history, and where in it a schedule stands, to `path`."""
    text = json.dumps(to_data(history, at), indent=1)
    Path(path).write_text(text + "\n", encoding="utf-8")


def trace_to_data(trace: Trace) -> list[dict[str, Any]]:
    """The steps of `trace` as data that JSON can hold."""
    return [step_to_data(step) for step in trace]


def trace_from_data(data: object) -> Trace:
    """The trace that `trace_to_data` told. Raises ScheduleError where `data` is none."""
    try:
        if not isinstance(data, list):
            raise TypeError("no list of steps")
        return Trace(tuple(step_from_data(step) for step in data))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise damaged(error) from None


def step_to_data(step: Step) -> dict[str, Any]:
    """One step as data that JSON can hold."""
    return {
        "verb": step.verb,
        "args": [_value_to_data(v) for v in step.args],
        "kwargs": {name: _value_to_data(v) for name, v in step.kwargs},
        "func": step.func,
    }


def step_from_data(data: Any) -> Step:
    """The step that `step_to_data` told. Raises KeyError, TypeError or ValueError for others."""
    args = tuple(_value_from_data(v) for v in data["args"])
    kwargs = tuple((text_of(k), _value_from_data(v)) for k, v in data["kwargs"].items())
    return Step(text_of(data["verb"]), args, kwargs, text_of(data["func"]))


def _value_to_data(value: Value) -> Any:
    if isinstance(value, Ref):
        return {f.name: _value_to_data(getattr(value, f.name)) for f in fields(value)}
    return [_value_to_data(v) for v in value] if isinstance(value, tuple) else value


def _value_from_data(data: Any) -> Value:
    if isinstance(data, dict):
        return _ref_from_data(data)
    if isinstance(data, list):
        return tuple(_value_from_data(v) for v in data)
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    raise TypeError(f"a {type(data).__name__}")


def _ref_from_data(data: dict[str, Any]) -> Ref:
    kind = data["kind"]
    if kind not in ("loop", "block"):
        raise ValueError(f"a reference to a {kind!r}")
    numbers = {k: None if data[k] is None else count_of(data[k]) for k in ("out", "nth", "index")}
    of = None if data["of"] is None else _ref_from_data(data["of"])
    if of is not None and (kind == "block" or of.kind == "loop" or of.step > data["step"]):
        raise ValueError("only a loop is told by a block, one that is there")
    return Ref(
        kind,
        count_of(data["step"]),
        of=of,
        block=text_of(data["block"]),
        name=text_of(data["name"]),
        nest=tuple(text_of(name) for name in data["nest"]),
        **numbers,
    )


def text_of(value: Any) -> str:
    """`value` if it is a text; else raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} where a text should be")
    return value


def count_of(value: Any) -> int:
    """`value` if it is a count; else raises TypeError."""
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} where a count should be")
    return value


def _single(mod: IRModule) -> PrimFunc | IRModule:
    return mod.functions[0] if len(mod.functions) == 1 else mod


def bad_file(why: str) -> ScheduleError:
    """The error for a file that is not what `save` writes."""
    return ScheduleError(
        f"Can't load this schedule: {why}"[:119], hint="pass a file that sch.save(path) wrote"
    )


def damaged(error: Exception) -> ScheduleError:
    """The error for a file in which reading found `error`."""
    first = str(error).partition("\n")[0].rstrip(".")
    return bad_file(f"part of it is missing or damaged ({first})")
