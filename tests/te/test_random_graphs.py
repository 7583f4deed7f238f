"""Random graphs of compute expressions; ``benchmarks/te_graphs.py`` runs thousands."""

from __future__ import annotations

import random

import pytest

from tests.support.cases import CASES, seeds
from tests.support.random_te import STAGES, Graph
from tests.support.te_walk import graph_walk


@pytest.mark.fuzz
def test_programs_compute_what_graphs_say_and_schedules_keep_it():
    taken = built = 0
    for seed in seeds():
        walk = graph_walk(seed)
        walk.evaluates()
        walk.schedules(4)
        built += walk.run_kernel()
        taken += walk.accepted.total()
    assert taken > CASES and built > CASES // 4


def test_graphs_differ_and_have_every_kind_of_stage():
    graphs = [Graph(random.Random(seed)) for seed in seeds(5)]
    assert {sum(bool(op.body) for op in {t.op for t in g.tensors}) for g in graphs} >= {1, 2, 3, 4}
    assert any(t.op.num_outputs == 2 for g in graphs for t in g.args)
    assert len(STAGES) == 9
