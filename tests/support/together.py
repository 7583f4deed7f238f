"""Kernels of many tests as one C++ text: to start g++ takes as long as ten of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tests.support.cpp import compile_cpp
from workbench.lower import Lowered


@dataclass(frozen=True)
class Expected:
    """What the kernels of a program have to make of arrays for its parameters, and who says so."""

    test: str
    lowered: Lowered
    given: tuple[np.ndarray, ...]
    wanted: tuple[np.ndarray, ...]
    language: str
    rtol: float
    atol: float


class Together:
    """What tests expect of kernels as C++, held to it once all tests of a file have run."""

    def __init__(self) -> None:
        self.expected: list[Expected] = []

    def expect(
        self,
        lowered: Lowered,
        given: Iterable[np.ndarray],
        wanted: Iterable[np.ndarray],
        language: str = "cuda",
        rtol: float = 0,
        atol: float = 0,
    ) -> None:
        """That the kernels make `wanted` of `given`, arrays for all parameters; none is changed."""
        test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0]
        before, after = (tuple(array.copy() for array in each) for each in (given, wanted))
        self.expected.append(Expected(test, lowered, before, after, language, rtol, atol))

    def faults(self) -> list[str]:
        """The tests whose kernels do something else, each with what they do."""
        found = []
        for language in dict.fromkeys(one.language for one in self.expected):
            group = [one for one in self.expected if one.language == language]
            together = _fault(group)
            if together:  # the first that goes wrong ends all: each alone tells of itself
                alone = [f"{one.test}\n{told}" for one in group if (told := _fault([one]))]
                found += alone or [f"only together: {together}"]
        return found


def _fault(group: Sequence[Expected]) -> str:
    """What one of them does that is not expected of it, compiled as one text; "" if none does."""
    programs = list({id(one.lowered): one.lowered for one in group}.values())
    number = {id(lowered): k for k, lowered in enumerate(programs)}
    jobs = [(number[id(one.lowered)], [array.copy() for array in one.given]) for one in group]
    try:
        compile_cpp(programs, group[0].language).run(jobs)
        for one, (_, made) in zip(group, jobs, strict=True):
            for array, wanted in zip(made, one.wanted, strict=True):
                if one.rtol or one.atol:
                    np.testing.assert_allclose(array, wanted, one.rtol, one.atol)
                else:
                    np.testing.assert_array_equal(array, wanted)
    except AssertionError as error:
        return str(error)
    return ""
