"""Lesson 9: a missing barrier, a missing wait, one copy too few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.ir import PrimFunc
from workbench.lesson.mending import Broken, Mending
from workbench.lesson.programs import prefetched, product, tiled
from workbench.lower import Fault
from workbench.schedule import Schedule

TASK = (
    "Each of these kernels had one thing taken away: a barrier, a wait for copies, or a buffer's "
    "second copy. Read what the emulator finds and look at the lines that it names. Then write for "
    "each what is to be put back, and where."
)
HINTS = (
    "Of the two lines that a finding marks, which one runs first? Is it of another thread's "
    "work, of another turn, or of a copy that nobody waits for?",
    "In each kernel find the loop over k_0, and ahead of it and behind it the same statements. "
    "Where do those wait, and how many copies do they use? One kernel does in the loop what it "
    "does not do behind it, or the other way round.",
    "A barrier goes ahead of the work, where all that it reads has been stored. A wait goes "
    "ahead of the barrier that tells the others of what arrived, and leaves under way only "
    "what nobody reads yet. A race in which the next tile is stored over this one takes no "
    "barrier, but a place of its own.",
)


@dataclass(frozen=True)
class _Ways:
    """The tile of a thread, and how many tiles ahead one copies asynchronously."""

    tile: tuple[int, int] = (4, 4)
    ahead: int = 1

    def through_registers(self, start: PrimFunc) -> PrimFunc:
        """The next tile on its way in registers while this one is used."""
        stages, order, copies = (0, 0, 0, 0, 1), (0, 3, 1, 4, 2), {"A_shared": 2, "B_shared": 2}
        return prefetched(start, self.tile, (8, 8), 8, stages, order, copies)

    def asynchronously(self, start: PrimFunc) -> PrimFunc:
        """The next tiles on their way to shared memory by copies that nobody waits for yet."""
        sch = Schedule(tiled(start, self.tile, (8, 8), 8, copies="together"))
        copies = {"A_shared": self.ahead + 1, "B_shared": self.ahead + 1}
        sch.pipeline("k_0", stages=[0, 0, self.ahead], copies=copies, async_stages=[0])
        return sch.func


def _mending(
    key: str, start: PrimFunc, ways: _Ways, faults: Mapping[str, tuple[Fault, bool]]
) -> Mending:
    """The exercise on kernels by name, each with its fault; True where it copies asynchronously."""
    kernels = {
        name: Broken(start, ways.asynchronously, fault, "nvidia/nvidia-a100")
        if copies
        else Broken(start, ways.through_registers, fault)
        for name, (fault, copies) in faults.items()
    }
    return Mending(key, "09_as_fast_as_cublas", TASK, kernels, HINTS)


MENDINGS = (
    _mending(
        "three_kernels",
        product(32, 64, 64),
        _Ways(),
        {
            "first": (Fault("barrier"), False),
            "second": (Fault("copy", buffer="B_shared"), False),
            "third": (Fault("wait"), True),
        },
    ),
    _mending(
        "three_kernels 2",
        product(16, 32, 32),
        _Ways((2, 4)),
        {
            "first": (Fault("wait", 2), True),
            "second": (Fault("copy", buffer="A_shared"), False),
            "third": (Fault("barrier", 2), False),
        },
    ),
    _mending(
        "three_kernels 3",
        product(16, 16, 40),
        _Ways((2, 2), ahead=2),
        {
            "first": (Fault("copy", buffer="B_shared"), False),
            "second": (Fault("barrier", 2), True),
            "third": (Fault("wait"), True),
        },
    ),
)
