"""Kernels of language models as TVM's dlight prints them: read, built, run: ``python -m
benchmarks.dlight``.

    python -m benchmarks.dlight [--programs FILE] [--only NUMBER] [--seconds 60]

The file holds programs of TVM 0.27's dlight tests, before and after its schedules: a list of
``{"test", "name", "text"}``. Those that describe tensor intrinsics are left out. Of the others each
is read, printed and read again, in both dialects; those bound to the GPU are built and emulated
(those of a SIMD group for Metal), symbolic ones at three sizes each, as one kernel for all of them
where that is proved, else specialized, and held against what the program before the schedule means,
else against their own meaning; of a large one a few blocks run.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import workbench as wb  # noqa: E402
from workbench import emulate, insight  # noqa: E402
from workbench.diag import Fail  # noqa: E402
from workbench.emulate.compare import rounding  # noqa: E402
from workbench.ir import PrimFunc, SymbolicFunc, structural_equal  # noqa: E402
from workbench.ir.dtypes import is_float  # noqa: E402
from workbench.runtime import Built  # noqa: E402
from workbench.runtime.arguments import written_params  # noqa: E402
from workbench.runtime.sized import at_sizes  # noqa: E402
from workbench.script import parse, show  # noqa: E402

PROGRAMS = ROOT.parent / "shared" / "courses" / "dlight.json"
PIECE = re.compile(r"(desc|impl|impl_float|impl_integer|vrmpy|vnni|avx512|sdot4|vdmpy)$")
BOUND = re.compile("thread_binding|launch_thread")
SMALL = 1 << 26  # operations of a kernel that runs whole
ROUNDING = 1e-3  # of sums of 32,000 terms in another order
ORDINARY = (1, 5, 17)  # a symbol's three sizes

# Sizes that hang together, where each symbol by itself would make no sense.
SIZES: Mapping[str, Sequence[Mapping[str, int]]] = {
    "test_fallback_irregular_spatial": [
        {"num_total_pages": pages, "nlayer": layers, "nhead": heads, "page_size": size,
         "num_total_seqs_plus_1": 4, "npage": pages, "seqlen": 3 * size}
        for pages, layers, heads, size in ((3, 1, 1, 4), (3, 2, 3, 16), (3, 5, 7, 11))
    ],
    "test_logsumexp": [
        {"batch_size": batch, "vocab_size": vocab, "num_chunks": -(-vocab // 4096)}
        for batch, vocab in ((1, 5), (2, 4096), (3, 5000))
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Listed:
    """A program of the file, with the one that the same test schedules."""

    number: int
    test: str
    name: str
    text: str
    before: str | None = None

    @property
    def short(self) -> str:
        return short(self.test)


class Slow(Exception):
    """The time is over."""


def programs(path: Path) -> list[Listed]:
    """Those that are programs of their own."""
    entries = [e for e in json.loads(path.read_text()) if not PIECE.search(e["name"])]
    plain: dict[tuple[str, str], str] = {}
    for entry in entries:
        if not BOUND.search(entry["text"]):
            for test in ("", short(entry["test"])):
                plain[test, parameters(entry["text"])] = entry["text"]
    found: list[Listed] = []
    for number, entry in enumerate(entries):
        keys = ((test, parameters(entry["text"])) for test in (short(entry["test"]), ""))
        before = next((plain[key] for key in keys if key in plain), None)
        found.append(Listed(number, entry["test"], entry["name"], entry["text"], before))
    return found


def short(test: str) -> str:
    """The name of the function that tests it: its file tells the target."""
    return test.split("::")[-1]


def parameters(text: str) -> str:
    """What stands between the parentheses of a function, which its schedule leaves as it is."""
    match = re.search(r"def \w+\((.*)\):", text)
    assert match  # a view of a part of a buffer, for a tensor intrinsic, is none of them
    return match[1] + "".join(re.findall(r"\w+ = T.match_buffer\(\w+,.*", text))


def read(text: str) -> PrimFunc | SymbolicFunc:
    """The program that is printed and read again as the same one."""
    func = parse(text)
    assert isinstance(func, PrimFunc | SymbolicFunc)
    for dialect in ("workbench", "tvm"):
        assert structural_equal(parse(show(func, dialect)), func), dialect
    return func


def sizes(listed: Listed, func: PrimFunc | SymbolicFunc) -> Iterator[Mapping[str, int]]:
    """The sizes at which `func` is tried."""
    names = symbols(func)
    ordinary = [dict.fromkeys(names, size) for size in ORDINARY]
    yield from SIZES.get(listed.short, ordinary) if names else ({},)


def symbols(func: PrimFunc | SymbolicFunc) -> Sequence[str]:
    """The names of what tells its shapes."""
    if isinstance(func, SymbolicFunc):
        return func.symbols
    return [size.name for size in func.sizes]


def sized(func: PrimFunc | SymbolicFunc, numbers: Mapping[str, int]) -> PrimFunc:
    """`func` at a size."""
    names = symbols(func)
    if not names:
        assert isinstance(func, PrimFunc)
        return func
    return func.specialize({name: numbers[name] for name in names})


def for_any_size(func: PrimFunc | SymbolicFunc) -> Built | str:
    """One kernel for all sizes, else why there is none."""
    if isinstance(func, SymbolicFunc):
        return "some of its symbols are sizes of no argument"
    try:
        return wb.build(func, target=target_of(func))
    except Fail as refusal:
        return refusal.headline


def target_of(func: PrimFunc) -> str:
    """For what it is built: with tiles, for what has them, and room for as many."""
    text = show(func)
    return "metal" if "metal.simdgroup" in text else "nvidia/a100" if "wmma." in text else "cuda"


def inputs(func: PrimFunc) -> list[np.ndarray[Any, Any]]:
    """Small whole numbers, whose sums float16 holds; bits where weights are packed."""
    rng, made = np.random.default_rng(0), []
    for param in func.params:
        if param.type == "uint32":
            array = rng.integers(0, 2**32, param.shape, dtype="uint32")
        elif param.type == "int32" and len(param.shape) < 2:  # a row, pages, where they begin
            array = np.arange(prod(param.shape), dtype=param.type).reshape(param.shape)
        else:
            array = rng.integers(-1, 2, param.shape, dtype="int8").astype(param.type)
        made.append(array)
    return made


def wanted(
    func: PrimFunc, before: PrimFunc | None, given: Sequence[Any], ran: Mapping[str, Any]
) -> Sequence[Any]:
    """What the parameters hold after the program, in the cells that `ran` marks."""
    if before is not None:
        cells = emulate.evaluate_cells(before, given, ran)
        if cells is not None:
            return cells
    arrays = [array.copy() for array in given]
    emulate.evaluate(before or func, arrays)
    return arrays


def run(func: PrimFunc, before: PrimFunc | None, any_size: Built | None) -> str:
    """Build and emulate `func`, or what was built for any size; "whole" or how many blocks ran.

    Raises Fail, AssertionError.
    """
    built = any_size or wb.build(func, target=target_of(func))
    given = inputs(func)
    written = written_params(func)
    pairs = zip(func.params, given, strict=True)
    arrays = [array.copy() if param in written else array for param, array in pairs]
    kernels = at_sizes(built.func, built.kernels, built.target, arrays).kernels
    blocks = insight.sampled(kernels, SMALL) if kernels else None
    ran = built.emulate(*arrays, blocks=blocks)
    right = wanted(func, before, given, ran.written)
    for param, got, want in zip(func.params, arrays, right, strict=True):
        if param.name in ran.written:
            among = ran.written[param.name]
            allowed = max(rounding(param.type), ROUNDING) if is_float(param.type) else 0.0
            wrong = emulate.first_wrong(
                param.name, param.type, got, want, tolerance=allowed, among=among
            )
            assert wrong is None, wrong
    return "whole" if blocks is None else f"{len(blocks)} blocks"


def tried(listed: Listed, seconds: int) -> list[tuple[Mapping[str, int], str, bool]]:
    """Each size of a program, with what became of it, and whether that is well."""
    rows: list[tuple[Mapping[str, int], str, bool]] = []
    func = parse(listed.text)
    before = parse(listed.before) if listed.before else None
    assert isinstance(func, PrimFunc | SymbolicFunc)
    found = for_any_size(func) if symbols(func) else None
    if isinstance(found, str):
        print(f"{listed.number:3} {listed.short}: specialized first: {found}")
    any_size = found if isinstance(found, Built) else None
    for numbers in sizes(listed, func):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            start = before and sized(before, numbers)  # type: ignore[arg-type]
            told = run(sized(func, numbers), start, any_size)
            rows.append((numbers, told + (", for any size" if any_size else ""), True))
        except Slow:
            rows.append((numbers, f"not in {seconds} s", False))
        except Fail as refusal:
            rows.append((numbers, f"refused: {refusal.headline}", False))
        except AssertionError as wrong:
            rows.append((numbers, f"WRONG: {wrong}", False))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return rows


def over(signum: int, frame: FrameType | None) -> None:
    """End what takes too long."""
    raise Slow


def main() -> int:
    """Print a line for each program that is tried, and the sums; 1 where a value was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=Path, default=PROGRAMS)
    parser.add_argument("--only", type=int, help="the number of one program")
    parser.add_argument(
        "--seconds", type=int, default=60, help="of the processor, at most, for each size"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", wb.ScheduleWarning)
    signal.signal(signal.SIGPROF, over)
    every = programs(options.programs)
    chosen = [one for one in every if options.only in (None, one.number)]
    same = 0
    for one in chosen:
        try:
            read(one.text)
            same += 1
        except Fail as refusal:
            print(f"{one.number:3} {one.short}: not read: {refusal.headline}")
    bound = [one for one in chosen if BOUND.search(one.text)]
    well, symbolic, any_size, wrong = 0, 0, 0, 0
    for one in bound:
        start = time.process_time()
        rows = tried(one, options.seconds)
        took = time.process_time() - start
        well += all(right for *_, right in rows)
        symbolic += len(rows) > 1
        any_size += all(said.endswith("for any size") for _, said, _ in rows)
        for numbers, said, _ in rows:
            wrong += said.startswith("WRONG")
            told = ", ".join(f"{name}={size}" for name, size in numbers.items())
            print(f"{one.number:3} {one.short} {told}: {said}", flush=True)
        print(f"      {took:.1f} s")
    print(
        f"{same} of {len(chosen)} read, printed and read again equal; of {len(bound)} bound to the "
        f"GPU {well} run equal to their meaning, at three sizes each of {symbolic}, {any_size} of "
        f"them as one kernel for any size; wrong: {wrong}"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
