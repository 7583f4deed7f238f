"""Who computes what: cells, groups, captions and tables against the stores of every thread."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from math import prod

from tests.support.pictured.log import WARP, Cell, Event, ProgramLog
from tests.support.pictured.names import check_names, shapes_of, words_of
from tests.support.pictured.nests import check_nest, is_head
from tests.support.pictured.tally import Rule, Tally, counted, fixed
from workbench.draw import Picture, Rect, Stands, Words

NUMBERS = re.compile(r"\d+")
UNIT = r"(?:\d+|\([^)]*\)|\d+(?:,\d+)+)"
LABEL = re.compile(
    rf"(?:block (?P<block>{UNIT}))?(?:, )?"
    rf"(?:(?:thread|(?P<warp>warp)) (?P<thread>{UNIT})|(?P<alone>one warp))?(?:, )?"
    r"(?:(?:in |at )?time steps? (?P<time>\d+(?: to \d+)?))?"
)
SHORT = {"b": "block", "block": "block", "th": "thread", "thread": "thread", "t": "time",
         "time": "time", "w": "thread", "warp": "thread"}  # fmt: skip


def check_who(tally: Tally, log: ProgramLog, buffer: str, picture: Picture, before: bool) -> None:
    """All that a picture says of who computes `buffer`."""
    check_names(tally, log, picture)
    _Who(tally, log, buffer, picture).check(before)


class _Who:
    def __init__(self, tally: Tally, log: ProgramLog, buffer: str, picture: Picture) -> None:
        self.tally, self.log, self.buffer, self.picture = tally, log, buffer, picture
        stores = [event for event in log.told if event.buffer == buffer and event.writes]
        self.stages = self.last_stages(stores)
        self.sizes = [log.launched.get(stage, {}) for stage in self.stages]
        self.scope = log.buffers[buffer].scope
        self.by_cell: dict[Cell, list[Event]] = defaultdict(list)
        for event in stores:
            if event.stage in self.stages:
                self.by_cell[event.index].append(event)

    def last_stages(self, stores: Sequence[Event]) -> list[str]:
        """The blocks that cells are last from, the last first: each has some that no later has."""
        cells: dict[str, set[Cell]] = defaultdict(set)
        for event in stores:
            cells[event.stage].add(event.index)
        places = {stage: k for k, stage in enumerate(self.log.around)}
        found, known = list[str](), set[Cell]()
        for stage in sorted(cells, key=lambda stage: places.get(stage, -1), reverse=True):
            if cells[stage] - known:
                found.append(stage)
                known |= cells[stage]
        return found

    def check(self, before: bool) -> None:
        groups = self.picture.table.columns[0] == "who"
        for shape in shapes_of(self.picture):
            if shape.of.title and not isinstance(shape, Words):
                self.title(shape.of, groups)
        self.heads()
        check_nest(self.tally, self.log, self.picture, self.owners)
        for words in words_of(self.picture):
            if not is_head(words):
                self.words(words, groups)
        self.caption(before)
        for row in self.picture.table.rows:
            self.row(row, groups)

    # --- single cells -----------------------------------------------------------------------------

    def own(self, index: Cell, block: Cell | None, thread: Cell | None) -> list[Event]:
        """The stores of a cell by a block and a thread."""
        return [
            event
            for event in self.by_cell[index]
            if all(
                own is None or (own == getattr(event, unit) and self.is_bound(event, unit))
                for unit, own in (("block", block), ("thread", thread))
            )
        ]

    def title(self, of: Stands, groups: bool) -> None:
        if groups:
            self.group_title(of)
            return
        if of.title.endswith(": no cell"):
            self.idle(of)
            return
        if prod(count for _, count, _ in of.cells) > 1:
            self.stretch(of)
            return
        name, _, label = of.title.partition("]: ")
        index = tuple(start for start, *_ in of.cells)
        cell = f"{self.buffer}[{', '.join(map(str, index))}"
        self.tally.same("names of cells", name, cell)
        own = self.own(index, of.block, of.thread)
        self.tally.same("cells that are computed", bool(own), True, of.title)
        if own:
            self.label(label, own, "cell")

    def stretch(self, of: Stands) -> None:
        """Neighbours that are told together: computed alike, or one after the other."""
        name, _, label = of.title.partition("]: ")
        sliced = ", ".join(_sliced(*span) for span in of.cells)
        self.tally.same("names of cells", f"{name}]", f"{self.buffer}[{sliced}]")
        said = LABEL.fullmatch(label)
        if said is None:
            self.tally.add(f"unknown label {label!r}")
            return
        boxes = (s.of for s in shapes_of(self.picture) if isinstance(s, Rect) and s.of.cells)
        alone = {tuple(start for start, *_ in one.cells): one for one in boxes}
        times = []
        for index in product(*(range(a, a + n * k, k) for a, n, k in of.cells)):
            own = self.own(index, alone[index].block, alone[index].thread)
            if said["block"] or said["thread"]:
                self.label(label.partition("time")[0].removesuffix(", "), own, "stretch")
            every = sorted(event.time for event in own)
            times.append((every[0], every[-1]))
        if said["time"]:
            first, last = (int(NUMBERS.findall(said["time"])[k]) for k in (0, -1))
            ends = [first, *(end + 1 for _, end in times[:-1])]
            runs = [a for a, _ in times] == ends and times[-1][1] == last
            self.tally.same("times of a stretch", runs or {*times} == {(first, last)}, True, label)

    def label(self, label: str, own: list[Event], kind: str) -> None:
        """A block, a thread and times, as all of `own` are."""
        said = LABEL.fullmatch(label)
        if said is None:
            self.tally.add(f"unknown label {label!r}")
            return
        for unit in ("block", "thread"):
            if said[unit] is not None:
                places = {getattr(event, unit) for event in own}
                point = self.told(said, unit)
                self.tally.among(f"{unit}s of a {kind}", point, places)
        if said["thread"] is not None or said["alone"]:
            called = {event.stage in self.log.called for event in own}
            warp = bool(said["warp"] or said["alone"])
            self.tally.same(f"warps of a {kind}", called, {warp}, label)
        if said["time"] is not None:
            times = sorted(event.time for event in own)
            ends = [int(n) for n in NUMBERS.findall(said["time"])]
            self.tally.same(f"times of a {kind}", (ends[0], ends[-1]), (times[0], times[-1]), label)

    def told(self, said: re.Match[str], unit: str) -> Cell:
        """The block of a label, or its thread: of a warp, the first."""
        return self.point(said[unit], "warp" if unit == "thread" and said["warp"] else unit)

    def point(self, words: str, unit: str) -> Cell:
        """(1, 0, 2) of "(x=1, z=2)"; of numbers alone, along the axes that are bound.

        Warps are rows of threads along x.
        """
        if "=" in words:
            found = dict(re.findall(r"(\w)=(\d+)", words))
            return tuple(int(found.get(axis, 0)) for axis in "xyz")
        if unit == "warp":
            axes = [axis for axis in "yz" if f"threadIdx.{axis}" in self.bound()]
        else:
            axes = [axis for axis in "xyz" if f"{unit}Idx.{axis}" in self.bound()]
        numbers = dict(zip(axes, map(int, words.split(",")), strict=False))
        return tuple(numbers.get(axis, 0) for axis in "xyz")

    def bound(self) -> set[str]:
        """The axes that loops of the nest are bound to."""
        return {axis for sizes in self.sizes for axis in sizes}

    def idle(self, of: Stands) -> None:
        """A thread that runs no store of the buffer."""
        place = (of.block or (0, 0, 0), of.thread or (0, 0, 0))
        places = self.places()
        self.tally.same("threads without a cell", place in places, False, of.title)

    # --- words on cells ---------------------------------------------------------------------------

    def words(self, words: Words, groups: bool) -> None:
        label, of = words.label, words.of
        if not of.title:
            self.note(words)
        elif groups:
            self.group_words(label, of)
        elif of.title.endswith(": no cell"):
            if label != "no cell":
                self.part(label, of.title.removesuffix(": no cell"), True)
        elif words.role == "name":
            name = of.title.partition(": ")[0]
            self.tally.among("names in cells", label, (name, name.removeprefix(self.buffer), ""))
        else:
            if prod(count for _, count, _ in of.cells) > 1:
                self.stretch(of)
            self.part(label, of.title.partition("]: ")[2], False)

    def part(self, label: str, full: str, idle: bool) -> None:
        """The numbers of short words are those of the same part of the full ones."""
        found = NUMBERS.findall(label)
        said = LABEL.fullmatch(full)
        if label in ("◷", "") or said is None:
            return
        first = re.match(r"(?:◷ )?([a-z]+) ", label)
        units = [SHORT[first[1]]] if first and first[1] in SHORT else ["block", "thread", "time"]
        known = [NUMBERS.findall(said[unit]) for unit in units if said[unit] is not None]
        inside = any(
            found == numbers[k : k + len(found)] for numbers in known for k in range(len(numbers))
        )
        kind = "words of threads without a cell" if idle else "words on cells"
        self.tally.same(kind, inside and bool(found), True, f"{label!r} of {full!r}")

    def heads(self) -> None:
        """Numbers of rows and columns, and what stands over blocks."""
        boxes = [s for s in shapes_of(self.picture) if isinstance(s, Rect) and s.of.cells]
        for words in words_of(self.picture):
            if words.of.title or words.of.buffer or is_head(words):
                continue
            if words.role == "muted" and words.label.isdigit():
                near = {
                    box.of.cells[dim][0]
                    for box in boxes
                    for dim, far in (
                        (0, abs(box.y + box.height / 2 + 4 - words.y)),
                        (1, abs(box.x + box.width / 2 - words.x)),
                    )
                    if far < 0.6  # px: frames of neighbours may share an edge
                }
                self.tally.same("numbers of rows and columns", near, {int(words.label)})
            elif words.role == "strong":
                below = [b for b in boxes if abs(b.x - words.x) < 0.01 and 4 < b.y - words.y < 6]
                numbers = [int(n) for n in NUMBERS.findall(words.label)]
                points = {b.of.block for b in below}
                axes = sorted(axis[-1] for axis in self.bound() if axis.startswith("block"))
                wanted = [[p["xyz".index(a)] for a in axes] for p in points if p]
                self.tally.same("blocks over their cells", [numbers], wanted, words.label)

    def note(self, words: Words) -> None:
        every = len(self.groups_there("block")) or len(self.groups_there("thread"))
        rules: list[Rule] = [
            (r"(\d+)", lambda _: None),  # see `heads`
            (r"◷", lambda _: None),
            (r"and ([\d,]+) more threads without a cell", lambda m: self.rest_idle(m[1])),
            (r"(?:and )?up to ([\d,]+) more", lambda m: self.tally.same(
                "groups that are not drawn", int(m[1].replace(",", "")) >=
                (len(self.inside()) - self.drawn_inside() if self.is_inside(words)
                 else every - self.drawn()), True)),
            (r"([\d,]+) threads? without a cell", lambda m: self.tally.same(
                "threads without a cell", int(m[1].replace(",", "")), self.resting())),
            (r"(?:and )?([\d,]+) more", lambda m: self.rest_inside(m[1]) if self.is_inside(words)
             else self.rest(m[1], self.first_drawn())),
            (r"and ([\d,]+) more before (.*)", lambda m: self.rest(m[1], m[2])),
            (r"for example, inside ((?:block|thread) .*):", lambda m: self.tally.among(
                "blocks that are shown inside", self.point(m[1].partition(" ")[2], "block"),
                self.groups_there("block"))),
            (r"… ((?:thread|warp) .*?): (.*)", lambda m: self.region(m[1], m[2])),
            *((r"((?:block|b|) ?[\d(].*)", lambda m: None),),  # over blocks, see `heads`
        ]  # fmt: skip
        self.tally.read(words.label, rules)

    def first_drawn(self) -> str:
        return next(s.of.title for s in shapes_of(self.picture) if s.of.cells and s.of.title)

    def drawn(self) -> int:
        """How many groups are drawn, without those inside the first."""
        titles = {s.of.title for s in shapes_of(self.picture) if s.of.cells and s.of.title}
        units = ("block", ("thread", "warp"), "time")
        first = next(unit for unit in units if any(t.startswith(unit) for t in titles))
        return sum(title.startswith(first) for title in titles)

    def is_inside(self, words: Words) -> bool:
        """Whether it stands among the threads of the first block."""
        heads = (w.y for w in words_of(self.picture) if w.label.startswith("for example, inside "))
        return words.y > min(heads, default=float("inf"))

    def drawn_inside(self) -> int:
        """How many threads of the first block are drawn."""
        titles = {s.of.title for s in shapes_of(self.picture) if s.of.cells and s.of.title}
        return sum(title.startswith(("thread", "warp")) for title in titles)

    @property
    def first_block(self) -> Cell:
        return min(self.groups_there("block"), key=lambda b: b[::-1])

    def inside(self) -> set[Cell]:
        """The threads of the first block that are told apart."""
        return self.told_apart("thread", self.first_block)

    def rest_inside(self, count: str) -> None:
        every = self.inside()
        if self.drawn_inside() > len(every):  # all are there, also those that have the same cells
            block = self.first_block
            every = {e.thread for own in self.by_cell.values() for e in own if e.block == block}
        self.tally.same("groups that are not drawn", int(count.replace(",", "")),
                        len(every) - self.drawn_inside(), "inside")  # fmt: skip

    def groups_there(self, unit: str) -> set[Cell]:
        if not any(axis.startswith(unit) for axis in self.bound()):
            return set()
        every = (e for own in self.by_cell.values() for e in own)
        return {getattr(e, unit) for e in every if self.is_bound(e, unit)}

    def told_apart(self, unit: str, block: Cell | None = None) -> set[Cell]:
        """The blocks, or threads, one of those that have cells of their own at the same places.

        All of them, or the threads of a `block`.
        """
        cells: dict[Cell, set[Cell]] = defaultdict(set)
        for index, own in self.by_cell.items():
            for event in own:
                if block in (None, event.block):
                    cells[getattr(event, unit)].add(index)
        matters = [
            len({(*at[:axis], *at[axis + 1 :], frozenset(of)) for at, of in cells.items()})
            > len({(*at[:axis], *at[axis + 1 :]) for at in cells})
            for axis in range(3)
        ]
        return {tuple(n * told for n, told in zip(at, matters, strict=True)) for at in cells}

    def is_bound(self, event: Event, unit: str) -> bool:
        """Whether the launch that stores it has blocks, or threads: else it has the time alone."""
        return any(axis.startswith(unit) for axis in self.log.launched.get(event.stage, {}))

    def rest(self, count: str, last: str) -> None:
        """Groups that are not drawn, all before the last one."""
        unit = last.partition(" ")[0]
        alone = any(not self.is_bound(e, unit) for own in self.by_cell.values() for e in own)
        if unit in ("block", "thread") and not alone:
            every = self.told_apart(unit)
            if self.drawn() > len(every):  # all are there, also those that have the same cells
                every = self.groups_there(unit)
            self.tally.same("groups that are not drawn", int(count.replace(",", "")),
                            len(every) - self.drawn(), last)  # fmt: skip
        else:
            self.tally.counts["groups that are not drawn"] += 1

    def rest_idle(self, count: str) -> None:
        drawn = {s.of.title for s in shapes_of(self.picture) if s.of.title.endswith(": no cell")}
        self.tally.same("threads without a cell that are not drawn",
                        int(count.replace(",", "")), self.resting() - len(drawn))  # fmt: skip

    def resting(self) -> int:
        """How many threads store no cell, of the one launch that stores any."""
        if any(sizes is not self.sizes[0] for sizes in self.sizes):
            return 0
        every = self.threads_of("block") * self.threads_of("thread")
        return max(every - len(self.places()), 0)  # a call may stand where a warp is not whole

    def places(self) -> set[tuple[Cell, Cell]]:
        """The blocks and threads that store cells: of a call of a warp, all 32."""
        stores = {(e.stage, e.block, e.thread) for own in self.by_cell.values() for e in own}
        return {
            (block, (thread[0] + lane, *thread[1:]))
            for stage, block, thread in stores
            for lane in range(WARP if stage in self.log.called else 1)
        }

    # --- groups -----------------------------------------------------------------------------------

    def of_group(self, of: Stands) -> list[Event]:
        events = [event for own in self.by_cell.values() for event in own]
        timed = re.match(r"time steps? (\d+)(?: to (\d+))?: ", of.title)
        if timed and of.block is None and of.thread is None:
            first, last = int(timed[1]), int(timed[2] or timed[1])
            return [e for e in events if first <= e.time <= last]
        for unit in ("block", "thread"):
            if (own := getattr(of, unit)) is not None:
                events = [e for e in events if getattr(e, unit) == own and self.is_bound(e, unit)]
        return events

    def group_title(self, of: Stands) -> None:
        if not of.cells and of.buffer == "":
            return
        label, _, text = of.title.partition(": ")
        own = self.of_group(of)
        self.label(label, own, "group")
        sliced = ", ".join(_sliced(*span) for span in of.cells)
        self.tally.same("regions of groups", text, f"{self.buffer}[{sliced}]")
        cells = {event.index for event in own}
        points = {*product(*(range(a, a + n * k, k) for a, n, k in of.cells))}
        self.tally.same("cells of groups", cells <= points, True, of.title)
        if points != cells:
            box = _box(cells)
            self.tally.same("boxes of groups", _box(points), box, of.title)

    def group_words(self, label: str, of: Stands) -> None:
        own = self.of_group(of)
        cells = {event.index for event in own}
        times = sorted(event.time for event in own)
        full, _, region = of.title.partition(": ")

        def many(match: re.Match[str]) -> None:
            text = counted(len(cells), "cell")
            forms = (text, f"{len(cells):,}")
            self.tally.among("cells of a group in words", match[1], forms, of.title)
            if match[2]:
                idle = self.idle_in(of.block)
                self.tally.same("idle threads of a group", match[2], f"{idle:,}", of.title)
            if match[3]:
                told = [int(n) for n in NUMBERS.findall(match[3])]
                self.tally.same("times of a group in words", told, [times[0], times[-1]])

        rules: list[Rule] = [
            (r"([\d,]+(?: cells?)?)(?: within)?(?: \+ ([\d,]+) none)?(?:, ◷ t (\d+–\d+))?", many),
            (r"◷ t (\d+–\d+)", lambda m: self.tally.same(
                "times of a group in words", [int(n) for n in NUMBERS.findall(m[1])],
                [times[0], times[-1]])),
            (rf"({re.escape(self.buffer)})?(\[.*\])", lambda m: self.tally.same(
                "regions in words", m[2], region.removeprefix(self.buffer))),
            (r"((?:◷ )?(?:block|thread|warp|time|b|th|w|t) .*)",
             lambda m: self.part(m[1], full, False)),
            *fixed(""),
        ]  # fmt: skip
        self.tally.read(label, rules)

    def idle_in(self, block: Cell | None) -> int:
        """How many threads of a block store no cell, of the one launch that stores any."""
        if any(sizes is not self.sizes[0] for sizes in self.sizes):
            return 0
        there = {thread for where, thread in self.places() if where == block}
        return self.threads_of("thread") - len(there)

    def threads_of(self, unit: str) -> int:
        """How many threads or blocks run the nest that the stores are in."""
        sizes = self.sizes[0].items() if self.sizes else ()
        return prod(size for axis, size in sizes if axis.startswith(f"{unit}Idx"))

    def region(self, label: str, text: str) -> None:
        """The last of the threads of the first block, which are told but not drawn."""
        unit, _, words = label.partition(" ")
        thread = self.point(words, unit)
        own = [e for es in self.by_cell.values() for e in es if e.thread == thread]
        blocks = sorted({e.block for e in own}, key=lambda b: b[::-1])
        cells = {e.index for e in own if e.block == blocks[0]} if blocks else set()
        points = _points(text)
        self.tally.same("cells of the last thread", cells <= points, True, f"{label}: {text}")

    # --- captions and tables ----------------------------------------------------------------------

    def caption(self, before: bool) -> None:
        resting = self.resting()

        def sentence(match: re.Match[str]) -> None:
            index = tuple(int(n) for n in NUMBERS.findall(match[2]))
            self.tally.same("buffers in captions", match[1], self.buffer)
            own = self.owners(index)
            writers = {self.place(e) for e in own}
            if match[3] is not None:  # put together
                self.tally.same("threads that share a sum", int(match[3]), len(writers))
                return
            together = {f", {WARP} lanes together" in match[4]}
            called = {event.stage in self.log.called for event in own}
            self.tally.same("lanes together in captions", together, called, match[0])
            by = match[4].removeprefix("by ").replace(f", {WARP} lanes together", "")
            said, mine = LABEL.fullmatch(by), self.named(by, own)
            self.tally.same("who a caption names", bool(mine), True, match[0])
            if said and said["time"] and mine:
                times = sorted(e.time for e in mine)
                told = [int(n) for n in NUMBERS.findall(said["time"])]
                self.tally.same("times in captions", (told[0], told[-1]), (times[0], times[-1]))
            again = int(match[5] or 0)
            self.tally.same("threads that compute a cell again", again, len(writers) - 1)

        cell = r"(\w+)\[([\d, ]*)\] is "
        head = rf"{cell}(?:put together from the parts of (\d+) threads|computed "
        head += r"((?:by )?.*?)(?:, and again by (\d+) other (?:thread|warp)s?)?)\."
        tail = (
            r"(?: It was “(.*?)”\.)?((?: “[^”]*” stands for [^.;]*[.;]?(?:; )?)*)"
            r"(?: ([\d,]+) threads? computes? no cell of (\w+)\.)?"
            r"(?: A line leads through the cells(?: of a thread)? in time\.)?"
        )

        def rest(match: re.Match[str]) -> None:
            sentence(match)
            if match[7]:
                for short, full in re.findall(r"“([^”]*)” stands for ([^.;]*)", match[7]):
                    self.part(short, full, False)
            idle = int((match[8] or "0").replace(",", ""))
            self.tally.same("threads without a cell in captions", idle, resting, match[0])

        nothing = (
            r"(?:Nothing of (\w+) is computed|Data decide which cells of (\w+) are computed)\."
            + tail
        )
        rules: list[Rule] = [(head + tail, rest), (nothing, lambda m: self.tally.same(
            "buffers in captions", m[1] or m[2], self.buffer))]  # fmt: skip
        self.tally.read(self.picture.caption, rules)

    def named(self, label: str, own: list[Event]) -> list[Event]:
        """Those of `own` that are by the block and thread of a label, of the last of these."""
        said = LABEL.fullmatch(label)
        for unit in ("block", "thread"):
            if said and said[unit] is not None:
                place = self.told(said, unit)
                own = [e for e in own if getattr(e, unit) == place and self.is_bound(e, unit)]
        return [e for e in own if self.place(e) == self.place(own[-1])]

    def place(self, event: Event) -> tuple[Cell | None, Cell | None]:
        """Its block and thread, None where its launch has none."""
        block, thread = (self.is_bound(event, unit) for unit in ("block", "thread"))
        return event.block if block else None, event.thread if thread else None

    def owners(self, index: Cell) -> list[Event]:
        """The stores of a cell; of memory that each block or thread has, those of the first."""
        own = self.by_cell[index]
        if self.scope != "global" and own:
            own = [e for e in own if e.block == own[0].block]
        if self.scope == "local" and own:
            own = [e for e in own if e.thread == own[0].thread]
        return own

    def row(self, row: tuple[str | int | float, ...], groups: bool) -> None:
        if not groups:
            index = tuple(int(n) for n in NUMBERS.findall(str(row[0]).partition("[")[2]))
            self.tally.same("cells in tables", str(row[0]).partition("[")[0], self.buffer)
            own = self.owners(index)
            writers = {self.place(e) for e in own}
            self.tally.same("writers in tables", row[2], len(writers), str(row))
            self.label(str(row[1]), self.named(str(row[1]), own), "row")
            return
        label, text = str(row[0]), str(row[1])
        said = LABEL.fullmatch(label)
        assert said is not None, label
        block = self.told(said, "block") if said["block"] else None
        thread = self.told(said, "thread") if said["thread"] else None
        of = Stands(block=block, thread=thread, title=f"{label}: ")
        own = self.of_group(of)
        cells = {e.index for e in own}
        self.tally.same("cells in tables of groups", row[2], len(cells), label)
        self.tally.same("regions in tables", cells <= _points(text), True, f"{label}: {text}")
        if len(row) > 3:
            self.tally.same("idle threads in tables", row[3], self.idle_in(block), label)


def _sliced(start: int, count: int, step: int) -> str:
    if count == 1:
        return str(start)
    return f"{start}:{start + (count - 1) * step + 1}" + (f":{step}" if step != 1 else "")


def _points(text: str) -> set[Cell]:
    """The cells of C[0:4, 3, 0:8:2]."""
    inside = text.partition("[")[2].removesuffix("]")
    sides = []
    for part in inside.split(", ") if inside else ():
        numbers = [int(n) for n in part.split(":")]
        sides.append(range(numbers[0], numbers[0] + 1) if len(numbers) == 1 else range(*numbers))
    return {*product(*sides)}


def _box(cells: set[Cell]) -> list[tuple[int, int]]:
    return [(min(side), max(side)) for side in zip(*cells, strict=True)]
