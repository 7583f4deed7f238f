"""Lesson 9: a missing barrier, a missing wait, one copy too few."""

from __future__ import annotations

from workbench.ir import PrimFunc
from workbench.lesson.mending import Broken, Mending
from workbench.lesson.programs import prefetched, product, tiled
from workbench.lower import Fault
from workbench.schedule import Schedule

START = product(32, 64, 64)
TWO = {"A_shared": 2, "B_shared": 2}


def _through_registers(start: PrimFunc) -> PrimFunc:
    return prefetched(start, (4, 4), (8, 8), 8, (0, 0, 0, 0, 1), (0, 3, 1, 4, 2), TWO)


def _copied_asynchronously(start: PrimFunc) -> PrimFunc:
    sch = Schedule(tiled(start, (4, 4), (8, 8), 8, copies="together"))
    sch.pipeline("k_0", stages=[0, 0, 1], copies=TWO, async_stages=[0])
    return sch.func


MENDING = Mending(
    key="three_kernels",
    lesson="09_as_fast_as_cublas",
    task="Each of these kernels had one thing taken away: a barrier, a wait for copies, or a "
    "buffer's second copy. Read what the emulator finds and look at the lines that it names. Then "
    "write for each what is to be put back, and where.",
    kernels={
        "first": Broken(START, _through_registers, Fault("barrier")),
        "second": Broken(START, _through_registers, Fault("copy", buffer="B_shared")),
        "third": Broken(START, _copied_asynchronously, Fault("wait"), "nvidia/nvidia-a100"),
    },
    hints=(
        "Of the two lines that a finding marks, which one runs first? Is it of another thread's "
        "work, of another turn, or of a copy that nobody waits for?",
        "In each kernel find the loop over k_0, and ahead of it and behind it the same statements. "
        "Where do those wait, and how many copies do they use? One kernel does in the loop what it "
        "does not do behind it, or the other way round.",
        "A barrier goes ahead of the work, where all that it reads has been stored. A wait goes "
        "ahead of the barrier that tells the others of what arrived, and leaves no group under "
        "way. A race in which the next tile is stored over this one takes no barrier, but a place "
        "of its own.",
    ),
)
