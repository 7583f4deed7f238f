"""TVM 0.27's printed text of random programs, read here: ``python -m benchmarks.tvm_programs``.

    python -m benchmarks.tvm_programs --programs 2000 --seed 0 [--run]

Each program is drawn over all that the reader takes (`tests/support/random_texts.py`), read and
printed by TVM, and read here; what we print is read again and must be the same program. With
``--run`` the program is also compiled by TVM for the CPU, run, and held against ours. Needs the
development extra.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.support.random_texts import Array, Program  # noqa: E402
from workbench import emulate  # noqa: E402
from workbench.diag import Fail  # noqa: E402
from workbench.ir import PrimFunc, SymbolicFunc, structural_equal, verify  # noqa: E402
from workbench.script import parse, show  # noqa: E402

HEADER = "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n"


class NotTaken(Exception):
    """TVM does not take the text: it does not count."""


def printed(text: str) -> str:
    """What TVM prints of a program. Raises NotTaken."""
    from tvm.script import from_source

    try:
        return from_source(HEADER + text).script()
    except Exception as error:
        raise NotTaken(str(error)[-300:]) from None


def read(text: str) -> PrimFunc:
    """The program that a text of TVM's is, printed and read again in both dialects."""
    func = parse(text)
    if isinstance(func, SymbolicFunc):
        assert structural_equal(parse(show(func)), func), show(func)
        func = func.specialize(dict.fromkeys(func.symbols, 8))
    assert isinstance(func, PrimFunc)
    verify(func)
    for dialect in ("workbench", "tvm"):
        again = parse(show(func, dialect))
        assert structural_equal(again, func), f"{dialect}: {show(func)}\n---\n{show(again)}"
    return func


def inputs(params: list[Array], seed: int) -> list[np.ndarray | int | float | bool]:
    """Small numbers for every parameter."""
    rng = np.random.default_rng(seed)
    made = [rng.integers(0, 4, p.shape).astype(p.dtype) for p in params]
    return [a if p.shape else a.item() for a, p in zip(made, params, strict=True)]


def computed(func: PrimFunc, text: str, program: Program, seed: int) -> str:
    """Where TVM's compiled program and ours leave different numbers; "" where they agree."""
    import tvm

    ours, theirs = inputs(program.params, seed), inputs(program.params, seed)
    emulate.evaluate(func, ours)  # type: ignore[arg-type]
    from tvm.script import from_source

    built = tvm.compile(from_source(text), target="llvm")
    given = [tvm.runtime.tensor(a) if isinstance(a, np.ndarray) else a for a in theirs]
    built["main"](*given)
    for param, mine, their in zip(program.params, ours, given, strict=True):
        if param.shape:
            their = their.numpy()
            if not np.allclose(mine, their, rtol=1e-4, atol=1e-5, equal_nan=True):
                return f"{param.name}: {mine.tolist()} here, {their.tolist()} in TVM"
    return ""


def one(seed: int, run: bool) -> tuple[str, str]:
    """What became of one program, in a word, with its text where it is not well."""
    program = Program(seed, plain=run)
    try:
        text = printed(program.text)
    except NotTaken as error:
        return "not taken by TVM", str(error)
    try:
        func = read(text)
    except Fail as refusal:
        return "refused", f"{text}\n{refusal}"
    except Exception:
        return "failed", f"{text}\n{traceback.format_exc()}"
    if run:
        try:
            found = computed(func, text, program, seed)
        except Exception as error:
            return "not run", f"{type(error).__name__}: {str(error)[:600]}"
        if found:
            return "differs", f"{text}\n{show(func)}\n{found}"
    return "read", ""


def main() -> None:
    """Draw programs until so many are taken by TVM, and tell what became of each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--show", type=int, default=3, help="how many of each kind to print")
    options = parser.parse_args()
    told: Counter[str] = Counter()
    seed = options.seed
    while sum(told.values()) - told["not taken by TVM"] < options.programs:
        outcome, text = one(seed, options.run)
        told[outcome] += 1
        if text and told[outcome] <= options.show:
            print(f"== {outcome}: seed {seed}\n{text}")
        seed += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in told.most_common()))


if __name__ == "__main__":
    main()
