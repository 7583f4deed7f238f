"""Tiles with halos of two stages: what a guard stops is read no further than it is filled."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.lesson.programs import staged, stages

ONES = (1, 1, 1)


@pytest.mark.parametrize("tile", [(8, 32), (16, 16), (32, 32)])
@pytest.mark.parametrize(("down", "across"), [(ONES, ONES), ((1, 2, 1), (-1, 0, 1))])
def test_both_stages_of_a_tile_are_filled_by_threads_that_do_not_divide_them(tile, down, across):
    kernel = wb.build(staged(stages(1024, 1024, down, across), "both", tile))
    assert kernel.block == (tile[0] * tile[1], 1, 1)


def test_a_copy_that_is_too_small_is_refused_all_the_same():
    """One row of the halo is not fetched; every block writes the row that another one reads."""
    func = staged(stages(64, 64, ONES, ONES), "both", (8, 32))
    text = wb.script.show(func)
    rows = "ax0_ax1_fused_0 * 256 + ax0_ax1_fused_1 < 340"
    assert rows in text
    lines = [line for line in text.splitlines() if "T.reads" not in line]
    fewer = "\n".join(lines).replace(rows, rows.replace("340", "306"))
    with pytest.raises(wb.ScheduleError, match="A_shared"):
        wb.build(wb.script.parse(fewer))
