"""Places, buffers and bands of the memory picture, against all that threads load and store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from tests.support.pictured.log import WARP, Event, ProgramLog, in_order
from tests.support.pictured.names import check_names, forms_of, words_of
from tests.support.pictured.tally import (
    Rule,
    Tally,
    bytes_text,
    counted,
    fixed,
    micro,
    times_text,
)
from workbench.draw import Picture, Stands, Words
from workbench.ir import Block, BufferStore, For, Kernel, attrs_dict, dtypes, walk

OWNERS = {"global": "grid", "shared": "block", "local": "thread"}
NAMES = {"shared": "shared memory", "local": "registers (local memory)"}
LEGEND = (
    "× is how often one block (of registers: one thread) loads each cell, on average. "
    "The L2 cache keeps what was used last of global memory, for all blocks."
)
BY_BYTES = (
    "The wider a band, the more bytes it carries, by their logarithm: one of 1 GiB is 1.6 times as "
    "wide as one of 1 MiB. " + LEGEND
)
BY_TIME = (
    "The wider a band, the longer is what carries it busy, modelled; a time is on it. "
    "Registers take no time of their own. " + LEGEND
)
HATCHED = "Hatched bands, and numbers in brackets, are those of the step before."
BAND = re.compile(
    r"(\w+): ([\d,]+) bytes (loaded|stored)(?: in ([\d.,e+-]+ µs), modelled)?"
    r"(?:, (in each turn of|by each (?:virtual thread|thread|block) of) (\w+))?"
)
Times = Mapping[tuple[str, bool], float]


def check_memory(
    tally: Tally,
    log: ProgramLog,
    kernels: Sequence[Kernel],
    picture: Picture,
    before: ProgramLog | None,
    times: Times,
) -> None:
    """All that the picture says of what lies where and is moved how often."""
    said = {words.label for words in words_of(picture)}
    for drawn in forms_of(picture):
        check_names(tally, log, drawn)
        _Memory(tally, log, kernels, drawn, before, times, said).check()


class _Memory:
    def __init__(
        self,
        tally: Tally,
        log: ProgramLog,
        kernels: Sequence[Kernel],
        picture: Picture,
        before: ProgramLog | None,
        times: Times,
        said: set[str],
    ) -> None:
        self.tally, self.log, self.picture = tally, log, picture
        self.kernels, self.before, self.times, self.said = kernels, before, times, said
        every = {s.of for strip in picture.strips for s in strip.shapes if s.of.title}
        self.bands = {of: found for of in every if (found := BAND.fullmatch(of.title))}
        self.unknown = set() if kernels else _in_pipelines(log)
        if self.unknown:
            tally.counts["left out: copies of pipelines without kernels"] += 1
        for of in every - self.bands.keys():
            tally.add(f"unknown title {of.title!r}")

    def check(self) -> None:
        for of, found in self.bands.items():
            self.band(of, found)
        for words in words_of(self.picture):
            self.words(words)
        for line in self.picture.caption.splitlines():
            self.caption(line)
        for row in self.picture.table.rows:
            self.row(row)

    # --- counts -----------------------------------------------------------------------------------

    def size(self, buffer: str) -> int:
        return int(dtypes.itemsize(self.log.buffers[buffer].type))

    def on(self, of: Stands) -> list[Event]:
        """What a band carries: what its blocks load of its buffer, or store to it."""
        blocks = of.statement.split(", ")
        events = self.log.by_buffer[of.buffer, not of.key.startswith("load")]
        return [event for event in events if event.stage in blocks]

    def carried(self, of: Stands) -> int:
        return len(self.on(of)) * self.size(of.buffer)

    def near(self, of: Stands) -> str:
        """The buffer at the other end of a copy; "" of what is used."""
        found = BAND.fullmatch(of.title)
        load = found is not None and found[3] == "loaded"
        blocks = of.statement.split(", ")
        buffers = _named(self.log, blocks)
        return next(name for name, w in buffers if w == load) if self.is_copy(of) else ""

    def is_copy(self, of: Stands) -> bool:
        """Whether its blocks do nothing but move its buffer to, or from, another memory.

        As their text has it, also of a load that a condition never lets happen.
        """
        buffers = _named(self.log, of.statement.split(", "))
        scopes = {self.log.buffers[name].scope for name, _ in buffers}
        return len(buffers) == 2 and len(scopes) == 2 and len({w for _, w in buffers}) == 2

    def first(self, events: Iterable[Event], scope: str) -> list[Event]:
        """What the first block does of them; of local memory, its first thread."""
        own = [e for e in events if e.block == (0, 0, 0)]
        return [e for e in own if e.thread == (0, 0, 0)] if scope == "local" else own

    def reuse(self, events: Iterable[Event], buffer: str) -> float:
        own = self.first(events, self.log.buffers[buffer].scope)
        return len(own) / max(len({e.index for e in own}), 1)

    # --- bands ------------------------------------------------------------------------------------

    def band(self, of: Stands, found: re.Match[str]) -> None:
        self.tally.same("buffers of bands", found[1], of.buffer)
        self.tally.same("bytes of bands", found[2], f"{self.carried(of):,}", of.title)
        if found[4]:
            self.tally.same("times of bands", found[4], micro(self.time(of)), of.title)
        if found[6]:
            loop = self.innermost(of)
            self.tally.same("loops of copies", found[6], loop and loop.loop_var.name, of.title)
            if loop is not None:
                self.tally.same("who does copies", found[5], _doer(loop), of.title)

    def time(self, of: Stands) -> float:
        """Its share, by bytes, of the time of all that is loaded, or stored, of its buffer."""
        load = of.key.startswith("load")
        alike = [b for b in self.bands if b.buffer == of.buffer
                 and b.key.startswith("load") == load]  # fmt: skip
        every = sum(self.carried(b) for b in alike)
        return self.times.get((of.buffer, load), 0.0) * self.carried(of) / (every or 1)

    def innermost(self, of: Stands) -> For | None:
        """The innermost loop around all that touches the nearer of the two buffers."""
        near = self.near(of)
        ends = [near, of.buffer]
        depth = [["global", "shared", "local"].index(s) if s in OWNERS else 1
                 for s in (self.log.buffers[b].scope for b in ends if b)]  # fmt: skip
        nearest = ends[depth.index(max(depth))]
        stages = self.log.stages.get(nearest, set()) | _static(self.log, nearest)
        nests = [nest for stage in stages for nest in self.log.around.get(stage, [])]
        common = [loop for loop in nests[0] if all(loop in nest for nest in nests)] if nests else []
        return common[-1] if common else None

    # --- words ------------------------------------------------------------------------------------

    def words(self, words: Words) -> None:
        label, of = words.label, words.of
        rules: list[Rule] = [
            (r"([↓↑]) (\d.* [KMG]?i?B)", lambda m: self.amount(words, m[1], m[2])),
            (r"(\d[^ ]* [KMG]?i?B)", lambda m: self.amount(words, "", m[1])),
            (r"(× [\d.,e+]+)", lambda m: self.reused(words, m[1])),
            (r"at line (\d+)|line (\d+)", lambda m: self.line(words, int(m[1] or m[2]))),
            (r"at (\w+)", lambda m: self.at(words, m[1])),
            (r"\((\d.*)\)", lambda m: self.earlier(words, m[1])),
            (r"(?:[↓↑] )?([\d.,e+-]+ µs)", lambda m: self.timed(words, m[1])),
        ]
        if of.key == "work" or label == "work":
            rules = [(r"(.*)", lambda m: self.work(m[1], of))]
        elif not of.buffer:
            rules = [
                *fixed("device", "global memory", "block", "shared memory", "thread", "registers",
                       "L2 cache", "unused"),
                (r"([\d.,]+ \w+)", lambda m: self.used(m[1])),
            ]  # fmt: skip
        elif words.role == "name":
            rules = [(r"(.*)", lambda m: self.tally.same(
                "names on buffers", self.line_by_line(of), of.buffer, m[1]))]  # fmt: skip
        elif words.role == "muted" and not label.startswith("("):
            held = bytes_text(self.held(of.buffer))
            rules = [
                (r"(.*)", lambda m: of.buffer in self.unknown or self.tally.same(
                    "bytes of buffers", m[1], held, of.buffer))
            ]  # fmt: skip
        self.tally.read(label, rules)

    def line_by_line(self, of: Stands) -> str:
        """The name on a buffer, all of its lines."""
        lines = (w.label for w in words_of(self.picture) if w.of == of and w.role == "name")
        return "".join(lines)

    def work(self, label: str, of: Stands) -> None:
        if label == "work":
            return
        told = {name for w in words_of(self.picture) if w.of.key == "work" for name in
                re.split(r",\s*", w.label)}  # fmt: skip
        self.tally.same("blocks that work", told >= {*of.statement.split(", ")}, True, label)

    def like(self, words: Words) -> list[Stands]:
        """The bands of words, by their buffer and blocks."""
        same = (words.of.buffer, words.of.statement)
        return [of for of in self.bands if (of.buffer, of.statement) == same]

    def amount(self, words: Words, way: str, text: str) -> None:
        ways = {"↓": "load", "↑": "store", "": ("load", "store")}
        bands = [of for of in self.like(words) if of.key.startswith(ways[way])]
        known = [bytes_text(self.carried(of)) for of in bands]
        self.tally.among("bytes on bands", text, known, str(words.of))

    def reused(self, words: Words, text: str) -> None:
        known = []
        for of in (of for of in self.like(words) if of.key.startswith("load")):
            near = self.near(of)
            alike = [o for o in self.bands if o.buffer == of.buffer and o.key.startswith("load")
                     and self.near(o) == near]  # fmt: skip
            events = [e for o in alike for e in self.on(o)]
            known.append(times_text(self.reuse(events, of.buffer)))
        self.tally.among("times loaded on bands", text, known, str(words.of))

    def line(self, words: Words, line: int) -> None:
        loops = [self.innermost(of) for of in self.like(words)]
        lines = [n for x in loops if x for n in self.log.line_of(x.loop_var.name)]
        self.tally.among("lines on bands", line, lines, str(words.of))

    def at(self, words: Words, name: str) -> None:
        loops = [self.innermost(of) for of in self.like(words)]
        self.tally.among("loops on bands", name, [x.loop_var.name for x in loops if x])

    def earlier(self, words: Words, text: str) -> None:
        """What was moved of the buffer in the step before, without what other bands show."""
        assert self.before is not None
        size = self.size(words.of.buffer)
        known = set()
        for writes in (False, True):
            events = self.before.by_buffer[words.of.buffer, writes]
            stages = {e.stage for e in events}
            for kept in _subsets(stages):
                known.add(bytes_text(size * sum(e.stage in kept for e in events)))
        self.tally.among("bytes of the step before", text, known, str(words.of))

    def timed(self, words: Words, text: str) -> None:
        known = [micro(self.time(of)) for of in self.like(words)]
        self.tally.among("times on bands", text, known, str(words.of))

    def used(self, text: str) -> None:
        if self.unknown:
            return
        known = [bytes_text(self.used_in(scope)) for scope in self.scopes()]
        self.tally.among("bytes of places", text, known)

    def scopes(self) -> set[str]:
        return {buffer.scope for buffer in self.log.buffers.values()}

    def used_in(self, scope: str) -> int:
        return sum(self.held(n) for n, b in self.log.buffers.items() if b.scope == scope)

    # --- what a buffer takes ----------------------------------------------------------------------

    def held(self, name: str) -> int:
        """The bytes that an owner holds: the array of the kernel that has one.

        Else the box of what it touches in a turn of all loops around; virtual threads that store
        the same hold it together.
        """
        buffer = self.log.buffers[name]
        size = self.size(name)
        if buffer.scope == "global":
            return int(prod(buffer.shape)) * size
        found = [b for kernel in self.kernels for b in kernel.allocs if b.name == name]
        share = WARP if buffer.is_fragment else 1  # a warp holds it together
        if len(found) == 1:  # as the kernel has it; no value goes to another kernel by these
            return int(prod(found[0].shape)) * size // share
        events = [e for writes in (False, True) for e in self.log.by_buffer[name, writes]]
        stages = {e.stage for e in events} | _static(self.log, name)
        nests = [nest for stage in stages for nest in self.log.around.get(stage, [])]
        common = [x for x in nests[0] if all(x in nest for nest in nests)] if nests else []
        turns = [x for x in common if not (x.thread and "Idx" in x.thread)]
        still = {x.loop_var for x in turns if buffer.scope == "local" or not x.virtual}
        own = [
            e
            for e in self.first(events, buffer.scope)
            if all(k == 0 for var, k in e.loops if var in still)
        ]
        stored = self.log.by_buffer[name, True]
        copies = 1
        if buffer.scope == "local":
            copies = prod(
                len({k for e in stored for var, k in e.loops if var is x.loop_var}) or 1
                for x in turns
                if x.virtual
            )
        sides = [max(s) - min(s) + 1 for s in zip(*(e.index for e in own), strict=True)]
        padded = self.padded(name)
        if padded and own:
            steps = [1]
            for axis in range(len(sides) - 2, -1, -1):
                step, (factor, offset) = steps[0] * sides[axis + 1], padded.get(axis, (1, 0))
                while step % factor != offset % factor:
                    step += 1
                steps.insert(0, step)
            apart = steps[0] * sides[0]
            last = sum((n - 1) * step for n, step in zip(sides, steps, strict=True))
            return ((copies - 1) * apart + last + 1) * size
        return copies * (prod(sides) if own else 0) * size // share

    def padded(self, name: str) -> dict[int, tuple[int, int]]:
        """Of which axes `storage_align` asked that a step is so much above a multiple."""
        found: dict[int, tuple[int, int]] = {}
        for node in walk(self.log.func.root.body):
            if isinstance(node, Block) and node.writes and node.writes[0].buffer.name == name:
                notes = dict(attrs_dict(node.annotations)).get("buffer_dim_align", ())
                found |= {axis: (factor, offset) for _, axis, factor, offset in notes}
        return found

    # --- captions and tables ----------------------------------------------------------------------

    def caption(self, line: str) -> None:
        loads, stores = (
            sum(self.log.buffers[e.buffer].scope == "global" and e.writes == writes
                for e in self.log.events)
            for writes in (False, True)
        )  # fmt: skip

        def sentence(match: re.Match[str]) -> None:
            self.tally.same("loads in captions", match[1], counted(loads, "load"))
            self.tally.same("stores in captions", match[2], counted(stores, "store"))
            if self.unknown:
                return
            for keeps in re.findall(r"; each (\w+) keeps ([\d,]+ bytes?) in ([^;.]*(?:\.\w+)*)",
                                    match[3]):  # fmt: skip
                known = {
                    (OWNERS.get(s, "block"), counted(self.used_in(s), "byte"), NAMES.get(s, s))
                    for s in self.scopes()
                }
                self.tally.among("bytes kept in captions", keeps, known)
            held = sum(WARP * self.held(n) for n, b in self.log.buffers.items() if b.is_fragment)
            told = match[4] and match[4].removeprefix("; a warp holds ")
            wanted = f"{counted(held, 'byte')} of fragments together" if held else None
            self.tally.same("bytes that warps hold in captions", told, wanted)

        sentences = (
            r"([\d,]+ loads?) from and ([\d,]+ stores?) to global memory"
            r"((?:; each \w+ keeps [\d,]+ bytes? in [^;]*)*)(; a warp holds [^;]*)?\."
        )
        rules: list[Rule] = [
            (sentences, sentence), *fixed(BY_BYTES, BY_TIME, HATCHED),
            (r"(“(?:at|line) .*”: done .*)\.", lambda m: self.done(m[1])),
        ]  # fmt: skip
        self.tally.read(line, rules)

    def done(self, text: str) -> None:
        """What a word on a band says of a copy, by its whole name: a loop, or a loop's line."""
        for said in text.split("; "):
            found = re.fullmatch(r"“((?:at )?line (\d+)|at (\w+))”: done (.* of) (\w+)", said)
            if found is None:
                self.tally.add(f"unknown words {said!r}")
                continue
            loops = [x for of in self.bands if (x := self.innermost(of)) is not None]
            doers = {_doer(x) for x in loops if x.loop_var.name == found[5]}
            self.tally.among("who does copies in captions", found[4], doers, said)
            self.tally.among("words of bands in captions", found[1], self.said, said)
            if found[2]:
                lines = self.log.line_of(found[5])
                self.tally.among("lines in captions", int(found[2]), lines, said)
            else:
                self.tally.same("loops in captions", found[3], found[5], said)

    def row(self, row: tuple[str | int | float, ...]) -> None:
        scope, name, role, held, loads, stores, each, ways = row
        tally, buffer = self.tally, self.log.buffers[str(name)]
        read, written = (self.log.by_buffer[str(name), w] for w in (False, True))
        tally.same("memories in tables", scope, buffer.scope, str(name))
        if name not in self.unknown:
            tally.same("bytes held in tables", held, self.held(str(name)), str(name))
        tally.same("loads in tables", loads, len(read), str(name))
        tally.same("stores in tables", stores, len(written), str(name))
        mean = round(self.reuse(read, str(name)), 2) if read else 0.0
        tally.same("loads of a cell in tables", each, mean, str(name))
        is_given = buffer in self.log.func.params
        if not is_given:
            tally.same("roles in tables", role, "intermediate", str(name))
        targets = 0
        for many, target in re.findall(r"([\d,]+) for (\w+)", str(ways)):
            to = {e.stage for e in self.log.by_buffer[target, True]}
            tally.same("names in tables", target in self.log.buffers, True)
            most = sum(e.stage in to for e in read)
            targets += int(many.replace(",", ""))
            tally.same("loads for a buffer", int(many.replace(",", "")) <= most, True, str(row))
        tally.same("loads for all buffers", targets <= len(read), True, str(row))


def _doer(loop: For) -> str:
    """Who does the turns of a loop."""
    kind = loop.thread or ""
    if kind.endswith(("Idx.x", "Idx.y", "Idx.z")):
        return f"by each {kind[: -len('Idx.x')]} of"
    return "by each virtual thread of" if "vthread" in kind or loop.virtual else "in each turn of"


def _named(log: ProgramLog, blocks: Sequence[str]) -> set[tuple[str, bool]]:
    """The buffers that the text of blocks names, and whether they write them."""
    return {
        (n.buffer.name, isinstance(n, BufferStore))
        for node in walk(log.func.root.body)
        if isinstance(node, Block) and node.name in blocks
        for n in in_order(node.body)
    }


def _static(log: ProgramLog, name: str) -> set[str]:
    """The blocks whose text names a buffer, whether they ever touch it or not."""
    found = set()
    for node in walk(log.func.root.body):
        if isinstance(node, Block) and any(n.buffer.name == name for n in in_order(node.body)):
            found.add(node.name)
    return found


def _in_pipelines(log: ProgramLog) -> set[str]:
    """What pipelines store nearer than global memory: how many copies there are, kernels say."""
    loops = [x for x in log.loops if "software_pipeline_stage" in attrs_dict(x.annotations)]
    stored = {n.buffer for x in loops for n in walk(x) if isinstance(n, BufferStore)}
    return {buffer.name for buffer in stored if buffer.scope != "global"}


def _subsets(stages: set[str]) -> list[set[str]]:
    found: list[set[str]] = [set()]
    for stage in sorted(stages)[:6]:
        found += [{*one, stage} for one in found]
    return found[1:]
