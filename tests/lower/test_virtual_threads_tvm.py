"""Virtual threads in kernels, store by store, as TVM lowers the same program."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

import workbench as wb
from tests.support.gpu_programs import parsed
from tests.support.shallow import shallow
from tests.support.tvm_oracle import load_tvm
from tests.support.virtual_threads import MATMUL, convolution, strided_matmul, tutorial_steps
from workbench import lower, script, target
from workbench.ir import PrimFunc


@pytest.fixture(autouse=True)
def tvm() -> None:
    """TVM, which takes seconds to import, and is not for all who collect the tests."""
    pytest.importorskip("tvm", reason="TVM is not installed")


NAMED = ("vthread.y", "vthread.x")  # TVM 0.27 lowers plain axes otherwise


def ours(func: PrimFunc) -> str:
    stages = {step.name: step.after for step in lower.lower(func, target.get("cuda")).history}
    (kernel,) = stages["flatten_buffers"]  # ahead of vectors and unrolled loops
    text = script.show(kernel)
    places = re.findall(r'(\w+) = T\.launch_thread\("(\w+)\.(\w)"', text)
    for name, unit, axis in places:
        text = re.sub(rf"\b{name}\b", f"{unit}_{axis}", text)
    return text


def theirs(func: PrimFunc) -> str:
    import tvm.script
    from tvm import IRModule, tirx
    from tvm.s_tir import transform
    from tvm.script import ir

    text = script.show(func, dialect="tvm")
    read = shallow(tvm.script.from_source, text, {"T": tvm.script.tirx, "I": ir})
    module = read if isinstance(read, IRModule) else IRModule({"main": read})
    for step in (
        transform.LowerInitBlock(),
        transform.PlanAndUpdateBufferAllocationLocation(),
        transform.ConvertBlocksToOpaque(),
        transform.UnifyThreadBinding(),
        transform.CompactBufferAllocation(),
        transform.LowerOpaqueBlock(),
        tirx.transform.FlattenBuffer(),
        transform.InjectVirtualThread(),
    ):
        module = step(module)
    return re.sub(r"\b([ABCW])_1\b", r"\1", module["main"].script())


def sizes(text: str) -> dict[str, int]:
    """The cells of each array in shared or local memory."""
    found = re.findall(r"(\w+) = T\.alloc_(?:local|shared|buffer)\(\((\d+),\)", text)
    return {name: int(size) for name, size in found}


class _Memory:
    """What a load gives: a number that the array's name and the cell tell."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, cell: int) -> float:
        return random.Random(f"{self.name} {cell}").random()


class _T:
    """What the texts call, of Python's numbers."""

    Mul = staticmethod(lambda a, b: a * b)
    float32 = float

    @staticmethod
    def if_then_else(condition: bool, yes: float, no: float) -> float:
        return yes if condition else no


def stores(text: str, seed: int) -> list[tuple[str, int, float]]:
    """Each store in order: the array, the cell and the value, where variables have some values."""

    class Names(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            if re.search(rf"\b{name}\[", text):
                return _Memory(name)
            return random.Random(f"{name} {seed}").randrange(2)

    found = []
    for line in text.splitlines():
        store = re.match(r" *(\w+)\[([^=]*)\] = (.*)$", line)
        if store:
            cell, value = (eval(part, {}, Names(T=_T)) for part in store.groups()[1:])
            found.append((store.group(1), cell, round(value, 9)))
    return found


PROGRAMS = {
    "matmul": strided_matmul,
    "rows": lambda: strided_matmul(copies=(4, 1), axes=NAMED),
    "single cells": lambda: strided_matmul(n=64, block=32, copies=(2, 4), tile=1),
    "convolution": lambda: tutorial_steps(convolution(64, 16, 64, 2), axes=NAMED),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_stores_are_those_of_tvm(name: str) -> None:
    func = PROGRAMS[name]().func
    mine, other = ours(func), theirs(func)
    assert sizes(mine) == sizes(other)
    for seed in range(3):
        assert stores(mine, seed) == stores(other, seed)
    assert len(stores(mine, 0)) > 10


def test_the_steps_make_the_program_that_tvm_makes() -> None:
    import tvm.ir

    schedule, read = load_tvm()
    func = parsed(MATMUL.format(n=32))
    mine = wb.Schedule(func)
    other = schedule(read(script.show(func, dialect="tvm")))
    for sch, block in ((mine, mine.get_block("C")), (other, other.get_sblock("C"))):
        far = sch.cache_write(block, 0, "local")
        i, j, k = sch.get_loops(block)
        i_0, i_v, i_1, i_2 = sch.split(i, [None, 2, 4, 2])
        j_0, j_v, j_1, j_2 = sch.split(j, [None, 2, 4, 2])
        k_0, k_1 = sch.split(k, [None, 8])
        sch.reorder(i_0, j_0, i_v, j_v, i_1, j_1, k_0, k_1, i_2, j_2)
        sch.bind(i_v, "vthread.y")
        sch.bind(j_v, "vthread.x")
        sch.bind(i_1, "threadIdx.y")
        sch.bind(j_1, "threadIdx.x")
        sch.reverse_compute_at(far, j_1)
        for number in range(2):
            sch.compute_at(sch.cache_read(block, number, "shared"), k_0)
            sch.compute_at(sch.cache_read(block, number, "local"), k_1)
    told = read(script.show(mine.func, dialect="tvm"))
    tvm.ir.assert_structural_equal(told, other.mod["main"])
