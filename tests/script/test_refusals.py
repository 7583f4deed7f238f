"""Every refusal of the reader, its text read whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.script.bad_programs import BAD
from workbench.script import ParseError, parse

TEXTS = Path(__file__).parent / "refusals.txt"


def refusal(text: str) -> str:
    with pytest.raises(ParseError) as error:
        parse(text)
    return str(error.value)


def expected() -> dict[str, str]:
    """The texts of the file, by the name of the fault: sections that start with ``== name``."""
    sections = re.split("^== ", TEXTS.read_text(), flags=re.MULTILINE)[1:]
    return {name: text.rstrip() for name, _, text in (s.partition("\n") for s in sections)}


def test_every_fault_has_its_text():
    assert list(expected()) == list(BAD)


@pytest.mark.parametrize("name", BAD)
def test_the_refusal_reads(name):
    text = refusal(BAD[name])
    assert text == expected()[name]
    assert len(text.splitlines()[0]) <= 120
    assert "\ndo:    " in text
