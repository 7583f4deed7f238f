"""run: execute kernels as a GPU would, on NumPy lanes, and refuse what a GPU would punish."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate.arrays import Arguments
from workbench.emulate.errors import explain
from workbench.emulate.kernels.launch import Launch
from workbench.emulate.kernels.machine import Machine, Stopped
from workbench.emulate.kernels.maps import Storage
from workbench.emulate.kernels.need import of_launches
from workbench.emulate.kernels.plan import Plan, cut_chunks, source_of, written_by
from workbench.emulate.kernels.record import Log, Record
from workbench.emulate.memory import check_fits
from workbench.ir import Buffer, BufferStore, Kernel, refuse_sizes

ROOM = 1 << 18  # lanes of one statement at a time: arrays of 1 MiB of float32 stay in the cache


@dataclass(frozen=True, slots=True)
class RedundantWrites:
    """Lanes wrote what others wrote too: harmless, since all wrote the same bits, but wasted.

    `writes` counts the writes that changed nothing; `headline` says it in one sentence.
    """

    kernel: Kernel
    store: BufferStore
    writes: int
    headline: str


@dataclass(frozen=True, slots=True)
class Run:
    """What came out of a run besides the values.

    `blocks` counts the blocks that ran, over all kernels; `stopped` says that the caller ended it.
    `written` marks, for each written parameter by name, the elements that the run wrote; `log` is
    every access, if it was asked for.

    >>> run = kernel.emulate(A, B, blocks=[1])
    >>> run.written["B"]
    array([False, False, False, False,  True,  True,  True,  True])
    """

    blocks: int
    stopped: bool
    warnings: tuple[RedundantWrites, ...]
    written: dict[str, np.ndarray[Any, Any]]
    log: tuple[Record, ...] = ()


def run(
    kernels: Sequence[Kernel],
    args: Sequence[np.ndarray[Any, Any]],
    *,
    params: Sequence[Buffer] | None = None,
    blocks: Sequence[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
    stop: threading.Event | None = None,
    record: bool = False,
) -> Run:
    """Run `kernels` in turn on `args`, NumPy arrays; what they write is written in place.

    `params` are the program's parameters that `args` stand for (default: those that the kernels
    view, in order). `blocks` picks block numbers (x fastest) of the only kernel. `progress` is
    called with blocks done and blocks in all; setting `stop` ends the run early. `record` keeps
    every access as an index map in `Run.log`, for runs of a few blocks.

    Raises EmulationError at the first thing that a GPU would punish: an index outside its buffer,
    a vector that starts where it must not, a read of what nothing wrote, a race, a barrier that
    part of a block reaches, a division of an integer by zero; and where `args` do not fit.
    Raises NotEnoughMemory, before anything runs, where that would need more memory than is free.

    >>> run = emulate.run(kernel.kernels, [A, B], params=add.params)
    >>> run.blocks
    2
    """
    for kernel in kernels:
        refuse_sizes(kernel, "run")
    if params is None:
        viewed = (source_of(kernel, p) for kernel in kernels for p in kernel.params)
        params = tuple(dict.fromkeys(viewed))
    written = {source_of(kernel, b) for kernel in kernels for b in written_by(kernel)}
    try:
        arguments = Arguments(params, args, written)
        chosen = [_choose_blocks(kernels, blocks, kernel) for kernel in kernels]
        plans = [Plan(kernel, ROOM) for kernel in kernels]
        _check_fits(plans, chosen, params)
    except Refusal as refusal:
        raise explain(refusal, kernels[0]) from None
    memory = {p: Storage(p, 1, flat) for p, flat in zip(params, arguments.flat, strict=True)}
    emulation = Emulation(memory, progress, stop, sum(len(c) for c in chosen), record)
    with np.errstate(all="ignore"):
        for plan, numbers in zip(plans, chosen, strict=True):
            try:
                emulation.launch(plan, numbers)
            except Refusal as refusal:
                raise explain(refusal, plan.kernel) from None
            except Stopped:
                emulation.stopped = True
                break
    arguments.write_back()
    return emulation.result(params)


def _choose_blocks(
    kernels: Sequence[Kernel], blocks: Sequence[int] | None, kernel: Kernel
) -> Sequence[int]:
    total = prod(kernel.grid)
    if blocks is None:
        return range(total)
    if not isinstance(blocks, Collection):
        raise Refusal(
            f"Can't run the blocks {blocks!r}: that is no list of numbers",
            hint="give a list, such as blocks=[0].",
        )
    if not len(blocks):
        raise Refusal(
            "Can't run a sample of no blocks", hint=f"name some of the blocks 0 to {total - 1}."
        )
    if len(kernels) != 1:
        raise Refusal(
            f"Can't run a sample of blocks: the program has {len(kernels)} kernels",
            hint="run it whole: a later kernel needs all that an earlier one writes.",
        )
    for number in blocks:
        whole = isinstance(number, Integral) and not isinstance(number, bool)
        if not whole or not 0 <= number < total:
            raise Refusal(
                f"Can't run block {number!r}: the kernel has blocks 0 to {total - 1}",
                hint="block numbers count along x first, then y, then z.",
            )
    drawn = list(dict.fromkeys(int(number) for number in blocks))
    in_a_row = range(drawn[0], drawn[0] + len(drawn))
    return in_a_row if drawn == list(in_a_row) else drawn


def _check_fits(
    plans: Sequence[Plan], chosen: Sequence[Sequence[int]], params: Sequence[Buffer]
) -> None:
    """Raise TooLarge where the run takes more memory than is free."""
    names = " and ".join(dict.fromkeys(plan.kernel.name for plan in plans))
    need = of_launches(plans, chosen, params, ROOM)
    if len(plans) == 1 and len(chosen[0]) > 2:
        check_fits(names, need, lambda: of_launches(plans, [range(2)], params, ROOM))
    else:
        check_fits(names, need)


class Emulation:
    """Kernels that run one after the other on one memory."""

    def __init__(
        self,
        memory: dict[Buffer, Storage],
        progress: Callable[[int, int], None] | None = None,
        stop: threading.Event | None = None,
        total: int = 0,
        record: bool = False,
    ) -> None:
        self.memory, self.progress, self.stop, self.total = memory, progress, stop, total
        self.done, self.record = 0, record
        self.log: list[Record] = []
        self.stopped = False
        self.warnings: list[RedundantWrites] = []
        self.written: dict[Buffer, Any] = {}

    def held(self, kernel: Kernel) -> dict[Buffer, Storage]:
        """The storage of each parameter of a kernel."""
        found: dict[Buffer, Storage] = {}
        for param in kernel.params:
            whole = source_of(kernel, param)
            if whole not in self.memory:  # handed from one kernel to the next
                self.memory[whole] = Storage(whole, 1)
            found[param] = self.memory[whole]
        return found

    def launch(self, plan: Plan, numbers: Sequence[int]) -> None:
        """Run blocks `numbers` of a kernel, as many at a time as there is room for."""
        kernel, held = plan.kernel, self.held(plan.kernel)
        log = Log() if self.record else None
        launch = Launch(plan, held, numbers, ROOM, self.stop, log)
        for number, chunk in enumerate(cut_chunks(plan, numbers, ROOM)):
            if self.stop is not None and self.stop.is_set():
                raise Stopped
            Machine(launch, chunk, number).run(kernel.body)
            self.done += len(chunk.numbers)
            if self.progress is not None:
                self.progress(self.done, self.total)
        for store, writes in launch.redundant.items():
            headline = (
                f"{store.buffer.name} is written {writes} times more than needed, "
                "by threads that write the same values."
            )
            self.warnings.append(RedundantWrites(kernel, store, writes, headline))
        for param, crossing in launch.crossing.items():
            whole, marks = source_of(kernel, param), crossing.shadow.written()
            before = self.written.get(whole)
            self.written[whole] = marks if before is None else before | marks
        self.log.extend(log.records.values() if log is not None else ())

    def result(self, params: Sequence[Buffer]) -> Run:
        """What the run came to."""
        written = {p.name: self.written[p].reshape(p.shape) for p in params if p in self.written}
        return Run(self.done, self.stopped, tuple(self.warnings), written, tuple(self.log))
