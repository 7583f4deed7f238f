"""Faults to seed in the theory of who touches what: each makes one of its questions too easy.

Each shows on an odd program of ``tests/access/corpus``, in walks with the verbs that ask.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest import MonkeyPatch

from workbench.access.meet import Lags, Never, Unknown

Answer = Callable[..., Any]  # the original, then its arguments


@dataclass(frozen=True, slots=True)
class TheoryFault:
    """A function of the project, what it answers instead, and where that shows."""

    module: str
    name: str
    answer: Answer
    family: str
    program: str
    verbs: tuple[str, ...]

    def seed(self, mp: MonkeyPatch) -> None:
        """Put the answer in the function's place, wherever it was imported to."""
        original = getattr(sys.modules[f"workbench.{self.module}"], self.name)

        def wrong(*args: Any, **kwargs: Any) -> Any:
            return self.answer(original, *args, **kwargs)

        for name, module in list(sys.modules.items()):
            if name.startswith("workbench.") and getattr(module, self.name, None) is original:
                mp.setattr(module, self.name, wrong)


def always(value: Any) -> Answer:
    """The same answer to every question."""
    return lambda original, *args, **kwargs: value


FAULTS: dict[str, TheoryFault] = {
    "A loop carries nothing": TheoryFault(
        "access.iterations",
        "carries",
        always(False),
        "refilled",
        "two rows kept",
        ("compute_at", "cache_write"),
    ),
    "What is read was made": TheoryFault(
        "access.cover",
        "made_there",
        always(True),
        "partly made",
        "the next old sum",
        ("bind", "parallel"),
    ),
    "A store is never left out": TheoryFault(
        "access.cover",
        "writes_all",
        always(True),
        "conditional",
        "if positive",
        ("cache_write", "reindex"),
    ),
    "Instances write different cells": TheoryFault(
        "access.units",
        "writes_apart",
        always(True),
        "data",
        "scatter, the last wins",
        ("bind", "parallel"),
    ),
    "Iterations reach different cells": TheoryFault(
        "access.meet",
        "open_pairs",
        always([]),
        "over time",
        "two states",
        ("vectorize", "parallel"),
    ),
    "Two writers never meet": TheoryFault(
        "access.iterations",
        "never_meet",
        always(True),
        "threads",
        "cells of two blocks, turned",
        ("annotate",),
    ),
    "Cells meet in one iteration only": TheoryFault(
        "access.meet",
        "lags",
        always(Lags({0})),
        "triangular",
        "a triangle padded with zeros",
        ("merge",),
    ),
    "Data decide nothing": TheoryFault(
        "access.meet",
        "look",
        lambda look, pairs: Never() if isinstance(look(pairs), Unknown) else look(pairs),
        "data",
        "histogram",
        ("bind", "vectorize"),
    ),
    "A reader comes after its writer": TheoryFault(
        "access.iterations",
        "feeds",
        always(True),
        "partly made",
        "three blocks in time",
        ("parallel", "bind"),
    ),
    "Both write in one iteration": TheoryFault(
        "access.iterations",
        "written_together",
        always(True),
        "parts",
        "one cell by two blocks",
        ("parallel",),
    ),
    "Boxes lie in each other": TheoryFault(
        "access.boxes", "inside", always(True), "partly made", "the next old sum", ("bind",)
    ),
    "Guards keep nothing away": TheoryFault(
        "access.cover",
        "runs_for",
        always(True),
        "refilled",
        "every other cell anew",
        ("parallel", "bind"),
    ),
    "Guarded cells are disjoint": TheoryFault(
        "access.meet",
        "skips",
        always(True),
        "in place",
        "beginnings of sums in the row itself",
        ("parallel",),
    ),
    "A sum starts in its first turn": TheoryFault(
        "verbs.scope",
        "starts_first",
        always(True),
        "reductions",
        "backwards",
        ("rfactor", "decompose_reduction"),
    ),
    "No choice leaves a block out": TheoryFault(
        "verbs.scope",
        "check_no_choice",
        always(None),
        "partly made",
        "under an if",
        ("cache_read", "cache_write"),
    ),
    "A buffer is filled once": TheoryFault(
        "verbs.moving",
        "fixed_by_refilling",
        always({}),
        "refilled",
        "a window that slides",
        ("compute_at",),
    ),
    "A reader evaluates all its loads": TheoryFault(
        "verbs.copies",
        "reads_always",
        always(True),
        "partly made",
        "the first four",
        ("reindex", "reverse_compute_inline"),
    ),
    "Parts may hold any terms": TheoryFault(
        "verbs.factoring",
        "check_order",
        always(None),
        "tuples",
        "argmax by an index that is read",
        ("split", "rfactor"),
    ),
    "Copies inside a thread keep nothing of their own": TheoryFault(
        "lower.inject_virtual_threads",
        "_depending",
        always(set()),
        "virtual threads",
        "two plain axes and a sum in registers",
        ("unroll",),
    ),
}
