"""Refusals about loops and blocks of very long names still begin with one line."""

from __future__ import annotations

import pytest

from tests.support.block_programs import OBLONG_MATMUL
from workbench import script
from workbench.schedule import Schedule, ScheduleError

LOOP = "r_" + "fused_" * 30 + "0"
BLOCK = "C_" + "o_" * 60 + "update"
LONG = (
    OBLONG_MATMUL.replace(", k in", f", {LOOP} in")
    .replace(", k])", f", {LOOP}])")
    .replace('T.block("C")', f'T.block("{BLOCK}")')
)


@pytest.mark.parametrize(
    "call",
    [
        lambda sch: sch.bind(LOOP, "blockIdx.x"),
        lambda sch: sch.split(LOOP, factors=[0, None]),
        lambda sch: sch.merge("i", LOOP),
        lambda sch: sch.vectorize(LOOP),
        lambda sch: sch.compute_at(BLOCK, LOOP),
        lambda sch: sch.decompose_padding(BLOCK, LOOP),
        lambda sch: sch.cache_read(BLOCK, 7, "shared"),
        lambda sch: sch.pad_einsum(BLOCK, [1]),
    ],
)
def test_the_headline_is_one_line(call):
    with pytest.raises(ScheduleError) as refused:
        call(Schedule(script.parse(LONG)))
    told = refused.value
    assert len(told.headline) <= 120 and "…" in told.headline
    assert told.headline.endswith((".", "…"))
    whole = told.detail.split("\n")[0]
    assert LOOP in whole or BLOCK in whole


def test_what_the_lab_offers_is_one_line():
    sch = Schedule(script.parse(LONG))
    for place in (sch.get_block(BLOCK), *sch.get_loops(BLOCK)):
        for verdict in sch.actions(place):
            assert all(len(option.why_not) <= 120 for option in verdict.options)
