"""Launch: what all blocks of one kernel share; Mask: which lanes run."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from workbench.emulate import report
from workbench.emulate.pieces import together
from workbench.emulate.plan import Frame, Plan
from workbench.emulate.record import Log
from workbench.emulate.shadow import Shadow
from workbench.emulate.storage import Storage
from workbench.emulate.watch import Crossing, Watch
from workbench.ir import Buffer, BufferStore


class Mask:
    """The lanes that run, as an array over the plan's axes; equal keys mean equal masks."""

    def __init__(self, key: tuple[Any, ...], array: Any) -> None:
        self.key, self.array = key, array
        self._seen: dict[Frame, Any] = {}

    def seen(self, frame: Frame) -> Any:
        """The mask over the dimensions of `frame`."""
        if frame not in self._seen:
            self._seen[frame] = frame.turn(self.array)
        return self._seen[frame]


class Launch:
    """What the blocks of one kernel share while it runs: global memory, verdicts, the record.

    `memory` holds the storage of each parameter, `written` are the parameters that it writes. The
    blocks `numbers` run, at most `lanes` lanes at a time.
    """

    def __init__(
        self,
        plan: Plan,
        memory: Mapping[Buffer, Storage],
        written: set[Buffer],
        numbers: Sequence[int],
        lanes: int,
        stop: threading.Event | None = None,
        log: Log | None = None,
    ) -> None:
        self.plan, self.memory, self.stop, self.log = plan, memory, stop, log
        self.who = report.Who(plan.kernel)
        self.numbers = numbers
        self.crossing = {
            b: Crossing(memory[b].cells, len(numbers), plan.accesses(b)) for b in written
        }
        owners = plan.threads * together(plan, numbers, lanes)
        self.within = {
            b: Watch(Shadow(memory[b].cells, owners, plan.accesses(b), window=True))
            for b in written
        }
        for buffer in plan.kernel.allocs:
            if buffer.scope == "shared" and plan.uniform:
                shadow = Shadow(int(np.prod(buffer.shape)), plan.threads, plan.accesses(buffer))
                self.within[buffer] = Watch(shadow)
        self.fresh = count()
        self.redundant: dict[BufferStore, int] = {}
