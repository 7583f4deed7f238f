"""The tree of programs that a schedule has been through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

from workbench import script
from workbench.history.errors import ScheduleError
from workbench.history.step import Step, value_text
from workbench.ir import BlockId, Const, For, IRModule, PrimFunc
from workbench.ir.places import Places, places
from workbench.script.writer import string
from workbench.verbs.primitive import Edit, Key

TRIED = -1
"""The number of a node that is only tried."""


class HistoryNode:
    """One program of the tree and the step that made it of its parent's.

    `id` is its creation number, never given to another; TRIED of one that is no part of the tree.
    `marks` are its names, and `mark` is the first of them: the last that it was given here, else
    one that a file had; "" without any.
    """

    def __init__(
        self,
        history: History,
        number: int,
        mod: IRModule,
        func_name: str,
        parent: HistoryNode | None = None,
        step: Step | None = None,
        edit: Edit | None = None,
    ) -> None:
        self.history = history
        self.id = number
        self.parent = parent
        self.step = step
        self.mod = mod
        self.func_name = func_name
        self.result = edit.result if edit else None
        self.keys = edit.keys if edit else ()
        self.places = {func.name: self._places_of(func, edit) for func in mod.functions}
        self.became: Mapping[Key, tuple[Key, ...]] = edit.became if edit else {}
        self.marks: tuple[str, ...] = ()
        self.depth: int = parent.depth + 1 if parent else 0  # how many steps lead here
        self._far = self._far_ancestor()
        self.children: list[HistoryNode] = []
        self._by_step: dict[Any, HistoryNode] = {}  # its children, to be found at once
        self._first: dict[Key, HistoryNode] = {}

    def _places_of(self, func: PrimFunc, edit: Edit | None) -> Places:
        """Where everything is in `func`; the parent knows it of those that the step left alone."""
        known = self.parent.places.get(func.name) if self.parent else None
        if known is not None and known.func is func:
            return known
        return edit.places if edit is not None and edit.func is func else places(func)

    @property
    def func(self) -> PrimFunc:
        """The function that the step changed; at the start, the one that is worked on."""
        return self.mod[self.func_name]

    @property
    def before(self) -> PrimFunc | None:
        """The function that the step changed as it was before; None at the start."""
        return self.parent.mod[self.func_name] if self.parent else None

    @property
    def mark(self) -> str:
        """Its name, "" where it has none."""
        return self.marks[0] if self.marks else ""

    @property
    def label(self) -> str:
        """What made it: the step's text, "start" for the first."""
        return self.step.text if self.step else "start"

    @cached_property
    def text(self) -> str:
        """The function that the step changed, as text."""
        return script.show(self.func)

    @cached_property
    def likeness(self) -> tuple[str, int] | None:
        """Equal for nodes of one verb whose programs print alike; None of the start."""
        return _likeness(self.step.verb, self.places[self.func_name]) if self.step else None

    def path(self) -> list[HistoryNode]:
        """The nodes from the start to this one."""
        path = [self]
        while path[-1].parent is not None:
            path.append(path[-1].parent)
        return path[::-1]

    def _far_ancestor(self) -> HistoryNode:
        """One so chosen that `after` passes as many nodes as the depth has binary digits, or twice.

        Myers, "An applicative random-access stack", 1983: where the last two leaps of the parent
        are equally far, one over both, else a step of one.
        """
        if self.parent is None:
            return self
        near, far = self.parent._far, self.parent._far._far
        alike = self.parent.depth - near.depth == near.depth - far.depth
        return far if alike else self.parent

    def after(self, steps: int) -> HistoryNode:
        """The node after the first `steps` steps on the way here, at most `depth`."""
        here = self
        while here.depth > steps:
            assert here.parent is not None
            here = here._far if here._far.depth >= steps else here.parent
        return here

    def holds(self, key: Key) -> bool:
        """Whether the program has the loop or block."""
        return any(has(known, key) for known in self.places.values())

    def first_with(self, key: Key) -> HistoryNode:
        """The first node on the way here from which on every program has the loop or block."""
        here, passed = self, []
        while key not in here._first and here.parent is not None and here.parent.holds(key):
            passed.append(here)
            here = here.parent
        first = here._first.get(key, here)
        for node in (here, *passed):  # so that the next step need not go all the way again
            node._first[key] = first
        return first

    def __repr__(self) -> str:
        mark = f" {self.mark!r}" if self.mark else ""
        return f"<{self.id}{mark}: {self.label}>"


Observer = Callable[[HistoryNode], None]


class History:
    """A tree of programs that several cursors share; it only grows.

    A notebook may answer clicks in a lab in another thread, while a cell runs: both may add to it.
    Observers are called with each node that is added or marked. `answers` holds what a learner
    answered, by the question's name; it is saved with the steps. `kept_in` is the file that a lab
    keeps the history in when it is told no other.
    """

    def __init__(self, mod: IRModule, func_name: str) -> None:
        self.nodes: list[HistoryNode] = [HistoryNode(self, 0, mod, func_name)]
        self.answers: dict[str, str] = {}
        self.kept_in: Path | None = None
        self._observers: list[Observer] = []
        self.tried: WeakSet[HistoryNode] = WeakSet()  # those somebody still holds
        self._held: HistoryNode | None = None  # to be told when what is done `together` is done
        self._holding = False
        self._adding = Lock()

    @cached_property
    def text(self) -> str:
        """The program that the schedule started from, as it is saved."""
        mod = self.root.mod
        return script.show(mod.functions[0] if len(mod.functions) == 1 else mod)

    @property
    def root(self) -> HistoryNode:
        """The program that the schedule started from."""
        return self.nodes[0]

    def __iter__(self) -> Iterator[HistoryNode]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, number: int) -> HistoryNode:
        return self.nodes[number]

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with each node added or marked from now on; returns how to stop it."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Tell observers of all that is added or marked meanwhile at once, by the last node."""
        if self._holding:
            yield
            return
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
            held, self._held = self._held, None
            if held is not None:
                self._tell(held)

    def child(self, parent: HistoryNode, step: Step) -> HistoryNode | None:
        """The child of `parent` that an equal step made, if there is one."""
        return parent._by_step.get(step.key)

    def twin(self, parent: HistoryNode, step: Step, made: Places) -> HistoryNode | None:
        """The child of `parent` that the verb of `step`, told in another way, made, too."""
        func, like = made.func, _likeness(step.verb, made) if parent.children else None
        alike = [node for node in parent.children if node.likeness == like]
        text = script.show(func) if alike else ""
        return next((n for n in alike if n.func_name == func.name and n.text == text), None)

    def add(self, parent: HistoryNode, step: Step, mod: IRModule, edit: Edit) -> HistoryNode:
        """A new child of `parent`."""
        node = HistoryNode(self, TRIED, mod, step.func, parent, step, edit)
        self.adopt(node)
        return node

    def try_(self, parent: HistoryNode, step: Step, mod: IRModule, edit: Edit) -> HistoryNode:
        """What `add` would make, as no part of the tree: nothing leads to it, nobody is told."""
        node = HistoryNode(self, TRIED, mod, step.func, parent, step, edit)
        self.tried.add(node)
        return node

    def adopt(self, node: HistoryNode) -> None:
        """Make a node that was tried, whose parent is part of the tree, part of it, too."""
        parent, step = node.parent, node.step
        assert parent is not None and step is not None and node.id == TRIED
        with self._adding:  # not while it is told, when a lab may wait for one that adds
            node.id = len(self.nodes)
            self.nodes.append(node)
            parent.children.append(node)
            parent._by_step.setdefault(step.key, node)
        self.tried.discard(node)
        self._tell(node)

    def mark(self, node: HistoryNode, name: str) -> None:
        """Name `node`, too; a name that another node has moves here."""
        for other in self.nodes:
            if name in other.marks:
                other.marks = tuple(mark for mark in other.marks if mark != name)
        node.marks = (name, *node.marks)
        self._tell(node)

    def add_marks(self, node: HistoryNode, marks: Sequence[str]) -> None:
        """Name `node` by `marks`, too, which no node has."""
        if marks:
            node.marks = (*node.marks, *marks)
            self._tell(node)

    def find(self, place: str | int | HistoryNode) -> HistoryNode:
        """The node with that mark or number. Raises ScheduleError where there is none."""
        if isinstance(place, HistoryNode) and place.history is self:
            return place
        number = isinstance(place, Integral) and not isinstance(place, bool)
        for node in self.nodes:
            if place == node.id if number else place in node.marks:
                return node
        marks = ", ".join(string(mark) for node in self.nodes for mark in node.marks) or "none yet"
        if isinstance(place, HistoryNode):
            raise ScheduleError(
                f"Can't go to {place!r}: it belongs to another schedule's history",
                hint="replay its steps here: wb.Schedule.replay(program, other.trace)",
            )
        raise ScheduleError(
            f"Can't go to {value_text(place)}: the history has no such mark or number",
            hint=f"numbers go from 0 to {len(self.nodes) - 1}; marks: {marks}",
        )

    def _tell(self, node: HistoryNode) -> None:
        if self._holding:
            self._held = node
            return
        for observer in list(self._observers):
            observer(node)

    def __repr__(self) -> str:
        lines = []
        for node, depth in _outline(self.root):
            marks = "".join(f"  {string(mark)}" for mark in node.marks)
            lines.append(f"{node.id:>3} {'  ' * depth}{node.label}{marks}")
        return "\n".join(lines)


def _outline(root: HistoryNode) -> Iterator[tuple[HistoryNode, int]]:
    """The tree with branches indented: an only child stays at the depth of its parent."""
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        deeper = depth + (len(node.children) > 1)
        stack.extend((child, deeper) for child in reversed(node.children))


def _likeness(verb: str, where: Places) -> tuple[str, int]:
    """Equal for steps of one verb whose programs print alike; to print each would take long."""
    rows: list[Any] = []
    for stmt in where.order:
        if isinstance(stmt, For):
            times = stmt.extent.value if isinstance(stmt.extent, Const) else None
            rows.append((times, stmt.kind, stmt.thread, stmt.annotations))
        else:
            rows.append((len(stmt.iter_values), stmt.block.annotations))
    return verb, hash(tuple(rows))


def has(known: Places, key: Key) -> bool:
    """Whether a function has the loop or block."""
    return (key in known.blocks) if isinstance(key, BlockId) else (key in known.loops)
