"""recorded: what a GPU counted of kernels, once, kept as data and found by their text.

Eleven of the 212 kernels that use shared memory were counted with 1.6 to 6.1 % more wavefronts of
it than their requests take by the rule of `wavefronts`, which is exact for each request alone. No
rule for requests says how many more: they are waits for what loads of global memory bring, on their
way through the same memory, and another run of the same kernel counts others. The counter of
instructions leaves them out; `benchmarks/counters.py` keeps that one wherever a GPU is counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from workbench import script
from workbench.ir import Kernel, once
from workbench.lower.keep_values import keep_values

_SHARED = ("device", "arch", "compiler", "date")


@dataclass(frozen=True, slots=True)
class Counted:
    """What NVIDIA's ncu counted of one launch, on one device, of what one compiler made of it.

    `numbers` has the counters by the names that `benchmarks/counters.py` gives them, None where
    what was counted is something else.
    """

    device: str
    arch: str
    compiler: str
    date: str
    registers: int  # of a thread
    numbers: Mapping[str, int | None]

    @property
    def source(self) -> str:
        """Where the numbers come from, for what is written beside them."""
        return f"recorded {self.date}, {self.device}"


@once
def kernel_key(kernel: Kernel) -> str:
    """What a kernel is found by: a hash of its text as a compiler gets it, without its name."""
    text = script.show(replace(keep_values(kernel), name="main"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def counted(kernel: Kernel) -> Counted | None:
    """What was counted of a kernel with this text, None where none was launched."""
    return _all().get(kernel_key(kernel))


@cache
def _all() -> dict[str, Counted]:
    return parse((files("workbench.insight") / "recorded.json").read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, Counted]:
    """What the text of a recorded file holds, by the keys of kernels."""
    data = json.loads(text)
    names = data["counters"]
    shared = {key: data[key] for key in _SHARED}
    return {
        key: Counted(**shared, registers=registers, numbers=dict(zip(names, numbers, strict=True)))
        for key, (registers, *numbers) in data["kernels"].items()
    }


def to_json(kernels: Mapping[str, Counted]) -> str:
    """The text of a recorded file, by the keys of kernels that one compiler made for one device."""
    one = next(iter(kernels.values()))
    shared = (f"  {json.dumps(key)}: {json.dumps(getattr(one, key))},\n" for key in _SHARED)
    names = json.dumps(list(one.numbers))
    rows = ",\n".join(
        f"    {json.dumps(key)}: {json.dumps([c.registers, *c.numbers.values()])}"
        for key, c in kernels.items()
    )
    return f'{{\n{"".join(shared)}  "counters": {names},\n  "kernels": {{\n{rows}\n  }}\n}}\n'
