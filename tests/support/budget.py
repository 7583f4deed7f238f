"""What each test's own call takes of the processor: ``python3 run.py test --budget``.

A plugin for pytest (``-p tests.support.budget``). What a test starts and waits for counts, what its
fixtures do does not: they are shared. A clock would tell how busy the machine is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from run import marks

MARKS = frozenset(marks())
MOST = 1.0  # seconds for a test without a mark, so that `test --quick` stays quick
SHOWN = 0.1  # seconds: shorter ones are not listed


def processor() -> float:
    """Seconds of processor that this process and those that it waited for have taken."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before = processor()
    try:
        return (yield)
    finally:
        kinds = sorted(MARKS & {mark.name for mark in item.iter_markers()})
        item.user_properties.append(("budget", (processor() - before, kinds)))


class Budget:
    """The calls of all tests, also of those that ran in other processes."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[float, list[str]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, taken in report.user_properties:
            if name == "budget" and report.when == "call":
                self.calls[report.nodeid] = taken

    def over(self) -> list[str]:
        """The tests without a mark that take too long."""
        return [
            name for name, (seconds, kinds) in self.calls.items() if seconds > MOST and not kinds
        ]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.over() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        line = terminalreporter.write_line
        terminalreporter.section("seconds of processor")
        for name, (seconds, kinds) in sorted(self.calls.items(), key=lambda call: call[1][0]):
            if seconds >= SHOWN:
                line(f"{seconds:8.2f}  {', '.join(kinds) or '-':14} {name}")
        for name in self.over():
            line(f"above {MOST:g} s without a mark: {name}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Budget())
