"""Keys for loops, buffers and blocks: the same short text for the same thing in every pane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from workbench.codegen import LANGUAGES
from workbench.ir import (
    BlockId,
    BlockRealize,
    Buffer,
    Const,
    For,
    PrimFunc,
    Var,
    stores,
    walk,
    walk_statements,
)
from workbench.ir.places import Places, places
from workbench.lower.keep_values import kept_name
from workbench.schedule.find import has_own_name, loop_name
from workbench.script.memory import size_text
from workbench.script.writer import string
from workbench.widgets.page.memo import memo

Thing: TypeAlias = "Var | Buffer | BlockId"


@dataclass
class Keys:
    """Numbers things in the order in which they are met; what survives a step keeps its key."""

    _of: dict[Thing, str] = field(default_factory=dict)
    _thing: dict[str, Thing] = field(default_factory=dict)

    def of(self, thing: Thing) -> str:
        """The key of a loop's variable, a buffer or a block's identity."""
        if thing not in self._of:
            letter = {Var: "L", Buffer: "B"}.get(type(thing), "K")
            key = f"{letter}{len(self._of)}"
            self._of[thing], self._thing[key] = key, thing
        return self._of[thing]

    def thing(self, key: str) -> Thing | None:
        """What has the key; None where nothing has."""
        return self._thing.get(key)

    def copy(self) -> Keys:
        """The same keys, to which others may be added."""
        return Keys(dict(self._of), dict(self._thing))

    def take(self, new: Thing, old: Thing) -> None:
        """Let `new` have the key of `old`."""
        self._of[new] = self.of(old)


@dataclass(frozen=True)
class Names:
    """The loops, blocks and buffers of one program by key, and the words that stand for them.

    `about` maps a key to its kind, name and label; `words` maps an identifier of a program text,
    ``threadIdx.x`` among them, to the keys that it may mean, separated by spaces.
    """

    about: dict[str, dict[str, str]]
    words: dict[str, str]


def names_of(func: PrimFunc, keys: Keys) -> Names:
    """What can be marked in the panes of `func`."""
    about: dict[str, dict[str, str]] = {}
    words: dict[str, list[str]] = {}

    def note(thing: Thing, kind: str, name: str, label: str, *more: str) -> None:
        key = keys.of(thing)
        about[key] = {"kind": kind, "name": name, "label": label}
        for word in (name, *more):
            words.setdefault(word, []).append(key)

    for buffer in buffers_of(func):
        shape = " × ".join(map(size_text, buffer.shape))
        label = f"buffer {buffer.name} ({buffer.scope}, {shape})"
        note(buffer, "buffer", buffer.name, label, kept_name(buffer))
    for node in walk(func.root.body):
        if isinstance(node, For):
            note(node.loop_var, "loop", node.loop_var.name, loop_label(node), *_axes(node))
        elif isinstance(node, BlockRealize):
            key = keys.of(node.block.id)
            about[key] = {
                "kind": "block",
                "name": node.block.name,
                "label": f"block {node.block.name}",
            }
    return Names(about, {word: " ".join(dict.fromkeys(found)) for word, found in words.items()})


def buffers_of(func: PrimFunc) -> list[Buffer]:
    """The parameters and the intermediate buffers, in that order."""

    def found() -> list[Buffer]:
        inner = (n.block for n in walk_statements(func.body) if isinstance(n, BlockRealize))
        return [*func.params, *(buffer for block in inner for buffer in block.alloc_buffers)]

    return memo(func, "buffers", found)


def loop_label(loop: For) -> str:
    """A loop in words: ``loop i_0, 8 times, on blockIdx.x``."""
    times = f", {loop.extent.value} times" if isinstance(loop.extent, Const) else ""
    if loop.thread:
        return f"loop {loop.loop_var.name}{times}, on {loop.thread}"
    return f"loop {loop.loop_var.name}{times}" + ("" if loop.kind == "serial" else f", {loop.kind}")


def _axes(loop: For) -> tuple[str, ...]:
    """The words that stand for a bound loop in code, where virtual threads have none."""
    if loop.thread is None or loop.virtual:
        return ()
    return tuple(table.places.get(loop.thread, loop.thread) for table in LANGUAGES.values())


def places_of(func: PrimFunc, keys: Keys, names: Names) -> Mapping[str, str]:
    """The loops and blocks at which a step can be taken, in program order: key and short label."""
    found: dict[str, str] = {}
    known = places(func)
    times = Counter(loop.loop_var.name for loop in known.loops.values())
    for node in walk(func.root.body):
        if isinstance(node, For):
            name = node.loop_var.name
            of = f" of {_blocks_in(known, node)}" if times[name] > 1 else ""
            found[keys.of(node.loop_var)] = f"loop {name}{of}"
        elif isinstance(node, BlockRealize):
            found[keys.of(node.block.id)] = names.about[keys.of(node.block.id)]["label"]
    return found


def place_text(func: PrimFunc, thing: object) -> str:
    """A loop or block as an argument in Python: its name, or how to get it if several have it."""
    known = places(func)
    if isinstance(thing, BlockId):
        block = known.blocks[thing].block
        same = [key for key, realize in known.blocks.items() if realize.block.name == block.name]
        one = f"sch.get_blocks({string(block.name)})[{same.index(thing)}]"
        return string(block.name) if has_own_name(func, block) else one
    assert isinstance(thing, Var)
    loop = known.loops[thing]
    inside = known.blocks_under(loop)
    if has_own_name(func, loop) or not inside:
        return string(loop_name(func, loop))
    block_text = place_text(func, inside[0].block.id)
    return f"sch.get_loops({block_text})[{known.loops_above(inside[0]).index(loop)}]"


def _blocks_in(known: Places, loop: For) -> str:
    """The blocks that it is around; of statements in none, what they store."""
    blocks = [realize.block.name for realize in known.blocks_under(loop)]
    blocks = blocks or [*dict.fromkeys(store.buffer.name for store in stores(loop))]
    return " and ".join(blocks) if len(blocks) < 3 else f"{blocks[0]} to {blocks[-1]}"
