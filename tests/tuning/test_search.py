"""A search finds what is fast, tries no program twice, and depends on nothing but its record."""

from __future__ import annotations

import tracemalloc
from itertools import count
from math import log
from random import Random
from statistics import mean

import pytest

import workbench as wb
from tests.tuning.programs import VECTOR, Planted, planted, space
from workbench import script, target, tuning
from workbench.tuning.decision_model import DecisionModel
from workbench.tuning.search import Search
from workbench.tuning.space import candidate
from workbench.verbs.choices import CategoricalDomain, TileDomain


def search(strategy: str, seed: int, trials: int, per_batch: int) -> list[tuning.Ended]:
    ended: list[tuning.Ended] = []
    best = wb.tune(
        VECTOR,
        space=space,
        target="cuda",
        trials=trials,
        strategy=strategy,
        seed=seed,
        per_batch=per_batch,
        measurer=Planted(),
        progress=lambda told: ended.append(told.last),
    )
    least = min(ended, key=lambda e: e.seconds)
    again = wb.Schedule.replay(VECTOR, best.trace)
    assert again.trace == best.trace and wb.structural_equal(again.func, best.func)
    decided = [
        dict(step.kwargs)["decision"] for step in best.trace if "decision" in dict(step.kwargs)
    ]
    assert tuple(decided) == least.trial.decisions
    return ended


def test_evolution_beats_chance_and_tries_no_program_twice():
    seconds = {}
    for strategy in ("random", "evolutionary"):
        ended = search(strategy, 3, 24, 8)
        seconds[strategy] = mean(e.seconds for e in ended[16:])
        assert len({e.trial.program for e in ended}) == len(ended) == 24
        assert [e.trial.number for e in ended] == list(range(24))
        assert all(p < e.trial.batch * 8 for e in ended for p in e.trial.parents)
    assert any(e.trial.parents for e in ended[8:])
    assert seconds["evolutionary"] < 0.7 * seconds["random"]


def test_a_space_is_exhausted():
    def two(sch: wb.Schedule) -> None:
        threads = sch.sample_categorical([32, 64], probs=[0.5, 0.5])
        outer, inner = sch.split("i", factors=[None, threads])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")

    seen = []
    measurer = Planted()
    measurer.submit = lambda c: tuning.Outcome("correct", "measured", (1.0 + c.decisions[0],))
    best = wb.tune(
        VECTOR, space=two, target="cuda", trials=50, measurer=measurer, progress=seen.append
    )
    assert [told.count for told in seen] == [1, 2] and best.get("i_1").extent.value == 32


def test_what_was_refused_is_written_once_however_often_a_search_goes_on(tmp_path):
    def one(sch: wb.Schedule) -> None:
        tuning.require(sch.sample_categorical([0, 1], probs=[0.5, 0.5]) == 0, "it is odd")
        sch.bind("i", "threadIdx.x")

    written = []
    for _ in range(3):
        path = tmp_path / "one.jsonl"
        measurer = Planted()
        measurer.submit = lambda _: tuning.Outcome("correct", "measured", (1e-6,))
        asked = {"target": "cuda", "trials": 4, "measurer": measurer, "record": path}
        wb.tune(VECTOR, space=one, **asked)
        written.append(path.read_text())
    assert "it is odd" in written[0] and written[1:] == written[:1] * 2


def test_decisions_alone_are_ranked_by_what_is_known_of_others():
    domains = (TileDomain(1024, 4, 4), CategoricalDomain((0, 1), (0.5, 0.5)))
    rng = Random(1)

    def draw():
        return tuple(domain.draw(rng) for domain in domains)

    def seconds(decisions):
        return planted(tuning.Candidate(decisions, domains, wb.Schedule(VECTOR)))

    known = {d: seconds(d) for d in (draw() for _ in range(80))}
    model = DecisionModel(domains, known)
    new = [d for d in dict.fromkeys(draw() for _ in range(80)) if d not in known]
    off = [abs(log(told / seconds(d))) for d, told in zip(new, model.seconds(new), strict=True)]
    assert mean(off) < 0.1
    assert model.seconds([(1,), new[0]])[0] is None
    assert DecisionModel(domains, {}).seconds(new[:2]) == [None, None]


@pytest.mark.parametrize("strategy", ["random", "evolutionary"])
def test_what_is_not_proved_is_ranked_and_no_trial(strategy: str):
    """Without threads it can be lowered; only the checker says that no GPU is to run it."""

    def some(sch: wb.Schedule) -> None:
        threads = sch.sample_categorical([32, 64, 128], probs=[0.4, 0.3, 0.3])
        outer, inner = sch.split("i", factors=[None, threads])
        if threads != 64:
            sch.bind(outer, "blockIdx.x")
            sch.bind(inner, "threadIdx.x")

    cuda = target.get("cuda")
    assert candidate(VECTOR, some, cuda, (1,), Random(0), whole=False).kernels
    search = Search(VECTOR, some, cuda, cuda, strategy, 0)
    made, refused = search.batch(0, 3, [], [])
    assert sorted(trial.decisions for trial, _ in made) == [(0,), (2,)]
    assert all(one is not None and one.kernel for _, one in made) and search.lowered == 3
    (why,) = refused
    assert why.decisions == (1,) and why.reason.startswith("Can't build this: no loop of `B` is")


@pytest.mark.parametrize(
    "asked, text",
    [
        (
            {"trials": 0},
            "Can't tune main: trials=0 is no count.\ndo:    give a whole number from 1: trials=64",
        ),
        (
            {"strategy": "best"},
            "Can't tune main: there is no strategy 'best'.\ndo:    there are: random, evolutionary",
        ),
    ],
)
def test_what_is_no_search_is_refused(asked, text: str):
    with pytest.raises(tuning.TuneError) as refused:
        wb.tune(VECTOR, space=space, target="cuda", **asked)
    assert str(refused.value) == text


def test_a_space_without_a_right_candidate_says_why():
    def none(sch: wb.Schedule) -> None:
        sch.sample_perfect_tile("i", n=2)
        tuning.require(False, "it is Thursday")

    with pytest.raises(tuning.TuneError) as refused:
        wb.tune(VECTOR, space=none, target="cuda", trials=2, measurer=Planted())
    assert "most often: it is Thursday" in str(refused.value)


def test_the_modelled_time_is_called_so():
    seen = []
    wb.tune(VECTOR, space=space, target="nvidia/h200", trials=2, progress=seen.append)
    assert {told.last.outcome.how for told in seen} == {"modelled"}
    (first, *_) = seen
    assert first.last.trial.predicted == first.last.trial.modelled == first.last.seconds
    assert (
        tuning.ByModel(target.get("cuda"))
        .submit(tuning.candidate(VECTOR, space, target.get("cuda"), ((8, 1, 128, 1), 0), Random(0)))
        .reason.startswith("No modelled time: nobody knows how fast")
    )


def test_a_space_that_decides_otherwise_each_time_is_told_so():
    """As one that asks `random`: its candidates can be measured, and none be made again."""
    threads = count(1)

    def space(sch: wb.Schedule) -> None:
        sch.sample_categorical([0, 1], probs=[0.5, 0.5])
        outer, inner = sch.split("i", factors=[None, next(threads)])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")

    with pytest.raises(tuning.TuneError) as refused:
        wb.tune(VECTOR, space=space, target="nvidia/h200", trials=2, progress=lambda told: None)
    assert str(refused.value) == (
        "Can't tune main: its space makes another program of the same decisions.\n"
        "found: no correct trial can be made again, so there is nothing to hand back\n"
        "do:    let it choose by sch.sample_categorical and its like alone, not by random"
    )


@pytest.mark.parametrize("times", [(float("nan"),), (float("inf"),), (0.0,), (1e-20,), ()])
def test_what_is_no_time_costs_a_trial_whoever_measured_it(times, tmp_path):
    measurer, path = Planted(), tmp_path / "record.jsonl"
    submit, odd = measurer.submit, [tuning.Outcome("correct", "measured", times)]
    measurer.submit = lambda one: odd.pop() if odd else submit(one)
    asked = {"space": space, "target": "cuda", "trials": 4, "measurer": measurer}
    best = wb.tune(VECTOR, **asked, record=path, progress=lambda told: None)
    first, *rest = tuning.read(path).ended
    assert first.outcome.status == "runtime" and first.outcome.reason.startswith("it gave ")
    assert best.tried.best in rest and {one.outcome.status for one in rest} == {"correct"}


def test_the_choices_of_several_sums_are_learnt_from_in_little_memory():
    """Their products are thousands of columns, whose squares would take a gigabyte."""
    domains = (
        *[TileDomain(64, 5, 64)] * 6,
        *[CategoricalDomain((1, 2, 4, 8, 16), (0.2,) * 5)] * 12,
    )
    rng = Random(1)
    drawn = [tuple(domain.draw(rng) for domain in domains) for _ in range(40)]
    known = {decisions: 1e-6 * decisions[0][2] for decisions in drawn}
    tracemalloc.start()
    model = DecisionModel(domains, known)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6  # bytes
    off = [abs(log(told / known[d])) for d, told in zip(drawn, model.seconds(drawn), strict=True)]
    assert mean(off) < 0.1


def test_a_choice_of_many_is_learnt_from_in_little_memory():
    """A column for each would be millions of products of two."""
    many = 20_000
    domains = (CategoricalDomain(tuple(range(many)), (1 / many,) * many),)
    known = {(k,): 1e-6 * (1 + k) for k in range(0, many, 1000)}
    tracemalloc.start()
    fast, slow = DecisionModel(domains, known).seconds([(500,), (many - 500,)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6 and fast < slow / 2


def test_the_ready_space_without_a_candidate_is_told_as_what_it_is():
    program = script.parse("""
@T.prim_func
def main(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    with T.block("B"):
        vi = T.axis.spatial(1, 0)
        B[vi] = A[vi] + T.float32(1)
""")
    with pytest.raises(tuning.TuneError) as refused:
        wb.tune(program, target="cuda", trials=2, measurer=Planted())
    assert str(refused.value) == (
        "Can't tune main: none of 1 candidate is correct.\n"
        "found: most often: the loops of B are not its iterators\n"
        "do:    give a space of your own, space=…, or try one candidate by hand to see where it "
        "fails"
    )
