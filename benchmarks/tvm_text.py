"""TVM's own CUDA text of the matrix multiplies, written as data: ``python -m benchmarks.tvm_text``.

Takes the course's steps in TVM 0.27 (development extra) and writes benchmarks/tvm_text/<name>.cu
and launches.json. A GPU machine, which has no TVM, compiles these texts beside ours.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import tvm
from tvm import s_tir
from tvm.script import tirx as T

from benchmarks.matmuls import SCHEDULES

FOLDER = Path(__file__).parent / "tvm_text"
ARCH = "sm_90"
BINDING = r'T\.thread_binding\((\d+), thread="(\w+)\.(\w)"\)'


@tvm.script.ir_module
class Matmul:
    """The course's C = A B on 1024 x 1024, in TVM's present form."""

    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((1024, 1024), "float32"),
        B: T.Buffer((1024, 1024), "float32"),
        C: T.Buffer((1024, 1024), "float32"),
    ):
        T.func_attr({"global_symbol": "main", "tirx.noalias": True})
        for i, j, k in T.grid(1024, 1024, 1024):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@tvm.register_global_func("tvm_callback_cuda_compile", override=True)
def keep_text(code: str, *_: Any) -> bytearray:
    """Leave the text as it is: the compiler runs where the GPU is."""
    return bytearray(code.encode())


class Named:
    """A TVM schedule under the verbs that we share: TVM 0.27 says `sblock` where we say `block`."""

    def __init__(self, schedule: Any) -> None:
        self._schedule = schedule

    def get_block(self, name: str) -> Any:
        return self._schedule.get_sblock(name)

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._schedule, verb)


def launch(program: str) -> dict[str, list[int]]:
    """The grid and the block that the printed program binds its loops to."""
    found = {"grid": [1, 1, 1], "block": [1, 1, 1]}
    for extent, unit, axis in re.findall(BINDING, program):
        found["grid" if unit == "blockIdx" else "block"]["xyz".index(axis)] = int(extent)
    return found


def as_json(launches: dict[str, Any]) -> str:
    """One line for each kernel."""
    lines = (f" {json.dumps(name)}: {json.dumps(facts)}" for name, facts in launches.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    """Write every text, and how its kernel is launched."""
    target = tvm.target.Target({"kind": "cuda", "arch": ARCH})
    launches = {}
    for name, steps, tiles in SCHEDULES:
        schedule = s_tir.Schedule(Matmul)
        steps(Named(schedule), *tiles)
        module = tvm.compile(schedule.mod, target=target).mod.imports[0]
        (FOLDER / f"{name}.cu").write_text(module.inspect_source().strip() + "\n")
        launches[name] = {"tvm": tvm.__version__, "tiles": tiles, **launch(schedule.mod.script())}
    (FOLDER / "launches.json").write_text(as_json(launches))


if __name__ == "__main__":
    main()
