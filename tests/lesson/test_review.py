"""What a learner did, read back from the files of the labs, the quizzes and the checks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import workbench as wb
from benchmarks.matmuls import matmul
from tests.widgets.programs import ADD, bind_both, parse, send
from workbench import lesson
from workbench.diag import Fail
from workbench.lesson import collect
from workbench.lesson.questions import LESSONS
from workbench.lesson.review import MIME
from workbench.widgets.page.guess import Guess, weighed


@pytest.fixture
def worked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a lab, a quiz and an exercise of lesson 1 were answered."""
    monkeypatch.chdir(tmp_path)
    file = "my-work/01_vector_add.json"
    for name, choice in (("vector_2_4", 0), ("vector_4_2", 4)):
        lab = wb.lab(
            wb.Schedule(parse(ADD)), question=lesson.question(name), autosave=tmp_path / file
        )
        send(lab, do="answer", name=lab.setup["question"]["name"], choice=choice)
        if name == "vector_2_4":
            bind_both(lab, "[2, 4]")
    quiz = lesson.quiz("01_end")
    quiz._handle_custom_msg({"do": "answer", "item": 1, "choice": 2}, [])
    exercise = lesson.exercise("odd_vector")
    mine = exercise.schedule()
    mine.split("i", factors=[None, 64])
    mine.bind("i_0", "blockIdx.x")
    mine.bind("i_1", "threadIdx.x")
    exercise.check(mine)
    return tmp_path


def test_a_review_has_first_answers_how_they_came_out_and_points(worked: Path):
    found = lesson.review("01_vector_add")
    asked = {name: lesson.question(name).name for name in ("vector_2_4", "vector_4_2")}
    assert str(found).splitlines() == [
        f"✕ {asked['vector_2_4']}: block 0, thread 5; it is “block 1, thread 1”",
        f"· {asked['vector_4_2']}: not sure",
        "✓ How many threads of this launch have nothing to do?: 28 threads",
        "✓ exercise odd_vector: 4 of 4 points",
    ]
    shown = found._repr_mimebundle_()
    assert shown[MIME]["points"] == {"odd_vector": (4, 4)}
    table, _ = shown["text/html"].split("<script>")
    assert table.count("<tr>") == 5 and "`" not in table


def test_progress_counts_them(worked: Path):
    zero, first, second, *_ = lesson.progress().rows
    assert zero == ("00 gpu", "none", "0 of 6", "none")
    assert first == ("01 vector add", "2 of 3", "1 of 3", "4 of 4 points")
    assert second == ("02 window sum", "0 of 4", "0 of 5", "0 of 5 points")
    assert str(lesson.progress()).splitlines()[2].split("  ")[0] == "01 vector add"
    assert lesson.progress()._repr_html_().count("<tr>") == 1 + len(LESSONS)


def test_nothing_done_and_files_that_are_none_of_ours(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nothing = "01_vector_add: nothing answered and nothing checked yet."
    assert repr(lesson.review("01_vector_add")) == nothing
    (tmp_path / "my-work").mkdir()
    for name in ("01_vector_add.json", "01_vector_add_record.json"):
        for text in ("", "[]", "{}", '{"nodes": 3}', "\0"):
            (tmp_path / "my-work" / name).write_text(text)
            said, *told = repr(lesson.review("01_vector_add")).splitlines()
            assert said == nothing
            assert all(line.startswith(f"left out of {tmp_path}") for line in told)
    assert len(told) == 2 and told == repr(lesson.progress()).splitlines()[-2:]
    with pytest.raises(Fail) as refused:
        lesson.review("05")
    assert str(refused.value).splitlines()[0] == "Can't find the lesson '05'."


LINES = [
    "learner,lesson,where,question,answer,right,points,of",
    '{},01_vector_add,lab,"who computes C[5] after split(i, [2, 4]), bind(i_0, blockIdx.x) and '
    'bind(i_1, threadIdx.x)","block 0, thread 5",no,,',
    '{},01_vector_add,lab,"who computes C[5] after split(i, [4, 2]), bind(i_0, blockIdx.x) and '
    'bind(i_1, threadIdx.x)",not sure,,,',
    "{},01_vector_add,quiz 01_end 2,How many threads of this launch have nothing to do?,28 "
    "threads,yes,,",
    "{},01_vector_add,exercise,odd_vector,,,4,4",
]


@pytest.mark.parametrize("handed_in", ["my-work", "the notebook"])
def test_a_class_is_collected(handed_in: str, worked: Path, tmp_path_factory, capsys):
    """From what was kept beside the notebooks, or from the output of their last cell."""
    folder = tmp_path_factory.mktemp("class")
    for learner in ("ada", "grace"):
        (folder / learner / "first").mkdir(parents=True)
        place = folder / learner / "first"
        if handed_in == "my-work":
            shutil.copytree(worked / "my-work", place / "my-work")
        else:
            data = json.loads(json.dumps(lesson.review("01_vector_add")._repr_mimebundle_()))
            cell = {"outputs": [{"output_type": "execute_result", "data": data}]}
            notebook = json.dumps({"cells": [{"source": "no outputs"}, cell]})
            (place / "01_vector_add.ipynb").write_text(notebook)
        (place / "02_window_sum.ipynb").write_text("half a notebook {")
    assert collect.main([str(folder)]) == 1
    lines = [line.format(f"{who}/first") for who in ("ada", "grace") for line in LINES[1:]]
    said = capsys.readouterr()
    assert said.out.splitlines() == [LINES[0], *lines]
    halves = [f"left out of {folder}/{who}/first/02_window_sum.ipynb: " for who in ("ada", "grace")]
    assert all(map(str.startswith, said.err.splitlines(), halves)) and said.err.count("\n") == 2


def test_one_damaged_record_costs_nobody_else_a_line(tmp_path: Path, capsys):
    def hand_in(learner: str, text: str) -> Path:
        file = tmp_path / learner / "my-work" / "01_vector_add_record.json"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        return file

    def kept(key: str, points: object) -> str:
        part = {key: {"points": points, "of": 4}}
        return json.dumps({"format": "workbench record 1", "quiz": {}, "points": part})

    hand_in("anna", kept("odd_vector", 4))
    wrong = [hand_in(f"b{k}", kept("odd_vector", n)) for k, n in enumerate((None, "4", 9, -3))]
    wrong.append(hand_in("cut", kept("odd_vector", 4)[:-20]))
    hand_in("=1+2", kept("odd_vector 2", 4))
    wrong.append(hand_in("forged", kept("=HYPERLINK()", 4)))
    wrong.append(hand_in("large", kept("odd_vector", 4).replace('"of": 4', '"of": 1000')))
    assert collect.main([str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[1:] == [
        "'=1+2,01_vector_add,exercise,odd_vector 2,,,4,4",
        "anna,01_vector_add,exercise,odd_vector,,,4,4",
    ]
    told = said.err.splitlines()
    assert [line.split(": ")[0] for line in told] == [f"left out of {file}" for file in wrong]
    assert told[0].endswith(": there cannot be such points of 'odd_vector'")
    said = repr(lesson.review("01_vector_add", tmp_path / "b0"))
    assert said.splitlines()[0].endswith("nothing checked yet.") and said.endswith(told[0])


@pytest.mark.parametrize("gpu", ["nvidia/h200", "nvidia/a100"])
def test_a_guess_is_judged_by_the_gpu_of_its_lab(tmp_path: Path, monkeypatch, gpu: str):
    """What the lab said is what the review says, on whatever GPU one looks."""
    monkeypatch.chdir(tmp_path)
    question = LESSONS["08_why_is_it_slow"]["blocks_time"]
    assert isinstance(question, Guess)
    sch = wb.Schedule(matmul(1024))
    lesson.in_shared(sch, (4, 4), (16, 16), 8)
    decides = sch.node
    sch.goto(0)
    lab = wb.lab(
        sch, question=question, target=gpu, autosave=tmp_path / "my-work/08_why_is_it_slow.json"
    )
    found = weighed(decides.func, question.cost, gpu)
    assert found is not None
    send(lab, do="guess", name=question.name, number=f"{found.number:.4g}")
    lab.at = decides.id
    send(lab, do="model")
    assert lab.session.page["guess"]["told"][0].startswith("✓ Close")
    (answer,) = lesson.review("08_why_is_it_slow").answers
    assert answer.right and answer.answer.endswith("µs") == (gpu == "nvidia/h200")


def test_there_must_be_a_folder(tmp_path: Path, capsys):
    assert collect.main([str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none'} is no folder\n"
