"""Writes the reference of all public names from their docstrings: ``python -m docs.reference``."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import workbench as wb
from docs.stubs import verbs

PATH = Path(__file__).with_suffix(".md")

SCENE = """import numpy as np
import workbench as wb
from workbench import T, emulate, lesson, script, te, tuning


@T.prim_func
def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)


sch = wb.Schedule(add)  # another one in each example

bound = wb.Schedule(add)
i_0, i_1 = bound.split("i", factors=[2, 4])
bound.bind(i_0, "blockIdx.x")
bound.bind(i_1, "threadIdx.x")
kernel = wb.build(bound)

A, B = np.arange(8, dtype="float32"), np.zeros(8, "float32")
X, k = te.placeholder((8, 8), name="X"), te.reduce_axis((0, 8), name="k")
"""

CODE = re.compile(r"(?:^>>> .*\n(?:\.\.\. .*\n|\.\.\.\n)*(?:(?!>>> |\s*$).*\n)*)+", re.M)

# Functions of numbers: what they compute is said in a line, and all are called alike.
OF_ONE = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf"),
    *("exp", "exp10", "exp2", "floor", "log", "log10", "log1p", "log2", "nearbyint", "round"),
    *("rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
_SCRIPT = ("parse", "show", "print_highlighted", "print_diff")
OF_TWO = ("atan2", "copysign", "fmod", "hypot", "power", "equal", "not_equal")


def scene() -> dict[str, Any]:
    """What examples find: the names that `SCENE` makes."""
    name = "<scene of the reference>"
    linecache.cache[name] = (len(SCENE), None, SCENE.splitlines(keepends=True), name)
    names: dict[str, Any] = {}
    exec(compile(SCENE, name, "exec"), names)
    return names


def public() -> dict[str, dict[str, Any]]:
    """Every public name that has an entry of its own, by section."""
    built, timing, report = wb.runtime.Built, wb.runtime.Timing, wb.runtime.DeviceReport
    of_te = [name for name in wb.te.__all__ if name not in (*OF_ONE, *OF_TWO)]
    of_schedule = [name for name in _members(wb.Schedule) if name not in verbs()]
    handles = ("LoopHandle", "BlockHandle")
    of_tuning = (
        *("require", "choices", "ready", "read", "show"),
        *("tune_tasks", "t4", "tvm_database", "from_tvm"),
    )
    tried, of_tried = (
        wb.tuning.Tried,
        ("best", "choices", "figure", "candidate", "beside", "ablation"),
    )
    return {
        "wb": {
            **{f"wb.{name}": getattr(wb, name) for name in wb._HOME},
            "lab.to_html": wb.widgets.Lab.to_html,
            **{f"wb.TensorIntrin.{n}": getattr(wb.TensorIntrin, n) for n in ("register", "get")},
            "T.prim_func": wb.T.prim_func,
            "wb.ir.PrimFunc": wb.ir.PrimFunc,
            **{f"program.{name}": _member(wb.ir.PrimFunc, name) for name in ("script", "show")},
            **{f"script.{name}": getattr(wb.script, name) for name in _SCRIPT},
        },
        "Schedules": {
            **{f"sch.{name}": _member(wb.Schedule, name) for name in of_schedule},
            **{f"wb.schedule.{name}": getattr(wb.schedule, name) for name in handles},
        },
        "Verbs": {f"sch.{name}": verb for name, verb in verbs().items()},
        "Kernels": {
            "kernel": built,
            "kernel(…)": built.__call__,
            **{f"kernel.{name}": _member(built, name) for name in _members(built)},
            "wb.runtime.Timing": timing,
            **{f"timing.{name}": _member(timing, name) for name in _members(timing)},
            "wb.runtime.DeviceReport": report,
            **{f"report.{name}": _member(report, name) for name in _members(report)},
        },
        "Tuning": {
            **{f"tuning.{name}": getattr(wb.tuning, name) for name in of_tuning},
            "wb.tuning.Tried": tried,
            **{f"tried.{name}": _member(tried, name) for name in of_tried},
        },
        "Emulator": {f"emulate.{name}": getattr(wb.emulate, name) for name in wb.emulate.__all__},
        "Compute expressions": {f"te.{name}": getattr(wb.te, name) for name in of_te},
        "Lessons": {f"lesson.{name}": getattr(wb.lesson, name) for name in wb.lesson.__all__},
    }


def _members(cls: type) -> list[str]:
    """The public methods and properties that a class itself defines."""
    return [
        name
        for name, value in vars(cls).items()
        if not name.startswith("_")
        and (inspect.isroutine(value) or isinstance(value, (property, classmethod)))
    ]


def _member(cls: type, name: str) -> Any:
    static = inspect.getattr_static(cls, name)
    return static if isinstance(static, property) else getattr(cls, name)


def reference() -> str:
    """The text of the reference."""
    lines = [
        "# Reference",
        "",
        "Written from docstrings by `python -m docs.reference`. The verbs come with the program "
        "before and after; all other examples run on this:",
        "",
        f"```python\n{SCENE}```",
        "",
        "Shapes are tuples of whole numbers, as NumPy has them. Times are in seconds. Arrays are "
        "passed one for each parameter of the program, with its shape and type; results are "
        "written into them. Every verb raises ScheduleError where the step is not possible or "
        "would change what the program means, and leaves the schedule where it was.",
        "",
    ]
    for section, names in public().items():
        lines += [f"## {section}", ""]
        for name, value in names.items():
            lines += [*_entry(name, value), ""]
        if section == "Compute expressions":
            lines += [*_numbers(), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _entry(name: str, value: Any) -> Iterator[str]:
    signature = ""
    if callable(value) and not isinstance(value, type(wb.T)):
        signature = _signature(value)
    yield f"### `{name.removesuffix('(…)')}{signature}`"
    yield ""
    doc = inspect.getdoc(value) or ""
    if isinstance(value, type(wb.T)):
        doc = inspect.getdoc(type(value)) or ""
    if "\n---\n" in doc:
        told, _, example = doc.partition(">>> ")
        call, _, programs = example.partition("\n")
        before, _, after = programs.partition("\n---\n")
        yield told.rstrip()
        yield f"\n```python\n{call}\n```\n"
        yield f"```python\n{before}\n```\n\nbecomes\n\n```python\n{after}\n```"
        return
    yield CODE.sub(lambda code: f"```python\n{code[0].rstrip()}\n```\n", doc + "\n").rstrip()


def _signature(value: Any) -> str:
    if isinstance(value, type) and issubclass(value, Exception):
        return ""
    signature = inspect.signature(value)
    params = [p for p in signature.parameters.values() if p.name != "self"]
    text = str(signature.replace(parameters=params)).replace("'", "").replace('"', "'")
    return text.removesuffix(" -> None") if isinstance(value, type) else text


def _numbers() -> Iterator[str]:
    """The functions of numbers, a line each."""
    yield "### Functions of numbers"
    yield ""
    yield "They take elements and numbers, and give an element for `te.compute`:"
    yield ""
    yield "```python\n>>> te.compute((8, 8), lambda i, j: te.exp(X[i, j]))\n"
    yield "Tensor('compute', (8, 8), 'float32')\n```"
    yield ""
    for name in (*OF_ONE, *OF_TWO):
        function = getattr(wb.te, name)
        args = ", ".join(inspect.signature(function).parameters)
        yield f"- `te.{name}({args})`: {inspect.getdoc(function)}"


if __name__ == "__main__":
    PATH.write_text(reference(), encoding="utf-8")
