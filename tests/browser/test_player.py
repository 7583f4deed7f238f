"""The player of lesson 0: blocks that start, wait and are done, moved by pointer and keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, expect

from tests.browser.axe import accessible
from tests.browser.plain import Plain
from workbench import lesson

# The number of a block, how far it is seen, and how far it is filled, in shares of the time.
DRAWN = """(plot) => {
  const room = plot.querySelector('.wb-room').getBoundingClientRect();
  const share = (x) => Math.round((100 * (x - room.x)) / room.width) / 100;
  const ends = (layer) => {
    const box = plot.querySelector(`[data-layer="${layer}"] path`)?.getBoundingClientRect();
    const width = plot.querySelector(`[data-layer="${layer}"]`).width.baseVal.value;
    const cut = plot.getBoundingClientRect().x + width;
    return box ? [share(box.x), share(Math.min(box.right, cut))] : null;
  };
  const numbers = [...plot.querySelectorAll('text[data-start]')]
    .filter((one) => getComputedStyle(one).visibility === 'visible')
    .map((one) => [one.textContent, share(one.getBoundingClientRect().x)]);
  return { whole: ends('whole'), runs: ends('runs'), numbers: Object.fromEntries(numbers) };
}"""


def drawn(player: Locator) -> dict[str, object]:
    expect(player.locator(".wb-room")).to_have_count(1)
    found: dict[str, object] = player.locator(".wb-track-plot").evaluate(DRAWN)
    return found


def waiting(player: Locator) -> list[str]:
    return player.locator(".wb-player-queue > :first-child > span").all_inner_texts()


def test_a_block_is_seen_whole_from_its_start_and_fills(plain: Plain):
    player = plain.show(lesson.gpu(blocks=6))
    time = player.get_by_role("slider")
    first = drawn(player)
    assert first["whole"] == [0, 0.33] and first["numbers"] == {"0": 0.01, "1": 0.01}
    time.press("ArrowRight")
    then = drawn(player)
    assert then["whole"] == [0.33, 0.66] or then["whole"] == [0.33, 0.67]
    assert then["runs"] == [0.33, 0.33]
    assert then["numbers"] == {"0": 0.01, "1": 0.01, "wave 2": 0.33, "2": 0.34, "3": 0.34}
    time.fill("6")
    half = drawn(player)
    assert half["whole"] == then["whole"] and half["runs"] == [0.33, 0.5]
    assert half["numbers"] == then["numbers"], "a number stays where it was"
    assert not plain.faults


def test_blocks_wait_in_a_queue_and_a_question_shows_nothing_else(plain: Plain):
    player = plain.show(lesson.gpu(blocks=6, guess=2))
    time = player.get_by_role("slider")
    assert waiting(player) == ["0", "1", "2", "3", "4", "5"]
    expect(player.locator(".wb-player-ask")).to_contain_text("A block takes 4 steps. When does")
    time.fill("9")
    assert waiting(player) == ["0", "1", "2", "3", "4", "5"]
    covered = drawn(player)
    assert covered["numbers"] == {} and covered["whole"] is None
    time.fill("3")
    player.get_by_role("button", name="that is my guess").click()
    assert waiting(player) == ["2", "3", "4", "5"]
    time.press("PageUp")
    assert waiting(player) == ["4", "5"]
    expect(player.locator(".wb-player-told")).to_have_text(
        "Block 2 starts at time 4, on multiprocessor 0. Until then all places are taken, and block "
        "0 is the first to leave one. You said 3."
    )
    mark = player.locator(".wb-track-plot text", has_text="your guess").bounding_box()
    room = player.locator(".wb-room").bounding_box()
    assert mark and room and mark["y"] + mark["height"] <= room["y"], "it lies over no number"
    time.press("End")
    expect(player.locator(".wb-player-queue")).to_contain_text("waiting: none")
    for scheme in (True, False):
        plain.dark(scheme)
        accessible(plain.page, ".wb-player")


def test_a_guess_is_still_there_when_the_page_is_loaded_again(plain: Plain):
    """With the Python that asked, and where the cell is run anew."""
    asked: dict[str, Any] = {"blocks": 6, "guess": 2, "lesson": "00_gpu"}
    view = lesson.gpu(**asked)
    player = plain.show(view)
    player.get_by_role("slider").fill("3")
    player.get_by_role("button", name="that is my guess").click()
    for again in (view, lesson.gpu(**asked)):
        player = plain.show(again)
        expect(player.locator(".wb-player-ask")).to_have_text("You say: time 3. ")
        expect(player.get_by_role("button", name="that is my guess")).to_have_count(0)
        expect(player.locator(".wb-track-plot text", has_text="your guess")).to_have_count(1)
        expect(player.locator(".wb-player-told").filter(visible=True)).to_have_count(0)
        player.get_by_role("slider").press("PageUp")
        expect(player.locator(".wb-player-told").filter(visible=True)).to_contain_text(
            "Block 2 starts at time 4, on multiprocessor 0."
        )
    Path("my-work/00_gpu_record.json").unlink()
    Path("my-work").rmdir()
    Path("my-work").write_text("a file is in the way")
    player = plain.show(lesson.gpu(**asked))
    player.get_by_role("button", name="that is my guess").click()
    expect(player.get_by_role("status")).to_contain_text("The guess could not be kept: ")
    assert not plain.faults


def test_keys_go_on_upwards_and_a_click_moves_the_time(plain: Plain):
    player = plain.show(lesson.gpu(blocks=8, guess=3))
    time, plot = player.get_by_role("slider"), player.locator(".wb-track-plot")
    said = player.locator(".wb-track-said")
    room = player.locator(".wb-room").bounding_box()
    assert room

    def click(share: float) -> None:
        plain.page.mouse.click(room["x"] + room["width"] * share, room["y"] + 10)

    expect(plot).to_be_visible()
    click(0.25)
    assert abs(float(time.input_value()) - 4) < 0.1
    player.get_by_role("button", name="that is my guess").click()
    for key, now in (
        ("PageUp", 4), ("ArrowUp", 8), ("PageUp", 12), ("PageDown", 8), ("ArrowDown", 4),
        ("ArrowRight", 8), ("ArrowLeft", 4),
    ):  # fmt: skip
        time.press(key)
        expect(said).to_contain_text(f"time {now} steps: ")
    click(0.125)
    assert abs(float(time.input_value()) - 2) < 0.1


def test_words_go_with_the_picture_while_space_plays_it(plain: Plain):
    plain.page.emulate_media(reduced_motion="no-preference")
    try:
        player = plain.show(lesson.gpu(blocks=8))
        time = player.get_by_role("slider")
        wide = time.evaluate("(range) => range.getBoundingClientRect().width")
        time.press(" ")
        expect(player.get_by_role("button", name="pause")).to_be_visible()
        frames = player.evaluate("""async (player) => {
          const found = [];
          for (let k = 0; k < 20; k++) {
            await new Promise(requestAnimationFrame);
            const range = player.querySelector('input');
            const said = player.querySelector('.wb-track-said').textContent;
            found.push([Number(range.value), said, range.getBoundingClientRect().width]);
          }
          return found;
        }""")
        time.press(" ")
        expect(player.get_by_role("button", name="play:")).to_be_visible()
    finally:
        plain.page.emulate_media(reduced_motion="reduce")
    assert frames[-1][0] > frames[0][0]
    for now, said, width in frames:
        told = re.match(r"time ([\d.]+) steps?: ", said)
        assert told and abs(float(told[1]) - now) < 0.06
        assert width == wide


def test_the_slider_lies_below_the_axis_whose_ticks_are_where_blocks_start(plain: Plain):
    player = plain.show(lesson.gpu(blocks=8))
    time = player.get_by_role("slider")
    expect(player.locator(".wb-room")).to_have_count(1)
    words = player.locator(".wb-track-plot text.wb-muted").all_text_contents()
    assert words[-5:] == ["0", "4", "8", "12", "16 steps"]
    room = player.locator(".wb-room").bounding_box()
    range_ = time.bounding_box()
    assert room and range_
    assert abs(range_["x"] + 8 - room["x"]) < 2
    assert abs(range_["x"] + range_["width"] - 8 - room["x"] - room["width"]) < 2
    plain.page.add_style_tag(content=".wb-track { height: 600px !important }")
    expect(player.locator(".wb-track")).to_have_css("height", "600px")
    svg = "document.querySelector('.wb-track-plot > svg')"
    plain.page.wait_for_function(f"{svg}.clientHeight > 400")
    room, range_ = (one.bounding_box() for one in (player.locator(".wb-room"), time))
    assert room and range_ and range_["y"] - room["y"] - room["height"] < 30, "close to the axis"


def test_many_multiprocessors_fit_a_screen(plain: Plain):
    player = plain.show(lesson.gpu(blocks=300, multiprocessors=132))
    expect(player.locator(".wb-track-plot")).to_contain_text("multiprocessor 0: one place")
    plain.page.set_viewport_size({"width": 900, "height": 560})
    box = player.locator(".wb-track").bounding_box()
    assert box and box["height"] <= 360
