"""Pictures fill their pane, and move from where they were; words and lines keep their size."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul, naive
from benchmarks.panes import FREE, MEASURE, OTHER, SIDE, SIZES, TEXT, WORDS, short
from tests.browser.plain import Plain
from tests.draw.test_memory import many
from tests.draw.test_requests import program
from tests.lower.test_pipelines import prefetching
from workbench.ir import PrimFunc

PANES = ["tiles", "memory", "who", "banks", "sectors", "occupancy", "roofline"]

# Each animation stays at its beginning, and is kept.
HOLD = """() => {
  const animate = Element.prototype.animate;
  window.begun = [];
  Element.prototype.animate = function (from, options) {
    const one = animate.call(this, from, options);
    one.pause();
    window.begun.push([one, from, this]);
    return one;
  };
}"""
# Where a shape is seen; and a rectangle of a key that moves, null while none does.
BOX = """el => {
  const { left, top, width, height } = el.getBoundingClientRect();
  return [left, top, width, height];
}"""
BEGINS = f"""key => {{
  const mine = ([, [from], shape]) => from.width && shape.parentNode.dataset.key === key;
  const [, , rect] = window.begun.find(mine) ?? [];
  return rect ? ({BOX})(rect) : null;
}}"""


def rect(lab: Locator, key: str) -> Locator:
    return lab.locator(f'.wb-machine g[data-key="{key}"] rect').filter(visible=True).first


def pressed(key: str, button: Locator, number: int = 0) -> Any:
    """Where a shape of a key is seen as a button is pressed: costs that come draw it anew."""
    press = f"""(button, [key, number]) => {{
      const shapes = document.querySelectorAll(`.wb-machine g[data-key="${{key}}"] rect`);
      const box = ({BOX})([...shapes].filter((one) => one.checkVisibility())[number]);
      button.click();
      return box;
    }}"""
    return button.evaluate(press, [key, number])


def begins(plain: Plain, key: str) -> Any:
    """Where a rectangle of that key is when it begins to move: left, top, width and height."""
    return plain.page.wait_for_function(BEGINS, arg=key).json_value()


@pytest.mark.parametrize("size", SIZES)
def test_each_picture_meets_its_pane(plain: Plain, size: str):
    sch = blocking_with_shared(wb.Schedule(matmul(64)), 2, 2, 4, 4, 4)
    lab = plain.open([wb.lab(wb.Schedule(sch.func), panes=PANES)]).locator(".wb-lab")
    plain.page.set_viewport_size(SIZES[size])
    for pane in PANES:
        name = "who does what" if pane == "who" else pane
        lab.get_by_role("tab", name=name).click()
        expect(lab.locator(".wb-machine .wb-strips > svg").filter(visible=True)).not_to_have_count(
            0
        )
        found = settled(plain, lab)
        least, most = sorted(found["sides"])
        assert most > SIDE and (pane not in FREE or least > OTHER), (pane, found)
        small, large = found["text"]
        assert TEXT[0] - 0.1 < small and large < TEXT[1] + 0.1, (pane, found)
        assert found["meets"] == [], pane


def settled(plain: Plain, lab: Locator) -> Any:
    """What is measured of its picture once all costs are there, which take room from it."""
    expect(lab.locator(".wb-cost-note", has_text="…")).to_have_count(0)
    expect(lab.locator('.wb-costs[style*="min-height"]')).to_have_count(0)  # the time, too
    plain.page.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))")
    return lab.locator(".wb-machine .wb-body").evaluate(MEASURE)


def tiled(size: int) -> PrimFunc:
    return blocking_with_shared(wb.Schedule(matmul(size)), 2, 2, 4, 4, 4).func


CROWDED = {  # pictures of which all that could be said has no room in a small pane
    "who, a cell a step": ("who", lambda: matmul(8)),
    "who, blocks with idle threads": (
        "who",
        lambda: blocking(wb.Schedule(matmul(8)), 2, 2, 3, 3, 4).func,
    ),
    "who, groups": ("who", lambda: matmul(60, 48, 40)),
    "who, threads of a block": ("who", lambda: tiled(64)),
    "memory": ("memory", lambda: tiled(64)),
    "memory, seven lanes": ("memory", many),
    "banks": ("banks", lambda: program("i * 32")),
    "occupancy": ("occupancy", lambda: tiled(64)),
    "pipeline": ("pipeline", lambda: prefetching(32).func),
}


@pytest.mark.parametrize("size", ["829", "949"])
@pytest.mark.parametrize("what", CROWDED)
def test_where_there_is_little_room_less_is_said(plain: Plain, what: str, size: str):
    """Words leave their pane to what is drawn, meet no other, and all is seen without a scroll."""
    pane, make = CROWDED[what]
    plain.page.set_viewport_size(SIZES[size])
    lab = plain.open([wb.lab(wb.Schedule(make()), panes=[pane])]).locator(".wb-lab")
    drawn = lab.locator(".wb-machine .wb-strips > svg").filter(visible=True)
    expect(drawn).not_to_have_count(0)
    found = settled(plain, lab)
    assert short(found | {"pane": pane, "size": size, "fits": True}) == [], found


def test_words_grow_no_further_than_leaves_the_pane_to_the_shapes(plain: Plain):
    """Of a lower scene that is as wide they would take a fifth of its pane."""
    lab = plain.open([wb.lab(wb.Schedule(tiled(64)), panes=["occupancy"])]).locator(".wb-lab")
    expect(lab.locator(".wb-machine .wb-strips > svg").filter(visible=True)).not_to_have_count(0)
    sizes = []
    for high in (892, 680):
        plain.page.set_viewport_size({"width": 949, "height": high})
        found = settled(plain, lab)
        assert found["words"] <= WORDS, found
        sizes.append(found["text"][1])
    assert sizes[0] > sizes[1] + 0.5 and sizes[1] >= 12, sizes


@pytest.mark.parametrize("size", SIZES)
def test_words_of_memory_by_time_meet_no_other_and_no_band(plain: Plain, size: str):
    """In a pane that is low a band has one number."""
    sch = blocking_with_shared(wb.Schedule(matmul(1024)), 8, 8, 8, 8, 8)
    one = wb.lab(wb.Schedule(sch.func), panes=["memory"], costs=["modelled time"])
    plain.page.set_viewport_size(SIZES[size])
    lab = plain.open([one]).locator(".wb-lab")
    expect(lab.locator(".wb-machine text", has_text="µs").filter(visible=True)).not_to_have_count(0)
    found = settled(plain, lab)
    assert found["meets"] == [] and found["text"][0] >= TEXT[0] - 0.1
    drawn = lab.locator(".wb-machine text").filter(visible=True).all_text_contents()
    assert ("× 64" in drawn) == (size != "829"), "all is said where it has room"


def test_a_step_moves_what_it_changes_and_a_level_comes_out_of_the_one_before(plain: Plain):
    sch = naive(wb.Schedule(matmul(64)), 4)
    sch.cache_read("C_update", "A", "shared")
    one = wb.lab(sch, panes=["memory", "tiles"], costs=["blocks"])  # bands by bytes alone
    lab = plain.open([one]).locator(".wb-lab")
    plain.page.emulate_media(reduced_motion="no-preference")
    lab.get_by_role("tab", name="memory").click()
    expect(rect(lab, "load A>A_shared")).to_be_visible()
    lab.get_by_role("button", name="undo").click()
    expect(lab.locator('.wb-machine g[data-key="load A>A_shared"]')).to_have_count(0)
    plain.page.keyboard.press("Shift")  # what moves now is at its end
    plain.page.evaluate(HOLD)
    # it begins as what it lies in, the part below the cache, and crosses nothing
    long = pressed("load A", lab.get_by_role("button", name="redo"), 1)
    assert begins(plain, "load A>A_shared") == pytest.approx(long, abs=1)
    assert plain.page.evaluate("() => window.begun.some(([, , el]) => el.matches('.wb-line'))")
    plain.page.keyboard.press("Shift")
    assert plain.page.evaluate("() => window.begun.every(([one]) => one.playState === 'finished')")

    lab.get_by_role("tab", name="tiles").click()
    expect(rect(lab, "C>block")).to_be_visible()
    tile = pressed("C>block", lab.get_by_role("button", name="block", exact=True))
    assert begins(plain, "C>block") == pytest.approx(tile, abs=1)

    plain.page.emulate_media(reduced_motion="reduce")
    lab.get_by_role("tab", name="memory").click()
    expect(rect(lab, "load A>A_shared")).to_be_visible()
    lab.get_by_role("button", name="undo").click()
    expect(lab.locator(".wb-machine .wb-arrived")).not_to_have_count(0)
    plain.page.keyboard.press("Shift")
    expect(lab.locator(".wb-machine .wb-arrived")).to_have_count(0)
