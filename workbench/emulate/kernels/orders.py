"""orders: a race in both orders in which the two threads may come, with what each leads to.

Lockstep is one of the orders. What the other one leads to is read off the same run: nothing lies
between the two accesses that would order them, so the thread that came second finds the cell as it
was before the first one touched it. What the cell held then, and what the second one writes, is
noted on the way, in a run of the one block in which they meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from workbench import script
from workbench.diag import Refusal
from workbench.emulate.arrays import Arguments
from workbench.emulate.errors import EmulationError
from workbench.emulate.expressions import Env, Site
from workbench.emulate.expressions import Mask as Running
from workbench.emulate.kernels.lanes import Lanes
from workbench.emulate.kernels.launch import Launch
from workbench.emulate.kernels.machine import Machine
from workbench.emulate.kernels.maps import Storage
from workbench.emulate.kernels.plan import Chunk, Mask, Plan, cut_chunks
from workbench.emulate.kernels.races import owners_in
from workbench.emulate.kernels.report import Meeting, Met, name_cell
from workbench.emulate.kernels.run import ROOM, Emulation, run
from workbench.emulate.numbers import Value
from workbench.ir import Buffer, BufferLoad, BufferStore, Kernel, walk

Timeline: TypeAlias = tuple[str, str, str]
"""What comes first, what comes second, and what it leads to."""


@dataclass(frozen=True, slots=True)
class Act:
    """What one of the two threads does to the cell, in which line of the kernel's text.

    `turn` is that of the serial loops that run meanwhile, k=3; "" where none does.
    """

    who: str
    does: str  # "reads" or "writes"
    line: int
    turn: str = ""

    @property
    def where(self) -> str:
        """Line 7, in turn k=3."""
        return f"line {self.line}" + (f", in turn {self.turn}" if self.turn else "")


@dataclass(frozen=True, slots=True)
class Orders:
    """Two threads of `block` that meet on `cell`, in the order of lockstep, and in the other.

    `values` are what is read where one of them reads, else what the cell holds in the end: first in
    the order of `acts`, then in the other; None for a cell that nothing has written.
    """

    cell: str
    block: str
    acts: tuple[Act, Act]
    values: tuple[Any, Any]

    @property
    def ends(self) -> tuple[str, str]:
        """What each order leads to, in as few words as it takes: 7, nothing that was written."""
        first, second = map(_said, self.values)
        return first, second

    @property
    def timelines(self) -> tuple[Timeline, Timeline]:
        """Both orders, that of lockstep first."""
        first, second = self.acts
        return (
            _timeline(first, second, self.cell, self.values[0]),
            _timeline(second, first, self.cell, self.values[1]),
        )

    def __str__(self) -> str:
        heads = (f"{self.cell}, {self.block}, in one order:", "in the other:")
        lines = []
        for head, (first, second, end) in zip(heads, self.timelines, strict=True):
            lines += [head, f"  {first}", f"  {second}", f"  → {end}"]
        return "\n".join(lines)


def _said(value: Any) -> str:
    return "nothing that was written" if value is None else f"{value:g}"


def _timeline(first: Act, second: Act, cell: str, value: Any) -> Timeline:
    said = _said(value)
    reader = next((act for act in (first, second) if act.does == "reads"), None)
    end = f"{cell} is {said}" if reader is None else f"{reader.who} reads {said}"
    one, other = (f"{act.who} {act.does} ({act.where})" for act in (first, second))
    return one, other, end


def race(
    kernels: Sequence[Kernel], args: Sequence[np.ndarray[Any, Any]], params: Sequence[Buffer]
) -> Orders | None:
    """How two threads of a block race in `kernels` on `args`, which stand for `params`.

    The arrays stay as they are. None where no two do, and where an asynchronous copy takes part,
    which arrives when it does. Raises EmulationError for what else a GPU would punish, as threads
    that write a cell by one and the same statement.
    """
    try:
        run(kernels, [np.array(array) for array in args], params=params)
    except EmulationError as error:
        if not isinstance(error.refusal, Met):
            raise
        return orders(kernels, args, params, error.refusal.meeting)
    return None


def orders(
    kernels: Sequence[Kernel], args: Sequence[Any], params: Sequence[Buffer], meeting: Meeting
) -> Orders | None:
    """Both orders of a `meeting` that a run of `kernels` on such `args` came to; see `race`.

    The block in which the two met runs once more, on copies and behind the kernels before its own,
    and what becomes of the cell is noted.
    """
    if any(isinstance(site, BufferStore) and site.is_async for site in meeting.sites):
        return None
    flat = Arguments(params, [np.array(array) for array in args], set()).flat
    emulation = Emulation({p: Storage(p, 1, cells) for p, cells in zip(params, flat, strict=True)})
    own = (n for n, one in enumerate(kernels) if _has(one, meeting.sites[0]))
    number = next(own)
    kernel = kernels[number]
    with np.errstate(all="ignore"):
        for before in kernels[:number]:
            emulation.launch(Plan(before, ROOM), range(prod(before.grid)))
    launch = Launch(Plan(kernel, ROOM), emulation.held(kernel), [meeting.block], ROOM)
    (chunk,) = cut_chunks(launch.plan, [meeting.block], ROOM)
    machine = Machine(launch, chunk, 0, _Watching)
    watching = machine.lanes
    assert isinstance(watching, _Watching)
    watching.meeting = meeting
    with np.errstate(all="ignore"):
        try:
            machine.run(kernel.body)
        except Met as again:
            watching.turns[1] = watching._tell_turn()
            assert again.meeting == meeting, "the block alone does what it did among others"
    return Orders(
        cell=name_cell(meeting.sites[1], meeting.cell),
        block=launch.who.block(meeting.block),
        acts=_acts(kernel, meeting, launch, watching.turns),
        values=watching.values(),
    )


def _has(kernel: Kernel, site: Site) -> bool:
    return any(node is site for node in walk(kernel.body))


def _acts(
    kernel: Kernel, meeting: Meeting, launch: Launch, turns: Sequence[str]
) -> tuple[Act, Act]:
    spans = script.show_spans(kernel).spans
    first, second = (
        Act(
            launch.who.thread(thread),
            "writes" if isinstance(site, BufferStore) else "reads",
            spans[site].line,
            turn,
        )
        for thread, site, turn in zip(meeting.threads, meeting.sites, turns, strict=True)
    )
    return first, second


class _Watching(Lanes):
    """Lanes that note what is written to the cell of a meeting, and in which turns it is met."""

    meeting: Meeting
    before: Any = None  # what the cell held before the first of the two wrote it
    comes: Any = None  # what the second one was about to write

    def __init__(self, launch: Launch, chunk: Chunk, number: int) -> None:
        super().__init__(launch, chunk, number)
        self.turns = ["", ""]

    def load(self, load: BufferLoad, env: Env, mask: Running) -> Value:
        """The values of `load`; note the turn in which the first of the two reads the cell."""
        value = super().load(load, env, mask)
        if load is self.meeting.sites[0]:
            self._note_turn(load)
        return value

    def store(self, store: BufferStore, mask: Mask | None) -> None:
        """Run `store`, and note what it makes of the cell."""
        first, second = self.meeting.sites
        before = self._cell() if store is first else None
        try:
            super().store(store, mask)
        except Refusal:
            if store is second:
                self.comes = self._about_to_write(store)
            raise
        if store is first and self._lanes_of(store, None).any():
            self.before = before
            self._note_turn(store)

    def values(self) -> tuple[Any, Any]:
        """What lockstep leads to, and what the other order does."""
        first, second = (isinstance(site, BufferStore) for site in self.meeting.sites)
        now = self._cell()
        if first and second:
            return self.comes, now
        return (now, self.before) if first else (now, self.comes)

    def _cell(self) -> Any:
        storage = self.storage[self.meeting.sites[0].buffer]
        empty = storage.valid is not None and not storage.valid[self.meeting.cell]
        return None if empty else storage.flat[self.meeting.cell]

    def _note_turn(self, first: Site) -> None:
        """Where the first of the two threads touches the cell, it did so in this turn."""
        if self._lanes_of(first, self.meeting.threads[0]).any():
            self.turns[0] = self._tell_turn()

    def _about_to_write(self, store: BufferStore) -> Any:
        value = np.broadcast_to(
            self.value(store.value, self.frame.env, self.running), self.frame.shape
        )
        return value[self._lanes_of(store, self.meeting.threads[1])][0]

    def _lanes_of(self, site: Site, thread: int | None) -> Any:
        """Which lanes that run touch the cell at a site, those of one thread alone."""
        at = self._make_map(self.plan.access[site], self.running)
        shape = self.frame.shape
        lanes = np.broadcast_to(at.addresses() == self.meeting.cell, shape)
        if thread is not None:
            lanes = lanes & np.broadcast_to(owners_in(self.frame) == thread, shape)
        return lanes if self.running is None else lanes & np.broadcast_to(self.running, shape)
