"""What nbgrader and otter-grader themselves give for what learners hand in.

Run by tests/grading/run.py, which makes the environment of the graders. Each notebook is graded in
a fresh folder, alone but for those that come with their my-work. All but one are cut down to what
the exercise needs of its lesson.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

import workbench as wb
from tests.grading.run import FOLDER, PYTHON, ROOT
from tests.support.every import EVERY, some
from tests.widgets.programs import bind_both
from workbench import lesson
from workbench.lesson.exercise import NAMES

GUIDE = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
CONFIG, OTTER_TEST = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.M | re.S)
LESSON = "01_vector_add"

SOLVED = """
(i,) = mine.get_loops("C")
i_0, i_1 = mine.split(i, factors=[None, 64])
mine.bind(i_0, "blockIdx.x")
mine.bind(i_1, "threadIdx.x")
"""
HALF = SOLVED.replace("64", "8")  # right, enough blocks, few idle; but no whole warps
WARNING = f"{SOLVED}mine.compute_at(mine.cache_read('C', 0, 'shared'), i_1)\nwb.build(mine)\n"


@dataclass(frozen=True)
class Case:
    """What stands in the cell for the solution (None: what the teacher gave), and its points."""

    steps: str | None
    points: int
    clicked: bool = False  # my-work comes with the notebook
    otter: bool = True  # given to otter-grader, too, which is slow


CASES = {
    "solved": Case(SOLVED, 4),
    "taken-over": Case("", 4),  # filled in with what the report says
    "clicked": Case("", 0),
    "clicked-and-kept": Case("", 4, clicked=True),
    "half": Case(HALF, 3),
    "untouched": Case(None, 0),
    "raising": Case("raise ValueError('before any step')", 0),
    "raising-half-way": Case(f"{HALF}1 / 0", 3, otter=False),
    "no-python": Case("this is no Python", 0, otter=False),
    "deleted": Case("del mine", 0, otter=False),
    "warning": Case(WARNING, 4),
    "stderr": Case(f"{SOLVED}import sys; print('done', file=sys.stderr)", 4, otter=False),
}
if not EVERY:
    CASES = {name: CASES[name] for name in ("solved", "clicked-and-kept", "untouched")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("grading")


@pytest.fixture(scope="module")
def clicks(folder: Path) -> tuple[Path, str]:
    """The file that a lab of the exercise kept, and the steps as the report writes them down."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exercise = lesson.exercise("odd_vector")
        mine = exercise.schedule()
        bind_both(wb.lab(mine), "[None, 64]")
        assert mine.history.kept_in is not None
        return mine.history.kept_in, exercise.check(mine).steps


def grader(folder: Path, *command: object) -> str:
    """What a program of the graders' environment prints."""
    own = {name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    path = f"{FOLDER / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **own, "IPYTHONDIR": str(folder / "ipython")}
    environment |= {"PYTHONPATH": str(ROOT), "PATH": path}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # nothing was compiled when it was installed
    call = [PYTHON, *map(str, command)]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def put(stem: str, folder: Path) -> Path:
    """Put a lesson into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(ROOT / "lessons" / f"{stem}.ipynb", folder))


def cut(path: Path) -> None:
    """Leave of a lesson the cells that its exercise needs."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [
        c for c in notebook.cells if c.id.startswith(("setup", "imports", "exercise"))
    ]
    nbformat.write(notebook, path)


def solve(path: Path, steps: str | None) -> None:
    """Write `steps` into the cell for them."""
    notebook = nbformat.read(path, as_version=4)
    cell = next(c for c in notebook.cells if c.id == "exercise-start")
    if steps is not None:
        cell.source = f'mine.goto("start")\n{steps}'
    nbformat.write(notebook, path)


def hand_in(case: Case, folder: Path, clicks: tuple[Path, str]) -> None:
    """Solve lesson 1 in `folder` as the case says, and put beside it what comes with it."""
    taken_over = case == Case("", 4)
    solve(folder / f"{LESSON}.ipynb", clicks[1] if taken_over else case.steps)
    if case.clicked:
        (folder / "my-work").mkdir()
        (folder / "my-work" / clicks[0].name).write_bytes(clicks[0].read_bytes())


# --- nbgrader -------------------------------------------------------------------------------------

READ_SCORES = """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    found = {f"{s.student.id} {n.name}": [n.score, n.max_score]
             for a in book.assignments for s in a.submissions for n in s.notebooks}
print(json.dumps(found))
"""
OTHERS = [lesson.exercise(name) for name in NAMES[1:]]
HANDED_IN = some("solved", "untouched")


@pytest.fixture(scope="module")
def by_nbgrader(folder: Path, clicks: tuple[Path, str]) -> dict[str, list[float]]:
    """The scores and the most there is, by learner and notebook."""
    course = folder / "course"
    put(LESSON, course / "source" / "first")
    for exercise in OTHERS:
        cut(put(exercise.lesson, course / "source" / "others"))
    named = 'c.CourseDirectory.course_id = "course"'
    (course / "nbgrader_config.py").write_text(f"c = get_config()\n{named}\n{CONFIG}")
    for assignment in ("first", "others"):
        grader(course, "-m", "nbgrader", "generate_assignment", assignment, "--create")
    given, handed_in = course / "release", course / "submitted"
    for name, case in CASES.items():
        shutil.copytree(given / "first", handed_in / name / "first")
        if name != "solved":
            cut(handed_in / name / "first" / f"{LESSON}.ipynb")
        hand_in(case, handed_in / name / "first", clicks)
    for name in HANDED_IN:
        shutil.copytree(given / "others", handed_in / name / "others")
    for exercise in OTHERS:
        _, _, steps = exercise.show_solution().partition("\n")
        solve(handed_in / "solved" / "others" / f"{exercise.lesson}.ipynb", steps)
    for assignment in ("first", "others"):
        grader(course, "-m", "nbgrader", "autograde", assignment, "--create")
    found: dict[str, list[float]] = json.loads(grader(course, "-c", READ_SCORES))
    return found


@pytest.mark.parametrize("name", CASES)
def test_nbgrader(name: str, by_nbgrader: dict[str, list[float]]):
    assert by_nbgrader[f"{name} {LESSON}"] == [CASES[name].points, 4]


@pytest.mark.parametrize("exercise", OTHERS, ids=NAMES[1:])
def test_nbgrader_on_the_other_lessons(exercise, by_nbgrader: dict[str, list[float]]):
    points = exercise.points
    assert by_nbgrader[f"solved {exercise.lesson}"] == [points, points]
    if EVERY:
        assert by_nbgrader[f"untouched {exercise.lesson}"] == [0, points]


# --- otter-grader ---------------------------------------------------------------------------------

OTTER = """
import json, sys
from otter.api import grade_submission
print(json.dumps({name: grade_submission(path, "autograder.zip", quiet=True).total
                  for name, path in json.loads(sys.argv[1]).items()}))
"""
BY_OTTER = [name for name, case in CASES.items() if case.otter]


@pytest.fixture(scope="module")
def by_otter(folder: Path, clicks: tuple[Path, str]) -> dict[str, float]:
    """The scores by case."""
    (folder / "otter" / "tests").mkdir(parents=True)
    (folder / "otter" / "tests" / "odd_vector.py").write_text(OTTER_TEST)
    grader(folder / "otter", "-m", "otter", "generate", "-t", "tests", "-o", "autograder.zip")
    paths = {}
    for name in BY_OTTER:
        path = put(LESSON, folder / "otter" / name)
        cut(path)
        hand_in(CASES[name], path.parent, clicks)
        paths[name] = str(zipped(path.parent) if CASES[name].clicked else path)
    found = grader(folder / "otter", "-c", OTTER, json.dumps(paths))
    scores: dict[str, float] = json.loads(found.splitlines()[-1])
    return scores


def zipped(folder: Path) -> Path:
    """What `folder` holds, as a learner hands it in."""
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*.*"):
            archive.write(file, file.relative_to(folder))
    return path


@pytest.mark.parametrize("name", BY_OTTER)
def test_otter(name: str, by_otter: dict[str, float]):
    assert by_otter[name] == CASES[name].points
