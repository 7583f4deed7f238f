"""Lessons: kept clean, run from top to bottom and back, predictions clicked."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import nbformat
import pytest
from nbclient import NotebookClient

import workbench as wb
import workbench.lesson
from tests.support.every import EVERY
from tests.support.lessons import without_tables
from tests.support.seeds import run_cell
from workbench.lesson.questions import LESSONS as BY_LESSON
from workbench.lesson.quizzes import QUIZZES
from workbench.widgets import Lab, Question
from workbench.widgets.page.guess import Guess
from workbench.widgets.page.question import NOT_SURE

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "lessons").glob("[01]*.ipynb"))[1:]
MAP, SMALL = (ROOT / "lessons" / f"{stem}.ipynb" for stem in ("index", "00_gpu"))
ALL = [SMALL, *LESSONS, MAP]
MINUTES = {
    "00_gpu.ipynb": 10,
    "01_vector_add.ipynb": 25,
    "02_window_sum.ipynb": 45,
    "03_local_blocking.ipynb": 45,
    "04_shared_blocking.ipynb": 45,
    "05_let_the_machine_search.ipynb": 45,
    "06_convolution.ipynb": 45,
    "07_own_operator.ipynb": 45,
    "08_why_is_it_slow.ipynb": 45,
    "09_as_fast_as_cublas.ipynb": 45,
    "10_tensor_cores.ipynb": 45,
    "11_mma_sync.ipynb": 45,
    "12_auto_scheduling.ipynb": 45,
}

# Every warning is an error, but for what releases of others (Colab has old ones) say of themselves:
# ipykernel of its own way to shut down, which then would wait until it is killed.
STRICT = """
import sys, warnings
sys.path.insert(0, {root!r})
warnings.simplefilter("error")
for package in (
    "anywidget", "ipykernel", "ipywidgets", "jupyter_client", "matplotlib", "traitlets"
):
    for category in (DeprecationWarning, PendingDeprecationWarning):
        warnings.filterwarnings("ignore", category=category, module=package)
"""


def name(path: Path) -> str:
    return path.name


class Front(NotebookClient):
    """Runs notebooks and plays the browser's part for their widgets."""

    async def comm(self, model: str, data: dict) -> None:
        """Send what a widget's browser side sends, and wait until Python has answered."""
        content = {"comm_id": model, "data": data}
        message = self.kc.session.msg("comm_msg", content)
        self.kc.shell_channel.send(message)
        while True:
            reply = await self.kc.iopub_channel.get_msg(timeout=30)
            if reply["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if reply["msg_type"] == "status" and reply["content"]["execution_state"] == "idle":
                return
            self.process_message(reply, self.nb.cells[0], 0)

    def labs(self) -> list[str]:
        """The models of the labs, in the order in which they were opened."""
        return [m for m, state in self.widget_state.items() if "setup" in state]


def client(path: Path, folder: Path) -> Front:
    notebook = nbformat.read(path, as_version=4)
    strict = nbformat.v4.new_code_cell(STRICT.format(root=str(ROOT)))
    notebook.cells.insert(0, strict)
    return Front(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
    )


async def run_all(front: Front) -> None:
    for index, cell in enumerate(front.nb.cells):
        await front.async_execute_cell(cell, index)


@pytest.mark.parametrize("path", ALL, ids=name)
def test_the_file_holds_the_lesson_and_nothing_else(path: Path):
    text = path.read_text(encoding="utf-8")
    data = json.loads(text)
    assert text == json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    assert "widgets" not in data["metadata"] and data["nbformat_minor"] >= 5
    ids = [cell["id"] for cell in data["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in data["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, cell["id"]


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_a_lesson_says_what_it_teaches_asks_and_sets_a_task(path: Path):
    cells = nbformat.read(path, as_version=4).cells
    first = cells[0].source
    assert sum(first.count(f"\n{n}. ") for n in (1, 2, 3)) == 3, "three goals"
    assert f"About {MINUTES[path.name]} minutes" in first and MINUTES[path.name] <= 45
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert "question=lesson.question(" in code, "at least one prediction"
    asked = re.findall(r'lesson\.quiz\("(\w+)"\)', code)
    stem = path.stem[:2]
    assert asked[-1] == f"{stem}_end" and (asked[0] == f"{stem}_begin" or stem == "01")
    graded = [c for c in cells if "nbgrader" in c.metadata]
    tasks = ["broken", "exercise"] if stem in ("09", "11") else ["exercise"]
    parts = [f"{task}-{part}" for task in tasks for part in ("task", "start", "check")]
    assert [c.id for c in graded] == parts
    grades = [c.metadata["nbgrader"] for c in graded]
    assert [g["solution"] for g in grades] == [False, True, False] * len(tasks)
    assert [g["grade"] for g in grades] == [False, False, True] * len(tasks)
    assert [g["locked"] for g in grades] == [True, False, True] * len(tasks)
    assert len({g["grade_id"] for g in grades}) == len(grades)
    values = {"broken": "broken.check(mends)", "exercise": "exercise.check(mine)"}
    last = [c.source for c in graded[2::3]]
    assert last == [values[task] for task in tasks], "its value, in the last line, is graded"


@pytest.mark.parametrize("path", ALL, ids=name)
def test_a_lesson_begins_with_a_folded_cell_that_installs_and_two_lines_of_imports(path: Path):
    """The folded one is the same in all; tests/colab says what it does."""
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    setup, imports = code[:2]
    first = nbformat.read(LESSONS[0], as_version=4).cells[1]
    assert setup.source == first.source
    assert [cell.id for cell in cells[1:3]] == ["setup", "imports"] == [setup.id, imports.id]
    assert setup.metadata == {"cellView": "form", "jupyter": {"source_hidden": True}}
    assert setup.source.startswith("# @title Set up: ")
    assert imports.metadata == {} and imports.source.splitlines() == [
        "import numpy as np, workbench as wb",
        "from workbench import T, lesson",
    ]


def texts_of(path: Path) -> str:
    """All that is written in a notebook's Markdown cells."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def test_words_are_explained_where_they_stand_as_in_the_map():
    rows = re.findall(r"^\| ([\w ]+) \| (.+) \|$", texts_of(MAP).partition("## Words")[2], re.M)
    known = {said.replace("`", "") for word, said in rows if word != "word"}
    assert len(known) >= 12
    shown = [re.findall(r'\(index\.ipynb#Words "([^"]+)"\)', texts_of(p)) for p in ALL[:-1]]
    assert all(shown) and {said for in_one in shown for said in in_one} <= known


def test_the_map_names_each_lesson_with_its_minutes_and_each_leads_on():
    for path, following in zip([SMALL, *LESSONS], [*LESSONS, MAP], strict=True):
        line = next(line for line in texts_of(MAP).splitlines() if f"({path.name})" in line)
        assert f"| {MINUTES[path.name]} |" in line
        last = nbformat.read(path, as_version=4).cells[-1]
        assert last.id == "end" and f"({following.name})" in last.source
        assert f"({MAP.name})" in last.source


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_what_answers_is_folded_where_it_can_be(path: Path):
    """Markdown's own way, with a blank line on both sides of what is Markdown in it."""
    texts = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown"]
    folded = [part for text in texts for part in re.findall(FOLD, text, re.S)]
    assert folded and len(folded) == sum(text.count("<details>") for text in texts)
    assert all(summary and said.strip() for summary, said in folded)


FOLD = r"<details><summary>([^<]+)</summary>\n\n(.*?)\n\n</details>"


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_the_graded_cell_is_worth_what_the_check_can_give(path: Path):
    """nbgrader refuses a number above it."""
    cells = {c.id: c for c in nbformat.read(path, as_version=4).cells}
    (named,) = re.findall(r'lesson\.exercise\("(\w+)"\)', cells["exercise-task"].source)
    exercise = wb.lesson.exercise(named)
    assert cells["exercise-check"].metadata["nbgrader"]["points"] == exercise.points
    assert exercise.lesson == path.stem
    if "broken-task" in cells:
        (named,) = re.findall(r'lesson\.mending\("(\w+)"\)', cells["broken-task"].source)
        broken = wb.lesson.mending(named)
        assert cells["broken-check"].metadata["nbgrader"]["points"] == broken.points
        assert broken.lesson == path.stem


def test_what_a_compiler_makes_and_times_by_the_model_come_with_lesson_3_and_no_sooner():
    """In lesson 3 at its real size, and modelled times not above the words that introduce them."""
    told = re.compile(r'"(global sectors|shared wavefronts|modelled time)"')
    cells = {path.stem[:2]: nbformat.read(path, as_version=4).cells for path in ALL}
    code = {lesson: "".join(cell.source for cell in own) for lesson, own in cells.items()}
    assert not any(told.search(code[lesson]) for lesson in ("00", "01", "02"))
    assert set(told.findall(code["03"])) == {"global sectors", "modelled time"}
    assert code["03"].index("*modelled time*") < code["03"].index('"modelled time"')
    assert all('"modelled time"' in code[lesson] for lesson in ("04", "06", "07", "08", "09"))


class Opened(NamedTuple):
    """A lab of a lesson, where its cell opens it."""

    sch: wb.Schedule
    at: int  # the number of its program
    kept_in: Path | None
    options: dict[str, Any]


@cache
def labs_of(path: Path) -> list[Opened]:
    """The labs that a lesson's cells open, none of which is made."""
    opened: list[Opened] = []

    def lab(sch: wb.Schedule, **options: Any) -> None:
        opened.append(Opened(sch, sch.node.id, sch.history.kept_in, options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["workbench.lesson.begin"], "_begun", WeakValueDictionary())
        patch.setattr(wb, "lab", lab)
        run_cells(path)
    return opened


@pytest.mark.lesson
@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_every_lab_saves_and_no_cell_tells_the_answer_with_the_question(path: Path):
    """One file for each history: all labs of it save the same; an exercise's need not be told."""
    files: dict[wb.Schedule, set[object]] = {}
    for sch, _, kept_in, options in labs_of(path):
        autosave = options.get("autosave")
        assert (autosave is None) == (kept_in is not None)
        told = autosave or kept_in.relative_to(Path.cwd()).as_posix()
        files.setdefault(sch, set()).add(told)
    saved = [file for of_one in files.values() for file in of_one]
    assert len(saved) == len(files), files
    parts = ("", "_1024", "_256", "_4096", "_exercise")
    names = {f"my-work/{path.stem}{part}.json" for part in parts}
    assert set(saved) <= names and len(set(saved)) == len(saved)
    code = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    asked = sum(source.count("question=lesson.question(") for source in code)
    assert asked == sum(source.count("question=") for source in code) > 0


REAL = ("run-1024", "run-256", "run-4096")  # cells that do nothing but to run a kernel


@pytest.mark.lesson
@pytest.mark.parametrize("path", ALL, ids=name)
def test_a_lesson_runs_from_top_to_bottom_and_again_from_bottom_to_top(path: Path, tmp_path: Path):
    """Any two cells run in both orders. Every warning is an error, in both runs.

    Back, a kernel of a real size runs where all is looked at: emulated, it takes seconds.
    """

    async def work() -> None:
        front = client(path, tmp_path)
        async with front.async_setup_kernel():
            await run_all(front)
            for index, cell in reversed([*enumerate(front.nb.cells)]):
                if cell.cell_type == "code" and (EVERY or cell.id not in REAL):
                    await front.async_execute_cell(cell, index)
            states = [front.widget_state[m] for m in front.labs()]
            assert states or path in (MAP, SMALL)
            assert not [s["status"]["error"] for s in states if "error" in s["status"]]

    asyncio.run(work())


ANSWERS = {
    "01_vector_add.ipynb": ["block 1, thread 1", "", "8 blocks"],
    "02_window_sum.ipynb": ["3 times", "16,640 loads", "130 loads", "1,056 loads"],
    "03_local_blocking.ipynb": ["8 times", "24 elements", "2 times", "8 elements", "176 µs"],
    "04_shared_blocking.ipynb": ["4 times", "128 loads", "32 loads", "150 µs", "128 barriers"],
    "05_let_the_machine_search.ipynb": ["84.9 µs"],
    "06_convolution.ipynb": ["4 sectors", "8 times", "4,096 elements", "1 wavefront", "3,034 µs"],
    "07_own_operator.ipynb": ["1,632 elements", "2,304 elements", "144 loads", "60 loads"],
    "08_why_is_it_slow.ipynb": ["16 sectors", "91.3 µs", "4 wavefronts"],
    "09_as_fast_as_cublas.ipynb": ["16 times", "15 times", "4,096 bytes"],
    "10_tensor_cores.ipynb": ["32 times", "144 times"],
    "11_mma_sync.ipynb": ["64 times", "4 wavefronts", "1 group", "32 registers", "359 µs"],
    "12_auto_scheduling.ipynb": ["28 blocks", "7 times"],
}


@pytest.mark.lesson
@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_each_question_is_decided_by_the_steps_it_asks_for(path: Path):
    """Not where its lab opens (unless it only asks to look), and as the lesson's text says.

    Lesson 1 leaves the steps of its second question to the learner; a guess is of a program that
    the cell of its lab has made, in another branch.
    """
    found = []
    for sch, opened, _, options in labs_of(path):
        question: Question | None = options.get("question")
        if question is None:
            continue
        start = sch.history[opened]
        guess = isinstance(question, Guess)
        below = [node for node in sch.history if guess or start in node.path()]
        verdicts = [v for node in below if (v := question.judge(node.func)) is not None]
        assert "choose" in question.todo or question.judge(start.func) is None, question.text
        found.append(verdicts[0].truth if verdicts else "")
        assert not verdicts or question.takes(verdicts[0].truth)
        for verdict in verdicts[:1]:
            wrong = set(question.choices) - {verdict.truth, NOT_SURE}
            assert wrong <= set(verdict.wrong), (question.text, wrong - set(verdict.wrong))
    assert found == ANSWERS[path.name]


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_nothing_above_a_question_gives_its_answer(path: Path):
    """In what is seen without opening a fold; a lesson's own lab asks in the order of ANSWERS."""
    cells = nbformat.read(path, as_version=4).cells
    asking = [k for k, cell in enumerate(cells) if "question=lesson.question(" in cell.source]
    for k, truth in zip(asking, ANSWERS[path.name], strict=True):
        above = "\n".join(re.sub(FOLD, "", c.source, flags=re.S) for c in cells[: k + 2])
        assert not truth or truth not in above, (cells[k].id, truth)


def run_cells(path: Path, last: str = "") -> dict[str, object]:
    """The names that a lesson's cells make, to the `last`; whole runs and files left out."""
    scope: dict[str, object] = {"__name__": "lesson"}
    with without_tables():
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and not cell.id.startswith(("run-", "keep")):
                run_cell(cell.source, f"<{path.name} {cell.id}>", scope)
            if cell.id == last:
                break
    return scope


def shared_fetch(name: str) -> list[tuple[str, str, dict[str, str]]]:
    """The clicks of lesson 4 on one copy: the place, the verb, and what its form sends."""
    return [
        ("ax0", "fuse", {"loops": f'["{name}.ax1"]'}),
        ("ax0_ax1_fused", "split", {"factors": "[None, 4, 4]"}),
        ("ax0_ax1_fused_2", "vectorize", {}),
        ("ax0_ax1_fused_1", "bind", {"thread_axis": '"threadIdx.x"'}),
    ]


def kept_together(name: str) -> list[tuple[str, str, dict[str, str]]]:
    """The clicks of lesson 7 on a stage, or on a copy, that a block computes together."""
    return [
        (name, "compute_at", {"loop": '"j_0"'}),
        ("ax0", "fuse", {"loops": '["ax1"]'}),
        ("ax0_ax1_fused", "split", {"factors": "[None, 32]"}),
        ("ax0_ax1_fused_1", "bind", {"thread_axis": '"threadIdx.x"'}),
    ]


AHEAD = {"stages": "[0, 0, 0, 0, 1]", "order": "[0, 3, 1, 4, 2]", "copies": ""}
CLICKS: dict[tuple[str, str], tuple[list[tuple[str, str, dict[str, str]]], str]] = {
    ("02_window_sum.ipynb", "lab-64"): (
        [
            ("i", "split", {"factors": "[None, 64]"}),
            ("i_0", "bind", {"thread_axis": '"blockIdx.x"'}),
            ("i_1", "bind", {"thread_axis": '"threadIdx.x"'}),
            ("C", "cache_read", {"read_buffer_index": '"A"', "storage_scope": '"shared"'}),
            ("A_shared", "compute_at", {"loop": '"i_1"'}),
            ("ax0", "split", {"factors": "[None, 64]"}),
            ("ax0_1", "bind", {"thread_axis": '"threadIdx.x"'}),
        ],
        "1,056 loads",
    ),
    ("03_local_blocking.ipynb", "lab-start"): (
        [
            ("i", "bind", {"thread_axis": '"threadIdx.y"'}),
            ("j", "bind", {"thread_axis": '"threadIdx.x"'}),
        ],
        "8 times",
    ),
    ("03_local_blocking.ipynb", "lab-init"): (
        [("C", "decompose_reduction", {"loop": '"k"'})],
        "24 elements",
    ),
    ("03_local_blocking.ipynb", "lab-near"): (
        [("C", "cache_write", {"write_buffer_index": '"C"', "storage_scope": '"local"'})],
        "",
    ),
    ("03_local_blocking.ipynb", "lab-split"): (
        [
            ("j_0", "reorder", {"ordered_loops": '["i_1"]'}),
            ("i_1", "reorder", {"ordered_loops": '["i_2"]'}),
            ("j_1", "reorder", {"ordered_loops": '["i_2"]'}),
        ],
        "",
    ),
    ("03_local_blocking.ipynb", "lab-order"): (
        [
            ("k_0", "reorder", {"ordered_loops": '["i_2"]'}),
            ("k_1", "reorder", {"ordered_loops": '["j_2"]'}),
        ],
        "",
    ),
    ("03_local_blocking.ipynb", "lab-copy"): (
        [("C_local", "reverse_compute_at", {"loop": '"j_1"'})],
        "",
    ),
    ("03_local_blocking.ipynb", "lab-kept"): (
        [
            ("A_local", "compute_at", {"loop": '"k_1"'}),
            ("B_local", "compute_at", {"loop": '"k_1"'}),
        ],
        "8 elements",
    ),
    ("03_local_blocking.ipynb", "lab-tile"): (
        [
            ("i_0", "bind", {"thread_axis": '"blockIdx.y"'}),
            ("j_0", "bind", {"thread_axis": '"blockIdx.x"'}),
            ("i_1", "bind", {"thread_axis": '"threadIdx.y"'}),
            ("j_1", "bind", {"thread_axis": '"threadIdx.x"'}),
        ],
        "2 times",
    ),
    ("04_shared_blocking.ipynb", "lab-start"): ([], "4 times"),
    ("04_shared_blocking.ipynb", "lab-fetch"): (
        [
            ("C", "cache_read", {"read_buffer_index": '"A"', "storage_scope": '"shared"'}),
            ("A_shared", "compute_at", {"loop": '"k_0"'}),
        ],
        "128 loads",
    ),
    ("04_shared_blocking.ipynb", "lab-cooperative"): (shared_fetch("A_shared"), "32 loads"),
    ("06_convolution.ipynb", "lab-start"): (
        [
            ("y_x_fused", "bind", {"thread_axis": '"blockIdx.y"'}),
            ("f", "bind", {"thread_axis": '"blockIdx.x"'}),
            ("n", "bind", {"thread_axis": '"threadIdx.x"'}),
        ],
        "4 sectors",
    ),
    ("06_convolution.ipynb", "lab-padding"): (
        [
            ("B", "cache_read", {"read_buffer_index": '"Apad"', "storage_scope": '"shared"'}),
            ("Apad", "compute_inline", {}),
        ],
        "",
    ),
    ("06_convolution.ipynb", "lab-blocks"): (
        [
            ("y_x_fused", "bind", {"thread_axis": '"blockIdx.z"'}),
            ("f_0", "bind", {"thread_axis": '"blockIdx.y"'}),
            ("n_0", "bind", {"thread_axis": '"blockIdx.x"'}),
            ("f_1", "bind", {"thread_axis": '"threadIdx.y"'}),
            ("n_1", "bind", {"thread_axis": '"threadIdx.x"'}),
        ],
        "8 times",
    ),
    ("06_convolution.ipynb", "lab-fetch"): (
        [
            ("ax0_0", "bind", {"thread_axis": '"threadIdx.y"'}),
            ("ax1_0", "bind", {"thread_axis": '"threadIdx.x"'}),
            ("ax1_2", "vectorize", {}),
        ],
        "4,096 elements",
    ),
    ("06_convolution.ipynb", "lab-virtual"): (
        [
            ("f_1", "bind", {"thread_axis": '"vthread.y"'}),
            ("n_1", "bind", {"thread_axis": '"vthread.x"'}),
            ("Apad_shared", "compute_at", {"loop": '"rx"'}),
            ("W_shared", "compute_at", {"loop": '"rx"'}),
        ],
        "1 wavefront",
    ),
    ("07_own_operator.ipynb", "lab-whole"): (
        [
            (f"loop {loop}, {times} times", "bind", {"thread_axis": f'"{axis}.x"'})
            for i in (18, 16)  # rows of H, and of B
            for loop, times, axis in (("i", i, "blockIdx"), ("j", 16, "threadIdx"))
        ],
        "1,632 elements",
    ),
    ("07_own_operator.ipynb", "lab-again"): ([("H", "compute_inline", {})], "2,304 elements"),
    ("07_own_operator.ipynb", "lab-tile"): (
        [
            ("H", "set_scope", {"buffer_index": '"H"', "storage_scope": '"shared"'}),
            *kept_together("H"),
        ],
        "144 loads",
    ),
    ("07_own_operator.ipynb", "lab-both"): (
        [
            ("H", "cache_read", {"read_buffer_index": '"A"', "storage_scope": '"shared"'}),
            *kept_together("A_shared"),
        ],
        "60 loads",
    ),
    ("09_as_fast_as_cublas.ipynb", "lab-split"): (
        [
            ("A_shared", "cache_read", {"read_buffer_index": '"A"', "storage_scope": '"local"'}),
            ("A_local", "compute_at", {"loop": '"k_0"'}),
            ("ax0", "fuse", {"loops": '["A_local.ax1"]'}),
            ("ax0_ax1_fused", "split", {"factors": "[None, 64, 4]"}),
            ("ax0_ax1_fused_2", "vectorize", {}),
            ("ax0_ax1_fused_1", "bind", {"thread_axis": '"threadIdx.x"'}),
        ],
        "16 times",
    ),
    ("09_as_fast_as_cublas.ipynb", "lab-one"): ([("k_0", "pipeline", AHEAD)], "15 times"),
    ("09_as_fast_as_cublas.ipynb", "lab-two"): (
        [("k_0", "pipeline", {**AHEAD, "copies": '{"A_shared": 2, "B_shared": 2}'})],
        "4,096 bytes",
    ),
    ("10_tensor_cores.ipynb", "lab-warps"): (
        [
            ("h_w_fused", "bind", {"thread_axis": '"blockIdx.z"'}),
            ("n_0", "bind", {"thread_axis": '"blockIdx.x"'}),
            ("o_0", "bind", {"thread_axis": '"blockIdx.y"'}),
            ("n_1", "bind", {"thread_axis": '"threadIdx.y"'}),
            ("o_1", "bind", {"thread_axis": '"threadIdx.z"'}),
        ],
        "32 times",
    ),
    ("10_tensor_cores.ipynb", "lab-tensorize"): (
        [
            ("nn_init", "tensorize", {"tensor_intrin": '"wmma_fill_16x16x16_f32"'}),
            ("nn", "tensorize", {"tensor_intrin": '"wmma_sync_16x16x16_f16f16f32"'}),
        ],
        "144 times",
    ),
    ("11_mma_sync.ipynb", "lab-tensorize"): (
        [
            ("ax0_1", "tensorize", {"tensor_intrin": '"mma_ldmatrix_f16_a"'}),
            ("i_3", "tensorize", {"tensor_intrin": '"mma_f16f16f32_trans_b"'}),
        ],
        "64 times",
    ),
    ("11_mma_sync.ipynb", "lab-swizzle"): (
        [("A_shared", "annotate", {"ann_key": '"permuted_layout"', "ann_val": "1"})],
        "4 wavefronts",
    ),
    ("11_mma_sync.ipynb", "lab-async"): (
        [("k_0", "pipeline", {"stages": "[0, 0, 2]", "async_stages": "[0]"})],
        "1 group",
    ),
    ("11_mma_sync.ipynb", "lab-ahead"): (
        [
            ("k_1", "pipeline", {"stages": "[0, 0, 1]"}),
            (
                "k_0",
                "pipeline",
                {
                    "stages": "[0, 0, 1, 2, 2]",
                    "order": "[0, 1, 3, 2, 4]",
                    "copies": '{"A_shared_warp": 1, "B_shared_warp": 1}',
                    "async_stages": "[0]",
                },
            ),
        ],
        "32 registers",
    ),
}


@pytest.mark.lesson
@pytest.mark.parametrize(("where", "clicks"), CLICKS.items(), ids=map("/".join, CLICKS))
def test_a_lab_as_a_learner_clicks_it(where, clicks, monkeypatch):
    """Every step that a lab asks for is on offer there, and the last one answers its question."""
    opened: list[tuple[wb.Schedule, dict[str, Any]]] = []
    monkeypatch.setattr(sys.modules["workbench.lesson.begin"], "_begun", WeakValueDictionary())
    lesson, cell = where
    steps, answer = clicks
    monkeypatch.setattr(wb, "lab", lambda sch, **o: opened.append((sch, o)))
    run_cells(ROOT / "lessons" / lesson, last=cell)
    sch, options = opened[-1]  # the run of the whole lesson makes those before it
    here = Lab(sch, **{**options, "autosave": None})
    for name, verb, args in steps:
        here.place = place_of(here, name)
        offers = here.session.page["offers"][here.place]
        (form,) = (v for v in offers["verbs"] if v["offered"] and v["name"] == verb)
        can_be_sent(form, [sent for _, other, sent in steps if other == verb], args)
        if lesson.startswith("03"):
            assert {field["name"]: field["value"] for field in form["fields"]} == args
        message = {"do": "apply", "verb": verb, "place": here.place, "args": args}
        here._on_message(None, message, None)
        assert "error" not in here.status, here.status
    if asked := here.setup["question"]:
        here._on_message(None, {"do": "answer", "name": asked["name"], "choice": 0}, None)
    verdict = here.session.page["verdict"]
    assert (verdict["text"] if verdict else "") == answer


def can_be_sent(form: dict, sent: list[dict[str, str]], now: dict[str, str]) -> None:
    """What a step wants can be chosen in its form; what this holds at first is of such a step."""
    assert form["verdict"] == "possible", form
    for field in form["fields"]:
        if field["kind"] == "choice" and field["name"] in now:
            assert now[field["name"]] in [o["value"] for o in field["options"]], (form, now)
        if field["value"]:
            assert field["value"] in [one.get(field["name"]) for one in sent], (form, sent)


def test_lesson_3_has_a_lab_for_each_step_of_its_way():
    """Every cell that takes steps has a lab ahead of it, which offers what it does."""
    cells = nbformat.read(ROOT / "lessons" / "03_local_blocking.ipynb", as_version=4).cells
    ids = [cell.id for cell in cells]
    for lab, code in (
        ("lab-start", "bound"),
        ("lab-init", "one-each"),
        ("lab-near", "near"),
        ("lab-split", "split"),
        ("lab-order", "ordered"),
        ("lab-copy", "tiled"),
        ("lab-tile", "local"),
        ("lab-kept", "kept"),
    ):
        between = [cells[k].cell_type for k in range(ids.index(lab) + 1, ids.index(code))]
        assert set(between) <= {"markdown"}, lab


@pytest.mark.parametrize("path", [SMALL, *LESSONS], ids=name)
def test_something_to_do_is_never_far(path: Path):
    """A lab or another view within nine cells; and a prediction stands ahead of one."""
    cells = nbformat.read(path, as_version=4).cells
    views = re.compile(r"wb\.lab\(|\.tune\(|lesson\.(quiz|gpu|expect|trials)\(|\.repair\(")
    does = [bool(views.search(cell.source)) for cell in cells]
    places = [k for k, here in enumerate(does) if here]
    assert max(b - a for a, b in itertools.pairwise(places)) <= 9
    asks = [k for k, c in enumerate(cells) if c.cell_type == "markdown" and "*Predict*" in c.source]
    assert asks and all(does[k + 1] for k in asks)


@pytest.mark.parametrize("path", [SMALL, *LESSONS], ids=name)
def test_a_lesson_asks_its_questions(path: Path):
    """All that there are for it: what is not asked would never be answered in the map."""
    code = "\n".join(
        c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"
    )
    quizzes = {key for key, asked in QUIZZES.items() if asked.lesson == path.stem}
    assert set(re.findall(r'lesson\.quiz\("(\w+)"\)', code)) == quizzes
    assert set(re.findall(r'lesson\.question\("(\w+)"\)', code)) == set(BY_LESSON[path.stem])


@pytest.mark.lesson
def test_lesson_3_is_refused_what_it_says_is_refused(monkeypatch):
    """Blocks share no sum out; threads do, as TVM has it."""
    made: list[wb.widgets.Lab] = []
    monkeypatch.setattr(sys.modules["workbench.lesson.begin"], "_begun", WeakValueDictionary())
    lab = wb.widgets.Lab
    monkeypatch.setattr(wb, "lab", lambda *a, **o: made.append(lab(*a, **{**o, "autosave": None})))
    run_cells(ROOT / "lessons" / "03_local_blocking.ipynb", last="lab-start")
    here = made[-1]
    here.place = place_of(here, "k")
    asked = {"do": "apply", "verb": "bind", "place": here.place}
    here._handle_custom_msg({**asked, "args": {"thread_axis": "blockIdx.x"}}, [])
    why = here.status["error"]["headline"]
    assert why == "Can't bind `k` to blockIdx.x: blocks k=0 and k=1 would both update C[0, 0]."


@pytest.mark.lesson
def test_an_answer_stays_as_it_was_at_the_program_asked_about(monkeypatch):
    """A later program of lesson 4 fetches each element once: that is not what was asked."""
    asked: list[tuple[wb.Schedule, Question | None]] = []
    monkeypatch.setattr(sys.modules["workbench.lesson.begin"], "_begun", WeakValueDictionary())
    monkeypatch.setattr(wb, "lab", lambda sch, *, question, **_: asked.append((sch, question)))
    run_cells(ROOT / "lessons" / "04_shared_blocking.ipynb", last="lab-cooperative")
    sch, question = asked[0]
    for mark, verdict in (("start", None), ("local", "4 times"), ("fetched", "4 times")):
        sch.goto(mark)
        sch.history.answers[question.name] = question.choices[0]
        lab = wb.widgets.Lab(sch, question=question)
        found = lab.session.page["verdict"]
        assert (found and found["text"]) == verdict, mark


@pytest.mark.lesson
def test_what_was_done_in_every_lab_comes_back_in_another_session(tmp_path: Path, monkeypatch):
    """Three answers and a branch, each made in another lab of lesson 2."""
    made: list[wb.widgets.Lab] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(wb, "lab", lambda *a, **o: made.append(Lab(*a, **o)))

    def session(last: str) -> list[wb.widgets.Lab]:
        made.clear()
        monkeypatch.setattr(sys.modules["workbench.lesson.begin"], "_begun", WeakValueDictionary())
        run_cells(ROOT / "lessons" / "02_window_sum.ipynb", last)
        return made

    *asking, comparing = session("lab-compare")
    for lab in asking:
        name = lab.setup["question"]["name"]
        lab._on_message(None, {"do": "answer", "name": name, "choice": 1}, None)
    answers = dict(comparing.history.answers)
    comparing.at = 0
    split = {"do": "apply", "verb": "split", "place": place_of(comparing, "i")}
    comparing._on_message(None, {**split, "args": {"factors": "[None, 64]"}}, None)
    steps = len(comparing.history) - 1
    assert len(answers) == 3 and comparing.status["kind"] == "ready"

    (first,) = session("lab-start")
    assert first.setup["resume"]["text"] == (
        f"You were here before: 02_window_sum.json has {steps} steps and 3 answers more than this "
        "lab."
    )
    first._on_message(None, {"do": "resume"}, None)
    assert first.answers == answers and len(first.history) - 1 == steps
    assert first.history[first.at].label == "split(i, factors=[None, 64])"


def place_of(lab: wb.widgets.Lab, name: str) -> str:
    """The key of the first loop or block of that name, or label, in the program."""
    places = lab.session.page["names"].items()
    return next(k for k, v in places if name in (v["name"], v["label"]) and v["kind"] != "buffer")


@pytest.mark.lesson
def test_lesson_1_as_a_learner_clicks_it(tmp_path: Path):
    """Three cells, an answer, three steps: C[5] goes from time step 5 to block 1, thread 1."""

    async def work() -> None:
        front = client(LESSONS[0], tmp_path)
        async with front.async_setup_kernel():
            code = [c for c in front.nb.cells if c.cell_type == "code"][:4]  # strict, and three
            for cell in code:
                await front.async_execute_cell(cell, front.nb.cells.index(cell))
            (model,) = front.labs()
            state = front.widget_state[model]
            assert "time step 5" in state["page_0"]["pictures"]["who:C"]["table"]
            asked = state["setup"]["question"]
            assert asked["text"] == (
                "after split(i, [2, 4]), bind(i_0, blockIdx.x) and bind(i_1, threadIdx.x), "
                "who computes C[5]?"
            )

            async def do(**content: object) -> None:
                await front.comm(model, {"method": "custom", "content": content})

            await do(do="answer", name=asked["name"], choice=0)
            for verb, args in (
                ("split", {"factors": "[2, 4]"}),
                ("bind", {"thread_axis": '"blockIdx.x"'}),
                ("bind", {"thread_axis": '"threadIdx.x"'}),
            ):
                await do(do="apply", verb=verb, place=state["place"], args=args)
                assert "error" not in state["status"], state["status"]
            page = state["page_3"]
            assert asked["choices"][page["verdict"]["truth"]] == "block 1, thread 1"
            assert "block 1, thread 1" in page["pictures"]["who:C"]["table"]
        saved = json.loads((tmp_path / "my-work" / "01_vector_add.json").read_text())
        assert saved["answers"] == {asked["name"]: asked["choices"][0]} and len(saved["nodes"]) == 3

    asyncio.run(work())
