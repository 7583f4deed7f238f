"""The memory picture: arrows for all that is loaded, over no box and no text, with no ids."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul
from tests.support.gpu_programs import parsed, window_steps
from workbench import draw, insight
from workbench.draw.svg import width_of
from workbench.insight import BufferUse, Flow, Level, Memory, Table
from workbench.ir import PrimFunc

Rect = tuple[float, float, float, float]
Spot = tuple[float, float]


def naive(size: int = 8) -> PrimFunc:
    return matmul(size)


def shared() -> PrimFunc:
    sch = wb.Schedule(matmul(1024))
    blocking_with_shared(sch, 8, 8, 8, 8, 8)
    return sch.func


def kept() -> PrimFunc:
    sch = wb.Schedule(matmul(64))
    blocking(sch, 2, 2, 4, 4, 4, keep=True)
    return sch.func


def many() -> PrimFunc:
    return parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), Bias: T.Buffer((8,), "float32"),
         Scale_of_rows: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32"),
         C: T.Buffer((8,), "float32")):
    T1 = T.alloc_buffer((8,), "float32")
    T2 = T.alloc_buffer((8,), "float32", scope="local")
    S = T.alloc_buffer((8,), "float32", scope="shared")
    for i in range(8):
        with T.block("T1"):
            vi = T.axis.spatial(8, i)
            T1[vi] = A[vi] + Bias[vi] * Scale_of_rows[vi]
    for i in range(8):
        with T.block("S"):
            vi = T.axis.spatial(8, i)
            S[vi] = T1[vi] + D[vi]
    for i in range(8):
        with T.block("T2"):
            vi = T.axis.spatial(8, i)
            T2[vi] = S[vi] + A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T2[vi] + Bias[vi] + S[vi]
""")


def some_memory(seed: int) -> Memory:
    """Up to five buffers at each level and up to eight flows between any of them."""
    rng = random.Random(seed)
    levels, names = [], []
    for scope, owner in (("global", "grid"), ("shared", "block"), ("local", "thread")):
        own = [f"{scope[0]}{k}" + "_copy" * rng.randint(0, 2) for k in range(rng.randint(0, 4))]
        names += own
        uses = tuple(BufferUse(n, "float32", (8,), "input", 32, 8, 8, 32, 32, 1.0) for n in own)
        levels.append(Level(scope, owner, 32 * len(own), None, 0, 0, 0, 0, uses))
    pairs = {tuple(rng.choices(names, k=2)) for _ in range(rng.randint(1, 8))} if names else set()
    flows = tuple(Flow("C", a, b, "", "", 8, 32) for a, b in sorted(pairs))
    return Memory(tuple(levels), flows, "Some.", Table((), ()))


PROGRAMS = {
    "naive": naive, "shared": shared, "kept": kept, "many": many,
    "window": lambda: window_steps()["cooperative"],
}  # fmt: skip
MEMORIES = [pytest.param(lambda make=make: insight.memory(make()), id=name)
            for name, make in PROGRAMS.items()]  # fmt: skip
MEMORIES += [pytest.param(lambda seed=seed: some_memory(seed), id=str(seed)) for seed in range(40)]


def elements(strip: str, name: str, kind: str = "") -> list[ElementTree.Element]:
    tree = ElementTree.fromstring(strip)
    found = (e for e in tree.iter() if e.tag.endswith("}" + name))
    return [e for e in found if kind in e.get("class", "").split() or not kind]


def number(element: ElementTree.Element, *names: str) -> tuple[float, ...]:
    return tuple(float(element.get(name, "0")) for name in names)


def texts(strip: str) -> list[Rect]:
    """The boxes of all words, without the numbers of the arrows and the legend below them."""
    made = []
    last = max(y + h for _, y, _, h in boxes(strip, "wb-soft"))
    for element in elements(strip, "text"):
        x, y = number(element, "x", "y")
        label, kind = element.text or "", element.get("class", "")
        if y > last or (kind == "wb-strong" and label.isdigit()):
            continue
        wide = width_of(label, kind)
        left = {"start": x, "middle": x - wide / 2}[element.get("text-anchor", "start")]
        made.append((left, y - 9, wide, 11))
    return made


def boxes(strip: str, kind: str) -> list[Rect]:
    return [number(e, "x", "y", "width", "height") for e in elements(strip, "rect", kind)]


def corners(path: ElementTree.Element) -> list[Spot]:
    numbers = list(map(float, re.findall(r"-?[\d.]+", path.get("d", ""))))
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def crosses(a: Spot, b: Spot, rect: Rect) -> bool:
    x, y, wide, high = rect
    (x0, x1), (y0, y1) = sorted((a[0], b[0])), sorted((a[1], b[1]))
    return x0 < x + wide and x1 > x and y0 < y + high and y1 > y


@pytest.mark.parametrize("make", MEMORIES)
def test_arrows_cross_no_box_and_no_text(make):
    memory = make()
    (strip,) = draw.memory_picture(memory).strips
    lines, heads = elements(strip, "path", "wb-arrow"), elements(strip, "path", "wb-head")
    assert len(lines) == len(heads) == len(memory.flows)
    obstacles = boxes(strip, "wb-chip") + texts(strip)
    for line in lines:
        spots = corners(line)
        for a, b in pairwise(spots):
            assert a[0] == b[0] or a[1] == b[1], "arrows turn at right angles"
            assert not any(crosses(a, b, rect) for rect in obstacles), strip
    for x, y in (number(e, "cx", "cy") for e in elements(strip, "circle")):
        assert not any(crosses((x - 7, y - 7), (x + 7, y + 7), rect) for rect in obstacles)
    width = float(re.search(r'width="([\d.]+)"', strip)[1])
    assert all(0 < x < width for e in [*lines, *heads] for x, _ in corners(e))


@pytest.mark.parametrize("make", MEMORIES)
def test_arrows_end_at_the_boxes_that_they_join(make):
    memory = make()
    (strip,) = draw.memory_picture(memory).strips
    names = re.findall(r'<g data-name="([^"]*)"', strip)
    chips = dict(zip(names, boxes(strip, "wb-chip"), strict=True))
    lines, heads = elements(strip, "path", "wb-arrow"), elements(strip, "path", "wb-head")
    for flow, line, head in zip(memory.flows, lines, heads, strict=True):
        for name, (x, y) in ((flow.source, corners(line)[0]), (flow.target, corners(head)[0])):
            left, top, wide, high = chips[name]
            assert left < x < left + wide and y in (top, top + high)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lines_of_a_program_do_not_lie_on_each_other(name: str):
    (strip,) = draw.memory_picture(insight.memory(PROGRAMS[name]())).strips
    pieces = []
    for k, line in enumerate(elements(strip, "path", "wb-arrow")):
        spots = corners(line)
        pieces += [(k, a, b) for a, b in pairwise(spots)]
    for k, a, b in pieces:
        for j, c, d in pieces:
            along = 0 if a[1] == b[1] == c[1] == d[1] else 1 if a[0] == b[0] == c[0] == d[0] else -1
            if j <= k or along < 0:
                continue
            (low, high), (start, end) = sorted((a[along], b[along])), sorted((c[along], d[along]))
            assert high < start or end < low, strip


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_of_a_program_stand_clear_of_other_lines(name: str):
    (strip,) = draw.memory_picture(insight.memory(PROGRAMS[name]())).strips
    middles = [number(e, "cx", "cy") for e in elements(strip, "circle")]
    lines = [corners(e) for e in elements(strip, "path", "wb-arrow")]
    for k, (x, y) in enumerate(middles):
        around = (x - 8, y - 8, 16, 16)
        others = [pair for j, line in enumerate(lines) if j != k for pair in pairwise(line)]
        assert not any(crosses(a, b, around) for a, b in others), strip
        assert all(max(abs(x - a), abs(y - b)) > 15 for a, b in middles[:k])


def test_what_is_updated_in_place_has_an_arrow_and_a_line():
    (strip,) = draw.memory_picture(insight.memory(naive())).strips
    words = [e.text for e in elements(strip, "text")]
    assert "① C, updated in place: 512 elements, 2 KiB" in words
    assert "② A → C: 512 elements, 2 KiB" in words
    assert len(elements(strip, "path", "wb-arrow")) == 3
    (strip,) = draw.memory_picture(insight.memory(shared())).strips
    words = [e.text for e in elements(strip, "text")]
    assert "③ C_local, in place: 1,073,741,824 elements, 4 GiB" in words


def test_nothing_is_referred_to_by_an_id():
    """The first element with an id may stand in a hidden tab; what refers to it would vanish."""
    (strip,) = draw.memory_picture(insight.memory(shared())).strips
    assert "url(" not in strip and ' id="' not in strip and "href" not in strip
