"""The lane machine against one thread after the other, on random kernels, right and wrong."""

from __future__ import annotations

import sys
from functools import lru_cache

import numpy as np
import pytest

from tests.support import kernel_machine
from tests.support.cases import CASES, seeds
from tests.support.kernel_machine import Kernels
from tests.support.random_kernels import random_kernel
from workbench import emulate, script
from workbench.ir import Kernel

pytestmark = pytest.mark.fuzz
KINDS = {  # how a refusal begins -> what the plain machine calls it
    "index": "out of bounds",
    "elements at once": "misaligned",
    "nothing has written it": "unwritten",
    "two blocks meet": "race between blocks",
    "two threads of a block": "race",
    "with different values": "race",
    "only part of": "barrier",
    "exchange": "exchange",
    "integer by zero": "division by zero",
}


@lru_cache(5 * CASES)  # the seeds of one test
def by_the_plain_machine(
    seed: int,
) -> tuple[Kernel, list[np.ndarray], list[np.ndarray], Kernels]:
    """Kernel `seed`, its inputs, what they are afterwards, and what the machine says of it."""
    kernel = random_kernel(seed)
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-8, 8, p.shape).astype(p.type) for p in kernel.params]
    after = [array.copy() for array in inputs]
    return kernel, inputs, after, kernel_machine.run(kernel, after)


def kind_of(headline: str) -> str:
    if "has cells 0 to" in headline:
        return "out of bounds"
    return next(kind for words, kind in KINDS.items() if words in headline)


def check(seed: int, blocks: list[int] | None = None) -> str:
    """Run kernel `seed` both ways; what came of it."""
    kernel, inputs, plain, oracle = by_the_plain_machine(seed)
    lanes = [array.copy() for array in inputs]
    try:
        run = emulate.run([kernel], lanes, blocks=blocks)
    except emulate.EmulationError as error:
        kind = kind_of(error.headline)
        if kind == "race" and "race between blocks" in oracle.faults:
            return kind  # two blocks write different values
        assert kind in oracle.faults, f"{error}\nnot in {oracle.faults}\n{script.show(kernel)}"
        return kind
    assert not oracle.faults, (
        f"{oracle.faults} not noticed in kernel {seed}:\n{script.show(kernel)}"
    )
    for a, b, p in zip(plain, lanes, kernel.params, strict=True):
        np.testing.assert_array_equal(
            a, b, err_msg=f"{p.name}, kernel {seed}\n{script.show(kernel)}"
        )
    wasted = sum(w.writes for w in run.warnings if w.store.buffer.scope == "shared")
    assert oracle.least <= wasted <= oracle.most, f"kernel {seed}:\n{script.show(kernel)}"
    return "right"


def test_whole():
    came = {check(seed) for seed in seeds(5)}
    assert {"right", "race", "out of bounds", "unwritten", "exchange"} <= came


@pytest.mark.parametrize("room", [1, 7, 40])
def test_a_few_lanes_at_a_time(room: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules["workbench.emulate.kernels.run"], "ROOM", room)
    assert "right" in {check(seed) for seed in seeds(2, 400)}


def test_with_little_remembered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.emulate.memory.MOST", 4000)
    monkeypatch.setattr("workbench.emulate.kernels.shadow.MOST", 4000)
    assert {"right", "race"} <= {check(seed) for seed in seeds(2, 600)}


def test_blocks_in_any_order():
    def shuffled(seed: int) -> list[int]:
        blocks = np.arange(np.prod(random_kernel(seed).grid))
        return np.random.default_rng(seed).permutation(blocks).tolist()

    assert "right" in {check(seed, shuffled(seed)) for seed in seeds(2, 500)}
