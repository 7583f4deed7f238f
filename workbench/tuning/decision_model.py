"""How long candidates take, learnt from their decisions alone: ranks them before they are built.

A quadratic in the logarithms of factors, fitted by least squares with a ridge: tiles act by their
products, whose logarithms are sums, and by how two of them go together, which are the products of
two logarithms. It costs microseconds a candidate where building one takes a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, log2

import numpy as np

from workbench.tuning.space import Decisions
from workbench.verbs.choices import CategoricalDomain, Domain, LocationDomain, TileDomain

LEAST = 12  # candidates, before it says anything
MOST_VALUES = 64  # of a choice with a column each: products of two columns take memory
_RIDGE = 3.0  # ranks best of 0.1 to 100, held against modelled times of a product's tiles


class DecisionModel:
    """Fitted to the seconds of decisions of `domains`; of others it knows nothing.

    `known` gives the seconds, or any other positive number that goes by decisions.
    """

    def __init__(self, domains: Sequence[Domain], known: Mapping[Decisions, float]) -> None:
        self.domains = domains
        self._weights: np.ndarray | None = None
        rows = {decisions: n for decisions, n in known.items() if fit(domains, decisions)}
        if len(rows) < LEAST:
            return
        plain = np.array([self._plain(decisions) for decisions in rows])
        self._mean, self._scale = plain.mean(0), plain.std(0) + 1e-9
        inputs = self._inputs(plain)
        wanted = np.array([log(number) for number in rows.values()])
        self._middle = wanted.mean()
        self._weights = _fitted(inputs, wanted - self._middle)

    def seconds(self, many: Sequence[Decisions]) -> list[float | None]:
        """What each is thought to take; None where too little is known, or of other choices."""
        if self._weights is None:
            return [None] * len(many)
        fits = [fit(self.domains, decisions) for decisions in many]
        plain = [self._plain(d) for d, fits_it in zip(many, fits, strict=True) if fits_it]
        if not plain:
            return [None] * len(many)
        logs = iter(self._inputs(np.array(plain)) @ self._weights + self._middle)
        return [float(np.exp(np.clip(next(logs), -34, 20))) if known else None for known in fits]

    def _plain(self, decisions: Decisions) -> list[float]:
        """The logarithms of all factors, and which each other choice is: of many, how far on."""
        row: list[float] = []
        for domain, decision in zip(self.domains, decisions, strict=True):
            if isinstance(domain, TileDomain):
                assert isinstance(decision, tuple)
                row.extend(log2(factor) for factor in decision)
            else:
                values = _values(domain)
                if len(values) > MOST_VALUES:
                    row.append(values.index(decision) / len(values))
                else:
                    row.extend(float(one == decision) for one in values)
        return row

    def _inputs(self, plain: np.ndarray) -> np.ndarray:
        """The columns with their products, all about as large."""
        columns = (plain - self._mean) / self._scale
        first, second = np.triu_indices(columns.shape[1])
        return np.hstack([columns, 0.5 * columns[:, first] * columns[:, second]])


def _fitted(inputs: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The weights of least squares with a ridge, by whichever is fewer: columns or rows.

    The choices of several sums make thousands of columns; both ways give the same weights.
    """
    rows, columns = inputs.shape
    if columns <= rows:
        squares = inputs.T @ inputs + _RIDGE * np.eye(columns)
        return np.linalg.solve(squares, inputs.T @ wanted)
    return inputs.T @ np.linalg.solve(inputs @ inputs.T + _RIDGE * np.eye(rows), wanted)


def fit(domains: Sequence[Domain], decisions: Decisions) -> bool:
    """Whether there is a decision of each of `domains`, and no more."""
    if len(decisions) != len(domains):
        return False
    return not any(d.wrong(decision) for d, decision in zip(domains, decisions, strict=True))


def _values(domain: CategoricalDomain | LocationDomain) -> Sequence[int]:
    return domain.places if isinstance(domain, LocationDomain) else range(len(domain.candidates))
