"""What the contact sheet of labs is asked for on its command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.contact_sheet import STATES, options


def test_a_file_and_some_of_the_states_are_asked_for():
    first, second, *_ = STATES
    found = options(["sheet.png", second, first])
    assert (found.file, found.states) == (Path("sheet.png"), [second, first])
    assert options(["sheet.png"]).states == []


def test_help_is_no_name_of_a_file(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        options(["--help"])
    assert left.value.code == 0 and "sheet.png" in capsys.readouterr().out


@pytest.mark.parametrize("given", [[], ["sheet.png", "no such state"]])
def test_what_there_is_not_is_refused(given: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        options(given)
    assert left.value.code == 2
    assert "there are: " in capsys.readouterr().err or not given
