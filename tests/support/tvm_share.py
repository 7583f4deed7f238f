"""Calls that TVM takes rightly, as terms say, and whether ours takes them too."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1
from itertools import permutations
from typing import Any

import workbench as wb
from tests.access.corpus import program
from tests.support.lanes import faults
from tests.support.random_programs import random_program
from tests.support.random_steps import AXES, DRAWS, SCOPES, Chooser
from tests.support.told import Loop, Named, Told, take_ours
from tests.support.tvm_differences import explained_share
from tests.support.tvm_oracle import CRASHING, _crashes, take_theirs, their_program
from tests.support.walk import orders
from workbench import ir, script
from workbench.access import Invalid, Terms, deciding, meaning, random_data
from workbench.ir import PrimFunc
from workbench.verbs.primitive import discover

SEEDS = (0, 1)  # of the data that programs are compared on, and of the orders of their loops

Meant = list[dict[Any, Any]]


@dataclass(frozen=True, slots=True)
class Said:
    """What became of one call in TVM, and in ours.

    `theirs` is "right", or why the call does not count: "refused", "crashed", "no program",
    "another meaning", or one of `faults`. `ours` is our refusal, "" where we take the call.
    """

    key: str  # the program and the call, to count each once
    verb: str
    call: str
    theirs: str
    ours: str = ""
    headline: str = ""  # that of `ours`, without names and numbers
    kind: str = ""  # of the known difference that `ours` is: "threads" or "chosen"
    explained: str = ""  # its name
    program: str = ""  # where `ours` is not ""


class Calls(Chooser):
    """Draws every form of a call that both have, at any place, fitting or not."""

    def call(self, verb: str) -> Told | None:
        """A call of `verb`, or None where there is no place for one."""
        draw = _OWN_DRAWS.get(verb) or DRAWS.get(verb)
        return draw(self) if draw and self.blocks else None

    def any_loop(self) -> Loop | None:
        """Any loop, whatever its kind."""
        every = [Loop(name, k) for name, loops in self.nests.items() for k in range(len(loops))]
        return self.rng.choice(every) if every else None

    def blockize(self) -> Told | None:
        at = self.any_loop()
        return None if at is None else Told("blockize", (at,))

    def loop_partition(self) -> Told | None:
        at = self.any_loop()
        if at is None:
            return None
        extent = getattr(self.node(at).extent, "value", 4)
        factors = [self.rng.randint(1, max(extent - 1, 1)) for _ in range(self.rng.choice((1, 2)))]
        return Told("loop_partition", (at,), (("factors", [*factors, None]),))

    def split(self) -> Told | None:
        told = super().split()
        if told is None or self.rng.random() < 0.9:
            return told
        return Told("split", told.args, (*told.kwargs, ("preserve_unit_iters", False)))

    def cache_read(self) -> Told | None:
        told = super().cache_read()
        return self._for_consumers(told, self._touched(told.args[0], "reads"), told.args[1])

    def cache_write(self) -> Told | None:
        at = self.block()
        touched = self._touched(at, "writes")
        index = self.rng.randrange(max(len(touched), 1))
        told = Told("cache_write", (at, index, self.rng.choice(SCOPES)))
        return self._for_consumers(told, touched, index)

    def _touched(self, at: Named, way: str) -> list[Any]:
        return [region.buffer for region in getattr(self.blocks[at.block].block, way)]

    def _for_consumers(self, told: Told, touched: list[Any], index: int) -> Told:
        """The call, now and then for some of the blocks that read the buffer."""
        readers = [
            name
            for name in self.blocks
            if touched and touched[index] in self._touched(Named(name), "reads")
        ]
        if len(readers) < 2 or self.rng.random() < 0.7:
            return told
        some = self.rng.sample(readers, self.rng.randint(1, len(readers) - 1))
        return Told(told.verb, told.args, (("consumer_blocks", [Named(n) for n in some]),))

    def transform_layout(self) -> Told | None:
        at, rng = self.block(), self.rng
        way = rng.choice(("read", "write"))
        touched = self._touched(at, f"{way}s")
        if not touched:
            return None
        index = rng.randrange(len(touched))
        return Told(
            "transform_layout",
            (at,),
            (("buffer", [way, index]), ("index_map", self._map(touched[index].shape))),
        )

    def _map(self, shape: Sequence[int]) -> str:
        """A text that permutes, splits, joins, shifts or turns around the axes of `shape`."""
        rng, names = self.rng, [f"i{n}" for n in range(len(shape))]
        parts = list(rng.choice(list(permutations(names)))) if len(names) < 5 else list(names)
        kind, at = (
            rng.choice(("order", "split", "join", "turn", "shift")),
            rng.randrange(len(shape)),
        )
        name, size = names[at], shape[at]
        place = parts.index(name)
        if kind == "split":
            factor = rng.choice([f for f in range(1, size + 1) if size % f == 0 or f == 4])
            parts[place : place + 1] = [f"{name} // {factor}", f"{name} % {factor}"]
            if rng.random() < 0.5:
                parts.append(parts.pop(place))
        elif kind == "join" and len(names) > 1:
            other = names[at - 1]
            parts[place] = f"{other} * {size} + {name}"
            parts.remove(other)
        elif kind == "turn":
            parts[place] = f"{size - 1} - {name}"
        elif kind == "shift":
            parts[place] = f"{name} + 1"
        if parts == names:  # the same layout
            parts[place] = f"{size - 1} - {name}"
        return f"lambda {', '.join(names)}: ({', '.join(parts)},)"

    def reindex(self) -> Told | None:
        at = self.block()
        ways = [
            [way, k] for way in ("read", "write") for k in range(len(self._touched(at, f"{way}s")))
        ]
        return Told("reindex", (at,), (("buffer", self.rng.choice(ways)),)) if ways else None

    def set_scope(self) -> Told:
        at = self.block()
        index = self.rng.randrange(max(len(self._touched(at, "writes")), 1))
        return Told("set_scope", (at, index, self.rng.choice(SCOPES)))

    def compute_at(self) -> Told | None:
        return self._somewhere(super().compute_at())

    def reverse_compute_at(self) -> Told | None:
        return self._somewhere(super().reverse_compute_at())

    def _somewhere(self, told: Told | None) -> Told | None:
        """The call, now and then with the place among the statements of the loop."""
        if told is None or self.rng.random() < 0.8:
            return told
        return Told(
            told.verb, told.args, (*told.kwargs, ("index", self.rng.choice((-2, -1, 0, 1))))
        )

    def bind(self) -> Told | None:
        at = self.any_loop() if self.rng.random() < 0.3 else self.loop(("serial",))
        return None if at is None else Told("bind", (at, self.rng.choice(AXES)))


_OWN_DRAWS: dict[str, Callable[[Calls], Told | None]] = {
    name: getattr(Calls, name)
    for name, value in vars(Calls).items()
    if name in discover() and callable(value)
}


@dataclass
class Shared:
    """One program, and calls of it in both."""

    func: PrimFunc
    rng: random.Random
    tvm: tuple[Any, Any]

    def __post_init__(self) -> None:
        schedule, read = self.tvm
        self.text = script.show(self.func)
        self.theirs = schedule(
            read(script.show(self.func, dialect="tvm")), error_render_level="fast"
        )
        self.terms, self.numbers = Terms(), deciding(self.func)
        self.data = [random_data(self.func, seed) for seed in SEEDS]
        self.meant = [
            meaning(self.func, data, self.terms, numbers=self.numbers) for data in self.data
        ]

    def call(self, step: Told) -> tuple[Said, PrimFunc | None]:
        """What both make of `step`, and our program after it where both are right."""
        ours, refusal = self._ours(step)
        verdict = self._theirs(step)
        digest = sha1(f"{self.text}\n{step}".encode()).hexdigest()
        if not refusal or verdict != "right":
            said = Said(digest, step.verb, str(step), verdict, refusal and "refused")
            return said, ours if verdict == "right" else None
        headline, known = self._without_names(refusal), explained_share(step.verb, refusal)
        said = Said(digest, step.verb, str(step), "right", refusal, headline, *known, self.text)
        return said, None

    def _ours(self, step: Told) -> tuple[PrimFunc | None, str]:
        sch = wb.Schedule(self.func)
        try:
            take_ours(sch, step)
        except wb.ScheduleError as error:
            return None, str(error)
        return sch.func, ""

    def _theirs(self, step: Told) -> str:
        trial = self.theirs.copy()
        if step.verb in CRASHING and _crashes(lambda: take_theirs(trial, step)):
            return "crashed"
        try:
            take_theirs(trial, step)
        except Exception:
            return "refused"
        try:
            result = their_program(trial)
            ir.verify(result)
        except Exception:
            return "no program"
        if not self._means(result):
            return "another meaning"
        data, numbers = self.data[0], self.numbers
        fault = faults(result, data, numbers) - faults(self.func, data, numbers)
        return min(fault, default="right")

    def _means(self, result: PrimFunc) -> bool:
        """Whether `result` means what the program does, in every order that is tried."""
        params = [(p.shape, p.type) for p in self.func.params]
        if [(p.shape, p.type) for p in result.params] != params:
            return False
        for seed, data, meant in zip(SEEDS, self.data, self.meant, strict=True):
            for order in orders(result, seed):
                try:
                    now = meaning(result, data, self.terms, order, self.numbers)
                except Invalid:
                    return False
                if any(
                    term is not after[cell]
                    for before, after in zip(meant, now, strict=True)
                    for cell, term in before.items()
                ):
                    return False
        return True

    def _without_names(self, refusal: str) -> str:
        """The headline of a refusal, the same for programs that differ in names and numbers."""
        head = re.sub(r"`[^`]*`", "`x`", refusal.splitlines()[0])
        nodes = list(ir.walk(self.func))
        names = {node.name for node in nodes if isinstance(node, (ir.Buffer, ir.Var, ir.Block))}
        names |= {buffer.name for buffer in self.func.params}
        names |= {region.buffer.name for node in nodes if isinstance(node, ir.Block)
                  for region in (*node.reads, *node.writes)}  # fmt: skip
        words = re.sub(r"(?<!')\w+", lambda m: "x" if m[0] in names else m[0], head)
        return re.sub(r"\d+", "0", words)


def start(family: str, name: str) -> PrimFunc:
    """A program of the corpus, or the one of a random schedule."""
    func = random_program(random.Random(int(name))) if family == "random" else program(family, name)
    read = script.parse(script.show(func))
    assert isinstance(read, PrimFunc)
    return read


def calls(
    family: str, name: str, seed: int, tvm: tuple[Any, Any], depth: int, width: int
) -> Iterator[Said]:
    """What both say of `width` calls of the program, and of each of `depth` programs after it."""
    rng = random.Random(f"{family} {name} {seed}")
    func = start(family, name)
    for _ in range(depth + 1):
        shared, after = Shared(func, rng, tvm), []
        for verb in _verbs(rng, width):
            step = Calls(func, rng).call(verb)
            if step is None:
                continue
            try:
                said, result = shared.call(step)
            except IndexError:  # no such loop
                continue
            yield said
            after += [result] if result is not None else []
        if not after:
            return
        read = script.parse(script.show(rng.choice(after)))
        assert isinstance(read, PrimFunc)
        func = read


def _verbs(rng: random.Random, count: int) -> Iterator[str]:
    """Every verb equally often."""
    every = sorted(discover())
    for _ in range(-(-count // len(every))):
        rng.shuffle(every)
        yield from every[:count]
        count -= len(every)


def quiet() -> None:
    """Leave TVM's own warnings out."""
    warnings.simplefilter("ignore")
