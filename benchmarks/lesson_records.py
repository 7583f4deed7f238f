"""All of a lesson's space, measured once: ``python -m benchmarks.lesson_records product 0 2``.

Measures the candidates of part 0 of 2 on the GPU here, and writes them as a record. Then
``python -m benchmarks.lesson_records product merge PART…`` makes the lesson's file of the parts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from time import perf_counter

from workbench import script, tuning
from workbench.ir import PrimFunc
from workbench.ir.equal import structural_hash
from workbench.lesson import spaces
from workbench.lesson.programs import product as matmul
from workbench.runtime.devices import device
from workbench.target import Target
from workbench.tuning.measure import Local
from workbench.verbs.choices import CategoricalDomain, Decision, Domain, TileDomain
from workbench.version import __version__

SPACES = {
    "product": (lambda: replace(matmul(1024, 1024, 1024), name="matmul_1024"), spaces.five_numbers),
    "layer": (spaces.layer, spaces.layer_tiles),
}
KEPT = 9  # samples of each time, which is plenty for their median


def every(domain: Domain) -> Iterator[Decision]:
    """All decisions of a choice."""
    if isinstance(domain, CategoricalDomain):
        yield from range(len(domain.candidates))
    elif isinstance(domain, TileDomain):
        divisors = [f for f in range(1, domain.extent + 1) if domain.extent % f == 0]
        tiles = product(divisors, repeat=domain.n)
        yield from (tile for tile in tiles if not domain.wrong(tile))


def all_of(func: PrimFunc, space: tuning.Space, target: Target) -> Iterator[tuning.Candidate]:
    """Each candidate of a space whose choices are all made ahead of its rules."""
    domains = tuning.candidate(func, space, target, (), Random(0)).domains
    for decisions in product(*map(every, domains)):
        yield tuning.candidate(func, space, target, decisions, Random(0))


def measure(path: Path, name: str, part: int, of: int) -> None:
    """Write the record of a part of a space."""
    func, space = SPACES[name][0](), SPACES[name][1]
    report = device()
    assert report.gpu is not None
    header = tuning.Header(
        script.show(func),
        tuning.name_of(space),
        report.target.name,
        report.which,
        report.gpu.driver,
        f"CuPy {report.gpu.cupy}",
        __version__,
        "all of it",
        0,
        1,
    )
    record, measurer = tuning.Record(path, header), Local(func, report, "GPU")
    start = perf_counter()
    built = (one for one in all_of(func, space, report.target) if one.kernel is not None)
    mine = ((k, one) for k, one in enumerate(built) if k % of == part)
    with ThreadPoolExecutor(1) as ahead:
        coming = ahead.submit(next, mine, None)
        while (found := coming.result()) is not None:
            coming = ahead.submit(next, mine, None)
            number, one = found
            program = structural_hash(one.schedule.func)
            trial = tuning.Trial(number, 0, 1, (), one.decisions, program)
            record.append([trial, tuning.Ended(trial, measurer.submit(one))])
            if number % 20 == part:
                print(f"{perf_counter() - start:6.1f} s: candidate {number}", flush=True)
    record.close()


def merge(path: Path, parts: list[Path]) -> None:
    """One record of several, with a few of the samples of each time."""
    lines = [tuning.read(part) for part in parts]
    record = tuning.Record(path, lines[0].header)
    ended = sorted((e for of in lines for e in of.ended), key=lambda e: e.trial.number)
    for one in ended:
        times = one.outcome.times
        step = max(len(times) // KEPT, 1)
        kept = tuple(round(t, 9) for t in sorted(times)[step // 2 :: step])
        record.append([one.trial, replace(one, outcome=replace(one.outcome, times=kept))])
    record.close()


if __name__ == "__main__":
    name, what, *rest = sys.argv[1:]
    out = Path(os.environ.get("OUT", "."))
    if what == "merge":
        merge(out / f"{name}.jsonl", [Path(one) for one in rest])
    else:
        measure(out / f"{name}_{what}.jsonl", name, int(what), int(rest[0]))
