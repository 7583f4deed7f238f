"""A launch on a saved page: each warp has its track, each request an example that is served so."""

from __future__ import annotations

import json
import random
from itertools import product
from math import prod
from typing import Any

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.support.gpu_programs import add_in_blocks, blocked_matmul
from workbench import insight, script
from workbench.codegen.source import text_kernel
from workbench.insight.requests import Requests, requests_of
from workbench.insight.warp_time import warp_time
from workbench.ir import Kernel, PrimFunc
from workbench.lower import lower
from workbench.schedule import Schedule
from workbench.target import get
from workbench.widgets.page.desk import Desk
from workbench.widgets.still.in_time import EXAMPLES, MOST, levels_in_time
from workbench.widgets.still.offline import last_page

TAIL = """
@T.prim_func
def main(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
    for b in T.thread_binding(8, thread="blockIdx.x"):
        for t in T.thread_binding(128, thread="threadIdx.x"):
            if t % 64 < 40:
                for k in range(3):
                    if b * 128 + t < 1000:
                        B[b * 128 + t] = A[(b * 128 + t) * 7 % 1000]
"""
WARPS = """
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    for b in T.thread_binding(8, thread="blockIdx.x"):
        for t in T.thread_binding(128, thread="threadIdx.x"):
            B[b * 128 + t] = A[t // 32 * t * 8]
"""


def tiled() -> PrimFunc:
    return blocking_with_shared(Schedule(matmul(64)), 2, 2, 8, 8, 8).func


PROGRAMS = {"shared": tiled, "registers": blocked_matmul, "plain": add_in_blocks}
PROGRAMS |= {
    name: lambda text=text: script.parse(text) for name, text in (("tail", TAIL), ("warps", WARPS))
}


def kernel_of(func: PrimFunc) -> Kernel:
    """As its text has it, for the GPU of a lab."""
    gpu = get(Desk().gpu)
    (kernel,) = lower(func, gpu).kernels
    return text_kernel(kernel, gpu)


def levels(func: PrimFunc) -> tuple[dict[str, Any], dict[str, Any]]:
    (kernel,), pictures = levels_in_time(Schedule(func).node, Desk())
    return kernel, pictures


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_warp_has_the_track_of_its_kind(name: str):
    func = PROGRAMS[name]()
    kernel, pictures = levels(func)
    time = insight.block_time(kernel_of(func), func)
    assert pictures[kernel["block"]]["track"] == time.warps.plain()
    assert len(kernel["warps"]) == time.warps.rows
    for warp, kind in enumerate(kernel["warps"]):
        own = warp_time(time, warp)
        made = pictures[kernel["kinds"][kind]["picture"]]
        assert made["track"] == own.track.plain()
        assert made["asked"] == [one and one.plain() for one in own.asked]
    tracks = [pictures[kind["picture"]]["track"] for kind in kernel["kinds"]]
    assert all(a != b for k, a in enumerate(tracks) for b in tracks[:k]), "no kind is told twice"


def from_base(addresses: tuple[int | None, ...], period: int) -> list[int | None]:
    base = min(a for a in addresses if a is not None) // period * period
    return [None if a is None else a - base for a in addresses]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_examples_of_an_access_are_its_requests_up_to_shifts(name: str):
    """All of them where there are no more kinds than a page shows, and the most frequent else."""
    kernel = kernel_of(PROGRAMS[name]())
    found = [one for scope in ("shared", "global") for one in requests_of([kernel], scope)[0]]
    assert found
    for requests in found:
        made: dict[str, int] = {}
        for values in drawn(requests):
            at = dict(zip(requests.axes, values, strict=True))
            lanes = requests.lanes(at)
            if any(address is not None for address in lanes.addresses):
                wants = json.dumps(from_base(lanes.addresses, requests.period))
                made[wants] = made.get(wants, 0) + 1
        every = requests.examples(1000)
        assert {json.dumps(list(one.lanes)) for one in every} >= made.keys()
        for at, told in every:
            assert from_base(requests.lanes(at).addresses, requests.period) == list(told)
        some = requests.examples(2)
        assert some == every[:2]
        if prod(requests.axes.values()) <= ALL:
            assert {json.dumps(list(one.lanes)) for one in every} == made.keys()
            times = [made[json.dumps(list(one.lanes))] for one in every]
            assert times == sorted(times, reverse=True)


ALL = 300


def drawn(requests: Requests) -> list[tuple[int, ...]]:
    """Where its requests are made: all of the places, or some of very many."""
    extents = [range(extent) for extent in requests.axes.values()]
    if prod(map(len, extents)) <= ALL:
        return [*product(*extents)]
    chance = random.Random(7)
    return [tuple(map(chance.choice, extents)) for _ in range(20)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_have_pictures_and_all_fits_in_64_kb(name: str):
    kernel, pictures = levels(PROGRAMS[name]())
    assert kernel["grid"] and kernel["threads"]
    for access in kernel["accesses"]:
        assert 1 <= len(access["examples"]) <= EXAMPLES
        for example in access["examples"]:
            made = pictures[example["picture"]]
            (drawn,) = (one for one in made["strips"] if "data-low" not in one)
            assert drawn and made["table"] and made["caption"]
            assert all(f"{axis} = {n:,}" in made["full"] for axis, n in example["at"].items())
    tracks = [[one["track"], one["asked"]] for one in pictures.values() if one["track"]]
    assert len(json.dumps([kernel, tracks], separators=(",", ":"))) < MOST


def test_where_there_is_no_room_the_last_kinds_of_warps_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
):
    whole, _ = levels(script.parse(WARPS))
    assert len(whole["kinds"]) > 2
    monkeypatch.setattr("workbench.widgets.still.in_time.MOST", 3000)
    less, pictures = levels(script.parse(WARPS))
    assert 0 < len(less["kinds"]) < len(whole["kinds"])
    left = len(less["kinds"])
    assert less["warps"] == [kind if kind < left else None for kind in whole["warps"]]
    assert {kind["picture"] for kind in less["kinds"]} <= pictures.keys()


def test_of_a_program_without_kernels_nothing_is_told():
    assert levels_in_time(Schedule(matmul(8)).node, Desk()) == ([], {})


def test_the_page_without_a_script_shows_the_level_that_is_open():
    """That is what a notebook keeps."""
    lab = wb.lab(tiled(), panes=["timeline"])
    said = {}
    for level in ("", "block", "warp"):
        select = {"block": 3, "warp": 1}
        lab.set_state({"view": {**lab.view, "level": level, "select": select}})
        said[level] = last_page(lab.session)
    assert "all 132 multiprocessors" in said[""] and "barrier 1" not in said[""]
    assert "Block 3: 16 barriers" in said["block"]
    assert "Warp 1 of block 3." in said["warp"] and "bank" in said["warp"]
    lab.close()
