"""Launch: what all blocks of one kernel share; Mask: which lanes run."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from workbench.emulate import report
from workbench.emulate.plan import Frame, Plan
from workbench.emulate.record import Log
from workbench.emulate.storage import Storage
from workbench.emulate.watch import Watch
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

    `memory` holds the storage of each parameter; `written` are the parameters that it writes.
    """

    def __init__(
        self,
        plan: Plan,
        memory: Mapping[Buffer, Storage],
        written: set[Buffer],
        stop: threading.Event | None = None,
        log: Log | None = None,
    ) -> None:
        self.plan, self.memory, self.stop, self.log = plan, memory, stop, log
        self.who = report.Who(plan.kernel)
        self.crossing = {b: Watch(memory[b].cells) for b in written}
        self.shared = {
            b: Watch(int(np.prod(b.shape))) for b in plan.kernel.allocs if b.scope == "shared"
        }
        self.fresh = count()
        self.redundant: dict[BufferStore, int] = {}
