"""The machine in small: a queue, as a track, with the warps of its blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.list_scheduler import Grid, places
from workbench import lesson
from workbench.diag import Fail
from workbench.draw import Rect, warps_scene
from workbench.lesson import record
from workbench.lesson.machine import (
    Machine,
    asked_of,
    idle_lanes,
    length,
    start_of,
    told,
    track_of,
)


def test_blocks_go_to_whoever_has_room_first():
    starts = [start_of(block, 8, Machine(multiprocessors=2, room=1)) for block in range(8)]
    assert starts == [f"time {t}" for t in (0, 0, 4, 4, 8, 8, 12, 12)]
    assert length(17, Machine(4)) == "20 steps"


@pytest.mark.parametrize("machine", [Machine(1), Machine(3), Machine(2, room=2), Machine(4, 3, 1)])
def test_the_model_is_that_of_the_timeline(machine: Machine):
    track = track_of(17, machine)
    found = [track.span(track.spans[0], k)[1:5] for k in range(17)]
    grid = Grid(machine.multiprocessors, machine.room, (float(machine.steps),), (0,) * 17)
    assert found == places(grid)


def test_each_change_is_told():
    assert told(track_of(3, Machine())) == [
        "Time 0 steps: 2 of 3 blocks run, 1 wait, 0 done.",
        "Time 4 steps: 1 of 3 blocks run, 0 wait, 2 done.",
        "Time 8 steps: all is done.",
    ]


def test_lanes_without_a_thread_are_hollow():
    scene = warps_scene(80)
    lanes = [shape.role for shape in scene.shapes if isinstance(shape, Rect)]
    assert lanes == ["stored"] * 80 + ["idle"] * 16
    assert scene.words[-1] == "threads 64 to 79, 16 lanes empty"
    assert idle_lanes(80) == "16 lanes" and idle_lanes(64) == "0 lanes"


def test_the_player_tells_without_a_script():
    player = lesson.gpu(blocks=3, room=2)
    assert repr(player) == (
        "3 blocks of 64 threads on 2 multiprocessors, room for 2 blocks each (2 times at which "
        "something begins or ends)"
    )
    assert "<li>Time 0 steps: 3 of 3 blocks run, 0 wait, 0 done.</li>" in player.still()


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"room": 0}, "room=0: it is a whole number from 1 to 32"),
        ({"blocks": 0}, "blocks=0: it is a whole number from 1 to 10,000"),
        ({"threads": 2000}, "threads=2000: it is a whole number from 1 to 1,024"),
        ({"multiprocessors": -1}, "multiprocessors=-1: it is a whole number from 1 to 200"),
        ({"steps": 0.5}, "steps=0.5: it is a whole number from 1 to 1,000"),
    ],
)
def test_a_launch_that_cannot_be_is_refused(numbers: dict[str, Any], said: str):
    with pytest.raises(Fail) as refused:
        lesson.gpu(**numbers)
    name = next(iter(numbers))
    assert str(refused.value) == (
        f"Can't launch with {said}.\ndo:    give it another number, or leave `{name}` out"
    )


def test_a_guess_is_told_with_its_reason():
    machine = Machine(2, room=2)
    late, first = (asked_of(track_of(8, machine), block, machine) for block in (5, 1))
    assert late["text"] == "A block takes 4 steps. When does block 5 start? Move the time there."
    assert late["told"] == (
        "Block 5 starts at time 4, on multiprocessor 1. Until then all places are taken, and block "
        "1 is the first to leave one."
    )
    assert first["told"].endswith("multiprocessor 1. It finds room at once.")


def test_a_guess_is_of_a_block_that_there_is():
    with pytest.raises(Fail) as refused:
        lesson.gpu(blocks=8, guess=8)
    assert str(refused.value) == (
        "Can't ask when block 8 starts: the launch has blocks 0 to 7.\n"
        "do:    name one of them, or leave `guess` out"
    )


def test_the_first_guess_is_kept_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    asked = {"blocks": 6, "guess": 2, "lesson": "00_gpu"}
    player, fresh = lesson.gpu(**asked), lesson.gpu(**asked)
    assert player.asked["given"] is None
    player._handle_custom_msg({"time": 3}, [])
    fresh._handle_custom_msg({"time": 4}, [])  # the same cell in another window
    assert (player.asked["given"], player.asked["kept"]) == (3, "")
    assert lesson.gpu(**asked).asked["given"] == 3
    assert lesson.gpu(**asked | {"guess": 5}).asked["given"] is None, "that is another question"
    assert "given" not in lesson.gpu(blocks=6, guess=2).asked
    kept = json.loads((tmp_path / "my-work" / "00_gpu_record.json").read_text())["guesses"]
    assert [*kept.values()] == [{"time": 3}]


@pytest.mark.parametrize("odd", [True, "3", None, 3.5, -1, 10**9])
def test_what_is_no_guess_is_not_taken(odd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    player = lesson.gpu(blocks=6, guess=2, lesson="00_gpu")
    player._handle_custom_msg({"time": odd}, [])
    assert player.asked["given"] is None and not (tmp_path / "my-work").exists()
    key = f"when block 2 of {player.name} starts"
    record.note(record.file_of("00_gpu"), "guesses", key, {"time": odd})
    assert lesson.gpu(blocks=6, guess=2, lesson="00_gpu").asked["given"] is None


def test_where_a_guess_cannot_be_kept_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-work").write_text("a file is in the way")
    player = lesson.gpu(blocks=6, guess=2, lesson="00_gpu")
    player._handle_custom_msg({"time": 3}, [])
    assert player.asked["given"] == 3
    assert player.asked["kept"].startswith("The guess could not be kept: ")
