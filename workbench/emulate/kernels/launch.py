"""Launch: what all blocks of one kernel share while it runs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import count
from math import prod

from workbench.emulate.kernels.maps import Storage
from workbench.emulate.kernels.plan import Plan, count_together, written_by
from workbench.emulate.kernels.record import Log
from workbench.emulate.kernels.report import Who
from workbench.emulate.kernels.shadow import Crossing, Shadow, Watch
from workbench.ir import Buffer, BufferStore


class Launch:
    """What the blocks of one kernel share while it runs: global memory, verdicts, the record.

    `memory` holds the storage of each parameter. The blocks `numbers` run, at most `lanes` lanes
    at a time. `crossing` judges blocks against each other, `within` the threads of a chunk;
    `redundant` counts the writes of each store that changed nothing.
    """

    def __init__(
        self,
        plan: Plan,
        memory: Mapping[Buffer, Storage],
        numbers: Sequence[int],
        lanes: int,
        stop: threading.Event | None = None,
        log: Log | None = None,
    ) -> None:
        self.plan, self.memory, self.stop, self.log = plan, memory, stop, log
        self.who = Who(plan.kernel)
        self.numbers = numbers
        self.crossing: dict[Buffer, Crossing] = {}
        self.within: dict[Buffer, Watch] = {}
        owners = plan.threads * count_together(plan, numbers, lanes)
        for buffer in written_by(plan.kernel):
            cells, sites = memory[buffer].cells, plan.count_sites(buffer)
            self.crossing[buffer] = Crossing(cells, len(numbers), sites)
            self.within[buffer] = Watch(Shadow(cells, owners, sites, window=True))
        for buffer in plan.kernel.allocs:
            if plan.stands_for_all(buffer):
                sites = plan.count_sites(buffer)
                self.within[buffer] = Watch(Shadow(prod(buffer.shape), plan.threads, sites))
        self._numbers = count()
        self.redundant: dict[BufferStore, int] = {}

    def next_number(self) -> int:
        """A number that tells what depends on data from all else."""
        return next(self._numbers)
