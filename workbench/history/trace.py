"""Traces: the steps that lead to a program, as plain data, runnable Python, and back."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.history.errors import ScheduleError
from workbench.history.history import HistoryNode
from workbench.history.step import Ref, Step, Value, call_text
from workbench.ir import BlockId, BlockRealize, For, PrimFunc
from workbench.ir.places import Places
from workbench.script.writer import identifier, string
from workbench.verbs.primitive import REGISTRY, Key, Primitive


@dataclass(frozen=True, slots=True)
class Trace:
    """Steps in order. Holding, printing and reading one runs nothing."""

    steps: tuple[Step, ...] = ()

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __repr__(self) -> str:
        return "\n".join(f"{n}. {step.text}" for n, step in enumerate(self.steps, 1)) or "no steps"

    def show(self, style: str | None = None, black_format: bool | None = None) -> None:
        """Print the steps; `style` and `black_format` are TVM's and change nothing."""
        print(self)

    def as_python(self, program: str = "program") -> str:
        """Python that makes the same schedule of the variable named `program`.

        Raises ScheduleError for steps that no schedule took: another verb than a primitive, or a
        loop or block that the trace does not tell where to find.
        """
        for number, step in enumerate(self.steps, 1):
            self._check(number, step)
        return PythonLines(self, program).text()

    def _check(self, number: int, step: Step) -> None:
        """Refuse a step that is not as `Schedule.trace` tells one."""
        params = {param.name for param in known_primitive(number, step).params}
        placed = all(self._is_placed(number, ref) for ref in step.refs())
        if not placed or not params.issuperset(name for name, _ in step.kwargs):
            raise ScheduleError(
                f"Can't write step {number}, {step.verb}, as Python: the trace is damaged, or of "
                "an older workbench",
                hint="replay it, and take that schedule's trace: "
                "wb.Schedule.replay(program, trace).trace",
            )

    def _is_placed(self, number: int, ref: Ref) -> bool:
        """Whether a reference of step `number` says where its loop or block is got from."""
        if not 0 <= ref.step < number:
            return False
        if ref.out is not None:
            return bool(ref.step) and ref.out < len(self.steps[ref.step - 1].made)
        if ref.kind == "block":
            return True
        return ref.index is not None and (ref.of is None or ref.index < len(ref.nest))


def known_primitive(number: int, step: Step) -> Primitive:
    """The primitive of the `number`-th step of a trace; ScheduleError where there is none."""
    if not isinstance(step, Step):
        raise ScheduleError(
            f"Can't take step {number}: a value of type {type(step).__name__} is no step",
            hint="pass one of a trace: sch.trace.steps[0]",
        )
    if step.verb not in REGISTRY:
        raise ScheduleError(
            f"Can't take step {number}: there is no primitive {step.verb!r}",
            hint="the trace may be of a newer workbench",
        )
    return REGISTRY[step.verb]


def refer(node: HistoryNode, func: PrimFunc, target: For | BlockRealize) -> Ref:
    """How `target`, a loop or block of `func` in the program of `node`, is told in a trace."""
    key: Key = target.loop_var if isinstance(target, For) else target.block.id
    first = node.first_with(key)
    born = first.depth
    home = first.places[func.name]
    out = first.keys.index(key) if key in first.keys else None
    if isinstance(target, BlockRealize):
        old = home.blocks[target.block.id]
        name = old.block.name
        return Ref(
            "block", born, out, name, None if out is not None else _nth(home, old), name=name
        )
    loop = home.loops[target.loop_var]
    name = target.loop_var.name
    if out is not None:
        return Ref("loop", born, out, name=name)
    below = home.blocks_under(loop)
    if not below:
        return Ref("loop", born, index=list(home.loops).index(target.loop_var), name=name)
    block = min(below, key=lambda realize: _nth(home, realize) is not None)
    nest = home.loops_above(block)
    names = tuple(other.loop_var.name for other in nest)
    of = refer(first, home.func, block)
    return Ref("loop", born, of=of, index=nest.index(loop), name=name, nest=names)


def _nth(known: Places, block: BlockRealize) -> int | None:
    """How many blocks of the same name come before `block`; None where it is the only one."""
    same = [r for r in known.blocks.values() if r.block.name == block.block.name]
    return same.index(block) if len(same) > 1 else None


def locate(ref: Ref, here: HistoryNode, func_name: str) -> Key | None:
    """The loop or block that `ref` tells, on the way to the program `here`."""
    if ref.step > here.depth:
        return None
    node = here.after(ref.step)
    if ref.out is not None:
        return node.keys[ref.out] if ref.out < len(node.keys) else None
    known = node.places[func_name]
    if ref.kind == "block":
        blocks = [key for key, r in known.blocks.items() if r.block.name == ref.block]
        unclear = ref.nth is None and len(blocks) > 1
        return None if unclear or (ref.nth or 0) >= len(blocks) else blocks[ref.nth or 0]
    loops = list(known.loops)
    if ref.of is not None:
        block = locate(ref.of, here, func_name)
        if not isinstance(block, BlockId) or block not in known.blocks:
            return None
        loops = [loop.loop_var for loop in known.loops_above(known.blocks[block])]
    return loops[ref.index] if ref.index is not None and ref.index < len(loops) else None


def map_refs(value: Value, change: Callable[[Ref], Any]) -> Any:
    """`value` with every reference in it replaced."""
    if isinstance(value, Ref):
        return change(value)
    return tuple(map_refs(v, change) for v in value) if isinstance(value, tuple) else value


class PythonLines:
    """Writes a trace as Python, with a variable for every loop and block that is used.

    Names of the program are data here: each line is a call of a primitive or a look-up, its
    arguments are literals and variables, and a variable is only ever named like what it holds.
    """

    def __init__(self, trace: Trace, program: str) -> None:
        self.trace = trace
        self.program = program
        # what steps use, by the step that returned it or that it is looked up after
        self.returned: dict[int, list[tuple[str, Ref]]] = {}
        self.looked_up: dict[int, list[tuple[str, Ref]]] = {}
        for step in trace.steps:
            for ref in step.refs():
                by_step = self.looked_up if ref.out is None else self.returned
                by_step.setdefault(ref.step, []).append((step.func, ref))
        self.names: dict[tuple[str, Ref], str] = {}  # of what steps on that function use
        # `as_code` writes for a cell in which the last three mean something
        own = ("sch", "wb", "te", "np", "mine", "exercise", "lesson")
        self.taken = {*own, *re.findall(r"\w+", program)}
        self.lines: list[str] = []
        self.func = ""  # the one that names are looked up in, where there are several

    def text(self) -> str:
        """The lines of the whole trace."""
        self.lines = [self.begin()]
        self.look_up(0)
        for number, step in enumerate(self.trace.steps, 1):
            self.write(number, step)
            self.look_up(number)
        return "\n".join(self.lines)

    def begin(self) -> str:
        """The line that makes the schedule."""
        return f"sch = wb.Schedule({self.program})"

    def block(self, ref: Ref) -> str:
        """What looks a block up by its name."""
        name = string(ref.block)
        return f"sch.get_block({name})" if ref.nth is None else f"sch.get_blocks({name})[{ref.nth}]"

    def loose_loop(self, ref: Ref) -> str:
        """What tells a loop that holds no block."""
        return string(ref.name)

    def arguments(self, number: int, step: Step) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the call of the `number`-th step is written with, by position and by name."""
        return step.args, dict(step.kwargs)

    def write(self, number: int, step: Step) -> None:
        """The line of the `number`-th step."""
        self.work_on(step.func)

        def variable(ref: Ref) -> Bare:
            return Bare(self.names[step.func, ref])

        args, kwargs = self.arguments(number, step)
        named = {name: map_refs(value, variable) for name, value in kwargs.items()}
        call = f"sch.{step.verb}({call_text(map_refs(args, variable), named)})"
        targets = [self.new_name(name) for name in step.made]
        used = self.returned.get(number, [])
        self.names |= {key: targets[key[1].out or 0] for key in used}
        if not used:
            self.lines.append(call)
            return
        made = targets[0] if step.single else _unpacked(targets)
        self.lines.append(f"{made} = {call}")

    def work_on(self, func: str) -> None:
        """A line that turns to the function `func`, where the program has several."""
        if func != self.func and not all(step.alone for step in self.trace.steps):
            self.lines.append(f"sch.work_on({string(func)})")
        self.func = func

    def look_up(self, number: int) -> None:
        """Lines that get what later steps use and step `number` did not return."""
        wanted = self.looked_up.get(number, [])
        for func in dict.fromkeys(func for func, _ in wanted):
            refs = dict.fromkeys(ref for of, ref in wanted if of == func)
            missing = [ref for ref in refs if (func, ref) not in self.names]
            if missing:
                self.work_on(func)
            for ref in sorted(missing, key=lambda r: r.kind):  # blocks first: loops go by them
                self.get(ref, missing)

    def get(self, ref: Ref, wanted: list[Ref]) -> None:
        """A line that looks `ref` up, and others of `wanted` that are in the same nest."""
        if (self.func, ref) in self.names:
            return
        if ref.kind == "block":
            self.assign(ref, self.block(ref))
        elif ref.of is None:
            self.assign(ref, self.loose_loop(ref))
        elif not self.unpack(ref, wanted):
            index = -1 if ref.index == len(ref.nest) - 1 else ref.index
            self.assign(ref, f"sch.get_loops({self.names[self.func, ref.of]})[{index}]")

    def assign(self, ref: Ref, value: str) -> None:
        """A line that gives `ref` a variable."""
        # a block often has the name of what it writes, which the learner's array has, too
        name = f"block_{ref.name}" if ref.kind == "block" else ref.name
        self.names[self.func, ref] = self.new_name(name)
        self.lines.append(f"{self.names[self.func, ref]} = {value}")

    def unpack(self, ref: Ref, wanted: list[Ref]) -> bool:
        """Name a whole nest in one line, where all its names are still free."""
        if set(ref.nest) & self.taken or len(set(ref.nest)) < len(ref.nest):
            return False
        assert ref.of is not None
        block = self.names[self.func, ref.of]
        names = [self.new_name(name) for name in ref.nest]
        self.lines.append(f"{_unpacked(names)} = sch.get_loops({block})")
        for other in wanted:
            if other.of == ref.of and other.index is not None:
                self.names[self.func, other] = names[other.index]
        return True

    def new_name(self, name: str) -> str:
        """A Python name like `name` that no other line assigns and that means nothing else."""
        base = identifier(identifier(name).lstrip("_"))  # Python's own names start with them
        base = f"{base}_" if hasattr(builtins, base) else base
        free, count = base, 1
        while free in self.taken:
            count += 1
            free = f"{base}_{count}"
        self.taken.add(free)
        return free


def _unpacked(names: Sequence[str]) -> str:
    """Variables for the items of a sequence; of one, so that it is seen."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


@dataclass(frozen=True, slots=True)
class Bare:
    """Python among arguments, such as a variable's name: written without quotes."""

    text: str

    def __repr__(self) -> str:
        return self.text
