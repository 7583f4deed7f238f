"""The order of the tests in several processes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.dealt import dealt


def items(*marks: str) -> list[Any]:
    """Stand-ins for tests, each with the mark of that name or with none."""
    return [
        SimpleNamespace(name=mark, iter_markers=lambda mark=mark: [SimpleNamespace(name=mark)])
        for mark in marks
    ]


def names(found: list[Any]) -> str:
    return " ".join(item.name for item in found)


def test_each_process_begins_with_long_ones():
    marks = (
        "",
        "lesson",
        "",
        "browser",
        "",
        "",
        "tool",
        "",
        "fuzz",
        "",
        "",
        "tool",
        "",
        "",
        "",
        "",
    )
    given = items(*(mark or "short" for mark in marks))
    parts = [names(dealt(given, 4)[k : k + 4]) for k in range(0, 16, 4)]
    assert parts == [
        "browser short short short",
        "lesson short short short",
        "tool short short short",
        "fuzz tool short short",
    ]


@pytest.mark.parametrize("processes", [1, 2, 3, 30])
def test_none_is_lost(processes: int):
    given = items(*["tool"] * 20, *["browser"] * 9, "short")
    found = dealt(given, processes)
    assert {id(item) for item in found} == {id(item) for item in given}
    assert len(found) == len(given) and names(found[:9]) == " ".join(["browser"] * 9)
