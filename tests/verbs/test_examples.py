"""Every primitive, checked through the examples in its own docstring."""

import inspect

import numpy as np
import pytest

import workbench as wb
from workbench import emulate, ir, script
from workbench.ir.verify import verify
from workbench.verbs.primitive import REGISTRY, Example, Primitive

PRIMITIVES = list(REGISTRY.values())
EXAMPLES = [
    pytest.param(example, id=example.call) for prim in PRIMITIVES for example in prim.examples
]


def run(func: ir.PrimFunc) -> list[np.ndarray]:
    """The buffers after running `func` by its meaning on small whole numbers."""
    rng = np.random.default_rng(0)
    args = [rng.integers(-4, 5, b.shape).astype(b.dtype) for b in func.params]
    emulate.evaluate(func, args)
    return args


@pytest.mark.parametrize("prim", PRIMITIVES, ids=lambda p: p.name)
def test_is_declared_in_full(prim: Primitive) -> None:
    assert prim.examples, f"{prim.name}: add a >>> example to its docstring"
    assert prim.summary.endswith("."), prim.summary
    module = inspect.getmodule(prim.apply)
    assert module is not None and module.__name__.endswith(f"primitives.{prim.name}")
    assert (module.__doc__ or "").startswith(f"{prim.name}: ")


@pytest.mark.parametrize("prim", PRIMITIVES, ids=lambda p: p.name)
def test_is_a_method_with_its_signature(prim: Primitive) -> None:
    method = getattr(wb.Schedule, prim.name)
    assert method.__doc__ == prim.doc
    assert list(inspect.signature(method).parameters)[1:] == [p.name for p in prim.params]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example: Example) -> None:
    before = script.parse(example.before)
    sch = wb.Schedule(before)
    eval(example.call, {"sch": sch})

    assert body(script.show(sch.func)) == body(example.after)  # the page is true
    assert ir.structural_equal(script.parse(example.after), sch.func)
    verify(sch.func)
    again = wb.Schedule.replay(before, sch.trace)  # the trace is enough
    assert script.show(again.func) == script.show(sch.func)
    space = {"wb": wb, "program": before}
    exec(sch.trace.as_python(), space)
    assert script.show(space["sch"].func) == script.show(sch.func)
    for left, right in zip(run(before), run(sch.func), strict=True):
        np.testing.assert_array_equal(left, right)


def body(text: str) -> list[str]:
    """The lines of a program without the comment that names the root block."""
    return [line for line in text.strip().splitlines() if 'T.block("root")' not in line]
