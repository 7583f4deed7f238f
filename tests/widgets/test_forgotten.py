"""What is known of a program goes with it: a long session keeps no program that nobody has."""

import gc
import weakref

from benchmarks.histories import window_sum
from workbench import insight
from workbench.ir import PrimFunc
from workbench.runtime import build
from workbench.schedule import Schedule
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.page import page
from workbench.widgets.page.view import MACHINE_PANES, PROGRAM_PANES, View


def programs() -> list[weakref.ref[PrimFunc]]:
    """A few programs of a schedule that was shown, built and counted, and is gone."""
    sch, desk = Schedule(window_sum(1024)), Desk()
    found = []
    for step in (
        lambda: sch.split("i", factors=[None, 128]),
        lambda: sch.bind("i_0", "blockIdx.x"),
        lambda: sch.bind("i_1", "threadIdx.x"),
        lambda: sch.cache_read("C", 0, "shared"),
        lambda: sch.compute_at("A_shared", "i_1"),
        lambda: sch.actions("ax0"),
    ):
        step()
        for pane in PROGRAM_PANES:
            page(sch, View(program=pane), desk)
        for pane in MACHINE_PANES:
            page(sch, View(machine=pane), desk)
        found.append(weakref.ref(sch.func))
    sch.split("ax0", factors=[None, 128])
    sch.bind("ax0_1", "threadIdx.x")
    insight.counts(build(sch.func).kernels)
    return found


def test_programs_go_with_their_schedule() -> None:
    found = programs()
    gc.collect()
    assert [one() for one in found] == [None] * len(found)
