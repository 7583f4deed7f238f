"""The machine in small: a queue, drawn at each time."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from workbench import lesson
from workbench.lesson.machine import Machine, Stay, frames, stays, warps


def test_blocks_go_to_whoever_has_room_first():
    found = stays(8, Machine(multiprocessors=2, room=1, steps=4))
    assert [s.start for s in found] == [0, 0, 4, 4, 8, 8, 12, 12]
    assert [s.multiprocessor for s in found] == [0, 1] * 4
    assert found[4] == Stay(block=4, multiprocessor=0, place=0, start=8, end=12)


@pytest.mark.parametrize("machine", [Machine(1), Machine(3), Machine(2, room=2), Machine(4, 3, 1)])
def test_no_place_has_two_blocks_none_stands_empty_while_one_waits(machine: Machine):
    found = stays(17, machine)
    assert [s.block for s in found] == list(range(17))
    for t in range(max(s.end for s in found)):
        running = [(s.multiprocessor, s.place) for s in found if s.start <= t < s.end]
        assert len(set(running)) == len(running)
        full = len(running) == machine.multiprocessors * machine.room
        assert full or not [s for s in found if s.start > t]


def test_a_warp_has_32_threads_but_for_the_last():
    assert warps(80) == [(0, 31), (32, 63), (64, 79)]
    assert warps(32) == [(0, 31)]


def test_each_time_is_drawn_and_told():
    shown = frames(8, 64, Machine())
    assert len(shown) == 17
    assert [sentence for _, sentence in shown][5] == (
        "Time 5: blocks running 2, 3; waiting 4, 5, 6, 7; done 0, 1."
    )
    for svg, _ in shown:
        drawn = ElementTree.fromstring(svg)
        box = [float(drawn.get(side, "0")) for side in ("width", "height")]
        for rect in drawn.iter("{http://www.w3.org/2000/svg}rect"):
            x, y, w, h = (float(rect.get(k, "0")) for k in ("x", "y", "width", "height"))
            assert x + w <= box[0] and y + h <= box[1]
        words = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
        assert words.count("warp 0: 0–31") == sum(str(w).startswith("block") for w in words)


def test_the_player_tells_without_a_script():
    player = lesson.gpu(blocks=3, room=2)
    assert repr(player) == (
        "3 blocks of 64 threads on 2 multiprocessors, room for 2 blocks each (5 pictures, one for "
        "each time)"
    )
    assert "<li>Time 0: blocks running 0, 1, 2.</li>" in player.still()
