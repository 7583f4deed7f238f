"""Pipelines turn by turn, against the notes of a program and what its kernels write, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tests.support.pictured.log import BARRIER, KernelLog, ProgramLog, in_order
from tests.support.pictured.names import check_names, shapes_of, words_of
from tests.support.pictured.tally import Tally, counted, fixed
from workbench.draw import Picture
from workbench.ir import Block, BufferStore, For, SeqStmt, attrs_dict, dtypes, walk

RUN = re.compile(r"(.*) of (\w+) = (-?\d+), in turn (\d+): (.*?)(?:; (-?\d+) in the step before)?")
USE = re.compile(r"(reads|writes) ([\w.]+)(?: \(copy (\d+) of (\d+)\))?")
PARTS = ("prologue", "body", "epilogue")


@dataclass(frozen=True)
class Loop:
    """A pipeline by its notes: its statements in order with their stages, and its turns."""

    node: For
    stages: tuple[int, ...]
    order: tuple[int, ...]
    statements: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.node.loop_var.name

    @property
    def first(self) -> int:
        return int(self.node.min.value)

    @property
    def count(self) -> int:
        return int(self.node.extent.value)

    @property
    def depth(self) -> int:
        return max(self.stages)

    def rows(self) -> list[int]:
        """The statements in the order of a turn."""
        return sorted(range(len(self.stages)), key=lambda k: self.order[k])

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Turn, statement and number of the iteration, in time."""
        for turn in range(self.count + self.depth if self.count else 0):
            for k in self.rows():
                if 0 <= turn - self.stages[k] < self.count:
                    yield turn, k, turn - self.stages[k]

    def part(self, turn: int) -> str:
        return PARTS[0] if turn < self.depth else PARTS[1] if turn < self.count else PARTS[2]


def blocks_of(statement: Any) -> list[str]:
    """The names of its blocks; of bare stores, the buffers written."""
    names = [n.name for n in walk(statement) if isinstance(n, Block) and n.name]
    return names or [n.buffer.name for n in walk(statement) if isinstance(n, BufferStore)]


def loops_of(log: ProgramLog) -> dict[str, Loop]:
    """The pipelines of a program by name, of those whose turns and statements stand in the text."""
    found = {}
    for node in log.loops:
        notes = {str(k): v for k, v in attrs_dict(node.annotations).items()}
        stages = notes.get("software_pipeline_stage")
        if stages is None:
            continue
        body = node.body
        while not isinstance(body, SeqStmt) and hasattr(body, "block"):
            body = body.block.body
        if not isinstance(body, SeqStmt) or len(body.stmts) != len(stages):
            continue
        order = notes.get("software_pipeline_order") or tuple(range(len(stages)))
        if hasattr(node.extent, "value") and hasattr(node.min, "value"):
            found[node.loop_var.name] = Loop(node, tuple(stages), tuple(order), body.stmts)
    return found


def check_pipelines(
    tally: Tally, log: ProgramLog, kernels: Sequence[KernelLog], picture: Picture
) -> None:
    """All that the picture says of the turns of pipelines."""
    check_names(tally, log, picture)
    known = loops_of(log)
    if picture.table.columns[0] == "loop" and len(picture.table.columns) == 2:
        _plain(tally, log, picture)
        return
    for shape in shapes_of(picture):
        found = RUN.fullmatch(shape.of.title)
        if found and found[2] in known:
            _run(tally, log, known[found[2]], found)
        elif shape.of.title and not found:
            _title(tally, log, known, shape.of.title)
    for words in words_of(picture):
        of, label = words.of, words.label
        found = RUN.fullmatch(of.title)
        copies = " ".join(dict.fromkeys(
            f"{'→' if way == 'writes' else '←'}{copy}"
            for way, _, copy, _ in USE.findall(found[5]) if copy)) if found else ""  # fmt: skip
        tally.read(label, [
            (r"(-?\d+)", lambda m, f=found: tally.same(
                "iterations in cells" if f else "numbers of turns", m[1] == f[3] if f else True,
                True)),
            (r"([→←]\d+(?: [→←]\d+)*)", lambda m, c=copies: tally.same(
                "copies in cells", c.startswith(m[1]), True, c)),
            (r"\((-?\d+)\)", lambda m, f=found: tally.same(
                "iterations of the step before", m[1], f[6] if f else m[1])),
            *fixed(*PARTS, "…"),
            (r"turn of (\w+)", lambda m: tally.among("names of pipelines", m[1], known)),
            (r"(.*)", lambda m, of=of: tally.among(
                "names of statements", m[1], [*of.statement.split(", "), *known,
                                              *(f"{n} {p}" for n in known for p in PARTS)])),
        ])  # fmt: skip
    for row in picture.table.rows:
        _row(tally, log, known, row)
    for line in picture.caption.splitlines():
        _caption(tally, known, line)
    for loop in known.values():
        _order(tally, loop, kernels, picture)


def _plain(tally: Tally, log: ProgramLog, picture: Picture) -> None:
    """Loops that could be pipelines, with what each turn runs."""
    for name, statements in picture.table.rows:
        nodes = [x for x in log.loops if x.loop_var.name == name]
        tally.same("loops that could be pipelines", bool(nodes), True, str(name))
        bodies = [[blocks_of(s)[-1] for s in x.body.stmts] for x in nodes
                  if isinstance(x.body, SeqStmt)]  # fmt: skip
        tally.among("statements of a turn", str(statements).split("; "), bodies, str(name))
    for words in words_of(picture):
        told = [name for row in picture.table.rows for name in str(row[1]).split("; ")]
        tally.among("statements of a loop that could be a pipeline", words.label, told)
    found = re.search(r"Take `pipeline` at `(\w+)`, with a stage for each of its (\d+)",
                      picture.caption)  # fmt: skip
    if found:
        rows = {str(row[0]): str(row[1]).split("; ") for row in picture.table.rows}
        tally.same("statements in captions", int(found[2]), len(rows[found[1]]))


def _run(tally: Tally, log: ProgramLog, loop: Loop, found: re.Match[str]) -> None:
    name, _, iteration, turn, uses, _ = found.groups()
    rows = [k for k, s in enumerate(loop.statements) if blocks_of(s)[-1] == name]
    number = int(iteration) - loop.first
    tally.among("turns of statements", int(turn) - number, [loop.stages[k] for k in rows] or [0],
                found[0])  # fmt: skip
    tally.same("iterations of statements", 0 <= number < loop.count, True, found[0])
    _uses(tally, log, loop, rows, number, uses, found[0])


def _uses(
    tally: Tally, log: ProgramLog, loop: Loop, rows: list[int], number: int, uses: str, about: str
) -> None:
    """What a statement touches, and which copy of it."""
    told = {(way == "writes", buffer) for way, buffer, *_ in USE.findall(uses)}
    blocks = {b for k in rows for b in blocks_of(loop.statements[k])}
    made = {(e.writes, e.buffer) for e in log.events if e.stage in blocks}
    if rows:
        static = {(isinstance(n, BufferStore), n.buffer.name)
                  for k in rows for n in in_order(loop.statements[k])}  # fmt: skip
        tally.same("buffers of statements", made <= told <= static | made, True, about)
    for _, _, copy, copies in USE.findall(uses):
        if copies:
            tally.same("copies in titles", int(copy), number % int(copies), about)


def _title(tally: Tally, log: ProgramLog, known: dict[str, Loop], title: str) -> None:
    every = [name for loop in known.values() for s in loop.statements for name in blocks_of(s)]

    def stage(match: re.Match[str]) -> None:
        blocks = match[1].split(", ")
        found = {
            loop.stages[k]
            for loop in known.values()
            for k, s in enumerate(loop.statements)
            if {*blocks} <= {*blocks_of(s)}
        }
        tally.among("stages in titles", int(match[2]), found, title)

    def flight(match: re.Match[str]) -> None:
        loop = known[match[1]]
        number, first, last = int(match[2]) - loop.first, int(match[3]), int(match[4])
        stages = range(min(loop.stages), loop.depth + 1)
        tally.same("begins of what is on its way", first - number in stages, True, title)
        tally.same("ends of what is on its way", first <= last <= number + loop.depth, True, title)
        for buffer in match[5].split(", "):
            tally.among("buffers that are on their way", buffer, log.buffers, title)
        writing = {
            loop.stages[k]
            for k, s in enumerate(loop.statements)
            for b in match[5].split(", ")
            if any(e.buffer == b and e.writes and e.stage in blocks_of(s) for e in log.events)
        }
        if writing:
            tally.same("turns of what is on its way", first - number, min(writing), title)
        tally.among("what waits for data", match[6], every)

    tally.read(title, [
        (r"(.*): stage (\d+)", stage),
        (r"(\w+) = (-?\d+): on the way from turn (\d+) to (?:the wait in )?turn (\d+); "
         r"(.*) for (.*)", flight),
        (r"turn (\d+): (?:all threads of a block wait|each thread waits for its copies, "
         r"but the last (\d+) groups?,) (?:ahead of|within) (.*)",
         lambda m: tally.same("turns of waits", int(m[1]) < max(
             (x.count + x.depth for x in known.values()), default=1 << 20), True)),
        (r"(.*) of (-?\d+), the step before", lambda m: tally.among(
            "statements of the step before", m[1], every)),
        (r"(.*) of (\w+) = (-?\d+), in turn (\d+): .*", lambda _: None),
    ])  # fmt: skip


def _row(
    tally: Tally, log: ProgramLog, known: dict[str, Loop], row: tuple[str | int | float, ...]
) -> None:
    name, part, turn, statement, iteration, uses, _, _ = row
    loop = known.get(str(name))
    if loop is None:
        return
    tally.same("parts of turns", part, loop.part(int(turn)), str(row))
    rows = [k for k, s in enumerate(loop.statements) if blocks_of(s)[-1] == statement]
    number = int(iteration) - loop.first
    tally.among("turns in tables", int(turn) - number, [loop.stages[k] for k in rows] or
                [int(turn) - number], str(row))  # fmt: skip
    _uses(tally, log, loop, rows, number, str(uses), str(row))


def _caption(tally: Tally, known: dict[str, Loop], line: str) -> None:
    def sentence(match: re.Match[str]) -> None:
        loop = known.get(match[1])
        if loop is None:
            return
        tally.same("iterations in captions", match[2], counted(loop.count, "iteration"))
        turns = loop.count + loop.depth
        tally.same("turns in captions", match[3], counted(turns, "turn"))
        together = min(loop.depth + 1, loop.count)
        if match[4]:
            tally.same("iterations at a time", int(match[4]), together, line)

    tally.read(line, [
        (r"(\w+): (?:at most )?([\d,]+ iterations?) in ([\d,]+ turns?)(?:, (\d+) at a time)?"
         r"((?:; \d+ copies of [^;]*)*)\.", sentence),
        (r"Numbers are iterations(; →1 writes copy 1, ←1 reads it)?[^\d]*", lambda _: None),
    ])  # fmt: skip


def _order(tally: Tally, loop: Loop, kernels: Sequence[KernelLog], picture: Picture) -> None:
    """The copies that kernels write, in order, are those of all runs, in order."""
    copies = {}
    for row in picture.table.rows:
        if row[0] == loop.name:
            for _, buffer, _, many in USE.findall(str(row[5])):
                copies[buffer] = int(many or 1)
    writers: dict[str, set[int]] = {}
    for k, statement in enumerate(loop.statements):
        for node in walk(statement):
            if isinstance(node, BufferStore):
                writers.setdefault(node.buffer.name, set()).add(k)
    own = {b for b, k in writers.items() if len(k) == 1 and copies.get(b, 1) > 1}
    if not own:
        return
    wanted = _once([
        (buffer, number % copies[buffer])
        for _, k, number in loop.runs()
        for buffer in sorted(own)
        if k in writers[buffer]
    ])  # fmt: skip
    for log in kernels:
        if not own <= {b.name for b in log.kernel.allocs if b.scope == "shared"}:
            continue  # of registers virtual threads have copies of their own, too
        best = [*max((_written(noted, own, copies) for noted in log.threads.values()), key=len)]
        times = max(len(best) // max(len(wanted), 1), 1)
        tally.same("order of copies in kernels", best, wanted * times, loop.name)


def _written(noted: Sequence[Any], own: set[str], copies: dict[str, int]) -> list[Any]:
    found = []
    for place, _, address in noted:
        if place is BARRIER or not isinstance(place[1], BufferStore):
            continue
        buffer = place[1].buffer
        if buffer.name in own:
            size = int(prod(buffer.shape)) // copies[buffer.name]
            found.append((buffer.name, address // int(dtypes.itemsize(buffer.type)) // size))
    return _once(found)


def _once(every: Sequence[Any]) -> list[Any]:
    return [one for k, one in enumerate(every) if k == 0 or one != every[k - 1]]
