"""Traces: the steps that lead to a program, as plain data, runnable Python, and back."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.ir import BlockId, BlockRealize, For, PrimFunc
from workbench.ir.places import Places, places
from workbench.schedule.history import HistoryNode
from workbench.schedule.primitive import Key
from workbench.schedule.step import Ref, Step, Value, call_text


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

    def as_python(self, program: str = "program") -> str:
        """Python that makes the same schedule of the variable named `program`."""
        return _Python(self).text(program)


def refer(node: HistoryNode, func: PrimFunc, target: For | BlockRealize) -> Ref:
    """How `target`, a loop or block of `func` in the program of `node`, is told in a trace."""
    key: Key = target.loop_var if isinstance(target, For) else target.block.id
    path = node.path()
    born = len(path) - 1
    while born and path[born - 1].holds(key):
        born -= 1
    made = path[born].result
    results = made if isinstance(made, tuple) else (made,)
    home = places(path[born].mod[func.name])
    out = results.index(key) if key in results else None
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
    of = refer(path[born], home.func, block)
    return Ref("loop", born, of=of, index=nest.index(loop), name=name, nest=names)


def _nth(known: Places, block: BlockRealize) -> int | None:
    """How many blocks of the same name come before `block`; None where it is the only one."""
    same = [r for r in known.blocks.values() if r.block.name == block.block.name]
    return same.index(block) if len(same) > 1 else None


def locate(ref: Ref, path: Sequence[HistoryNode], func_name: str) -> Key | None:
    """The loop or block that `ref` tells, where `path` holds the program after each step."""
    if ref.step >= len(path):
        return None
    node = path[ref.step]
    if ref.out is not None:
        results = node.result if isinstance(node.result, tuple) else (node.result,)
        return results[ref.out] if ref.out < len(results) else None
    known = places(node.mod[func_name])
    if ref.kind == "block":
        blocks = [key for key, r in known.blocks.items() if r.block.name == ref.block]
        unclear = ref.nth is None and len(blocks) > 1
        return None if unclear or (ref.nth or 0) >= len(blocks) else blocks[ref.nth or 0]
    loops = list(known.loops)
    if ref.of is not None:
        block = locate(ref.of, path, func_name)
        if not isinstance(block, BlockId) or block not in known.blocks:
            return None
        loops = [loop.loop_var for loop in known.loops_above(known.blocks[block])]
    return loops[ref.index] if ref.index is not None and ref.index < len(loops) else None


def map_refs(value: Value, change: Callable[[Ref], Any]) -> Any:
    """`value` with every reference in it replaced."""
    if isinstance(value, Ref):
        return change(value)
    return tuple(map_refs(v, change) for v in value) if isinstance(value, tuple) else value


class _Python:
    """Writes a trace as Python, with a variable for every loop and block that is used."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.used = [ref for step in trace.steps for ref in step.refs()]
        self.names: dict[Ref, str] = {}
        self.taken = {"sch", "wb", "program"}
        self.lines: list[str] = []

    def text(self, program: str) -> str:
        self.lines = [f"sch = wb.Schedule({program})"]
        self.look_up(0)
        for number, step in enumerate(self.trace.steps, 1):
            self.write(number, step)
            self.look_up(number)
        return "\n".join(self.lines)

    def write(self, number: int, step: Step) -> None:
        args, kwargs = (
            map_refs(step.args, self.variable),
            {name: map_refs(value, self.variable) for name, value in step.kwargs},
        )
        call = f"sch.{step.verb}({call_text(args, kwargs)})"
        kinds = {ref.out: ref for ref in self.used if ref.step == number and ref.out is not None}
        targets = []
        for out, name in enumerate(step.made):
            targets.append(self.new_name(name))
            if out in kinds:
                self.names[kinds[out]] = targets[-1]
        if not kinds:
            self.lines.append(call)
            return
        comma = "," if len(targets) == 1 and not step.single else ""
        self.lines.append(f"{', '.join(targets)}{comma} = {call}")

    def look_up(self, number: int) -> None:
        """Lines that get what later steps use and step `number` did not return."""
        wanted = dict.fromkeys(r for r in self.used if r.step == number and r.out is None)
        for ref in sorted(wanted, key=lambda r: r.kind):  # blocks first: loops are found by them
            if ref in self.names:
                continue
            if ref.kind == "block":
                one = f'sch.get_block("{ref.block}")'
                every = f'sch.get_blocks("{ref.block}")[{ref.nth}]'
                self.assign(ref, one if ref.nth is None else every)
            elif ref.of is None:
                self.assign(ref, repr(ref.name))
            elif not self.unpack(ref, list(wanted)):
                assert ref.index is not None
                index = -1 if ref.index == len(ref.nest) - 1 else ref.index
                self.assign(ref, f"sch.get_loops({self.names[ref.of]})[{index}]")

    def assign(self, ref: Ref, value: str) -> None:
        """A line that gives `ref` a variable."""
        self.names[ref] = self.new_name(ref.name)
        self.lines.append(f"{self.names[ref]} = {value}")

    def unpack(self, ref: Ref, wanted: list[Ref]) -> bool:
        """Name a whole nest in one line, where all its names are still free."""
        if set(ref.nest) & self.taken or len(set(ref.nest)) < len(ref.nest):
            return False
        assert ref.of is not None
        names = [self.new_name(name) for name in ref.nest]
        comma = "," if len(names) == 1 else ""
        self.lines.append(f"{', '.join(names)}{comma} = sch.get_loops({self.names[ref.of]})")
        for other in wanted:
            if other.of == ref.of and other.index is not None:
                self.names[other] = names[other.index]
        return True

    def variable(self, ref: Ref) -> _Bare:
        return _Bare(self.names[ref])

    def new_name(self, name: str) -> str:
        """A Python name like `name` that no other line assigns."""
        base = re.sub(r"\W", "_", name) or "_"
        base = f"{base}_" if keyword.iskeyword(base) or base[0].isdigit() else base
        free, count = base, 1
        while free in self.taken:
            count += 1
            free = f"{base}_{count}"
        self.taken.add(free)
        return free


@dataclass(frozen=True, slots=True)
class _Bare:
    """A variable's name among arguments: written without quotes."""

    name: str

    def __repr__(self) -> str:
        return self.name
