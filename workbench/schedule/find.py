"""From what a caller passes, a handle or a name, to the loop or block of a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from workbench.diag import Refusal
from workbench.history.handles import BlockHandle, Handle, LoopHandle
from workbench.history.history import HistoryNode, has
from workbench.history.step import value_text
from workbench.ir import Block, BlockRealize, For, PrimFunc
from workbench.ir.places import Places, places
from workbench.script.writer import string
from workbench.verbs.primitive import Key


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks things up in one program of a history; `task` is what for: "split", "get_loops"."""

    node: HistoryNode
    func: PrimFunc  # the one that names are looked up in
    task: str
    meant: bool = True  # whether that one is meant; where not, names are refused

    @property
    def places(self) -> Places:
        """Where everything is in the function that names are looked up in."""
        return self.node.places[self.func.name]

    def loop(self, value: object) -> tuple[PrimFunc, For]:
        """The loop that `value` stands for, and the function that holds it."""
        if isinstance(value, LoopHandle):
            holder = self._holder(value)
            return holder.func, holder.loops[value.key]
        if isinstance(value, str):
            return self.func, self._named_loop(value)
        raise self._wrong(value, "a loop", "get_loops() or split()")

    def block(self, value: object) -> tuple[PrimFunc, Block]:
        """The block that `value` stands for, and the function that holds it."""
        if isinstance(value, BlockHandle):
            holder = self._holder(value)
            return holder.func, holder.blocks[value.key].block
        if isinstance(value, str):
            return self.func, self._named_block(value)
        raise self._wrong(value, "a block", "get_block()")

    def _wrong(self, value: object, wanted: str, source: str) -> Refusal:
        got = value_text(value)
        if isinstance(value, (LoopHandle, BlockHandle)):
            got = f"the {value.kind} `{value.name}`"
        return Refusal(
            f"Can't {self.task}: it takes {wanted}, not {got}",
            hint=f"pass {wanted}'s handle, from {source}, or its name",
        )

    def either(self, value: object) -> tuple[PrimFunc, For | Block]:
        """The loop or the block that `value` stands for; a block where a name is both."""
        if isinstance(value, LoopHandle):
            return self.loop(value)
        if (
            isinstance(value, str)
            and self.meant
            and not any(r.block.name == value for r in self.places.blocks.values())
        ):
            return self.loop(value)
        return self.block(value)

    def unclear(self, what: str) -> Refusal:
        """The refusal to work on `what` while it is not said on which function."""
        names = [func.name for func in self.node.mod.functions]
        return Refusal(
            f"Can't {self.task} {what}: which of {len(names)} functions is meant is not said",
            detail=f"they are {', '.join(names)}; none is called main",
            hint=f"say it: sch.work_on({string(names[0])})",
        )

    def _named_loop(self, name: str) -> For:
        if not self.meant:
            raise self.unclear(f"`{name}`")
        known = self.places
        block, _, last = name.rpartition(".")
        same = [loop for loop in known.loops.values() if loop.loop_var.name == last]
        if block:
            nest = known.loops_above(known.realize(self._named_block(block)))
            same = [loop for loop in same if loop in nest]
        if len(same) == 1:
            return same[0]
        if same:
            named = [loop for loop in same if has_own_name(self.func, loop)]
            ways = " or ".join(string(loop_name(self.func, loop)) for loop in named[:4])
            raise Refusal(
                f"Can't {self.task} `{name}`: {len(same)} loops have that name",
                *same,
                hint=(f"name a block in it too, {ways}, or " if ways else "")
                + "pass a handle from get_loops()",
            )
        names = dict.fromkeys(v.name for v in known.loops)
        raise self._no_such(name, "loop", names, [*known.loops.values()], "get_loops()")

    def _named_block(self, name: str) -> Block:
        if not self.meant:
            raise self.unclear(f"`{name}`")
        blocks = [realize.block for realize in self.places.blocks.values()]
        same = [block for block in blocks if block.name == name]
        if len(same) == 1:
            return same[0]
        if same:
            raise Refusal(
                f"Can't {self.task} `{name}`: {len(same)} blocks have that name",
                *same,
                hint="pass the handle of the one that you mean, from sch.get_blocks()",
            )
        there = blocks[1:]  # all but the root
        raise self._no_such(name, "block", [b.name for b in there], there, "get_block()")

    def _no_such(
        self, name: str, kind: str, names: Iterable[str], at: Sequence[For | Block], source: str
    ) -> Refusal:
        """The refusal of a name that is none of the `names` of all loops, or blocks, `at`."""
        self._tell_if_gone(name)
        known = list(names)
        close = get_close_matches(name, known, n=1)
        pass_one = f"pass the name of one of its {kind}s, or a handle from {source}"
        return Refusal(
            f"Can't {self.task} `{name}`: {self.func.name} has no {kind} of that name",
            *at,
            detail=f"its {kind}s: {', '.join(known) or 'none'}",
            hint=f"is it `{close[0]}`? Else {pass_one}" if close else pass_one,
        )

    def _holder(self, handle: Handle) -> Places:
        """The places of the function that has the loop or block of `handle` now."""
        self._same_history(handle)
        for known in self.node.places.values():
            if has(known, handle.key):
                return known
        raise self._why_gone(handle)

    def _same_history(self, handle: Handle) -> None:
        if handle.history is not self.node.history:
            kind = handle.kind
            again = (
                f"sch.get_block({string(handle.name)})"
                if kind == "block"
                else "sch.get_loops(block)"
            )
            raise Refusal(
                f"Can't {self.task} `{handle.name}`: that {kind} belongs to another schedule",
                *_named(self.node, handle.name),
                detail=f"a handle is good for one schedule and its forks, even where the other "
                f"one has a {kind} of the same name",
                hint=f"get this schedule's own: {again}",
            )

    def _why_gone(self, handle: Handle) -> Refusal:
        for node in self.node.path():
            if node.parent and node.parent.holds(handle.key) and not node.holds(handle.key):
                return self._gone(handle.name, node, node.became.get(handle.key, ()))
        home = next((node for node in handle.history if node.holds(handle.key)), None)
        if home is None:
            return Refusal(
                f"Can't {self.task} `{handle.name}`: it exists only in a trial, not in the history",
                hint="take the trial's steps first: sch.adopt(trial)",
            )
        return Refusal(
            f"Can't {self.task} `{handle.name}`: it exists only in another branch, from step "
            f"{home.id} on",
            hint=f"sch.goto({home.id}) goes there; or get the handle that you need here again",
            detail=f"step {home.id} is {home.label}; this is step {self.node.id}",
        )

    def _tell_if_gone(self, name: str) -> None:
        """Refuse with the step that took the last loop or block of that name, if one did."""
        for node in reversed(self.node.path()):
            for key in map(_key_of, _named(node.parent, name) if node.parent else []):
                if key in node.became or not node.holds(key):
                    raise self._gone(name, node, node.became.get(key, ()))
                raise self._gone(name, node, (key,))  # it has another name now

    def _gone(self, name: str, node: HistoryNode, made: tuple[Key, ...]) -> Refusal:
        assert node.step is not None and node.parent is not None
        became = ", ".join(name_in(node.places.values(), key) for key in made)
        fate = f"made it {became}" if became else "took it away"
        start = f"Can't {self.task} `{name}`: step {node.id}, "  # as the lab numbers it
        longest = 119 - len(f"{start}, {fate}")
        call = node.step.text if len(node.step.text) <= longest else node.step.verb
        use = f"use {became}, or " if became else ""
        here = [s for s in self.places.order if _key_of(s) in made]
        return Refusal(
            f"{start}{call}, {fate}",
            *here,
            detail=f"step {node.id} was {node.step.text}",
            hint=f"{use}go back to before that step: sch.goto({node.parent.id})",
        )


def _statements(functions: Iterable[Places]) -> list[For | BlockRealize]:
    return [stmt for known in functions for stmt in known.order]


def _named(node: HistoryNode, name: str) -> list[For | BlockRealize]:
    """The loops and blocks of that name in the program of `node`."""
    return [stmt for stmt in _statements(node.places.values()) if _name_of(stmt) == name]


def name_in(functions: Iterable[Places], key: Key) -> str:
    """What a loop or block is called in the one of `functions` that has it."""
    return next((_name_of(s) for s in _statements(functions) if _key_of(s) is key), "?")


def _key_of(stmt: For | BlockRealize) -> Key:
    return stmt.loop_var if isinstance(stmt, For) else stmt.block.id


def _name_of(stmt: For | BlockRealize) -> str:
    return stmt.loop_var.name if isinstance(stmt, For) else stmt.block.name


def loop_name(func: PrimFunc, loop: For) -> str:
    """A name that tells `loop` from all others of `func`: "i", or "C.i", with a block in it.

    Only "i" where no block in it has a name of its own.
    """
    known = places(func)
    name = loop.loop_var.name
    if sum(var.name == name for var in known.loops) == 1:
        return name
    for realize in known.blocks_under(loop):
        same = [other for other in known.loops_above(realize) if other.loop_var.name == name]
        if len(same) == 1 and has_own_name(func, realize.block):
            return f"{realize.block.name}.{name}"
    return name


def has_own_name(func: PrimFunc, node: For | Block) -> bool:
    """Whether `node` can be told by a name alone."""
    known = places(func)
    if isinstance(node, Block):
        return sum(r.block.name == node.name for r in known.blocks.values()) == 1
    name = loop_name(func, node)
    return "." in name or sum(var.name == name for var in known.loops) == 1
