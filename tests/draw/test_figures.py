"""sch.figure: a program's pictures as matplotlib figures, and what it says where there is none."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from workbench import ScheduleError
from workbench.diag import Fail
from workbench.draw import Words, picture_of

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def sch() -> wb.Schedule:
    made = wb.Schedule(matmul(64))
    made.mark("start")
    return blocking_with_shared(made, 2, 2, 4, 4, 8)


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.tool
def test_each_picture_is_a_figure(sch):
    assert "A_shared" in texts(sch.figure("memory"))
    assert any(line.startswith("C[0, 5] is computed by") for line in texts(sch.figure("who")))
    assert "A_shared[0:8" not in texts(sch.figure("who", buffer="A_shared"))
    tiles = texts(sch.figure("tiles", block=(1, 2), thread=3, k_0=4))
    assert {"whole", "block", "thread"} <= set(tiles), "over the strips"
    assert any(line.startswith("With blockIdx.x = 1, blockIdx.y = 2") for line in tiles)
    assert "bank" in texts(sch.figure("banks", buffer="B_shared", thread=5, k_0=1))
    assert "lane" in texts(sch.figure("sectors", warp=0))
    assert "block slots" in texts(sch.figure("occupancy"))
    assert "operations a second" in texts(sch.figure("roofline"))


def test_the_step_before_is_in_it(sch):
    before = re.compile(r"\([\d.,]+ \w*B\)").fullmatch
    assert not any(map(before, texts(sch.figure("memory"))))
    assert any(map(before, texts(sch.figure("memory", before="start"))))


@pytest.mark.parametrize(
    "picture, given, said",
    [
        (
            "tile",
            {},
            """\
Can't draw it: there is no picture 'tile'.
asked: sch.figure("tile")
do:    there are: who, memory, tiles""",
        ),
        (
            "tiles",
            {"block": (1, 2), "q": 3},
            """\
Can't draw it: the program has no axis 'q'.
asked: sch.figure("tiles", block=[1, 2], q=3)
do:    it has: blockIdx.x, blockIdx.y, threadIdx.x, """,
        ),
        (
            "tiles",
            {"k_0": 8},
            """\
Can't draw it: k_0 runs from 0 to 7, not to 8.
asked: sch.figure("tiles", k_0=8)
do:    choose one of these values""",
        ),
        (
            "tiles",
            {"k_0": "1"},
            """\
Can't draw it: k_0 takes a whole number, not '1'.
asked: sch.figure("tiles", k_0="1")
do:    """,
        ),
        (
            "tiles",
            {"block": (1, 2, 0, 0)},
            """\
Can't draw it: block takes 3 numbers at most, not 4.
asked: sch.figure("tiles", block=[1, 2, 0, 0])
do:    """,
        ),
        (
            "who",
            {"buffer": "A"},
            """\
Can't draw it: the program writes no buffer 'A'.
asked: sch.figure("who", buffer="A")
do:    it writes: """,
        ),
        (
            "memory",
            {"buffer": "A"},
            """\
Can't draw it: 'memory' shows all buffers, not one.
asked: sch.figure("memory", buffer="A")
do:    leave `buffer` out""",
        ),
        (
            "who",
            {"k_0": 1},
            """\
Can't draw it: 'who' shows all of the program.
asked: sch.figure("who", k_0=1)
do:    leave k_0 out""",
        ),
    ],
)
def test_what_there_is_not_is_told_in_words(sch, picture, given, said):
    with pytest.raises(ScheduleError) as told:
        sch.figure(picture, **given)
    assert str(told.value).startswith(said)


def test_a_mark_that_there_is_not(sch):
    with pytest.raises(ScheduleError, match="nowhere"):
        sch.figure("memory", before="nowhere")


def test_each_picture_is_a_file_for_paper_in_which_words_are_text(sch, tmp_path):
    for name in ("who", "memory", "tiles", "banks"):
        path = tmp_path / f"{name}.svg"
        assert sch.figure(name, path=path) is None
        root = ElementTree.parse(path).getroot()
        found = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        picture = picture_of(sch.func, name)
        shapes = [shape for strip in picture.strips for shape in strip.shapes]
        words = [shape.label for shape in shapes if isinstance(shape, Words)]
        told = len(words) + len(picture.heads)
        assert sorted(found[:told]) == sorted([*words, *picture.heads]), name
        assert " ".join(found[told:]).split() == picture.caption.split(), name


def test_titles_have_lines_and_captions_of_narrow_pictures_have_room(tmp_path):
    bare = wb.Schedule(matmul(8))
    bare.figure("tiles", path=tmp_path / "tiles.svg")
    root = ElementTree.parse(tmp_path / "tiles.svg").getroot()
    titles = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(len(title.splitlines()) > 1 for title in titles)
    assert not any("\\n" in title for title in titles)
    bare.figure("pipeline", path=tmp_path / "pipeline.svg")
    root = ElementTree.parse(tmp_path / "pipeline.svg").getroot()
    lines = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sum(len(line.split()) for line in lines) > 4 * len(lines)


def test_another_kind_of_file_is_refused(sch):
    with pytest.raises(Fail) as told:
        sch.figure("who", buffer="C", path="who.png")
    assert (
        str(told.value)
        == """\
Can't write the picture to 'who.png': it is written as SVG.
do:    end the name with .svg; without path=, .savefig(…) of what is returned writes other kinds"""
    )
