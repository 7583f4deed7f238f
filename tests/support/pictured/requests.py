"""Requests of warps: banks and sectors, lane by lane, against what every thread asks for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.pictured.log import WARP, KernelLog, width
from tests.support.pictured.names import shapes_of, words_of
from tests.support.pictured.tally import Rule, Tally, counted, fixed, runs
from tests.support.warp_trace import Place, Request
from workbench.draw import Picture, Words
from workbench.ir import BufferStore

SECTOR, BANKS, WORD = 32, 32, 4
UNIT = {"global": "sector", "shared": "wavefront"}


def sectors(lanes: Request, wide: int) -> dict[int, dict[int, set[int]]]:
    """Of each sector of 32 bytes that lanes touch which bytes of it each of them wants."""
    found: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for lane, start in lanes.items():
        for byte in range(start, start + wide):
            found[byte // SECTOR][lane].add(byte % SECTOR)
    return found


def together(lanes: Request, wide: int, writes: bool) -> int:
    """How many lanes are served at once: as many as ask for 32 words, and of loads twice as many
    where all that are awake want what the neighbour one further, or two further, wants."""
    count = WARP // max(1, wide // WORD)
    if writes or wide <= WORD:
        return count
    for step in (1, 2):
        pairs = [(a, lanes.get(lane ^ step)) for lane, a in lanes.items()]
        if all(b is None or a == b for a, b in pairs):
            return 2 * count
    return count


def wavefronts(lanes: Request, wide: int, writes: bool) -> list[list[dict[int, set[int]]]]:
    """Of each group of lanes what each bank serves, one word after the other: word -> lanes."""
    size, found = together(lanes, wide, writes), []
    for first in range(0, WARP, size):
        banks: list[dict[int, set[int]]] = [{} for _ in range(BANKS)]
        for lane in range(first, first + size):
            start = lanes.get(lane)
            for byte in () if start is None else range(start, start + wide):
                banks[byte // WORD % BANKS].setdefault(byte // WORD, set()).add(lane)
        found.append(banks)
    return found


def cost(lanes: Request, wide: int, writes: bool, scope: str) -> tuple[int, int]:
    """What a request takes, and the least that its bytes would take."""
    if scope == "global":
        distinct = len({*lanes.values()}) * wide
        return len(sectors(lanes, wide)), -(-distinct // SECTOR)
    groups = wavefronts(lanes, wide, writes)
    words = [sum(map(len, banks)) for banks in groups]
    return sum(max(map(len, banks)) for banks in groups), sum(-(-n // BANKS) for n in words)


@dataclass(frozen=True)
class Asked:
    """A load or store with all of its requests, and what each takes."""

    log: KernelLog
    place: Place
    requests: Mapping[Any, Request]
    costs: Mapping[Any, tuple[int, int]]

    @property
    def kind(self) -> str:
        return "write" if isinstance(self.place[1], BufferStore) else "read"

    @property
    def buffer(self) -> str:
        return self.place[1].buffer.name

    @property
    def wide(self) -> int:
        return width(self.place[1])

    def at(self, told: Mapping[str, int]) -> Request:
        """The request that is made there: by blocks, a warp, turns and an element."""
        blocks = tuple(told.get(f"blockIdx.{axis}", 0) for axis in "xyz")
        names = [loop.loop_var.name for loop in self.log.loops[id(self.place[1])]]
        turns = [told.get(name, 0) for name in names]
        key = (blocks, told.get("warp", 0), tuple(turns), told.get("element", 0))
        return self.requests.get(key, {})


def asked_of(logs: Sequence[KernelLog], scope: str) -> list[Asked]:
    """All loads and stores of a memory, in the order of the text."""
    found = []
    for log in logs:
        for place in log.places:
            if place[1].buffer.scope != scope:
                continue
            requests, wide = log.requests[place], width(place[1])
            writes = isinstance(place[1], BufferStore)
            costs = {key: cost(lanes, wide, writes, scope) for key, lanes in requests.items()}
            found.append(Asked(log, place, requests, costs))
    return found


def check_requests(tally: Tally, picture: Picture, one: Asked) -> None:
    """All that a picture says of a request; what it is made at stands in the full caption."""
    _Request(tally, picture, one).check()


class _Request:
    def __init__(self, tally: Tally, picture: Picture, one: Asked) -> None:
        self.tally, self.picture, self.one = tally, picture, one
        self.scope = one.place[1].buffer.scope
        self.told = dict[str, int]()
        self.lanes: Request = {}
        self.cost = self.least = 0

    def check(self) -> None:
        lines = self.picture.full.splitlines()
        self.tally.read(lines[1], [
            (r"At (.*):", lambda m: self.where(m[1])), (r"The only request:", lambda _: None)
        ])  # fmt: skip
        self.lanes = self.one.at(self.told)
        writes = self.one.kind == "write"
        self.cost, self.least = cost(self.lanes, self.one.wide, writes, self.scope)
        self.caption(lines[0])
        if not self.picture.caption.startswith(lines[0]):
            self.tally.add(f"another caption {self.picture.caption!r}")
        self.statement(lines[2])
        self.alike(lines[3])
        for words in words_of(self.picture):
            self.tally.whole(words.label)
            self.words(words)
        for of in dict.fromkeys(s.of for s in shapes_of(self.picture)):
            if of.buffer:
                self.tally.same("buffers of requests", of.buffer, self.one.buffer)
            if of.title:
                self.title(of.title, of.lanes)
        for row in self.picture.table.rows:
            self.row(row)

    def where(self, text: str) -> None:
        """Axes with their values and how many there are."""
        sizes = dict(zip((f"blockIdx.{a}" for a in "xyz"), self.one.log.kernel.grid, strict=True))
        threads = 1
        for size in self.one.log.kernel.block:
            threads *= size
        sizes["warp"] = -(-threads // WARP)
        for loop in self.one.log.loops[id(self.one.place[1])]:
            sizes[loop.loop_var.name] = int(loop.extent.value)
        sizes["element"] = getattr(self.one.place[1].indices[0], "lanes", 1)
        for axis, value, of in re.findall(r"([\w.]+) = ([\d,]*\d) of ([\d,]*\d)", text):
            self.told[axis] = int(value.replace(",", ""))
            if "_" in axis and axis.rstrip("_") in sizes and axis not in sizes:
                axis = axis.rstrip("_")  # a loop of the same name stands around it
            self.tally.same("sizes of axes of requests", of, f"{sizes.get(axis, 0):,}", text)
            self.tally.same("axes of requests", self.told.get(axis, 0) < sizes.get(axis, 0), True)

    # --- captions ---------------------------------------------------------------------------------

    def takes(self, match: re.Match[str], k: int) -> None:
        unit = UNIT[self.scope]
        self.tally.same(f"{unit}s in captions", match[k], counted(self.cost, unit), match[0])
        least = "the least" if self.cost == self.least else f"{self.least} would do"
        self.tally.same("the least in captions", match[k + 1], least, match[0])

    def caption(self, line: str) -> None:
        one, tally = self.one, self.tally
        costs = list(one.costs.values())
        excess = max(c - least for c, least in costs)
        worst = max(c for c, least in costs if c - least == excess)
        takes = r"([\d,]+ \w+), (the least|\d+ would do)"

        def several(match: re.Match[str], count: int, named: int) -> None:
            tally.same("requests in captions", match[count], f"{len(costs):,}", line)
            if match[named]:
                self.named(match[named], match[named + 1])

        def worst_one(match: re.Match[str]) -> None:
            several(match, 1, 2)
            self.takes(match, 4)
            tally.same("the worst in captions", self.cost, worst, line)

        def each(match: re.Match[str]) -> None:
            several(match, 1, 2)
            self.takes(match, 4)
            tally.same("requests that are alike", {c for c, _ in costs}, {self.cost}, line)

        def this(match: re.Match[str]) -> None:
            self.named(match[1], match[2])
            self.takes(match, 3)
            if match[5]:
                tally.same("the worst in captions", int(match[5]), worst, line)

        def nobody(match: re.Match[str]) -> None:
            tally.same("lanes that ask nothing", self.lanes, {}, line)
            self.named(match[1], match[2])
            if match[3]:
                tally.same("the worst in captions", match[3], counted(worst, UNIT[self.scope]))

        tally.read(line, [
            (rf"The only (?:(read|write) of ([\w.]+)|one): {takes}()\.", this),
            (rf"Each(?: of ([\d,]+) (read|write)s of ([\w.]+)): {takes}\.", each),
            (rf"The worst of ([\d,]+) (read|write)s of ([\w.]+): {takes}\.", worst_one),
            (rf"This (read|write) of ([\w.]+): {takes}; the worst: (\d+)\.", this),
            (rf"(?:Each|The worst|This one): ()(){takes}()\.", this),
            (r"No lane asks here(?:; the worst (read|write) of ([\w.]+): ([\d,]+ \w+))?\.", nobody),
        ])  # fmt: skip

    def named(self, kind: str | None, buffer: str | None) -> None:
        if kind:
            self.tally.same("reads and writes in captions", kind, self.one.kind)
            self.tally.same("buffers of requests", buffer, self.one.buffer)

    def statement(self, line: str) -> None:
        """The access as it stands in the kernel names its buffer."""
        name = re.escape(self.one.buffer)
        self.tally.same("statements of requests", bool(re.search(rf"\b{name}\[", line)), True, line)

    def alike(self, line: str) -> None:
        costs = list(self.one.costs.values())

        def compare(match: re.Match[str]) -> None:
            many = [c for c, _ in costs].count(int(match[3].split()[0].replace(",", "")))
            self.tally.same("requests that take as much", match[1], f"{many:,}", line)
            self.tally.same("all requests", match[2], f"{len(costs):,}", line)

        self.tally.read(line, [(r"([\d,]+) of ([\d,]+) requests take ([\d,]+ \w+)\.", compare)])

    # --- drawings ---------------------------------------------------------------------------------

    def words(self, words: Words) -> None:
        label, of = words.label, words.of
        lanes = ({*of.lanes}, runs(of.lanes)) if of.lanes else ({*()}, "")
        idle = runs(set(range(WARP)) - self.lanes.keys())

        def inside(match: re.Match[str]) -> None:
            told = _spread(match[1])
            self.tally.same("lanes on boxes", told, lanes[0], label)

        def groups(match: re.Match[str]) -> None:
            size = together(self.lanes, self.one.wide, self.one.kind == "write")
            self.tally.same("lanes served together", int(match[2]) - int(match[1]) + 1, size)

        starts = {n * SECTOR for n in sectors(self.lanes, self.one.wide)}
        rules: list[Rule] = [
            *fixed("bank", "lane", "bytes"),
            (r"lanes (\d+)–(\d+)", groups),
            (r"idle: ([\d– ]+)", lambda m: self.tally.same("idle lanes", m[1], idle)),
            (r"(\d+) idle", lambda m: self.tally.same(
                "idle lanes", int(m[1]), WARP - len(self.lanes))),
            (r"([\d,]+) sectors?, (\d+) needed", lambda m: self.tally.same(
                "sectors on drawings", (int(m[1]), int(m[2])), (self.cost, self.least))),
            (r"(?:← )(\d+) lanes", lambda m: self.tally.same(
                "lanes on boxes", int(m[1]), len(of.lanes))),
            (r"×(\d+)", lambda m: self.tally.same("lanes on boxes", int(m[1]), len(of.lanes))),
            (r"(?:← (?:lanes? )?)?(\d+(?:–\d+)?(?: \d+(?:–\d+)?)*)", lambda m: (
                inside(m) if of.lanes else self.number(words, starts))),
            (r"(\d[\d,]*)", lambda m: self.number(words, starts)),
        ]  # fmt: skip
        self.tally.read(label, rules)

    def number(self, words: Words, starts: set[int]) -> None:
        """The number of a bank, a lane, a wavefront, or the address of a sector."""
        value = int(words.label.replace(",", ""))
        if words.of.title.startswith("bytes") or (self.scope == "global" and words.y > 60):
            self.tally.among("addresses of sectors", value, starts)
        elif words.role == "strong":
            self.tally.same("numbers of wavefronts", value <= self.cost, True)
        else:
            self.tally.same("numbers of banks or lanes", value < WARP, True)

    def title(self, title: str, lanes: tuple[int, ...]) -> None:
        own, wide = self.lanes, self.one.wide
        buffer = f"({re.escape(self.one.buffer)})"  # which may have digits

        def sector(match: re.Match[str]) -> None:
            start = int(match[1].replace(",", ""))
            found = sectors(own, wide).get(start // SECTOR, {})
            used = set().union(*found.values()) if found else set()
            told = (start % SECTOR, int(match[2].replace(",", "")), int(match[4]))
            self.tally.same("bytes of sectors", told, (0, start + SECTOR - 1, len(used)), title)
            self.tally.same("lanes of sectors", {*lanes}, {*found}, title)

        def lane(match: re.Match[str]) -> None:
            number = int(match[1])
            first, last = (int(match[k].replace(",", "")) for k in (3, 4))
            self.tally.same(
                "bytes of lanes", (first, last), (own.get(number), own.get(number, 0) + wide - 1)
            )
            self.tally.same("threads of lanes", match[2], self.thread(number), title)

        def bank(match: re.Match[str]) -> None:
            numbers = [int(n) for n in re.findall(r"\d+", match[2])]
            those = _spread(match[3])
            self.tally.same("lanes of banks", those, {*lanes}, title)
            banks = range(numbers[0], numbers[-1] + 1)
            groups = wavefronts(own, wide, self.one.kind == "write")
            served = [
                any(words == those for banks_of in groups for words in banks_of[b].values())
                for b in banks
            ]
            self.tally.same("banks of lanes", all(served), True, title)
            self.tally.same("wavefronts of boxes", int(match[1]) <= self.cost, True, title)
            if match[4]:
                starts = {f"{own[n]:,}" for n in those if n in own}
                self.tally.same("bytes of banks", {match[4]}, starts, title)

        self.tally.read(title, [
            (rf"bytes ([\d,]+) to ([\d,]+) of {buffer}: (\d+) bytes wanted", sector),
            (r"lane (\d+) is idle", lambda m: self.tally.same(
                "idle lanes", int(m[1]) in own, False, title)),
            (rf"lane (\d+), thread ([\d,]+): bytes ([\d,]+) to ([\d,]+) of {buffer}", lane),
            (rf"wavefront (\d+): (banks? [\d–]+): lanes? ([\d– ]+)(?:, byte ([\d,]+))? of {buffer}",
             bank),
        ])  # fmt: skip

    def thread(self, lane: int) -> str:
        x, y, _ = self.one.log.kernel.block
        n = self.told.get("warp", 0) * WARP + lane
        return f"{n % x},{n // x % y},{n // (x * y)}"

    def row(self, row: tuple[str | int | float, ...]) -> None:
        """A lane with its thread, its address, and its sectors, or banks and wavefronts."""
        number, thread, first, *rest = row
        own, wide, tally = self.lanes, self.one.wide, self.tally
        lane = int(number)
        threads = 1
        for size in self.one.log.kernel.block:
            threads *= size
        there = self.told.get("warp", 0) * WARP + lane < threads
        tally.same("threads in tables of lanes", thread, self.thread(lane) if there else "")
        tally.same("addresses in tables", first, own.get(lane, ""), str(row))
        if lane not in own:
            tally.same("idle lanes", rest[0], "idle", str(row))
            return
        spots = range(own[lane], own[lane] + wide)
        if self.scope == "global":
            mine = sorted({byte // SECTOR for byte in spots})
            tally.same("sectors in tables", rest[0], ", ".join(map(str, mine)), str(row))
            return
        banks = sorted({byte // WORD % BANKS for byte in spots})
        tally.same("banks in tables", rest[0], ", ".join(map(str, banks)), str(row))
        fronts = [int(n) for n in str(rest[1]).split(", ")]
        tally.same("wavefronts in tables", all(1 <= n <= self.cost for n in fronts), True, str(row))


def _spread(text: str) -> set[int]:
    """The numbers of "0–3 8"."""
    found: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("–")
        found |= {*range(int(first), int(last or first) + 1)}
    return found
