"""What fetching ahead costs: bytes of shared memory against barriers a turn, spare copies."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.lower.test_double_buffers import tiled
from tests.lower.test_pipelines import noted, prefetching, reversed_rows
from workbench import insight, target
from workbench.lower import lower

STAGES, BEHIND = [0, 0, 0, 0, 1], [0, 3, 1, 4, 2]
BOTH = "2 copies of A_shared and B_shared"


def words(sch: wb.Schedule, loop: str = "k_0") -> str:
    lowered = lower(sch.func, target.get("nvidia/a100"))
    return insight.ahead(sch.func, lowered, sch.get(loop).loop_var).words


@pytest.mark.parametrize(
    "way, told",
    [
        ({}, f"1,024 bytes of shared memory, 1 barrier a turn; {BOTH}"),
        ({"order": BEHIND}, "512 bytes of shared memory, 2 barriers a turn"),
        (
            {"order": BEHIND, "copies": {"A_shared": 2, "B_shared": 2}},
            f"1,024 bytes of shared memory, 1 barrier a turn; {BOTH}, 1 would do",
        ),
        (
            {"order": BEHIND, "copies": {"A_shared": 2}},
            "768 bytes of shared memory, 2 barriers a turn; 2 copies of A_shared, 1 would do",
        ),
    ],
)
def test_one_copy_or_two(way: dict[str, Any], told: str):
    sch = prefetching(16)
    sch.pipeline("k_0", stages=STAGES, **way)
    assert words(sch) == told


def test_asynchronous_copies():
    sch = tiled(8)
    sch.pipeline("k_0", stages=[0, 0, 2], async_stages=[0])
    assert words(sch) == (
        "3,072 bytes of shared memory, 1 barrier a turn; 3 copies of A_shared and B_shared"
    )


def test_a_double_buffer_costs_what_its_pipeline_costs():
    sch = tiled(8, "A_shared", "B_shared")
    assert words(sch) == f"2,048 bytes of shared memory, 1 barrier a turn; {BOTH}"


def test_barriers_are_of_a_turn_that_has_all_statements():
    """Of two turns and two stages there is none."""
    sch = wb.Schedule(reversed_rows(noted([0, 2]), 0, 2))
    assert words(sch, "k") == "384 bytes of shared memory; 3 copies of S"
