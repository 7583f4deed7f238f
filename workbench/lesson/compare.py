"""compare: several programs side by side, by what they count and, where known, by their times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import compress
from typing import Any

from workbench import insight, target
from workbench.diag import Fail, prose
from workbench.draw.pictures import GPU
from workbench.history.step import value_text
from workbench.insight import Counts
from workbench.insight.warp_requests import PRODUCTS
from workbench.ir import PrimFunc
from workbench.runtime import DeviceError, Timing, recorded
from workbench.runtime.building import function_of
from workbench.runtime.timing import in_digits
from workbench.schedule import Schedule
from workbench.target import Target, of_device
from workbench.widgets.page.costs import (
    COSTS,
    EXACT,
    MODELLED,
    SLOW,
    costs_of,
    count,
    shared_bytes,
    threads_in_each,
)
from workbench.widgets.page.memo import at_inputs, build, launching_of, origin_of
from workbench.widgets.run.times import roof


@dataclass(frozen=True, slots=True)
class Row:
    """One program, or what stands beside the programs.

    `counts` is None where no kernel was built, `timing` where none was measured: `modelled` is the
    time then, in µs, or None, and `note` says so in the table and `why` below it. `roof` is the
    least time, in seconds, that the rates of the device allow for the work, on `matrix` units, too,
    or not. `more` are the texts of the further costs that were asked for.
    """

    name: str
    counts: Counts | None = None
    threads: tuple[int, ...] = ()  # of a block, kernel by kernel
    shared_bytes: int = 0
    more: tuple[str, ...] = ()
    timing: Timing | None = None
    modelled: float | None = None
    roof: float | None = None
    matrix: bool = False
    note: str = ""
    why: str = ""

    def cells(self, further: int = 0) -> tuple[str, ...]:
        """The texts of the row: its name, `COSTS`, so many `further` costs, time and roof."""
        more = self.more or ("",) * further
        return (self.name, *self._counted(), *more, *self._timed())

    def _counted(self) -> tuple[str, ...]:
        if self.counts is None:
            return ("",) * len(COSTS)
        costs = costs_of(self.counts, self.threads, self.shared_bytes)
        return tuple(costs[name].text for name in COSTS)

    def _timed(self) -> tuple[str, str]:
        if self.modelled is not None:
            return f"{self.modelled:,.3g} µs, modelled", ""
        if self.timing is None:
            return self.note, ""
        share = f"{self.roof / self.timing.median:.0%}" if self.roof else ""
        return f"{in_digits(self.timing.median * 1e6)} µs", share


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows, fit to print; `notes` say of what kind the numbers are.

    `timed` says whether times were asked for: without them their columns are left out, and so is
    that of shuffles where there are none. `costs` are the names of further counts.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    timed: bool = True
    costs: tuple[str, ...] = ()

    @property
    def table(self) -> list[tuple[str, ...]]:
        """The texts of all cells, the heads first."""
        counted = [row.counts for row in self.rows if row.counts]
        left_out = set() if any(c.shuffles for c in counted) else {"shuffles a thread"}
        if not self.timed and not any(row.note for row in self.rows):
            left_out |= {"time", "of the roof"}
        heads = ("", *COSTS, *self.costs, "time", "of the roof")
        shown = [name not in left_out for name in heads]
        lines = (heads, *(row.cells(len(self.costs)) for row in self.rows))
        return [tuple(compress(line, shown)) for line in lines]

    def __repr__(self) -> str:
        table = self.table
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(w) if k == 0 else cell.rjust(w)
                for k, (cell, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in table
        ]
        return "\n".join([*lines, "", *self.notes])

    def _repr_html_(self) -> str:
        heads, *rows = self.table
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
        body = "".join(f"<tr>{_html_row(row)}</tr>" for row in rows)
        notes = "<br>".join(map(prose, self.notes))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{notes}</p>"


def _html_row(cells: Sequence[str]) -> str:
    first, *rest = map(prose, cells)
    return f'<th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest)


def compare(
    programs: Mapping[str, Schedule | PrimFunc],
    *arrays: Any,
    beside: Mapping[str, Callable[[], Timing]] | None = None,
    costs: Sequence[str] = (),
    gpu: str = "",
) -> Comparison:
    """Count what each of `programs` does on a GPU, and time it on `arrays` where they are given.

    Counts are exact; `costs` names further ones: "idle threads", "wavefronts a shared read",
    "global sectors" and "shared wavefronts". Without a GPU, times are those recorded for the very
    same programs, of all on one GPU, or else modelled: `gpu` ("nvidia/h100"), by default that which
    most of them were timed on.
    `beside` names what else to time, such as the vendor's library. The roof is modelled: the work
    of the program at the peak of the device's data sheet, on Tensor Cores at what ``mma.sync``
    reaches, or its arrays moved once, whichever takes longer. Raises Fail where `programs` or
    `beside` give no names, and for a cost or a GPU that there is not.

    >>> lesson.compare({"bound": bound}).rows[0].name
    'bound'
    """
    if not isinstance(programs, Mapping):
        raise Fail(
            f"Can't compare a value of type {type(programs).__name__}: it names no programs",
            hint="give each a name: lesson.compare({'naive': naive, 'mine': sch})",
        )
    if not isinstance(beside or {}, Mapping):
        raise Fail(
            f"Can't time a value of type {type(beside).__name__} beside the programs",
            hint="give each a name and what times it: beside={'library': function}",
        )
    if unknown := [name for name in costs if name not in SLOW]:
        raise Fail(
            f"Can't compare by {value_text(unknown[0])}: it is no further cost",
            hint=f"name some of these: {', '.join(SLOW)}",
        )
    funcs = {name: function_of(program, "compare") for name, program in programs.items()}
    if arrays:  # they tell the sizes of a program for any size
        funcs = {name: _at(func, arrays) for name, func in funcs.items()}
    card = _card([*funcs.values()], gpu)
    sheet = target.get(gpu or GPU)
    rows = [_row(name, func, arrays, costs, (card, sheet)) for name, func in funcs.items()]
    work = next((row for row in rows if row.roof is not None), None)
    for name, take in (beside or {}).items():
        try:
            row = Row(name, timing=take())
            rows.append(replace(row, roof=work.roof, matrix=work.matrix) if work else row)
        except DeviceError:
            rows.append(Row(name, note=NO_TIME))
    notes = _notes(rows, (card, sheet), "wavefronts" in " ".join(costs))
    return Comparison(tuple(rows), notes, bool(arrays or beside), tuple(costs))


NO_TIME = "no time without a GPU"


def _at(func: PrimFunc, arrays: Sequence[Any]) -> PrimFunc:
    return at_inputs(func, {p.name: a for p, a in zip(func.params, arrays, strict=False)})


def _recorded(func: PrimFunc) -> Sequence[Timing]:
    """What is compiled for any size was not recorded."""
    return recorded.times(func) if origin_of(func) is func else ()


def _card(funcs: Sequence[PrimFunc], asked: str) -> str:
    """The GPU that is `asked` for, as its driver calls it where one of them was timed on it.

    Else that on which most of them were timed, of several the one that times are modelled for.
    """
    found = Counter(timing.device for func in funcs for timing in _recorded(func))
    if asked:
        gpu = target.get(asked)
        return next((device for device in found if of_device(device) is gpu), gpu.title)
    return max(found, key=lambda d: (found[d], of_device(d).name == GPU), default="")


Told = tuple[str, Target]
"""The GPU whose recorded times are told, as its driver calls it, and that of modelled ones."""


def _row(name: str, func: PrimFunc, arrays: Sequence[Any], costs: Sequence[str], gpus: Told) -> Row:
    """What is told of a program, with its recorded time, where there is one."""
    card, sheet = gpus
    try:
        built = build(func)
    except Fail as fail:
        return Row(name, note="no kernel", why=fail.headline)
    counts, slow = insight.counts(built.kernels), count(func, costs)
    more = tuple(slow[cost].text for cost in costs)
    row = Row(name, counts, threads_in_each(built), shared_bytes(built), more)
    if not arrays:
        return row
    try:
        timing: Timing | None = launching_of(built).time(*arrays)
    except DeviceError as error:
        if built.device.is_gpu:  # then something went wrong, which the learner wants to know
            return replace(row, note=NO_TIME, why=error.headline)
        timing = None
    if not built.device.is_gpu:
        timing = next((t for t in _recorded(func) if t.device == card), None)
    if timing is None:
        guess = insight.modelled(built.kernels, sheet)
        return replace(row, modelled=guess.us, note=NO_TIME)
    matrix = any(insight.calls_of_warps(built.kernels, name) for name in PRODUCTS)
    return replace(row, timing=timing, roof=roof(built, timing.device), matrix=matrix)


def _notes(rows: Sequence[Row], gpus: Told, banks: bool) -> tuple[str, ...]:
    card, sheet = gpus
    notes = [MODELLED if banks else EXACT]
    sources: dict[str, list[str]] = {}
    for row in rows:
        if t := row.timing:
            sources.setdefault(f"{t.kind} on {t.device}, {t.date}", []).append(row.name)
    for source, names in sources.items():
        whose = f" of {', '.join(names)}" if len(sources) > 1 else ""
        notes.append(f"Times{whose}: {source}.")
    for least, matrix in dict.fromkeys((row.roof, row.matrix) for row in rows if row.roof):
        rates = "the data sheet" + (", of Tensor Cores by what mma.sync reaches" if matrix else "")
        notes.append(f"The roof is modelled from {rates}: {in_digits(least * 1e6)} µs at least.")
    notes += dict.fromkeys(doubt for row in rows if row.timing for doubt in row.timing.doubts)
    notes += [f"{row.name}: {row.why}" for row in rows if row.why]
    if any(row.modelled is not None for row in rows):
        there = f" on {card}" if card else ""
        notes.append(
            f"A modelled time is worked out from the program and the data sheet of "
            f"{sheet.title}: none was recorded for that very program{there}."
        )
    if any(row.note == NO_TIME and row.modelled is None for row in rows):
        notes.append("Where there is no time, none was recorded for that very program.")
    return tuple(notes)
