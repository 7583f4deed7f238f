"""show: a record of a search, seen again where it may have been made on another machine."""

from __future__ import annotations

from pathlib import Path

from workbench import script
from workbench import target as targets
from workbench.ir import PrimFunc
from workbench.tuning.measure import ByModel, Measurer
from workbench.tuning.ready import ready
from workbench.tuning.record import Lines, read
from workbench.tuning.run import measurer_of, model_target
from workbench.tuning.search import Search
from workbench.tuning.space import Space
from workbench.tuning.tried import NotTried, Tried


def show(record: str | Path | Lines, *, space: Space | None = None) -> Tried:
    """All that a record holds, a file or what was read of it, as it is after a search: `tried`.

    Nothing is measured, nor is a GPU needed. In a notebook it is the view of the search, in which
    it can be played again at any speed. `space` is the one that was searched, where it is not the
    ready one: it makes candidates again, for labs. Raises RecordError for what is no record,
    NotTried where its program is none, TargetError where its target is none.

    >>> best = wb.tune(add, target="nvidia/h200", trials=2, record="add.jsonl")
    >>> tuning.show("add.jsonl")
    <Tried: 2 trials of add>
    """
    lines = record if isinstance(record, Lines) else read(record)
    header = lines.header
    try:
        program = script.parse(header.program)
    except script.ParseError as error:
        raise NotTried(
            "Can't show the record: its program is none",
            detail=error.headline,
            hint="its first line was changed; the trials can be read: tuning.read(path)",
        ) from None
    if not isinstance(program, PrimFunc):
        raise NotTried(
            "Can't show the record: its program is a module", hint="show one of a function"
        )
    target = targets.get(header.target)
    modelled = any(one.outcome.how == "modelled" for one in lines.ended)

    def measurer() -> Measurer:
        return ByModel(model_target(target)) if modelled else measurer_of(program, target)

    search = Search(
        program, space or ready(target), target, model_target(target), "random", header.seed
    )
    return Tried(search, lines, measurer)
