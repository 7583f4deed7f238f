"""No collector of cycles runs while a page is made and sent; it does behind that."""

from __future__ import annotations

import gc

import pytest

import workbench as wb
from tests.widgets.programs import ADD, parse
from workbench.widgets.ask.session import Session
from workbench.widgets.page.collecting import collecting_later


@pytest.fixture
def collecting():
    was = gc.isenabled()
    gc.enable()
    yield
    if not was:
        gc.disable()


@pytest.mark.parametrize("kept", [False, True])
def test_it_is_off_within_and_on_behind_whatever_happens(collecting, kept: bool):
    with pytest.raises(ZeroDivisionError), collecting_later(kept):
        with collecting_later():
            assert not gc.isenabled()
        assert not gc.isenabled(), "still within the outer one"
        raise ZeroDivisionError
    assert gc.isenabled()
    gc.disable()
    with collecting_later(kept):
        pass
    assert not gc.isenabled(), "who switched it off wants it so"


def test_a_click_is_answered_without_it(collecting, monkeypatch: pytest.MonkeyPatch):
    lab, seen = wb.lab(parse(ADD)), []
    look = Session.look
    monkeypatch.setattr(Session, "look", lambda self: (seen.append(gc.isenabled()), look(self)))
    lab._handle_custom_msg({"do": "look"}, [])
    assert seen == [False] and gc.isenabled()
    lab.close()
