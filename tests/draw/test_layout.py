"""Where sheets stand: none over another, nor over the legend, whatever their sizes."""

from __future__ import annotations

from itertools import combinations

from hypothesis import example, given
from hypothesis import strategies as st

from workbench.draw.layout import CORNER, LEAST, LEFT, LEGEND, TITLE, WIDTH, Size, Spot, fitting

Box = tuple[float, float, float, float]

sizes = st.builds(
    Size, st.integers(1, 4096), st.integers(1, 4096), st.floats(30, 110, allow_nan=False)
)


def taken(spot: Spot, size: Size) -> Box:
    """Left, top, right and bottom of a sheet with its title."""
    left, right = min(spot.x, spot.left), max(spot.x + spot.width, spot.left + size.title)
    return left, spot.y - TITLE, right, spot.y + spot.height


def apart(a: Box, b: Box) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


@example([Size(8, 8, 50), Size(8, 8, 50), Size(8, 8, 90), Size(8, 8, 50)], True)
@given(st.lists(sizes, min_size=3, max_size=6), st.booleans())
def test_no_sheet_lies_over_another_or_the_legend(given: list[Size], linked: bool):
    if linked:  # those of a product share their dimensions
        a, b, _ = given[:3]
        given = [Size(a.rows, b.rows, a.title), b, Size(a.rows, b.columns, b.title), *given[3:]]
    layout = fitting(tuple(given), linked)
    legend = (LEFT, 0.0, LEFT + CORNER[0], CORNER[1]) if layout.corner else (LEFT, 0, WIDTH, LEGEND)
    boxes = [legend, *(taken(*pair) for pair in zip(layout.spots, given, strict=True))]
    assert all(apart(a, b) for a, b in combinations(boxes, 2)), boxes


@example([Size(16, 64, 80), Size(16, 64, 80), Size(64, 64, 80)], False)
@given(st.lists(sizes, min_size=3, max_size=6), st.booleans())
def test_a_cell_is_as_large_in_all_sheets(given: list[Size], linked: bool):
    """But for a row of cells, which is a bar, and sheets that would not be seen."""
    if linked:
        a, b, _ = given[:3]
        given = [Size(a.rows, b.rows, a.title), b, Size(a.rows, b.columns, b.title), *given[3:]]
    spots = zip(fitting(tuple(given), linked).spots, given, strict=True)
    cells = [
        spot.width * spot.height / (size.rows * size.columns)
        for spot, size in spots
        if size.rows > 1 and min(spot.width, spot.height) > LEAST
    ]
    assert not cells or max(cells) < 1.1 * min(cells)
