"""The order of the tests: long ones first, in each of the processes that share them."""

from __future__ import annotations

import pytest


def dealt(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """The tests in an order in which each of the processes begins with long ones.

    pytest-xdist hands each an equal part of the list, from its start on; who is through takes half
    of what another has left, from its end. The first begins with JupyterLab's, then the rest of the
    browser's, so that few start one; the others share what else takes long, and files of it that
    make much for all their tests are not torn apart. Short tests come last: they leave no process
    waiting for one at the end.
    """
    kinds: tuple[list[pytest.Item], ...] = ([], [], [])
    for item in items:
        kinds[rank(item)].append(item)
    browser, long, short = kinds
    browser.sort(key=lambda item: "server" not in getattr(item, "fixturenames", ()))
    if processes == 1:
        return browser + long + short
    found = list[pytest.Item]()
    for k in range(processes):
        first, last = ((len(long) * n) // (processes - 1) for n in (k - 1, k))
        found += long[first:last] if k else browser
        room = max(len(items) * (k + 1) // processes - len(found), 0)
        found, short = found + short[:room], short[room:]
    return found


def rank(item: pytest.Item) -> int:
    """0 of a test that drives a browser, 1 of another that takes long, 2 of the others."""
    marks = {mark.name for mark in item.iter_markers()}
    return 0 if "browser" in marks else 1 if marks & {"fuzz", "lesson", "tool"} else 2
