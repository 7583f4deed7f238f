"""TVM's own CUDA text of lessons' kernels, written as data: ``python -m benchmarks.tvm_text``.

Takes the course's and the tutorials' steps in TVM 0.27 (development extra) and writes
benchmarks/tvm_text/<name>.cu and launches.json. A GPU machine, which has no TVM, compiles these
texts beside ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tvm
import tvm.s_tir.tensor_intrin.cuda  # which registers those of Tensor Cores
from tvm import s_tir, te, tirx
from tvm.script import from_source
from tvm.script import tirx as T

from benchmarks.convolutions import BATCH, CHANNELS, FILTERS, SIZE, tutorial
from benchmarks.matmuls import SCHEDULES
from tests.support.tensor_core_conv import TENSORIZED, Sizes, tensorized

FOLDER = Path(__file__).parent / "tvm_text"
ARCH = "sm_90"
UNROLLED = {"tirx.UnrollLoop": {"auto_max_step": 16}}  # as the tutorial on Tensor Cores builds it
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


def convolution() -> Any:
    """The tutorial's algorithm in TVM's compute expressions."""
    A = te.placeholder((SIZE, SIZE, CHANNELS, BATCH), name="A")
    W = te.placeholder((3, 3, CHANNELS, FILTERS), name="W")

    def pad(yy: Any, xx: Any, cc: Any, nn: Any) -> Any:
        inside = tirx.all(yy >= 1, yy - 1 < SIZE, xx >= 1, xx - 1 < SIZE)
        return tirx.if_then_else(inside, A[yy - 1, xx - 1, cc, nn], tirx.const(0.0, "float32"))

    Apad = te.compute((SIZE + 2, SIZE + 2, CHANNELS, BATCH), pad, name="Apad")
    rc = te.reduce_axis((0, CHANNELS), name="rc")
    ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
    B = te.compute(
        (SIZE, SIZE, FILTERS, BATCH),
        lambda yy, xx, ff, nn: te.sum(
            Apad[yy + ry, xx + rx, rc, nn] * W[ry, rx, rc, ff], axis=[ry, rx, rc]
        ),
        name="B",
    )
    return te.create_prim_func([A, W, B])


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


def scheduled(module: Any, steps: Callable[..., Any], *tiles: int) -> Any:
    """The program after its steps."""
    schedule = s_tir.Schedule(module)
    steps(Named(schedule), *tiles)
    return schedule.mod


def on_tensor_cores() -> Any:
    """The convolution of TVM's tutorial on Tensor Cores, with TVM's calls in our tiles.

    TVM makes the same program of the steps ahead of the calls, as the file of `to_tvm` checks. But
    its `blockize`, with which `tensorize` begins, makes row h * 3 + kh of what is row h + kh of A.
    So the tiles come from our printed program, in which each is a block already.
    """
    text = tensorized(Sizes()).func.script(dialect="tvm")
    schedule = s_tir.Schedule(from_source(text))
    for block, intrinsic in TENSORIZED.items():
        schedule.tensorize(schedule.get_sblock(f"{block}_o"), intrinsic)
    return schedule.mod


def write(name: str, module: Any, tiles: Sequence[int] = (), **config: Any) -> dict[str, Any]:
    """Write the text of a scheduled program; how its kernel is launched."""
    target = tvm.target.Target({"kind": "cuda", "arch": ARCH})
    with tvm.transform.PassContext(config=config):
        compiled = tvm.compile(module, target=target).mod.imports[0]
    (FOLDER / f"{name}.cu").write_text(compiled.inspect_source().strip() + "\n")
    return {"tvm": tvm.__version__, "tiles": tiles, **launch(module.script())}


def main() -> None:
    """Write every text, and how its kernel is launched."""
    launches = {
        name: write(name, scheduled(Matmul, steps, *tiles), tiles)
        for name, steps, tiles in SCHEDULES
    }
    launches["convolution"] = write("convolution", scheduled(convolution(), tutorial))
    name, module = "tensor_core_convolution", on_tensor_cores()
    launches[name] = write(name, module)
    launches[f"{name}_unrolled"] = write(f"{name}_unrolled", module, **UNROLLED)
    (FOLDER / "launches.json").write_text(as_json(launches))


if __name__ == "__main__":
    main()
