"""The picture of an ablation: a bar a decision, the longest first, and what it comes to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench import draw
from workbench.draw.scene import Rect
from workbench.tuning import Ablation, Outcome, Without

AGAIN = Outcome("correct", "measured", (2e-6,))
REFUSED = Outcome("constraints", "measured", (), "64 threads are fewer than 128")


def told(*ratios: float | None) -> Ablation:
    parts = [
        Without(
            name,
            "8",
            "4",
            REFUSED if ratio is None else Outcome("correct", "measured", (2e-6 * ratio,)),
            ratio,
        )
        for name, ratio in zip("ijk", ratios, strict=False)
    ]
    return Ablation(7, 0, AGAIN, tuple(parts))


def test_a_bar_is_as_long_as_the_best_takes_longer():
    picture = draw.ablation_picture(told(2.0, None, 4.0))
    bars = [shape for shape in picture.strips[0].shapes if isinstance(shape, Rect)]
    assert [bar.width for bar in bars] == pytest.approx([390, 195]), "by the logarithm"
    words = picture.strips[0].words
    assert words.index("k") < words.index("i") < words.index("j")
    assert "✕ 64 threads are fewer than 128" in words and "4.00 ×" in words
    assert picture.table.rows[1][3] == "64 threads are fewer than 128"
    assert picture.caption == "k matters most: without it, the best takes 4.00 times as long."


def test_what_is_the_same_in_both_is_named_below_the_axis():
    """Else one who counts the bars takes it for what a rule refuses."""
    without = draw.ablation_picture(told(2.0))
    picture = draw.ablation_picture(replace(told(2.0), same=(("j", "16"), ("k", "32"))))
    words = picture.strips[0].words
    assert words[-4:] == ["j", "16, the same in both", "k", "32, the same in both"]
    assert picture.strips[0].height == without.strips[0].height + 40
    rows = [("j", "16", "the same", "", ""), ("k", "32", "the same", "", "")]
    assert picture.table.rows[1:] == tuple(rows)


@pytest.mark.parametrize(
    "ratios, said",
    [
        ((), "Trial 7 has no decision that trial 0 has not."),
        ((None,), "No decision of trial 0 goes together with the others of trial 7."),
        ((1.002, 0.9), "No decision of trial 7 matters by itself: without any one it is as fast."),
    ],
)
def test_where_none_matters_it_says_so(ratios: tuple[float | None, ...], said: str):
    picture = draw.ablation_picture(told(*ratios))
    assert picture.caption == said
    assert not [s for s in picture.strips[0].shapes if isinstance(s, Rect) and s.width > 2]
