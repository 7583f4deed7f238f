"""Double buffers as TVM's own pass makes them: what is stored when, and in which copy."""

from __future__ import annotations

import random
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.cases import CASES
from tests.support.gpu_programs import parsed
from tests.support.pipelines import expanded
from tests.support.tvm_oracle import load_tvm
from workbench import script

TURNS = 7


class Cells:
    """A buffer of which each load is a text, and each store is told."""

    def __init__(self, name: str, told: list[str]) -> None:
        self.name, self.told = name, told

    def __getitem__(self, index: Any) -> str:
        first, *_ = index if isinstance(index, tuple) else (index,)
        return f"{self.name}[{first}]"

    def __setitem__(self, index: Any, value: str) -> None:
        self.told.append(f"{self[index]} = {value}")


def stores(text: str) -> list[str]:
    """What a program's text stores, in order: it is run as Python, where it means the same."""
    words = SimpleNamespace(
        Mul=lambda a, b: a * b,
        Add=lambda a, b: a + b,
        FloorMod=lambda a, b: a % b,
        axis=SimpleNamespace(spatial=lambda _, value: value),
    )
    dropped = ("T.", "S =", "U =", "#")
    body = text[text.index("):\n", text.index("def main")) + 3 :].splitlines()
    kept = [line for line in body if line.strip() and not line.strip().startswith(dropped)]
    plain = [
        line.split("with T.block")[0] + "if True:" if "T.block" in line else line for line in kept
    ]
    told: list[str] = []
    exec(dedent("\n".join(plain)), {"T": words, **{name: Cells(name, told) for name in "ABCSU"}})
    return told


HEAD = ", ".join(f'{name}: T.Buffer(({TURNS},), "float32")' for name in "ABC")


def theirs(statements: list[str], doubled: set[str]) -> list[str]:
    """What TVM's pass makes of the statements, of which some fill a double buffer."""
    import tvm
    from tvm.s_tir import transform

    _, read = load_tvm()
    lines = [f"@T.prim_func(s_tir=True)\ndef main({HEAD}):\n    for k in range({TURNS}):"]
    lines += [f'        {name} = T.alloc_buffer((1,), "float32", scope="shared")' for name in "SU"]
    for line in statements:
        if line[0] in doubled:
            lines += [
                f'        with T.attr({line[0]}.data, "double_buffer_scope", 1):',
                f"            {line}",
            ]
        else:
            lines += [f"        {line}"]
    with tvm.transform.PassContext(config={"s_tir.InjectDoubleBuffer": {"split_loop": 0}}):
        module = tvm.IRModule({"main": read("\n".join(lines))})
        return stores(transform.InjectDoubleBuffer()(module).script())


def ours(statements: list[str], doubled: set[str]) -> list[str]:
    lines = [f"\n@T.prim_func\ndef main({HEAD}):"]
    lines += [f'    {name} = T.alloc_buffer((1,), "float32", scope="shared")' for name in "SU"]
    lines += [f"    for k in range({TURNS}):"]
    for line in statements:
        note = '            T.block_attr({"double_buffer_scope": 0})'
        lines += [f'        with T.block("{line[0]}"):', *([note] if line[0] in doubled else [])]
        lines += [f"            {line}"]
    return stores(script.show(expanded(parsed("\n".join(lines)))))


@pytest.mark.fuzz
def test_fetches_run_a_turn_ahead_as_in_tvm():
    pytest.importorskip("tvm", reason="TVM is not installed")
    rng = random.Random(0)
    for _ in range(CASES // 2):
        statements = ["S[0] = A[k]", "B[k] = S[0]", "C[k] = A[k]"]
        statements.insert(rng.randrange(4), "U[0] = A[k]")
        statements.append("C[k] = U[0]")
        doubled = {name for name in "SU" if rng.random() < 0.7}
        assert ours(statements, doubled) == theirs(statements, doubled)
