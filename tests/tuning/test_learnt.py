"""What was measured corrects the modelled time, in the words of the features that tell it."""

from __future__ import annotations

from math import log, prod
from random import Random
from statistics import mean

import pytest

import workbench as wb
from tests.tuning.programs import VECTOR, space
from workbench import target, tuning
from workbench.tuning.features import features
from workbench.tuning.learnt import ranking
from workbench.tuning.trial import Ended, Outcome, Trial

H200 = target.get("nvidia/h200")


def trials(count: int) -> list[Ended]:
    """Trials of which those with many registers take up to four times as long as modelled."""
    rng, made = Random(3), []
    for number in range(count):
        registers, issue = rng.choice([32.0, 64.0, 128.0, 255.0]), rng.uniform(1, 20)
        told = (("modelled µs", issue), ("issue µs", issue), ("registers of a thread", registers))
        seconds = issue * 1e-6 * (registers / 32) ** 0.66
        trial = Trial(number, 0, count, (), (number,), str(number), None, issue * 1e-6, told)
        made.append(Ended(trial, Outcome("correct", "measured", (seconds,))))
    return made


def off(learnt: tuning.Learnt, asked: list[Ended]) -> float:
    """By how much the logarithm is wrong."""
    told = ((learnt.factor(e.trial.features), e) for e in asked)
    return mean(abs(log(factor * e.trial.modelled / e.seconds)) for factor, e in told)


@pytest.mark.parametrize("trees", [False, True])
def test_what_the_model_leaves_out_is_learnt_and_told_by_its_feature(monkeypatch, trees: bool):
    if trees:
        pytest.importorskip("xgboost", reason="needs xgboost: pip install '.[learn]'")
    else:
        monkeypatch.setattr("workbench.tuning.learnt.find_spec", lambda name: None)
    assert ("xgboost" in ranking()) is trees
    some = trials(80)
    learnt = tuning.Learnt(some[:50])
    assert off(learnt, some[50:]) < 0.05 and off(tuning.Learnt(some[:5]), some[50:]) > 0.3
    one = next(e for e in some[50:] if dict(e.trial.features)["registers of a thread"] == 255)
    why = learnt.why(one.trial.features)
    assert next(iter(why)) == "registers of a thread" and why["registers of a thread"] > 1.3
    common = [
        learnt.factor(e.trial.features) / prod(learnt.why(e.trial.features).values())
        for e in some[50:]
    ]
    assert common == pytest.approx([common[0]] * len(common), rel=1e-3)


def test_where_too_little_was_measured_the_middle_of_what_others_took_is_told():
    some = trials(5)
    few = tuning.Learnt(some)
    ratios = sorted(e.seconds / e.trial.modelled for e in some)
    assert few.factor(some[0].trial.features) == pytest.approx(ratios[2])
    assert few.why(some[0].trial.features) == {} and tuning.Learnt([]).factor(()) == 1.0


def test_features_are_told_in_the_words_of_insight_and_kept_in_the_record(tmp_path):
    made = tuning.candidate(VECTOR, space, H200, ((8, 1, 128, 1), 0), Random(0))
    told = dict(features(made.kernels, H200))
    assert told["blocks"] == 8 and told["threads of a block"] == 128 and told["kernels"] == 1
    assert told["modelled µs"] == wb.insight.modelled(made.kernels, H200).us
    path = tmp_path / "record.jsonl"
    seen: list[tuning.Progress] = []
    wb.tune(VECTOR, space=space, target="nvidia/h200", trials=3, record=path, progress=seen.append)
    kept = tuning.read(path)
    assert kept.header.ranking == ranking()
    assert [e.trial for e in kept.ended] == [told.last.trial for told in seen]
    assert dict(kept.ended[0].trial.features)["modelled µs"] > 0
