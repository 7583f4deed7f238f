"""The whole of one space, measured once, and searches played against it.

``python -m benchmarks.whole_space measure 500`` measures candidates on the GPU here for so many
seconds, and goes on where it stopped; ``python -m benchmarks.whole_space compare`` then plays 100
seeds of each strategy against what was measured, on a CPU.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import ThreadPoolExecutor as Threads
from contextlib import closing
from itertools import product
from math import comb
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import get_args

import workbench as wb
from benchmarks.lesson_records import every
from benchmarks.matmuls import matmul
from benchmarks.steps import Results
from workbench import lesson, script, target, tuning
from workbench.ir import PrimFunc
from workbench.ir.equal import structural_hash
from workbench.runtime.devices import device
from workbench.tuning import Ended, Lines, Refusal, Trial
from workbench.tuning.features import features
from workbench.tuning.measure import Local, workers_here
from workbench.tuning.score import Scored
from workbench.tuning.search import Search, Strategy
from workbench.tuning.space import Decisions
from workbench.version import __version__

SIZE, SEEDS, PER_BATCH = 1024, 100, 32
LOOKED_AT = (32, 64, 192)  # trials
MODEL = "nvidia/h200"
RECORD = Path(__file__).parent / "results" / "whole_space.jsonl"
SHARED_BYTES = 48 << 10
SUMS = 224


def space(sch: wb.Schedule) -> None:
    """Lesson 4's product with nine choices: 5,184 decisions, of which 2,928 can be candidates."""
    down, across = _one_of(sch, 2, 4, 8), _one_of(sch, 2, 4, 8)
    threads_down, threads_across = _one_of(sch, 8, 16, 32), _one_of(sch, 8, 16, 32)
    depth = _one_of(sch, 4, 8, 16, 32)
    virtual, pad = _one_of(sch, 1, 2), _one_of(sch, 0, 4)
    along, vector = _one_of(sch, 0, 1), _one_of(sch, 1, 4)
    threads = threads_down * threads_across
    rows, columns = threads_down * down, threads_across * across
    tuning.require(down * across < SUMS, "too many sums for the registers of a thread")
    for side in (rows, columns):
        tuning.require(side * depth % (vector * threads) == 0, "threads do not divide a tile")
    shared = 4 * ((depth + pad) * rows + depth * columns)
    tuning.require(shared <= SHARED_BYTES, f"{shared} bytes of shared memory are too many")
    lesson.in_shared(
        sch,
        (down, across),
        (threads_down, threads_across),
        depth,
        virtual=(virtual, virtual),
        pad=pad,
        along="ji"[along],  # type: ignore[arg-type]
        vector=vector,
    )


def _one_of(sch: wb.Schedule, *numbers: int) -> int:
    return sch.sample_categorical(numbers, probs=[1 / len(numbers)] * len(numbers))


def program() -> PrimFunc:
    """The product that is searched."""
    return matmul(SIZE)


def all_decisions() -> list[Decisions]:
    """Each of the space, in an order in which a part of it is a sample of all."""
    gpu = target.get(MODEL)
    domains = tuning.candidate(program(), space, gpu, (), Random(0)).domains
    found: list[Decisions] = list(product(*map(every, domains)))
    Random(0).shuffle(found)
    return found


# --- measuring ------------------------------------------------------------------------------------


def measure(path: Path, seconds: float) -> Results:
    """Measure for so many seconds what the record has not yet."""
    func, report, start = program(), device(), perf_counter()
    assert report.gpu is not None
    header = tuning.Header(
        program=script.show(func),
        space=tuning.name_of(space),
        target=report.target.name,
        device=report.which,
        driver=report.gpu.driver,
        compiler=f"CuPy {report.gpu.cupy}",
        code=__version__,
        strategy="all of it",
        seed=0,
        per_batch=1,
    )
    measurer = Local(func, report, "GPU", workers=workers_here("GPU"))
    with closing(tuning.Record(path, header)) as record, Threads(measurer.side_by_side) as pool:
        running: dict[Future[Ended | Refusal], int] = {}
        for number, decisions in enumerate(all_decisions()):
            known = number in record.lines.outcomes or decisions in record.lines.refused
            if known or perf_counter() - start > seconds:
                continue
            running[pool.submit(_one, func, measurer, number, decisions)] = number
            if len(running) >= 2 * measurer.side_by_side:
                _keep(record, running)
        while running:
            _keep(record, running)
        return {
            "measured": len(record.lines.outcomes),
            "refused": len(record.lines.refused),
            "of": len(all_decisions()),
            "seconds": round(perf_counter() - start),
        }


def _one(func: PrimFunc, measurer: Local, number: int, decisions: Decisions) -> Ended | Refusal:
    gpu = measurer.report.target
    made = tuning.candidate(func, space, gpu, decisions, Random(0))
    if made.kernel is None:
        return Refusal(0, decisions, made.reason)
    told = features(made.kernels, gpu)
    seconds = dict(told)["modelled µs"] * 1e-6
    hashed = structural_hash(made.schedule.func)
    trial = Trial(number, 0, 1, (), decisions, hashed, modelled=seconds, features=told)
    return Ended(trial, measurer.submit(made))


def _keep(record: tuning.Record, running: dict[Future[Ended | Refusal], int]) -> None:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        del running[future]
        found = future.result()
        record.append([found.trial, found] if isinstance(found, Ended) else [found])


# --- playing it -----------------------------------------------------------------------------------


class Known:
    """Builders that have built all of the space before: what a record tells of it."""

    def __init__(self, lines: Lines) -> None:
        self._known: dict[Decisions, Scored | Refusal] = {
            e.trial.decisions: _scored(e.trial) for e in lines.ended
        }
        self._known |= lines.refused

    def build(self, many: Sequence[Decisions], whole: bool) -> dict[Decisions, Scored | Refusal]:
        """What is known of decisions; those that nobody measured count as refused."""
        return {d: self._known.get(d) or Refusal(0, d, "not measured") for d in many}


def _scored(trial: Trial) -> Scored:
    return Scored(
        trial.decisions,
        trial.program,
        trial.modelled,
        proved=True,
        features=trial.features,
    )


def play(lines: Lines, strategy: Strategy, seed: int, trials: int) -> list[float]:
    """The best seconds after each trial of a search."""
    gpu = target.get(MODEL)
    builders: object = Known(lines)
    search = Search(program(), space, gpu, gpu, strategy, seed, builders)  # type: ignore[arg-type]
    outcomes = {e.trial.decisions: e.outcome for e in lines.ended}
    done: list[Ended] = []
    refused: list[Refusal] = []
    best: list[float] = []
    for number in range(-(-trials // PER_BATCH)):
        made, more = search.batch(number, PER_BATCH, done, refused)
        refused += more
        for trial, _ in made:
            done.append(Ended(trial, outcomes[trial.decisions]))
            best.append(min([done[-1].seconds, *best[-1:]]))
    return best


def compare(lines: Lines, seeds: int) -> Results:
    """Evolutionary against random, and both against the best of the whole space."""
    played: dict[Strategy, list[list[float]]] = {
        strategy: [play(lines, strategy, seed, max(LOOKED_AT)) for seed in range(seeds)]
        for strategy in get_args(Strategy)
    }
    least = min(e.seconds for e in lines.ended)
    rows = {}
    for trials in LOOKED_AT:
        ends = {s: [best[trials - 1] for best in played[s]] for s in played}
        pairs = list(zip(ends["evolutionary"], ends["random"], strict=True))
        rows[str(trials)] = {
            "median of ratios": median(e / r for e, r in pairs),
            "better, worse": [sum(e < r for e, r in pairs), sum(e > r for e, r in pairs)],
            "sign test p": sign_test(pairs),
            "over the best of all": {s: median(ends[s]) / least for s in played},
        }
    return {"candidates": len(lines.ended), "best": least, "seeds": seeds, "trials": rows}


def sign_test(pairs: Sequence[tuple[float, float]]) -> float:
    """How likely so many pairs, or more, have the first smaller, by chance; ties left out."""
    better, worse = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
    n = better + worse
    return sum(comb(n, k) for k in range(better, n + 1)) / 2**n if n else 1.0


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        out = Path(os.environ.get("OUT", RECORD.parent)) / RECORD.name
        if RECORD.exists() and not out.exists():
            out.write_bytes(RECORD.read_bytes())
        print(measure(out, float(sys.argv[2])))
    else:
        print(json.dumps(compare(tuning.read(RECORD), SEEDS), indent=1))
