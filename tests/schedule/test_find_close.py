"""A name that is none of the program's: the one that it is close to is offered."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.widgets.programs import ADD
from workbench.script import parse


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CC", "is it `C`? Else pass the name of one of its blocks, or a handle from get_block()"),
        ("matmul", "pass the name of one of its blocks, or a handle from get_block()"),
    ],
)
def test_a_close_name_is_offered(name: str, hint: str):
    sch = wb.Schedule(parse(ADD))
    with pytest.raises(wb.ScheduleError) as error:
        sch.compute_inline(name)
    assert str(error.value).splitlines()[-1] == f"do:    {hint}"
