"""What a check found: a number for the grader, the reasons for the learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.diag import preformatted, prose
from workbench.widgets import static


@dataclass(frozen=True, slots=True)
class Row:
    """One goal and how the schedule does on it; `ok` is None where that is not known yet."""

    goal: str
    ok: bool | None = None
    found: str = ""
    say: str = ""

    @property
    def head(self) -> str:
        """The goal with its sign."""
        return f"{'·' if self.ok is None else '✓' if self.ok else '✕'} {self.goal}"


@dataclass(frozen=True, eq=False, repr=False)
class Report(float):
    """What a check found: as a number, a point for each goal that is reached.

    Autograders read the number: `repr` is nothing but it. People read the rest: a notebook shows
    it, `print(report)` writes it. True where every goal is reached.

    `graded` says whose steps were looked at and `steps` tells them; `notes` are what else there
    is to say.
    """

    exercise: str
    rows: tuple[Row, ...]
    graded: str = ""
    steps: str = ""
    notes: tuple[str, ...] = ()

    def __new__(cls, exercise: str, rows: tuple[Row, ...], *_: Any, **__: Any) -> Report:
        return super().__new__(cls, sum(row.ok is True for row in rows))

    def __getnewargs__(self) -> Any:  # as a float's, it would be the number alone
        return self.exercise, self.rows

    def __bool__(self) -> bool:
        return all(row.ok for row in self.rows)

    def __repr__(self) -> str:  # also where IPython's %precision rounds plain floats
        return float.__repr__(self)

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        done = sum(row.ok is True for row in self.rows)
        if self:
            return f"Solved: {self.exercise}. All {done} goals are reached."
        return f"Not yet: {done} of {len(self.rows)} goals are reached."

    def __str__(self) -> str:
        lines = [self.headline]
        for row in self.rows:
            lines.append(f"  {row.head}: {row.found}" if row.found else f"  {row.head}")
            lines += [f"      {row.say}"] if row.say else []
        lines += [self.graded] if self.graded else []
        lines += [f"  {line}" for line in self.steps.splitlines()]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{_html(row)}</li>" for row in self.rows)
        below = f"<p>{prose(self.graded)}</p>" if self.graded else ""
        below += _steps_in_html(self.steps) if self.steps else ""
        below += "".join(f"<p>{prose(note)}</p>" for note in self.notes)
        head = f"<p><b>{prose(self.headline)}</b></p>"
        body = f'{head}<ul style="list-style:none">{rows}</ul>{below}'
        return arriving(body)


def arriving(body: str) -> str:
    """The markup `body`, which in JupyterLab comes into view from its first line on."""
    run = "const at = document.currentScript?.parentElement;\nif (at) arrive(at);"
    script = f"(() => {{\n{static.reveal_script()}\n{run}\n}})()"
    return f"<div>{body}<script>{script}</script></div>"


MANY = 12  # lines of steps that stand open; more are folded


def _steps_in_html(steps: str) -> str:
    lines, shown = steps.count("\n") + 1, preformatted(steps)  # some lines only name a loop
    return shown if lines <= MANY else f"<details><summary>{lines} lines</summary>{shown}</details>"


def _html(row: Row) -> str:
    finding = f": {prose(row.found)}" if row.found else ""
    return f"<b>{prose(row.head)}</b>{finding}" + (f"<br>{prose(row.say)}" if row.say else "")
