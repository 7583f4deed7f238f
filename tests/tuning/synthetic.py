"""Records of searches that never ran: as many trials as asked for, of every way to end."""

from __future__ import annotations

from random import Random

from tests.tuning.programs import VECTOR
from workbench import script
from workbench.tuning import Ended, Header, Lines, Outcome, Refusal, Trial
from workbench.tuning.trial import STATUSES
from workbench.verbs.choices import TileDomain

HEADER = Header(
    script.show(VECTOR), "space", "nvidia/h200", "NVIDIA H200", "570", "CuPy", "0", "random", 0, 32
)
TILES = (TileDomain(1024, 5, 64), TileDomain(1024, 5, 64), TileDomain(1024, 3, 64))  # a product's
WHY = {
    "compile": "source: identifier is undefined",
    "runtime": "illegal address: the kernel wrote outside of B",
    "correctness": "B[7] is 3.0, not 14.0: 512 wrong cells",
    "timeout": "no answer in 10 s",
    "constraints": "resources: too much shared memory",
}


def lines_of(count: int, seed: int = 0) -> Lines:
    """A record of `count` trials that get faster on the whole; one of eight fails, in every way."""
    rng = Random(seed)
    lines = Lines(HEADER)
    for number in range(count):
        decisions = (*(tile.draw(rng) for tile in TILES), *(rng.randrange(4) for _ in range(5)))
        parents = tuple(rng.sample(range(number), 2)) if number > 32 else ()
        seconds = 5e-6 * (1 + 40 * rng.random() ** 4 / (1 + number / 50)) * rng.uniform(0.9, 1.1)
        trial = Trial(number, number // 32, 32, parents, decisions, f"{number:016x}", seconds * 1.1)
        lines.add(trial)
        status = rng.choice(STATUSES[1:]) if rng.random() < 0.125 else "correct"
        why = WHY.get(status, "")
        outcome = Outcome(status, "measured", (seconds,) if status == "correct" else (), why)
        lines.add(Ended(trial, outcome))
        lines.add(Refusal(number // 32, ((number, 1), 0), "fewer than 4 threads"))
    return lines
