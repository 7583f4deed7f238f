"""Programs of TVM's operators: read, held against TVM's numbers, scheduled: ``python -m
benchmarks.topi``.

    python3 topi_make.py FOLDER         # with TVM's Python: a text, inputs and TVM's results each
    python -m benchmarks.topi FOLDER [--only NAME]

Each program that TVM makes is read, printed and read again; run by its meaning it must give what
TVM's own build for the CPU gives. Then each root nest is given blocks and threads by one small rule
(`fuse` what is spatial, `split` it by 32, `bind`), built, and emulated; and each step is held
against the program by its terms where it is small.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import workbench as wb  # noqa: E402
from workbench import emulate  # noqa: E402
from workbench.access import difference  # noqa: E402
from workbench.diag import Fail  # noqa: E402
from workbench.history.handles import BlockHandle, LoopHandle  # noqa: E402
from workbench.ir import (  # noqa: E402
    BlockRealize,
    For,
    PrimFunc,
    SeqStmt,
    Stmt,
    free_vars,
    structural_equal,
    walk,
)
from workbench.ir.places import places  # noqa: E402
from workbench.script import parse, show  # noqa: E402

THREADS = 32
MOST_CELLS = 2000  # of a program that is held against its terms
Arrays = list[np.ndarray[Any, Any]]


def read(text: str) -> PrimFunc:
    """The program, printed in both dialects and read again as the same one."""
    func = parse(text)
    assert isinstance(func, PrimFunc)
    for dialect in ("workbench", "tvm"):
        assert structural_equal(parse(show(func, dialect)), func), dialect
    return func


def arrays(path: Path, func: PrimFunc) -> Arrays:
    """What a file of NumPy's holds for each parameter."""
    with np.load(path) as file:
        return [file[f"arr_{k}"].reshape(param.shape) for k, param in enumerate(func.params)]


def check(func: PrimFunc, got: Arrays, want: Arrays) -> None:
    """Raises AssertionError where the parameters of `func` differ."""
    for param, mine, theirs in zip(func.params, got, want, strict=True):
        if mine.dtype.kind == "f":
            tolerance = 2e-2 if mine.dtype == np.float16 else 1e-4
            same = np.allclose(mine, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)
        else:
            same = np.array_equal(mine, theirs)
        assert same, f"{param.name}: {mine.reshape(-1)[:6]} for {theirs.reshape(-1)[:6]}"


def root_nests(func: PrimFunc) -> Iterator[For | BlockRealize]:
    """The loops and blocks that stand directly under the root."""
    held = places(func)
    for stmt in held.order[1:]:
        if all(isinstance(above, SeqStmt) or above is func.body for above in held.above(stmt)):
            yield stmt


def spatial_prefix(nest: For | BlockRealize) -> list[For]:
    """The outer loops of `nest` that hold but the next one and tell no reduce iterator."""
    summed = {
        var
        for realize in walk(nest)
        if isinstance(realize, BlockRealize)
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if axis.kind == "reduce"
        for var in free_vars(value)
    }
    loops: list[For] = []
    stmt: Stmt = nest
    while isinstance(stmt, For) and stmt.kind == "serial" and stmt.loop_var not in summed:
        loops.append(stmt)
        stmt = stmt.body
    return loops


def schedule(func: PrimFunc) -> wb.Schedule:
    """The program with each root nest on blocks and threads, as far as it is spatial."""
    sch = wb.Schedule(func)
    for nest in list(root_nests(func)):
        loops: list[Any] = [LoopHandle(sch.history, one.loop_var) for one in spatial_prefix(nest)]
        if not loops:
            first = next(n for n in walk(nest) if isinstance(n, BlockRealize))
            around = sch.get_loops(BlockHandle(sch.history, first.block.id))
            loops = [sch.add_unit_loop(around[0] if around else first.block.name)]
        one = sch.fuse(*loops) if len(loops) > 1 else loops[0]
        outer, inner = sch.split(one, factors=[None, THREADS])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
    return sch


def same_terms(func: PrimFunc, sch: wb.Schedule, given: Arrays) -> str:
    """Where the terms of both differ; "" where they do not, or are too many."""
    if sum(array.size for array in given) > MOST_CELLS:
        return ""
    data = [
        {cell: array[cell].item() for cell in np.ndindex(param.shape)}
        for param, array in zip(func.params, given, strict=True)
    ]
    return difference(func, sch.func, data)


def one(folder: Path, name: str) -> tuple[str, str]:
    """What became of a program in a word, and why."""
    text = json.loads((folder / f"{name}.json").read_text())["text"]
    try:
        func = read(text)
    except Fail as refusal:
        return "not read", str(refusal)
    given, wanted = (arrays(folder / f"{name}.{way}.npz", func) for way in ("in", "out"))
    meant = [array.copy() for array in given]
    emulate.evaluate(func, meant)
    try:
        check(func, meant, wanted)
        step = "not scheduled"
        sch = schedule(func)
        told = same_terms(func, sch, given)
        assert not told, told
        step = "not built"
        built = wb.build(sch)
        step = "not run"
        got = [array.copy() for array in given]
        built.emulate(*got)
        check(func, got, wanted)
    except Fail as refusal:
        return step, str(refusal)
    except AssertionError as wrong:
        return "WRONG", str(wrong)
    return "run", ""


def main() -> int:
    """Print what became of each program that is not well, and the sums; 1 where one was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="the name of one program")
    options = parser.parse_args()
    warnings.simplefilter("ignore", wb.ScheduleWarning)
    index = json.loads((options.folder / "index.json").read_text())
    names = [e["name"] for e in index.values() if e["step"] == "ok"]
    told: Counter[str] = Counter()
    for name in names:
        if options.only not in (None, name):
            continue
        start = time.process_time()
        outcome, why = one(options.folder, name)
        told[outcome] += 1
        took = time.process_time() - start
        if outcome != "run" or took > 5:
            lines = why.splitlines() if options.only else why.splitlines()[:1]
            print(f"{name}: {outcome} ({took:.1f} s)", *lines, sep="\n    ", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in told.most_common()))
    return bool(told["WRONG"])


if __name__ == "__main__":
    sys.exit(main())
