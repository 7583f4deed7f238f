"""review and progress: what a learner answered and reached, read from the files in my-work."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from workbench.diag import Fail, prose
from workbench.history.file import contents, parsed, stays_in_folder
from workbench.lesson import record
from workbench.lesson.exercise import NAMES, Exercise, exercise, variants
from workbench.lesson.mending import NAMES as BROKEN
from workbench.lesson.mending import Mending, mending
from workbench.lesson.mending import variants as broken_variants
from workbench.lesson.questions import LESSONS
from workbench.lesson.quiz import items
from workbench.lesson.quizzes import QUIZZES
from workbench.lesson.report import arriving
from workbench.schedule import Schedule
from workbench.schedule.load import from_data
from workbench.widgets import Question

MIME = "application/vnd.workbench.review+json"


@dataclass(frozen=True, slots=True)
class Answer:
    """The first answer to a question of a lab or a quiz; `right` is None where none can say yet.

    `truth` is the right one, as the lab or the quiz told it then, "" where none can say.
    """

    where: str
    question: str
    answer: str
    right: bool | None
    truth: str = ""

    @property
    def outcome(self) -> str:
        """A sign, and what would have been right."""
        if self.right is None:
            return "·"
        it_is = f" it is “{self.truth}”" if self.truth else ""
        return "✓" if self.right else f"✕{it_is}"


@dataclass(frozen=True, slots=True)
class Review:
    """What was answered in a lesson, and the most points of its exercises with what there are.

    `left_out` tells what could not be read, or cannot be. In a notebook it is a table, and what a
    teacher's script reads.
    """

    lesson: str
    answers: tuple[Answer, ...] = ()
    points: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """What was answered and reached, as plain data."""
        answers = [asdict(answer) for answer in self.answers]
        return {"lesson": self.lesson, "answers": answers, "points": dict(self.points)}

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """What is told of each answer and exercise: what it is, what was said, how it came out."""
        answers = [(a.question, a.answer, a.outcome) for a in self.answers]
        scores = [
            (f"exercise {key}", f"{n} of {of} points", "✓" if n == of else "✕")
            for key, (n, of) in self.points.items()
        ]
        return answers + scores

    def __repr__(self) -> str:
        return "\n".join([self._said, *_told(self.left_out)])

    @property
    def _said(self) -> str:
        if not self.rows:
            return f"{self.lesson}: nothing answered and nothing checked yet."
        parts = [(*outcome.partition(" "), what, said) for what, said, outcome in self.rows]
        return "\n".join(
            f"{sign} {what}: {said}{'; ' if truth else ''}{truth}"
            for sign, _, truth, what, said in parts
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        head = ("question", "your answer", "")
        html = table(head, self.rows) if self.rows else f"<p>{escape(self._said)}</p>"
        html += _told_in_html(self.left_out)
        return {"text/plain": repr(self), "text/html": arriving(html), MIME: self.data}


def _told(left_out: Sequence[str]) -> list[str]:
    return [f"left out of {printable(why)}" for why in left_out]


def _told_in_html(left_out: Sequence[str]) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in _told(left_out))


def printable(text: str) -> str:
    """`text` with escapes for what a terminal would obey, and for what UTF-8 has no bytes for."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as an HTML table; the first cell of each is its head, in plain letters."""
    left = 'style="text-align: left; font-weight: normal"'  # a notebook has numbers in mind
    heads = "".join(f'<th scope="col" style="text-align: left">{prose(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row" {left}>{prose(first)}</th>'
        + "".join(f"<td {left}>{prose(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def review(lesson: str, folder: Path | None = None) -> Review:
    """What was answered and reached in the lesson whose notebook lies in `folder` (default: here).

    What cannot be read is left out, and told. Raises Fail for a lesson that there is not.

    >>> lesson.review("01_vector_add").points
    {}
    """
    if lesson not in tuple(LESSONS):
        raise Fail(f"Can't find the lesson {lesson!r}", hint=f"there are: {', '.join(LESSONS)}")
    return reviewed(lesson, folder or Path.cwd())


def reviewed(lesson: str, folder: Path) -> Review:
    """As `review`, of a lesson that there is."""
    file = record.file_of(lesson, folder)
    kept, why = record.look(file)
    faults = [f"{file}: {why}"] if why else []
    quiz, points = [], {}
    for key, part in kept["quiz"].items():
        found = answered(lesson, key, part)
        if found is not None:
            quiz.append(found)
        else:
            faults.append(f"{file}: there is no such answer to {key!r}")
    for key, part in kept["points"].items():
        if is_score_of(lesson, key, part):
            points[key] = (part["points"], part["of"])
        else:
            faults.append(f"{file}: there cannot be such points of {key!r}")
    answers = (*_in_labs(lesson, folder, faults), *quiz)
    return Review(lesson, answers, points, tuple(faults))


def answered(lesson: str, key: str, part: object) -> Answer | None:
    """The answer to question `key`, such as "01_end 2"; None where there can be none like it."""
    name, _, number = key.rpartition(" ")
    if name not in QUIZZES or QUIZZES[name].lesson != lesson or not isinstance(part, dict):
        return None
    if not number.isdecimal() or not 1 <= int(number) <= QUIZZES[name].count:
        return None
    item, answer = items(name)[int(number) - 1], part.get("answer")
    if answer not in item.choices:
        return None
    truth = item.verdict.truth
    return Answer(f"quiz {key}", item.text, answer, answer == truth, truth)


def is_score_of(lesson: str, key: str, part: object) -> bool:
    """Whether `part` tells points that an exercise of the lesson, or a variant of it, can have."""
    name, _, variant = key.partition(" ")
    asked: Exercise | Mending
    if not record.is_score(part):
        return False
    if name in BROKEN:
        asked, most = mending(name), broken_variants(name)
    elif name in NAMES:
        asked, most = exercise(name), variants(name)
    else:
        return False
    alike = key == name or (variant.isdecimal() and 2 <= int(variant) <= most)
    return alike and asked.lesson == lesson and part["of"] == asked.points  # type: ignore[index]


def _in_labs(lesson: str, folder: Path, faults: list[str]) -> Iterator[Answer]:
    """The predictions that the labs of a lesson have kept, judged by the steps kept with them."""
    asked = {question.name: question for question in LESSONS[lesson].values()}
    own = record.file_of(lesson, folder).stem
    for file in sorted((folder / record.WORK).glob(f"{lesson}*.json")):
        if file.name.startswith(own):
            continue
        try:
            steps = 0
            for part in _histories(file):
                given = {name: answer for name, answer in part["answers"].items() if name in asked}
                steps += (1 + len(part["nodes"])) if given else 0
                if steps > _MOST:
                    faults.append(f"{file}: {_LONG}")
                    yield from (Answer("lab", *pair, None) for pair in given.items())
                elif given:
                    schedule = from_data(part)
                    for name, answer in given.items():
                        yield Answer("lab", name, answer, *_judged(asked[name], answer, schedule))
        except (OSError, Fail, RecursionError) as error:
            why = error.headline if isinstance(error, Fail) else getattr(error, "strerror", "")
            faults.append(f"{file}: {why or error}")


_MOST = 1_000  # programs that are made of one file: some seconds for the largest of a lesson
_LONG = f"of more than {_MOST:,} programs it is not told which answers are right"


def _histories(file: Path) -> Iterator[Mapping[str, Any]]:
    """The histories in a file that labs have kept, each as the data of a file of its own."""
    if not stays_in_folder(file):
        raise OSError(errno.EINVAL, "it is a link that leads out of the folder")
    data = parsed(contents(file))
    if data is None:
        return
    for part in (data, *data.get("others", ())):
        yield {**data, **part, "others": []}


def _judged(question: Question, answer: str, schedule: Schedule) -> tuple[bool | None, str]:
    """Whether it is right, and what is; None and "" where no program has decided it."""
    asked = question.as_answered(answer).along(schedule.history)
    verdicts = (asked.judge(node.func) for node in schedule.history if asked.settled_by(node.func))
    verdict = next(verdicts, None)
    return (None, "") if verdict is None else (asked.is_right(answer, verdict), verdict.truth)


@dataclass(frozen=True, slots=True)
class Progress:
    """The reviews of all lessons, fit to show."""

    reviews: tuple[Review, ...]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """For each lesson: predictions in labs, questions on new programs, points."""
        return [
            (
                r.lesson.replace("_", " "),
                f"{_count(r, 'lab')} of {asked}" if (asked := len(LESSONS[r.lesson])) else "none",
                f"{_count(r, 'quiz')} of {_asked(r.lesson)}",
                _points(r),
            )
            for r in self.reviews
        ]

    @property
    def left_out(self) -> list[str]:
        """What could not be read, or cannot be, in any of the lessons."""
        return [why for found in self.reviews for why in found.left_out]

    def __repr__(self) -> str:
        lines = [HEAD, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = (
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )
        return "\n".join([*table, *_told(self.left_out)])

    def _repr_html_(self) -> str:
        return table(HEAD, self.rows) + _told_in_html(self.left_out)


HEAD = ("lesson", "predictions in labs", "questions answered", "exercise")


def _count(found: Review, where: str) -> int:
    return sum(answer.where.startswith(where) for answer in found.answers)


def _asked(lesson: str) -> int:
    """The questions of a lesson's quizzes."""
    return sum(quiz.count for quiz in QUIZZES.values() if quiz.lesson == lesson)


def _points(found: Review) -> str:
    if found.lesson not in _exercises():
        return "none"
    key, points = _exercises()[found.lesson]
    most, of = found.points.get(key, (0, points))
    return f"{most} of {of} points"


@cache
def _exercises() -> dict[str, tuple[str, int]]:
    """The first exercise of each lesson that has one: its key and its points."""
    made = map(exercise, reversed(NAMES))
    return {one.lesson: (one.key, one.points) for one in made}


def progress() -> Progress:
    """How far one is in each of the lessons whose notebooks lie here.

    >>> print(lesson.progress())
    lesson                     predictions in labs  questions answered  exercise
    00 gpu                     none                 0 of 6              none
    01 vector add              0 of 3               0 of 3              0 of 4 points
    02 window sum              0 of 4               0 of 5              0 of 5 points
    03 local blocking          0 of 5               0 of 8              0 of 5 points
    04 shared blocking         0 of 5               0 of 8              0 of 5 points
    05 let the machine search  0 of 1               0 of 6              0 of 3 points
    06 convolution             0 of 5               0 of 8              0 of 5 points
    07 own operator            0 of 4               0 of 6              0 of 4 points
    08 why is it slow          0 of 3               0 of 11             0 of 3 points
    09 as fast as cublas       0 of 3               0 of 8              0 of 4 points
    10 tensor cores            0 of 2               0 of 7              0 of 6 points
    11 mma sync                0 of 5               0 of 9              0 of 6 points
    12 auto scheduling         0 of 2               0 of 6              0 of 3 points
    """
    return Progress(tuple(map(review, LESSONS)))
