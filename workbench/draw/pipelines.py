"""The picture of a pipeline: turns from left to right, the statements of each below each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.diag import Act, count_text
from workbench.draw.colours import block_role
from workbench.draw.picture import Picture
from workbench.draw.scene import (
    Rect,
    Scene,
    Shape,
    Stands,
    Words,
    longest,
    path,
    standing,
    width_of,
)
from workbench.insight import Flight, Moment, Pipelined, Pipelines, Run, Wait
from workbench.insight.pipelined import Row

WIDE = 332.0  # px of a strip, which fits a phone
NAMES = 88.0, 170.0  # px of the names of its statements, at least, and in a strip as wide as that
CELL, GAP = 46.0, 14.0  # px; the widest cell, and the room of turns that are left out
HEAD, APART = 40.0, 9.0  # px; of the words over the turns, and between rows, where threads wait
LINE, LANE = 15.0, 4.0  # px; a line of words, and a band of what is on its way beside the cells
TWO_LINES = 2 * LINE + 5  # px of a row of copies
LANES = 3  # bands beside each other
PALE_TURNS = 8  # of a loop that is no pipeline yet: any number
SHORT = {"prologue": "pro.", "epilogue": "epi."}  # where cells are small


@dataclass(frozen=True, slots=True)
class _Grid:
    """Where turns and rows stand.

    `then` are the stages before, by the number of a statement; `lanes` how many bands are beside
    each other.
    """

    loop: Pipelined
    then: Mapping[int, int]
    lanes: int

    @property
    def gap(self) -> int:
        """How many turns stand ahead of those that are left out; all where none are."""
        turns = self.loop.turns
        return next((k for k, t in enumerate(turns) if t != turns[0] + k), len(turns))

    @property
    def names(self) -> float:
        """How much room the names have, which end where the cells begin: so they are whole."""
        head = (self.head, "words")
        return _room_of([head, *((row.name, _role(row)) for row in self.loop.rows)])

    @property
    def head(self) -> str:
        """What stands beside the numbers of turns."""
        return f"turn of {self.loop.loop}"

    @property
    def all(self) -> float:
        """How wide the strip is: wider where names would take the room of the cells."""
        return _wide(self.names)

    @property
    def step(self) -> float:
        count = len(self.loop.turns)
        return min((self.all - self.names - GAP) / max(count, 1), CELL)

    @property
    def wide(self) -> float:
        """How wide a cell is; what is on its way has the rest of its turn."""
        return self.step - 2 - LANE * self.lanes

    @property
    def high(self) -> float:
        """How high a row is: copies, and what was before, have a line of their own."""
        return TWO_LINES if _copied(self.loop) or self.then else LINE + 5

    def x(self, turn: int) -> float:
        k = self.loop.turns.index(turn)
        return self.names + k * self.step + (GAP if k >= self.gap else 0.0)

    def y(self, row: int) -> float:
        return HEAD + row * (self.high + APART)

    def middle(self, row: int) -> float:
        return self.y(row) + self.high / 2

    @property
    def end(self) -> float:
        return self.y(len(self.loop.rows)) - APART

    def was(self, turn: int, row: int) -> int | None:
        """The iteration on which a row worked in a turn before, if on another one than now."""
        statement = self.loop.rows[row]
        stage = self.then.get(statement.number, statement.stage)
        there = 0 <= turn - stage < self.loop.iterations
        return self.loop.first + turn - stage if there and stage != statement.stage else None


def pipelines_picture(pipelines: Pipelines, before: Pipelines | None = None) -> Picture:
    """A strip for each pipeline; where there is none, what one would be of, pale.

    Where a statement ran in another turn in the program `before`, that is drawn dashed and told in
    brackets.
    """
    grids = [_Grid(loop, _then(loop, before), min(_lanes(loop), LANES)) for loop in pipelines.loops]
    strips = tuple(_strip(grid) for grid in grids) or _pale(pipelines)
    caption = "\n".join([pipelines.caption, *([_legend(grids)] if grids else [])])
    act = Act("pipeline", pipelines.last) if pipelines.last is not None else None
    return Picture(strips, caption, pipelines.table, pipelines.kind, act=act)


def _pale(pipelines: Pipelines) -> tuple[Scene, ...]:
    """The statements of the loop that could be a pipeline, in turns of which nothing is known.

    A row is as high as it will be once copies are in it.
    """
    if not pipelines.plain:
        return ()
    *_, names = pipelines.plain.values()
    left = _room_of([(name, "code") for name in names])
    step = (_wide(left) - left) / PALE_TURNS
    shapes: list[Shape] = []
    for k, name in enumerate(names):
        y = k * (TWO_LINES + APART)
        shapes.append(Words(name, left - 6, y + TWO_LINES / 2 + 4, "code", "end"))
        turns = (left + step * turn for turn in range(PALE_TURNS))
        shapes += [Rect(x, y, step - 2, TWO_LINES, "corridor") for x in turns]
    return (Scene(_wide(left), len(names) * (TWO_LINES + APART), tuple(shapes), free=True),)


def covered_turns(pipelines: Pipelines) -> Scene:
    """The statements of pipelines, or of loops that could be, and "?" for when each runs."""
    rows = [[row.name for row in sorted(loop.rows)] for loop in pipelines.loops]
    names = [name for row in rows or pipelines.plain.values() for name in row] or [""]
    left = _room_of([(name, "code") for name in names])
    wide = _wide(left)
    shapes: list[Shape] = []
    for k, name in enumerate(names):
        y = k * (TWO_LINES + APART)
        middle = y + TWO_LINES / 2 + 4
        shapes += [
            Words(name, left - 6, middle, "code", "end"),
            Rect(left, y, wide - left - 2, TWO_LINES, "idle"),
            Words("?", (left + wide) / 2, middle),
        ]
    return Scene(wide, len(names) * (TWO_LINES + APART), tuple(shapes), free=True)


def _then(loop: Pipelined, before: Pipelines | None) -> dict[int, int]:
    """The stages that its statements had in the program before, if they were others, by number."""
    rows = sorted(loop.rows)
    names = tuple(row.name for row in rows)
    if before is None:
        return {}
    was = [0] * len(rows) if before.plain.get(loop.loop) == names else [row.stage for row in rows]
    for one in before.loops:
        if one.loop == loop.loop and tuple(row.name for row in sorted(one.rows)) == names:
            was = [row.stage for row in sorted(one.rows)]
    return {row.number: stage for row, stage in zip(rows, was, strict=True) if row.stage != stage}


def _lanes(loop: Pipelined) -> int:
    """How many iterations have something on its way at a time."""
    spans = [_span(flights) for flights in _by_iteration(loop).values()]
    return max((sum(a < b < z for a, z in spans) + 1 for b, _ in spans), default=0)


def _by_iteration(loop: Pipelined) -> dict[int, list[Flight]]:
    found: dict[int, list[Flight]] = {}
    for flight in loop.flights:
        found.setdefault(flight.iteration, []).append(flight)
    return found


def _span(flights: Sequence[Flight]) -> tuple[Moment, Moment]:
    return min(flight.begins for flight in flights), max(flight.ends for flight in flights)


def _copied(loop: Pipelined) -> bool:
    return any(use.copies > 1 for run in loop.runs for use in run.uses)


def _legend(grids: Sequence[_Grid]) -> str:
    """What is to be said of what only these pictures have."""
    loops = [grid.loop for grid in grids]
    said = ["numbers are iterations"]
    if any(map(_copied, loops)):
        said.append("→1 writes copy 1, ←1 reads it")
    if any(loop.waits for loop in loops):
        said.append("thick line: all threads of a block wait")
    if any(wait.for_copies for loop in loops for wait in loop.waits or ()):
        said.append("dashed line: a thread waits for its copies")
    if any(loop.flights for loop in loops):
        said.append("bar: data on its way")
    if any(_ghosts(grid) for grid in grids):
        said.append("in brackets: the step before")
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def _ghosts(grid: _Grid) -> list[tuple[int, int, int]]:
    every = ((turn, row) for turn in grid.loop.turns for row in range(len(grid.loop.rows)))
    return [(*at, was) for at in every if (was := grid.was(*at)) is not None]


def _strip(grid: _Grid) -> Scene:
    shapes = [*_heads(grid), *_names(grid)]
    runs = {(run.at.turn, run.at.row): run for run in grid.loop.runs}
    for turn, row, was in _ghosts(grid):
        if (turn, row) not in runs:
            box = Rect(grid.x(turn), grid.y(row), grid.wide, grid.high, "ghost")
            words = Words(f"({was})", box.x + grid.wide / 2, grid.middle(row) + 4, "on-muted")
            title = f"{grid.loop.rows[row].name} of {was}, the step before"
            shapes += standing(Stands(title=title), (box, words))
    for iteration, flights in _by_iteration(grid.loop).items():
        shapes += _flight(grid, iteration, flights)
    for run in grid.loop.runs:
        shapes += _cell(grid, run)
    for wait in grid.loop.waits or ():
        shapes += _wait(grid, wait)
    return Scene(grid.all, grid.end + 6, tuple(shapes), scrolls=True, free=True)


def _heads(grid: _Grid) -> Iterator[Shape]:
    """The parts of the turns, and their numbers."""
    loop = grid.loop
    yield Words(grid.head, grid.names - 6, 27, "muted", "end")
    for part in dict.fromkeys(map(loop.part, loop.turns)):
        turns = [turn for turn in loop.turns if loop.part(turn) == part]
        x, right = grid.x(turns[0]), grid.x(turns[-1]) + grid.step - 2
        yield path("clock", ((x, 15), (right, 15)))
        if width_of(part) > right - x:
            yield Words(part, right, 11, "muted", "end", short=SHORT.get(part, ""))
        else:
            yield Words(part, (x + right) / 2, 11, "muted", short=SHORT.get(part, ""))
    for turn in loop.turns:
        yield Words(str(turn), grid.x(turn) + grid.wide / 2, 28, "muted")
    if grid.gap < len(loop.turns):
        x = grid.x(loop.turns[grid.gap]) - GAP / 2 - 1
        yield Words("…", x, 28, "muted")


def _names(grid: _Grid) -> Iterator[Shape]:
    for k, row in enumerate(grid.loop.rows):
        title = f"{', '.join(row.blocks)}: stage {row.stage}"
        of = Stands(statement=", ".join(row.blocks), loops=(grid.loop.loop,), title=title)
        y = grid.y(k) + grid.high / 2 + 4
        yield Words(row.name, grid.names - 6, y, _role(row), "end", of)


def _role(row: Row) -> str:
    """Words of a statement that is one block are its name, as in the program."""
    return "code" if row.name in row.blocks else "words"


def _room_of(names: Sequence[tuple[str, str]]) -> float:
    """The px of these names, each in the style of its role, with what is beside them."""
    return max(NAMES[0], *(width_of(name, role) + 8 for name, role in names))


def _wide(names: float) -> float:
    """How wide a strip is whose names take so many px."""
    return WIDE + max(names - NAMES[1], 0)


def _cell(grid: _Grid, run: Run) -> list[Shape]:
    """A statement in a turn: its iteration, and below it the copies that it works on."""
    (turn, k), row = run.at, grid.loop.rows[run.at.row]
    x, y = grid.x(turn), grid.y(k)
    copies = dict.fromkeys((use.writes, use.copy) for use in run.uses if use.copies > 1)
    role = block_role(next(iter(copies))[1]) if copies else "thread"
    was = grid.was(turn, k)
    middle = x + grid.wide / 2
    number = str(run.iteration)
    bold = "strong" if width_of(number, "strong") <= grid.wide else "words"
    below = longest((f"({was})",), grid.wide) if was is not None else ""
    if copies:
        ways = [f"{'→' if writes else '←'}{copy}" for writes, copy in copies]
        below = longest((" ".join(ways), ways[0]), grid.wide)
    line = y + LINE if below else grid.middle(k) + 4
    shapes: list[Shape] = [
        Rect(x, y, grid.wide, grid.high, role),
        Words(number, middle, line, bold),
    ]
    if below:
        shapes.append(Words(below, middle, y + 2 * LINE, "words" if copies else "muted"))
    told = f"{row.name} of {grid.loop.loop} = {run.iteration}, in turn {turn}: "
    before = "" if was is None else f"; {was} in the step before"
    of = Stands(
        run.uses[0].buffer if run.uses else "",
        loops=(grid.loop.loop,),
        statement=", ".join(row.blocks),
        title=told + ", ".join(use.words for use in run.uses) + before,
        iteration=f"{grid.loop.loop} = {run.iteration}",
    )
    return standing(of, shapes)


def _wait(grid: _Grid, wait: Wait) -> list[Shape]:
    """A line across the turn ahead of a run; a short one in a run that waits within.

    It is dashed where a thread waits for its copies.
    """
    x, y = grid.x(wait.at.turn), grid.y(wait.at.row)
    row = grid.loop.rows[wait.at.row].name
    role = "asked" if wait.for_copies else "new"
    if wait.within:
        lines, where = path(role, ((x, y + grid.high / 2), (x + 6, y + grid.high / 2))), "within"
    else:
        y -= APART / 2 + (3 if wait.for_copies else 0)
        lines, where = path(role, ((x - 1, y), (x + grid.step - 3, y))), "ahead of"
    who = "all threads of a block wait"
    if wait.groups is not None:
        last = count_text(wait.groups, "group")
        who = f"each thread waits for its copies, but the last {last},"
    title = f"turn {wait.at.turn}: {who} {where} {row}"
    return standing(Stands(title=title), [lines])


def _flight(grid: _Grid, iteration: int, flights: Sequence[Flight]) -> Iterator[Shape]:
    """A bar beside the turns in which data is on its way, joined to the cells at its ends."""
    begins, ends = _span(flights)
    lane = iteration % grid.lanes
    bars: list[Shape] = []
    for turn in grid.loop.turns:
        waited = flights[0].waited and turn == ends.turn
        if not begins.turn <= turn <= ends.turn or (waited and not ends.row):
            continue  # the bar of the turn before goes up to its end
        cell = grid.x(turn) + grid.wide
        x = cell + 1 + lane * LANE
        top = grid.middle(begins.row) - 2 if turn == begins.turn else HEAD
        bottom = grid.middle(ends.row) + 2 if turn == ends.turn else grid.end
        if waited:
            bottom = grid.y(ends.row) - APART / 2
        bars.append(Rect(x, top, LANE - 1, bottom - top, "time"))
        ends_at = [] if waited else [flight.ends for flight in flights]
        ends_at += [flight.begins for flight in flights]
        rows = {at.row for at in ends_at if at.turn == turn}
        ticks = [((cell, y), (x, y)) for y in sorted(map(grid.middle, rows))]
        if ticks:  # in a turn between, or up to a wait, the bar has no ends
            bars.append(path("clock", *ticks))
    loop, last = grid.loop.loop, grid.loop.rows[ends.row].name
    names = ", ".join(flight.buffer for flight in flights)
    until = f"{'the wait in ' if flights[0].waited else ''}turn {ends.turn}"
    title = f"{loop} = {iteration}: on the way from turn {begins.turn} to {until}"
    title += f"; {names} for {last}"  # at the end, where a narrow pane cuts
    one = f"{loop} = {iteration}"
    of = Stands(flights[0].buffer, loops=(loop,), title=title, iteration=one)
    yield from standing(of, bars)
