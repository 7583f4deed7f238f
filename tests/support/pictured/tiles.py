"""What a selection touches: sheets, labels, captions and tables against every access."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import floor, prod

from tests.support.pictured.log import Cell, Event, ProgramLog
from tests.support.pictured.names import check_names
from tests.support.pictured.tally import Rule, Tally, fixed, times_text
from tests.support.pictured.who import _box, _points
from workbench.draw import Picture, Rect, Scene, Words, placed
from workbench.draw.scene import Field, worded
from workbench.ir import BufferLoad, BufferStore, For, Var, children

Select = Mapping[str, int]
Touched = dict[tuple[str, str, bool], list[Cell]]
"""By buffer, block, and whether it is stored: the cells of each access."""
ARROWS = {"↗": (False,), "↘": (True,)}
PLANES = r"(?: in (\d+) of (\d+))?"


class Selections:
    """What each selection of a program touches, by the log."""

    def __init__(self, log: ProgramLog) -> None:
        self.log = log
        self.nests: dict[str, set[Var]] = {}
        self.statements = [
            (loops, sizes) for nest, sizes in log.nests for loops in _statements(nest, [])
        ]

    def vars_of(self, key: str) -> set[Var]:
        """The loops that are turns of an axis: all of a name, or one `of` a block."""
        name, _, stage = key.partition(" of ")
        loops = [x for x in self.log.loops if x.loop_var.name == name.rstrip("_")]
        if stage:
            near = {x.loop_var for nest in self.log.around.get(stage, []) for x in nest}
            loops = [x for x in loops if x.loop_var in near]
        return {x.loop_var for x in loops}

    def role(self, key: str) -> str:
        """Of which level an axis is: block, thread or step."""
        if "Idx." in key:
            return "block" if key.startswith("block") else "thread"
        return "step"

    def of(self, select: Select) -> Touched:
        """What a selection touches; what stands outside the chosen steps is none of them."""
        steps = {k: self.vars_of(k) for k in select if "Idx." not in k}
        serial = {k: v for k, v in steps.items() if not self.is_virtual(v)}
        around = {
            frozenset(k for k, own in serial.items() if own & {x.loop_var for x in loops})
            for loops, sizes in self.statements
            if self.reached(loops, sizes, select)
        }
        found: Touched = defaultdict(list)
        for event in self.log.events:
            known = dict(event.loops)
            inside = {k for k, own in serial.items() if own & self.loops_around(event)}
            if any(inside < other for other in around):
                continue
            if self.is_chosen(event, known, select, steps):
                found[event.buffer, event.stage, event.writes].append(event.index)
        return found

    def loops_around(self, event: Event) -> set[Var]:
        if event.stage not in self.nests:
            nests = self.log.around.get(event.stage, [])
            self.nests[event.stage] = {x.loop_var for nest in nests for x in nest}
        found = (self.log.sums or {}).get((event.stage, event.buffer))
        behind = {loop.loop_var for loop in found.loops} if found else set[Var]()
        return (self.nests[event.stage] - behind) | {var for var, _ in event.loops}

    def is_virtual(self, variables: set[Var]) -> bool:
        return any(x.virtual for x in self.log.loops if x.loop_var in variables)

    def reached(self, loops: Sequence[For], sizes: Mapping[str, int], select: Select) -> bool:
        """Whether the chosen blocks and threads run a statement of a nest with axes of such sizes.

        Where it is in no loop of an axis, all threads of the launch run it; a nest that has no such
        axis is number 0.
        """
        own = {x.thread: int(x.extent.value) for x in loops if x.thread}
        ends = {**sizes, **own}
        return all(n < ends.get(key, 1) for key, n in select.items() if "Idx." in key)

    def is_chosen(
        self, event: Event, known: Mapping[Var, int], select: Select, steps: Mapping[str, set[Var]]
    ) -> bool:
        for key, number in select.items():
            if "Idx." in key:
                place = event.block if key.startswith("block") else event.thread
                if place["xyz".index(key[-1])] != number:
                    return False
                continue
            if any(known[var] != number for var in steps[key] & known.keys()):
                return False
        return True


def _statements(node: object, loops: list[For]) -> Iterator[list[For]]:
    if isinstance(node, For):
        loops = [*loops, node]
    if isinstance(node, BufferLoad | BufferStore):
        yield loops
    for child in children(node):
        yield from _statements(child, loops)


def check_tiles(
    tally: Tally, log: ProgramLog, picture: Picture, select: Select, other: Select | None
) -> None:
    """All that the picture says of a selection; of the `other` one where it slides there."""
    check_names(tally, log, picture)
    known = Selections(log)
    _Tiles(tally, known, picture, select).check()
    if other is not None and picture.slides:
        _Slid(tally, known, picture, other).check()


class _Tiles:
    def __init__(self, tally: Tally, known: Selections, picture: Picture, select: Select) -> None:
        self.tally, self.known, self.picture, self.select = tally, known, picture, select
        self.log = known.log
        self.levels = self.selections()
        self.touched = {name: known.of(chosen) for name, chosen in self.levels.items()}
        self.all = known.of(select)

    def selections(self) -> dict[str, Select]:
        """By the name of a level what is chosen of it: "block", "thread", "step", and around."""
        role = self.known.role
        blocks = {k: v for k, v in self.select.items() if role(k) == "block"}
        threads = {k: v for k, v in self.select.items() if role(k) == "thread"}
        steps = {k: v for k, v in self.select.items() if role(k) == "step"}
        return {
            "whole program": {}, "block": blocks, "thread": {**blocks, **threads},
            "step": dict(self.select), "around": {**blocks, **steps},
        }  # fmt: skip

    def check(self) -> None:
        for name, strip in zip(self.picture.levels, self.picture.strips, strict=True):
            self.strip(name, strip)
        lines = self.picture.caption.splitlines()
        self.head(lines[0])
        for line in lines[1:]:
            self.line(line)
        self.tally.same("buffers in captions", len(lines) - 1, len({*self.named()}))
        for row in self.picture.table.rows:
            self.row(row)

    def named(self) -> Iterator[str]:
        """The buffers that are given or that the chosen blocks and threads reach."""
        yield from (b.name for b in self.log.func.params)
        yield from (str(line).partition(":")[0] for line in self.picture.caption.splitlines()[1:])

    # --- drawings ---------------------------------------------------------------------------------

    def strip(self, name: str, strip: Scene) -> None:
        for shape in strip.shapes:
            of = shape.of
            if isinstance(shape, Words) and of.buffer:
                self.words(name, shape)
            elif isinstance(shape, Words):
                self.tally.read(shape.label, fixed("↗ reads", "↘ writes", "both", "× times"))
            elif isinstance(shape, Rect) and of.cells and of.statement and shape.role != "ghost":
                self.cells(shape, name)
            if of.title:
                self.title(name, of.title)
        for field in strip.fields:
            check_field(self.tally, self.log, field, self.select)

    def at(self, near: str, level: str) -> list[Touched]:
        """What a level touches, in a view that is as `near`."""
        if level == "thread" or near in ("thread", "registers"):
            return [self.touched["thread"], self.all]
        if near == "block" and level == "block":
            return [self.touched["around"], self.touched["block"]]
        return [self.touched.get(level, self.all), self.all]

    def words(self, near: str, words: Words) -> None:
        name, label = words.of.buffer, words.label
        sizes = self.log.buffers[name].shape
        shape = "×".join(map(str, sizes)) or "1"
        if prod(sizes[:-2]) > 1:
            shape = " of ".join("×".join(map(str, some)) for some in (sizes[:-2], sizes[-2:]))
        title = "thread" if near in ("thread", "registers") else near

        def often(match: re.Match[str]) -> None:
            inner = title if label.startswith(name) else "thread"  # in a block just threads stand
            told = match[1] or (inner if near != "whole" else "")
            found = self.at(near, told) if told else self.every()
            self.often(name, match[2], match[3], found)
            if match[4]:
                self.planes(name, int(match[4]), int(match[5]), found)

        def whole(match: re.Match[str]) -> None:
            some, _, rest = match[2].partition(" of ")
            if rest == shape:
                self.planes(name, int(some), prod(sizes[:-2]), self.every())
            self.tally.same("shapes in titles", shape, rest if rest == shape else match[2], name)

        rules: list[Rule] = [
            (rf"({re.escape(name)}) (\d.*)", whole),
            (rf"{re.escape(name)} ()([↗↘]) (× .*?){PLANES}", often),
            (r"(?:(block|thread|step|whole program) )?([↗↘]) (× .*)()", often),
            (rf"({re.escape(name)}) ", lambda _: None),  # nothing of it is touched
            *fixed("", "block ", "thread ", "step "),
        ]  # fmt: skip
        self.tally.read(label, rules)

    def every(self) -> list[Touched]:
        return [*self.touched.values(), self.all]

    def often(self, name: str, arrow: str, text: str, found: Sequence[Touched]) -> None:
        known = [times_text(mean) for one in found for mean in means(one, name, ARROWS[arrow])]
        known += [times_text(mean) for one in found for mean in means(one, name, (False, True))]
        self.tally.among("times on sheets", text, known, f"{name} {arrow}")

    def planes(self, name: str, some: int, every: int, found: Sequence[Touched]) -> None:
        """In how many of the planes of a sheet a selection is."""
        shape = self.log.buffers[name].shape
        self.tally.same("planes of a sheet", every, prod(shape[:-2]), name)
        touched = [[*accesses_of(one, name, False), *accesses_of(one, name, True)] for one in found]
        known = {len({cell[:-2] for cell in own}) for own in touched}
        self.tally.among("planes that are touched", some, known, name)

    def cells(self, rect: Rect, near: str) -> None:
        """The cells of a box are those that its block touches."""
        of = rect.of
        level = of.key.rpartition(">")[2] if ">" in of.key else ""
        points = {*product(*(range(a, a + n * k, k) for a, n, k in of.cells))}
        selections = self.at(near, level) if level in ("block", "thread") else self.every()
        blocks = of.statement.split(", ")
        found = [
            {
                cell
                for block in blocks
                for w in writes
                for cell in one.get((of.buffer, block, w), ())
            }
            for one in selections
            for writes in ((False,), (True,), (False, True))
        ]
        # what is read and written is where boxes around both kinds have cells in common
        for one in selections:
            boxes = [_filled({*own}) for key, own in one.items() if key[0] == of.buffer and own]
            found += [a & b for a in boxes for b in boxes]
        good = any(points <= own or (own <= points and _box(points) == _box(own))
                   for own in found if own)  # fmt: skip
        self.tally.same("cells of boxes", good, True, f"{of.buffer} {of.cells} by {of.statement}")

    def title(self, near: str, title: str) -> None:
        """How often a cell is read and written by each of the selections."""
        for line in title.splitlines():
            if found := re.fullmatch(r"its sheet shows the last two of (\d+) dimensions", line):
                dims = len(self.log.buffers[title.partition(" ")[0]].shape)
                self.tally.same("dimensions in titles", int(found[1]), dims, title)
                continue
            if line.endswith(" is not touched by this selection"):
                name = line.partition(" ")[0]
                there = any(key[0] == name for key in self.all)
                self.tally.same("buffers that are not touched", there, False, name)
                continue
            found = re.fullmatch(r"(\w+) is (read|written) (.*)", line)
            if found is None:
                self.tally.add(f"unknown words {line!r}")
                continue
            writes = found[2] == "written"
            for part in found[3].split(", "):
                self.title_part(found[1], writes, part, near)

    def title_part(self, name: str, writes: bool, part: str, near: str) -> None:
        said = re.fullmatch(
            r"(once|[\d,]+ times|[\d.e+]+ times on average) by the (.*)", part)  # fmt: skip
        if said is None:
            self.outside(name, writes, part)
            return
        found = self.at(near if near != "whole" else "", said[2])
        known = [mean for one in found for mean in means(one, name, (writes,))[-1:]]
        word = said[1].split()[0].replace(",", "")
        if "average" in said[1]:
            forms = [f"{mean:.3g}" for mean in known]
        else:
            forms = ["once" if mean == 1 else f"{mean:g}" for mean in known]
        self.tally.among("times in titles", word, forms, f"{name}: {part}")

    def outside(self, name: str, writes: bool, part: str) -> None:
        """What is done before or after a loop: not in its turns, but by the same threads."""
        said = re.fullmatch(r"(before|after|before and after) the loop over (.*)", part)
        if said is None:
            self.tally.add(f"unknown words {part!r}")
            return
        inside = any(key[0] == name and key[2] == writes for key in self.all)
        own = self.known.vars_of(said[2])
        around = [e for e in self.log.by_buffer[name, writes]
                  if not own & self.known.loops_around(e)]  # fmt: skip
        static = name in self.log.buffers
        self.tally.same("what is outside of a loop", not inside and static, True, part)
        self.tally.same("names of loops in words", bool(own), True, said[2])
        if around and said[1] != "before and after":
            first = self.order(around[0].stage)
            stages = {e.stage for e in self.log.events if own & self.known.loops_around(e)}
            places = [self.order(stage) for stage in stages]
            if places:
                ahead = first < min(places)
                self.tally.same("before or after a loop", said[1] == "before", ahead, part)

    def order(self, stage: str) -> int:
        """Where a block stands in the text."""
        return next((k for k, line in enumerate(self.log.lines) if f'T.block("{stage}")' in line),
                    -1)  # fmt: skip

    # --- captions and tables ----------------------------------------------------------------------

    def head(self, line: str) -> None:
        if not self.select:
            self.tally.same("first lines", line, "The whole program:")
            return
        told = dict(re.findall(r"([\w.]+(?: of \w+)?) = (\d+)", line))
        wanted = {key: str(value) for key, value in self.select.items()}
        self.tally.same("selections in captions", told, wanted, line)

    def line(self, line: str) -> None:
        name, _, text = line.removesuffix(".").partition(": ")
        self.tally.among("buffers in captions by name", name, self.log.buffers)
        if text == "not touched":
            there = any(key[0] == name for key in self.all)
            self.tally.same("buffers that are not touched", there, False, name)
            return
        for part in text.split("; "):
            verb, _, rest = part.partition(" ")
            if verb in ("reads", "writes"):
                self.sentence(name, verb == "writes", rest)
            else:
                self.outside(name, verb == "written", rest)

    def sentence(self, name: str, writes: bool, text: str) -> None:
        """So many cells, which form something, each so often."""
        indices = accesses_of(self.all, name, writes)
        times, shape = Counter(indices), self.log.buffers[name].shape
        cells, tally = {*indices}, self.tally
        about = f"{name}: {text}"

        def number(told: str) -> None:
            tally.same("cells in captions", int(told.replace(",", "")), len(cells), about)

        def lines(match: re.Match[str], dim: int) -> None:
            number(match[2])
            many = 1 if match[1] == "one" else int(match[1].replace(",", ""))
            told = {cell[dim] for cell in cells}
            tally.same("rows or columns in captions", many, len(told), about)
            tally.same("whole rows or columns", len(cells), many * shape[1 - dim], about)

        def box(match: re.Match[str]) -> None:
            sides = [int(n.replace(",", "")) for n in match.groups()]
            tally.same("boxes in captions", sides, [len({*s}) for s in zip(*cells, strict=True)])
            tally.same("cells in captions", prod(sides), len(cells), about)

        def every(match: re.Match[str]) -> None:
            number(match[1])
            tally.same("all cells", len(cells), prod(shape), about)

        said = re.fullmatch(
            r"(.*?)(?:,? (each )?(once|[\d,]+ times)|, ([\d,]+) times in all)", text)  # fmt: skip
        if said is None:
            tally.add(f"unknown words {text!r}")
            return
        tally.read(said[1], [
            (r"([\d,]+) cells?(?: in (\d+) pieces?)?", lambda m: number(m[1])),
            (r"all ([\d,]+) cells", every),
            (r"(one|[\d,]+) rows? \(([\d,]+) cells?\)", lambda m: lines(m, 0)),
            (r"(one|[\d,]+) columns? \(([\d,]+) cells?\)", lambda m: lines(m, 1)),
            (r"([\d,]+) × ([\d,]+) cells", box),
        ])  # fmt: skip
        if said[4]:
            tally.same("times in all", int(said[4].replace(",", "")), len(indices), about)
            return
        each = 1 if said[3] == "once" else int(said[3].split()[0].replace(",", ""))
        tally.same("times each", {each}, {*times.values()}, about)

    def row(self, row: tuple[str | int | float, ...]) -> None:
        name, scope, stages, kind, text, cells, accesses, each = row
        tally, about = self.tally, str(row)
        tally.same("memories in tables of tiles", scope, self.log.buffers[str(name)].scope, about)
        writes = kind == "write"
        if stages == "–":
            self.outside(str(name), writes, str(text))
            return
        indices = accesses_of(self.all, str(name), writes)
        own = {key[1] for key in self.all if (key[0], key[2]) == (name, writes)}
        tally.same("blocks in tables of tiles", {*str(stages).split(", ")}, own, about)
        tally.same("cells in tables of tiles", cells, len({*indices}), about)
        tally.same("accesses in tables", accesses, len(indices), about)
        tally.same("accesses of a cell", each, round(len(indices) / len({*indices}), 2), about)
        points = _points(str(text))
        good = {*indices} <= points and _box(points) == _box({*indices})
        tally.same("regions in tables of tiles", good, True, about)


def accesses_of(found: Touched, name: str, writes: bool) -> list[Cell]:
    """The cells of all accesses to a buffer, one kind of them."""
    every = (own for key, own in found.items() if (key[0], key[2]) == (name, writes))
    return [cell for own in every for cell in own]


def parts(found: Touched, name: str, kinds: Sequence[bool]) -> list[list[Cell]]:
    """The cells of the accesses to a buffer: of each block, and of all together of a kind, last."""
    told = []
    for writes in kinds:
        told += [own for key, own in found.items() if (key[0], key[2]) == (name, writes)]
        told.append(accesses_of(found, name, writes))
    return [own for own in told if own]


def means(found: Touched, name: str, kinds: Sequence[bool]) -> list[float]:
    """How often a cell is touched, by each of these parts."""
    return [len(own) / len({*own}) for own in parts(found, name, kinds)]


def check_field(tally: Tally, log: ProgramLog, field: Field, select: Select) -> None:
    """What is said of a cell that is pointed at: it is touched so, by those, in that turn."""
    left, top, right, bottom = field.edges
    name, stage = field.of.buffer, field.of.statement
    shape = log.buffers[name].shape
    stores = [e for e in log.by_buffer[name, True] if e.stage == stage]
    events = stores or [e for e in log.by_buffer[name, False] if e.stage == stage]
    for across, down in ((0.01, 0.01), (0.5, 0.3), (0.99, 0.99)):
        spot = {"x": left + across * (right - left), "y": top + down * (bottom - top)}
        at = {**select, **spot}
        row, column = (floor(form.at(at)) for form in (field.row, field.column))
        index = (0, 0, row, column)[4 - len(shape) :] if len(shape) < 3 else None
        if index is None:
            continue
        inside = all(0 <= n < size for n, size in zip(index, shape, strict=True))
        tally.same("cells under the pointer", inside, True, f"{name}{index}")
        text = worded(field.words, {"row": row, "column": column})
        said, *parts = text.split(" · ")
        tally.same("names under the pointer", said, f"{name}[{', '.join(map(str, index))}]")
        own = [e for e in events if e.index == index]
        for event_part in parts if own else ():
            own = [e for e in own if _is_told(event_part, e, log)]
        tally.same("turns under the pointer", bool(own) or not events
                   or all(e.index != index for e in events), True, text)  # fmt: skip


def _is_told(part: str, event: Event, log: ProgramLog) -> bool:
    """Whether an access is by that block or thread, or in that turn."""
    key, equal, number = part.rpartition(" = ")
    if not equal:
        unit, _, told = part.partition(" ")
        numbers = [int(n) for n in re.findall(r"\d+", told)]
        place = event.block if unit == "block" else event.thread
        axes = sorted(axis[-1] for axis in log.sizes if axis.startswith(unit))
        return [place["xyz".index(axis)] for axis in axes] == numbers
    if "Idx." in key:
        place = event.block if key.startswith("block") else event.thread
        return place["xyz".index(key[-1])] == int(number)
    name = key.partition(" of ")[0].rstrip("_")
    turns = [k for var, k in event.loops if var.name == name]
    return int(number) in turns or not turns


def _filled(cells: set[Cell]) -> set[Cell]:
    """All cells of the smallest box around some, in steps that these have."""
    sides = [sorted({*side}) for side in zip(*cells, strict=True)]
    return {*product(*(range(side[0], side[-1] + 1) for side in sides))}


class _Slid(_Tiles):
    """The same shapes for other values of the axes."""

    def check(self) -> None:
        strips = [s for s in self.picture.strips if not s.still]
        names = [n for n, s in zip(self.picture.levels, self.picture.strips, strict=True)
                 if not s.still]  # fmt: skip
        for name, strip in zip(names, strips, strict=True):
            for shape in placed(strip, self.select).shapes:
                touched = isinstance(shape, Rect) and shape.of.cells and shape.of.statement
                if isinstance(shape, Rect) and touched and shape.role != "ghost":
                    self.cells(shape, name)
        if self.picture.follow:
            self.head(worded(self.picture.follow, self.select))
        for row, column, parts in self.picture.cells:
            kept = self.picture.table.rows[row]
            told = worded(parts, self.select)
            self.row((*kept[:column], told, *kept[column + 1 :]))
