"""Traces: the steps that lead to a program, as plain data, runnable Python, and back."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.ir import BlockRealize, For, PrimFunc
from workbench.schedule.history import HistoryNode
from workbench.ir.places import Places, places
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
        old = home.blocks[key]  # type: ignore[index]
        return Ref("block", born, out, old.block.name, _nth(home, old), None, old.block.name)
    loop = home.loops[key]  # type: ignore[index]
    return _loop_ref(home.func, loop, born, out)


def _loop_ref(func: PrimFunc, loop: For, born: int, out: int | None) -> Ref:
    home = places(func)
    name = loop.loop_var.name
    if out is not None:
        return Ref("loop", born, out, name=name)
    below = home.blocks_under(loop)
    if not below:
        return Ref("loop", born, None, "", None, list(home.loops.values()).index(loop), name)
    block = min(below, key=lambda realize: _nth(home, realize) is not None)
    nest = home.loops_above(block)
    names = tuple(other.loop_var.name for other in nest)
    nth = _nth(home, block)
    return Ref("loop", born, None, block.block.name, nth, nest.index(loop), name, names)


def _nth(known: Places, block: BlockRealize) -> int | None:
    """How many blocks of the same name come before `block`; None where it is the only one."""
    same = [r for r in known.blocks.values() if r.block.name == block.block.name]
    return same.index(block) if len(same) > 1 else None


def locate(ref: Ref, node: HistoryNode, func: PrimFunc) -> Key | None:
    """The loop or block that `ref` tells, in the program of `node`, the one after its step."""
    if ref.out is not None:
        results = node.result if isinstance(node.result, tuple) else (node.result,)
        return results[ref.out] if ref.out < len(results) else None
    known = places(func)
    if ref.kind == "loop" and not ref.block:
        loops = list(known.loops)
        return loops[ref.index] if ref.index is not None and ref.index < len(loops) else None
    blocks = [r for r in known.blocks.values() if r.block.name == ref.block]
    nth = ref.nth or 0
    if nth >= len(blocks) or (ref.nth is None and len(blocks) > 1):
        return None
    if ref.kind == "block":
        return blocks[nth].block.id
    nest = known.loops_above(blocks[nth])
    return nest[ref.index].loop_var if ref.index is not None and ref.index < len(nest) else None


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
        for ref in wanted:
            if ref in self.names:
                continue
            block = self.block(ref)
            if ref.kind == "block" or self.unpack(ref, block, list(wanted)):
                continue
            self.names[ref] = self.new_name(ref.name)
            found = f"sch.get_loops({block})[{ref.index}]"
            self.lines.append(f"{self.names[ref]} = {found if ref.block else repr(ref.name)}")

    def unpack(self, ref: Ref, block: str, wanted: list[Ref]) -> bool:
        """Name a whole nest in one line, where all its names are still free."""
        if not ref.nest or set(ref.nest) & self.taken or len(set(ref.nest)) < len(ref.nest):
            return False
        names = [self.new_name(name) for name in ref.nest]
        comma = "," if len(names) == 1 else ""
        self.lines.append(f"{', '.join(names)}{comma} = sch.get_loops({block})")
        for other in wanted:
            if (other.block, other.nth, other.kind) == (ref.block, ref.nth, "loop"):
                assert other.index is not None
                self.names[other] = names[other.index]
        return True

    def block(self, ref: Ref) -> str:
        """The variable of the block that `ref` is or is found by, looked up where it is new."""
        key = Ref("block", ref.step, None, ref.block, ref.nth, None, ref.block)
        if key not in self.names and ref.block:
            self.names[key] = self.new_name(ref.block)
            only = f'sch.get_block("{ref.block}")'
            pick = only if ref.nth is None else f'sch.get_blocks("{ref.block}")[{ref.nth}]'
            self.lines.append(f"{self.names[key]} = {pick}")
        return self.names.get(key, "")

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
