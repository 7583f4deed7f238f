"""The tree of programs that a schedule has been through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.ir import BlockId, IRModule, PrimFunc, Var
from workbench.ir.places import places
from workbench.schedule.errors import ScheduleError
from workbench.schedule.handles import BlockHandle, Handle, LoopHandle
from workbench.schedule.primitive import Edit, Key
from workbench.schedule.step import Step


class HistoryNode:
    """One program of the tree and the step that made it of its parent's.

    `id` is its creation number, never given to another. `mark` is its name, "" where it has none.
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
        self.became: Mapping[Key, tuple[Key, ...]] = edit.became if edit else {}
        self.mark = ""
        self.children: list[HistoryNode] = []

    @property
    def func(self) -> PrimFunc:
        """The function that the step changed; at the start, the one that is worked on."""
        return self.mod[self.func_name]

    @property
    def depth(self) -> int:
        """How many steps lead here."""
        return len(self.path()) - 1

    @property
    def label(self) -> str:
        """What made it: the step's text, "start" for the first."""
        return self.step.text if self.step else "start"

    def path(self) -> list[HistoryNode]:
        """The nodes from the start to this one."""
        path = [self]
        while path[-1].parent is not None:
            path.append(path[-1].parent)
        return path[::-1]

    def holds(self, key: Key) -> bool:
        """Whether the program has the loop or block."""
        return any(_has(func, key) for func in self.mod.functions)

    def __repr__(self) -> str:
        mark = f" {self.mark!r}" if self.mark else ""
        return f"<{self.id}{mark}: {self.label}>"


Observer = Callable[[HistoryNode], None]


class History:
    """A tree of programs that several cursors share; it only grows.

    Observers are called with each node that is added or marked. `answers` holds what a learner
    answered, by the question's name; it is saved with the steps.
    """

    def __init__(self, mod: IRModule, func_name: str) -> None:
        self.nodes: list[HistoryNode] = [HistoryNode(self, 0, mod, func_name)]
        self.answers: dict[str, str] = {}
        self._observers: list[Observer] = []

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

    def child(self, parent: HistoryNode, step: Step) -> HistoryNode | None:
        """The child of `parent` that an equal step made, if there is one."""
        return next((node for node in parent.children if node.step == step), None)

    def add(self, parent: HistoryNode, step: Step, mod: IRModule, edit: Edit) -> HistoryNode:
        """A new child of `parent`."""
        node = HistoryNode(self, len(self.nodes), mod, step.func, parent, step, edit)
        self.nodes.append(node)
        parent.children.append(node)
        self._tell(node)
        return node

    def mark(self, node: HistoryNode, name: str) -> None:
        """Name `node`; a name that another node has moves here."""
        for other in self.nodes:
            if other.mark == name and other is not node:
                other.mark = ""
        node.mark = name
        self._tell(node)

    def find(self, place: str | int | HistoryNode) -> HistoryNode:
        """The node with that mark or number. Raises ScheduleError where there is none."""
        if isinstance(place, HistoryNode) and place in self.nodes:
            return place
        for node in self.nodes:
            if place == (node.mark or None) or (place == node.id and not isinstance(place, bool)):
                return node
        marks = ", ".join(f'"{node.mark}"' for node in self.nodes if node.mark) or "none yet"
        if isinstance(place, HistoryNode):
            raise ScheduleError(
                f"Can't go to {place!r}: it belongs to another schedule's history",
                hint="replay its steps here: wb.Schedule.replay(program, other.trace)",
            )
        raise ScheduleError(
            f"Can't go to {place!r}: the history has no such mark or number",
            hint=f"numbers go from 0 to {len(self.nodes) - 1}; marks: {marks}",
        )

    def handle(self, key: Key) -> Handle:
        """The handle of a loop or block of this history."""
        return LoopHandle(self, key) if isinstance(key, Var) else BlockHandle(self, key)

    def _tell(self, node: HistoryNode) -> None:
        for observer in list(self._observers):
            observer(node)

    def __repr__(self) -> str:
        lines = []
        for node, depth in _outline(self.root, 0):
            mark = f'  "{node.mark}"' if node.mark else ""
            lines.append(f"{node.id:>3} {'  ' * depth}{node.label}{mark}")
        return "\n".join(lines)


def _outline(node: HistoryNode, depth: int) -> Iterator[tuple[HistoryNode, int]]:
    """The tree with branches indented: an only child stays at the depth of its parent."""
    stack = [(node, depth)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        deeper = depth + (len(node.children) > 1)
        stack.extend((child, deeper) for child in reversed(node.children))


def _has(func: PrimFunc, key: Key) -> bool:
    known = places(func)
    return (key in known.blocks) if isinstance(key, BlockId) else (key in known.loops)
