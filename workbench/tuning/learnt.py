"""Learnt: what was measured corrects the modelled time, by gradient-boosted trees on features.

The trees are xgboost's (``pip install "mlc-workbench[learn]"``; T. Chen and C. Guestrin, XGBoost: A
Scalable Tree Boosting System, 2016). What they learn is how many times longer than modelled a
candidate takes: of 133 tiles of a convolution layer on an H100, that leaves half of the error that
the modelled time has, where the time itself, learnt without it, needs twice the trials for as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from math import exp, log
from typing import Any

import numpy as np

from workbench.tuning.features import Features
from workbench.tuning.trial import Ended

LEAST = 24  # trials, before anything is learnt
ROUNDS = 60
SETTINGS = {
    "max_depth": 3,  # as good as 6 from 32 trials on, and better before; see the module
    "eta": 0.1,
    "min_child_weight": 2,
    "tree_method": "exact",  # nothing by chance, on one thread: the same trees on each machine
    "nthread": 1,
    "seed": 0,
}
MODELLED = "modelled time"


def ranking() -> str:
    """By what candidates are ranked here: xgboost and its version, or the modelled time."""
    if find_spec("xgboost") is None:
        return MODELLED
    import xgboost

    return f"xgboost {xgboost.__version__}"


class Learnt:
    """Fitted to the trials that `ended`, as far as these are correct and have features.

    >>> learnt = tuning.Learnt(tuning.read("add.jsonl").ended)
    >>> learnt.factor(learnt.ended[0].trial.features) > 0
    True
    """

    def __init__(self, ended: Sequence[Ended]) -> None:
        self.ended = [e for e in ended if e.trial.features and e.outcome.status == "correct"]
        self.names = tuple(name for name, _ in self.ended[0].trial.features) if self.ended else ()
        self.ended = [e for e in self.ended if self._fits(e.trial.features)]
        ratios = [
            log(e.seconds / (dict(e.trial.features)["modelled µs"] * 1e-6)) for e in self.ended
        ]
        self._ratios = np.array(ratios)
        self._middle = float(np.median(self._ratios)) if self.ended else 0.0

    def _fits(self, one: Features) -> bool:
        return tuple(name for name, _ in one) == self.names and dict(one)["modelled µs"] > 0

    @cached_property
    def _trees(self) -> Any:
        """None where there is too little to learn from."""
        if len(self.ended) < LEAST or ranking() == MODELLED:
            return None
        import xgboost

        data = xgboost.DMatrix(self._rows([e.trial.features for e in self.ended]), self._ratios)
        return xgboost.train({**SETTINGS, "base_score": self._middle}, data, ROUNDS)

    def _rows(self, many: Sequence[Features]) -> np.ndarray:
        values = np.array([[value for _, value in one] for one in many])
        return np.log(np.maximum(values, 1e-6))

    def factor(self, one: Features) -> float:
        """How many times the modelled time a candidate of these features is thought to take.

        Where too little was measured, or xgboost is not installed, the middle of what others took.
        """
        return self.factors([one])[0]

    def factors(self, many: Sequence[Features]) -> list[float]:
        """The same of several."""
        known = [one for one in many if self._fits(one)] if self.names else []
        if self._trees is None or not known:
            return [exp(self._middle)] * len(many)
        import xgboost

        told = iter(self._trees.predict(xgboost.DMatrix(self._rows(known))))
        return [exp(float(next(told)) if self._fits(one) else self._middle) for one in many]

    def why(self, one: Features) -> dict[str, float]:
        """How many times longer each feature makes it, the farthest from 1 first.

        Their product, times the same number for all candidates, is `factor`: Shapley values of the
        trees (S. Lundberg and S.-I. Lee, A Unified Approach to Interpreting Model Predictions,
        2017). {} where nothing was learnt.
        """
        if self._trees is None or not self._fits(one):
            return {}
        import xgboost

        parts = self._trees.predict(xgboost.DMatrix(self._rows([one])), pred_contribs=True)[0]
        order = np.argsort(-np.abs(parts[:-1]))
        return {self.names[k]: exp(float(parts[k])) for k in order if parts[k]}
