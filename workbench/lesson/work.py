"""Whose steps an exercise's check looks at: the code's, else those that a lab has kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbench.diag import Fail
from workbench.history.file import bad_file, contents, latest, parsed
from workbench.ir import PrimFunc, structural_equal
from workbench.schedule import Schedule
from workbench.schedule.load import from_data
from workbench.widgets.keep.saved import kept as file_of_labs
from workbench.widgets.keep.saved import section
from workbench.widgets.page.texts import lines_of


@dataclass(frozen=True, slots=True)
class Work:
    """The schedule to check where it stands, what is said of its steps, and the steps as text."""

    schedule: Schedule
    graded: str
    steps: str = ""
    note: str = ""


def find(work: object, program: PrimFunc) -> Work:
    """What there is to check of `work`, a schedule of `program` or a lab on one.

    A schedule that stands at its start took no steps as code: then it is where the lab stood that
    kept its steps beside the notebook.

    Raises Fail where `work` is no such thing, or where what a lab kept cannot be read.
    """
    cursor = getattr(work, "cursor", work)  # a lab's; its class needs widgets
    if not isinstance(cursor, Schedule):
        raise Fail(
            f"Can't check {type(work).__name__}: it is no schedule",
            hint="pass mine, where mine = exercise.schedule()",
        )
    if not structural_equal(cursor.history.root.func, program):
        raise Fail(
            "Can't check this schedule: it did not start from the exercise's program",
            hint="start with mine = exercise.schedule()",
        )
    file = cursor.history.kept_in
    file = file_of_labs(file, cursor.history).path if file else None
    if len(cursor.trace):
        return _of_code(cursor, file) if cursor is work else _clicked(cursor, "in the lab")
    kept = _kept(file, cursor.history.text)
    if kept is not None and len(kept.trace):
        return _clicked(kept, f"in a lab and kept in {_short(file)}")
    where = f" in {_short(file)}" if file else ""
    lab = f"the lab kept{where} stands at its start" if kept else f"no lab has kept any{where}"
    return Work(cursor, f"Graded: no steps. No cell took any as code, and {lab}.", note=TAKE_OVER)


TAKE_OVER = (
    "A grader that is given the notebook alone finds steps only where they stand in a cell as "
    "code. If you took yours in a lab, run this check where the folder my-work is beside the "
    "notebook: the report then shows them as code."
)
CODE_FIRST = (
    "The lab's own steps, kept in {where}, were not graded: where a cell takes steps as code, "
    "those count."
)
PASTE = (
    "They are not in the notebook, and a grader that is given the notebook alone will not find "
    "them. Put them as code into the cell above the lab, in place of what it holds, and run "
    "it; where the lab has written them there, only run it:"
)


def _of_code(schedule: Schedule, file: Path | None) -> Work:
    try:
        kept = _kept(file, schedule.history.text)
    except Fail:
        kept = None
    other = kept is not None and len(kept.trace) and kept.trace != schedule.trace
    note = CODE_FIRST.format(where=_short(file)) if other else ""
    return Work(schedule, f"Graded: {_steps(schedule)} of your code.", repr(schedule.trace), note)


def _clicked(schedule: Schedule, where: str) -> Work:
    said = f"Graded: {_steps(schedule)} clicked {where}. {PASTE}"
    return Work(schedule, said, lines_of(schedule.node))


def _kept(file: Path | None, program: str) -> Schedule | None:
    """The schedule that a lab kept in `file`; None where there is none of the text `program`."""
    if file is None:
        return None
    try:
        data = parsed(contents(file))
        if data is None:
            raise bad_file("it is empty")
        saved = section(data, program)
        return from_data({**data, **latest(saved), "others": []}) if saved else None
    except FileNotFoundError:
        return None
    except (Fail, OSError) as error:
        why = error.headline if isinstance(error, Fail) else str(error)
        raise Fail(
            f"Can't read the steps kept in {_short(file)}: {why}",
            hint="take the steps as code, or delete the file and take them in a lab again",
        ) from None


def _short(file: Path | None) -> str:
    return f"{file.parent.name}/{file.name}" if file else ""


def _steps(schedule: Schedule) -> str:
    count = len(schedule.trace)
    return "the 1 step" if count == 1 else f"the {count} steps"
