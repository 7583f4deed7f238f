"""Learnt: what was measured corrects the modelled time, by features.

What is learnt is the logarithm of how many times longer than modelled a candidate takes: by a
quadratic in the logarithms of its features, fitted by least squares with a ridge, and, where
xgboost is installed (``pip install "mlc-workbench[learn]"``), by the mean of that and of
gradient-boosted trees (T. Chen and C. Guestrin, XGBoost: A Scalable Tree Boosting System, 2016).
Held against times of an H100 that were not learnt from, of 133 tiles of a convolution layer and of
100 of a product: the modelled time is off by 0.30 and 0.15 (standard deviation of the logarithm),
after 64 trials the ridge by 0.13 and 0.12, trees alone by 0.15 and 0.13, both by 0.13 and 0.12;
after 32, the ridge by 0.16 and 0.14, trees by 0.19 and 0.15. The mean ranks best of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from math import exp, log
from typing import Any

import numpy as np

from workbench.tuning.features import Features
from workbench.tuning.trial import Ended, checked_times

LEAST = 16  # trials, before anything is learnt
_RIDGE = 3.0  # of 1 to 30, on the times above
_PAIRS = 0.3  # how much less two features together count than one
_FARTHEST = 3.0  # standard deviations: beyond what was seen, the quadratic goes nowhere
ROUNDS = 60
SETTINGS = {
    "max_depth": 3,  # of 2, 3 and 6
    "eta": 0.1,
    "min_child_weight": 2,
    "tree_method": "exact",  # nothing by chance, on one thread: the same trees on each machine
    "nthread": 1,
    "seed": 0,
}
MODELLED = "modelled time"


def ranking() -> str:
    """By what candidates are ranked here, where trials were measured: with or without xgboost."""
    if find_spec("xgboost") is None:
        return f"{MODELLED}, corrected by a ridge"
    import xgboost

    return f"{MODELLED}, corrected by a ridge and xgboost {xgboost.__version__}"


class Learnt:
    """Fitted to the trials that `ended`, as far as these are correct and have features.

    >>> learnt = tuning.Learnt(tuning.read("add.jsonl").ended)
    >>> learnt.factor(learnt.ended[0].trial.features) > 0
    True
    """

    def __init__(self, ended: Sequence[Ended]) -> None:
        told = [e for e in ended if e.trial.features and e.outcome.status == "correct"]
        self.names = tuple(name for name, _ in told[0].trial.features) if told else ()
        self.ended = [e for e in told if self._fits(e.trial.features)]
        self._ratios = np.array(
            [log(e.seconds / (dict(e.trial.features)["modelled µs"] * 1e-6)) for e in self.ended]
        )
        self._middle = float(np.median(self._ratios)) if self.ended else 0.0
        self._learns = len(self.ended) >= LEAST
        if self._learns:
            self._plain = _logs([e.trial.features for e in self.ended])
            self._mean, self._scale = self._plain.mean(0), self._plain.std(0) + 1e-9
            columns = self._columns(self._plain)
            squares = columns.T @ columns + _RIDGE * np.eye(columns.shape[1])
            self._weights = np.linalg.solve(squares, columns.T @ (self._ratios - self._middle))

    def _fits(self, one: Features) -> bool:
        modelled = dict(one).get("modelled µs", 0.0) * 1e-6
        return tuple(name for name, _ in one) == self.names and not checked_times((modelled,))

    def _columns(self, plain: np.ndarray) -> np.ndarray:
        """The features, all about as large, and the products of two."""
        near = np.clip((plain - self._mean) / self._scale, -_FARTHEST, _FARTHEST)
        first, second = np.triu_indices(near.shape[1])
        return np.hstack([near, _PAIRS * near[:, first] * near[:, second]])

    @cached_property
    def _trees(self) -> Any:
        """None without xgboost."""
        if find_spec("xgboost") is None:
            return None
        import xgboost

        data = xgboost.DMatrix(self._plain, self._ratios)
        return xgboost.train({**SETTINGS, "base_score": self._middle}, data, ROUNDS)

    def factor(self, one: Features) -> float:
        """How many times the modelled time a candidate of these features is thought to take.

        Where too little was measured, the middle of what others took; 1 where nothing was.
        """
        if not self._learns or not self._fits(one):
            return exp(self._middle)
        _, parts = self._parts(one)
        return exp(float(parts.sum()))

    def why(self, one: Features) -> dict[str, float]:
        """How many times longer each feature makes it, the farthest from 1 first.

        Their product, times the same number for all candidates, is `factor`. What two features do
        together is shared out to both; of trees these are Shapley values (S. Lundberg and S.-I.
        Lee, A Unified Approach to Interpreting Model Predictions, 2017). {} where too little was
        measured.
        """
        if not self._learns or not self._fits(one):
            return {}
        names, parts = self._parts(one)
        order = np.argsort(-np.abs(parts[:-1]))
        return {names[k]: exp(float(parts[k])) for k in order if parts[k]}

    def _parts(self, one: Features) -> tuple[tuple[str, ...], np.ndarray]:
        """What each feature adds to the logarithm of the factor; the last is the same for all."""
        plain = _logs([one])
        each = (self._columns(plain) * self._weights)[0]
        count = len(self.names)
        parts = np.append(each[:count], self._middle)
        for k, pair in enumerate(zip(*np.triu_indices(count), strict=True)):
            for feature in pair:
                parts[feature] += each[count + k] / 2
        if self._trees is not None:
            import xgboost

            told = self._trees.predict(xgboost.DMatrix(plain), pred_contribs=True)[0]
            parts = (parts + told) / 2
        return self.names, parts


def _logs(many: Sequence[Features]) -> np.ndarray:
    return np.log(np.maximum(np.array([[value for _, value in one] for one in many]), 1e-3))
