"""The memory picture: straight lanes through places inside places, over no box."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any, TypeGuard

import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul
from tests.support.cases import seeds
from tests.support.gpu_programs import parsed, window_steps
from workbench import draw, insight
from workbench.draw.bands import thickness
from workbench.draw.colours import ROLES, Mix
from workbench.draw.scene import Path, Rect, Scene, Words, width_of
from workbench.draw.svg import svg
from workbench.insight import At, BufferUse, Flow, Level, Memory, Table
from workbench.insight.lanes import lanes_of
from workbench.ir import PrimFunc


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
        uses = tuple(
            BufferUse(n, "float32", (8,), "input", 32, 8, 8, 32, 32, 1.0, 1.0) for n in own
        )
        levels.append(Level(scope, owner, 32 * len(own), None, 0, 0, 0, 0, uses))
    lanes = [[use.buffer for use in levels[0].buffers[k : k + 1]] for k in range(5)]
    for level in levels[1:]:  # each buffer is a copy in a lane of its own, or is none
        for lane, use in zip(rng.sample(lanes, len(level.buffers)), level.buffers, strict=False):
            lane.append(use.buffer)
    flows = []
    for lane in lanes:
        for pair in pairwise(lane):
            a, b = rng.choice((pair, pair[::-1]))
            at = rng.choice((None, At("k_0", 7, "turn"), At("ax0_ax1_ax2_fused_1", 12, "thread")))
            flows.append(Flow("copy", a, b, "", "", 8, 32, True, 32, 2.0, at))
    pairs = {tuple(rng.choices(names, k=2)) for _ in range(rng.randint(1, 8))} if names else set()
    flows += [Flow("C", a, b, "", "", 8, 32) for a, b in sorted(pairs)]
    known = tuple(tuple(lane) for lane in lanes if lane)
    return Memory(tuple(levels), tuple(flows), known, "Some.", Table((), ()))


PROGRAMS = {
    "naive": naive, "shared": shared, "kept": kept, "many": many,
    "window": lambda: window_steps()["cooperative"],
}  # fmt: skip
MEMORIES = [pytest.param(lambda make=make: insight.memory(make()), id=name)
            for name, make in PROGRAMS.items()]  # fmt: skip
MEMORIES += [pytest.param(lambda seed=seed: some_memory(seed), id=str(seed)) for seed in seeds()]


def drawn(memory: Memory, before: Memory | None = None) -> list[Scene]:
    return list(draw.memory_picture(memory, before).strips)


def forms(memory: Memory, *given: Any) -> Iterator[tuple[Scene, bool]]:
    """Each strip of each form, and whether bands have words there."""
    full, low, bare = draw.memory_picture(memory, *given).forms
    yield from ((scene, True) for scene in (*full, *low))
    yield from ((scene, False) for scene in bare)


def rects(scene: Scene, *roles: str) -> list[Rect]:
    return [s for s in scene.shapes if isinstance(s, Rect) and s.role in roles]


def is_label(shape: object) -> TypeGuard[Words]:
    return isinstance(shape, Words) and shape.of.key.startswith(("load ", "store "))


def said(words: Words) -> Rect:
    """The box of words."""
    wide = width_of(words.label, words.role)
    left = words.x - (wide / 2 if words.anchor == "middle" else 0)
    return Rect(left, words.y - 10, wide, 12, words.role)


def around(head: Path) -> Rect:
    (xs, ys) = zip(*head.lines[0], strict=True)
    return Rect(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys), head.role)


def meet(a: Rect, b: Rect) -> bool:
    apart = a.x + a.width <= b.x or b.x + b.width <= a.x
    return not (apart or a.y + a.height <= b.y or b.y + b.height <= a.y)


def inside(a: Rect, b: Rect) -> bool:
    return (b.x < a.x and a.x + a.width < b.x + b.width
            and b.y < a.y and a.y + a.height < b.y + b.height)  # fmt: skip


@pytest.mark.parametrize("make", MEMORIES)
def test_no_line_crosses_a_box(make):
    for before in (None, some_memory(1), make()):
        for scene, told in forms(make(), before):
            nothing_crosses(scene, told)


def test_the_words_of_two_bands_that_were_others_before_fit_above_the_work():
    for scene, told in forms(insight.memory(kept()), insight.memory(shared())):
        nothing_crosses(scene, told)


def nothing_crosses(scene: Scene, told: bool = True) -> None:
    """No band of now or before meets a buffer, the cache, the work, or another; all arrive."""
    bands = rects(scene, "read", "write")
    heads = [s for s in scene.shapes if isinstance(s, Path) and s.role == "head"]
    boxes = rects(scene, "chip", "box", "soft")
    assert not any(meet(a, b) for a in (*bands, *rects(scene, "ghost")) for b in boxes)
    assert not any(meet(a, b) for a, b in combinations(bands, 2))
    opaque = [s for s in scene.shapes if isinstance(s, Rect) and ROLES[s.role].fill == Mix("paper")]
    assert not any(meet(patch, band) for patch in opaque for band in bands)
    assert not any(meet(a, b) for a, b in combinations(boxes, 2))
    labels = [said(words) for words in scene.shapes if is_label(words)]
    assert bool(labels) == bool(bands) or not told
    assert not any(meet(label, box) for label in labels for box in boxes)
    for words in (s for s in scene.shapes if isinstance(s, Words) and not is_label(s)):
        assert not any(meet(said(words), label) for label in labels), words.label
    assert not any(meet(a, b) for a, b in combinations(labels, 2)), "words on words"
    lines = (*bands, *rects(scene, "ghost"), *map(around, heads))
    assert not any(meet(label, line) for label in labels for line in lines), "words on a band"
    assert all(label.x + label.width < scene.width for label in labels)
    assert len({(band.of, band.x) for band in bands}) == len(heads)
    for head in heads:
        (tip, *_) = head.lines[0]
        ends = {box.y for box in boxes} | {box.y + box.height for box in boxes}
        assert tip[1] in ends, "its head ends at what it joins"


def test_data_of_the_device_goes_through_the_cache():
    """A band stops at it and goes on below, in line."""
    (scene,) = drawn(insight.memory(shared()))
    (cache,) = rects(scene, "soft")
    for buffer, way in (("A", "read"), ("B", "read"), ("C", "write")):
        (above, below) = (band for band in rects(scene, way) if band.of.buffer == buffer)
        assert (above.x, above.width) == (below.x, below.width)
        assert (above.y + above.height, below.y) == (cache.y, cache.y + cache.height)


@pytest.mark.parametrize("make", MEMORIES)
def test_places_lie_inside_each_other_and_hold_their_buffers(make):
    memory = make()
    for scene in drawn(memory):
        places = rects(scene, "room")
        assert len(places) == len(memory.levels)
        assert all(inside(b, a) for a, b in pairwise(places))
        level = {use.buffer: k for k, one in enumerate(memory.levels) for use in one.buffers}
        for chip in rects(scene, "chip"):
            k = level[chip.of.buffer]
            assert inside(chip, places[k])
            assert not any(meet(chip, deeper) for deeper in places[k + 1 :])
    names = [chip.of.buffer for scene in drawn(memory) for chip in rects(scene, "chip")]
    assert sorted(names) == sorted(level), "each buffer once"


@pytest.mark.parametrize("make", MEMORIES)
def test_all_that_is_loaded_and_stored_is_in_a_band(make):
    memory = make()
    bands = [band for lane in lanes_of(memory) for band in lane.bands]
    for use in memory.levels[0].buffers:
        for load, size in ((True, use.load_bytes), (False, use.store_bytes)):
            moved = [b.bytes for b in bands if (b.buffer, b.load) == (use.buffer, load)]
            flows = [f for f in memory.flows if use.buffer == (f.source if load else f.target)]
            assert sum(moved) == size or (size < sum(f.bytes for f in flows) and moved)


def test_copies_share_the_lane_of_what_they_copy():
    lanes = [[use.buffer for use in lane.uses] for lane in lanes_of(insight.memory(shared()))]
    assert lanes == [["A", "A_shared"], ["B", "B_shared"], ["C", "C_local"]]
    (scene,) = drawn(insight.memory(shared()))
    middles: dict[str, set[float]] = {}
    for band in rects(scene, "read", "write"):
        middles.setdefault(band.of.buffer[0], set()).add(round(band.x + band.width / 2, 3))
    assert len(middles["A"]) == len(middles["B"]) == 1, "straight"


def test_bytes_and_loads_of_a_cell_are_printed_beside_the_bands():
    (scene,) = drawn(insight.memory(shared()))
    assert {"↓ 64 MiB", "× 1", "↓ 4 GiB", "× 64", "× 1,024", "↑ 4 MiB"} <= set(scene.words)
    wide = {band.of.buffer: band.width for band in rects(scene, "read")}
    assert wide["A_shared"] - wide["A"] == 3, "64 times as many bytes are three px"
    fills = {band.of.buffer: band.role for band in rects(scene, *ROLES) if "heat" in band.role}
    assert fills == {"A": "heat-0", "B": "heat-0", "A_shared": "heat-3", "B_shared": "heat-3",
                     "C_local": "heat-5"}  # fmt: skip


def test_a_band_says_in_which_loop_a_copy_is_made():
    (scene,) = drawn(insight.memory(window_steps()["shared"]))
    assert [words for words in scene.words if words.startswith("at ")] == ["at i_1"]
    told = [w for scene in drawn(insight.memory(shared())) for w in scene.words]
    assert {"at k_0", "at j_1"} & set(told) == {"at k_0"}, "A and B are fetched in its turns"


def test_the_step_before_is_hatched_on_the_same_lane():
    now, before = insight.memory(shared()), insight.memory(naive(1024))
    (scene,) = drawn(now, before)
    ghosts = rects(scene, "ghost")
    assert [ghost.of.buffer for ghost in ghosts] == ["A", "A", "B", "B", "C", "C"]
    assert {round(ghost.width) for ghost in ghosts} == {round(thickness(4 << 30))}
    assert scene.words.count("(4 GiB)") == 3
    assert not rects(drawn(now, now)[0], "ghost"), "nothing changed"


def test_what_a_block_uses_has_the_bytes_that_it_used_before():
    """The copy back to C loads C_local more often then; its band shows that, and C_local's not."""
    sch = wb.Schedule(naive(8))
    sch.cache_write("C", 0, "local")
    sch.reorder("k", "i", "j")
    before = insight.memory(sch.func)
    sch.reverse_compute_at("C_local", "k")
    bands = [band for lane in lanes_of(insight.memory(sch.func), before) for band in lane.bands]
    assert [(band.buffer, band.load, band.before) for band in bands if band.before is not None] == [
        ("C", False, 256)
    ]


TIMES = draw.Times(
    {("A", True): 40.0, ("A_shared", True): 10.0, ("C", False): 0.1}, None, 40.0, 40.0
)


def test_by_time_bands_are_as_wide_as_what_carries_them_is_busy():
    """40 µs are as wide as a band gets, 22 px; a quarter is 5.5, and next to nothing a hair."""
    memory = insight.memory(shared())
    pictures = [
        draw.memory_picture(memory, None, replace(TIMES, before=then))
        for then in (None, {("A", True): 20.0, ("A_shared", True): 10.5})
    ]
    scenes = [picture.strips[0] for picture in pictures]
    for scene in scenes:
        wide = {band.of.buffer: band.width for band in rects(scene, "read", "write")}
        assert wide == {
            "A": 22,
            "A_shared": 5.5,
            "B": 1.5,
            "B_shared": 1.5,
            "C": 1.5,
            "C_local": 1.5,
        }
        assert {"40 µs", "10 µs", "0.1 µs", "↓ 64 MiB"} <= set(scene.words)
        nothing_crosses(scene)
    ghosts = [{g.of.buffer: g.width for g in rects(scene, "ghost")} for scene in scenes]
    assert ghosts == [{}, {"A": 11}], "half a pixel is none"
    assert ["Hatched" in picture.caption for picture in pictures] == [False, True]
    assert {picture.kind for picture in pictures} == {"modelled"}


def test_by_time_a_band_is_filled_by_its_share_of_the_longest():
    memory = insight.memory(shared())
    (scene,) = draw.memory_picture(memory, None, TIMES).strips
    (half,) = draw.memory_picture(memory, None, replace(TIMES, longest=160.0)).strips
    fills = [
        {band.of.buffer: band.role for band in rects(one, *ROLES) if band.role.startswith("long-")}
        for one in (scene, half)
    ]
    assert [(fill["A"], fill["A_shared"]) for fill in fills] == [
        ("long-10", "long-5"),
        ("long-5", "long-3"),
    ]


def test_in_a_low_pane_each_band_has_one_number_and_each_buffer_its_name():
    memory = insight.memory(shared())
    ((by_bytes,), (by_time,)) = (draw.memory_picture(memory, None, t).low[0] for t in (None, TIMES))
    left_out = {"× 1", "× 64", "× 1,024", "at k_0", "2 KiB", "shared memory"}
    for scene, words, high in (
        (by_bytes, ["64 MiB", "4 GiB"] * 2 + ["4 MiB", "↓ 4 GiB", "↑ 4 GiB"], 260),
        (by_time, ["40 µs", "10 µs", "0.1 µs"], 232),  # registers take none
    ):
        assert [one.label for one in scene.shapes if is_label(one)] == words
        assert not left_out & set(scene.words) and "A_shared" in scene.words
        assert scene.height < high, "as high as the lowest panes of the lessons"


def test_in_the_lowest_pane_all_lanes_stand_in_one_strip_and_no_band_has_a_number():
    memory = insight.memory(many())
    full, low, (bare,) = draw.memory_picture(memory).forms
    assert len(full) > len(low) == 2, "which have four lanes each, the others three"
    names = {use.buffer for level in memory.levels for use in level.buffers}
    told: dict[str, str] = {}
    for shape in bare.shapes:
        if isinstance(shape, Words) and shape.role == "name":
            told[shape.of.buffer] = told.get(shape.of.buffer, "") + shape.label
    assert {name: name for name in names} == told, "each name, whole"
    assert not [word for word in bare.words if word.endswith("B")], "how many bytes"
    every = {s.of.title for strip in full for s in strip.shapes if s.role in ("read", "write")}
    assert {s.of.title for s in bare.shapes if s.role in ("read", "write")} == every
    assert not bare.scrolls and bare.width < 372 and bare.height < 260, "as a low pane"


def test_loads_of_a_buffer_on_two_ways_share_its_time_by_their_bytes():
    """A is copied to S, and used itself twice: 32 of 96 bytes are a third of 12 µs."""
    memory = insight.memory(parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,), "float32", scope="shared")
    for i in range(8):
        with T.block("S"):
            vi = T.axis.spatial(8, i)
            S[vi] = A[vi]
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + S[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + S[vi]
"""))  # fmt: skip
    times = draw.Times({("A", True): 12.0}, None, 12.0, 12.0)
    words = [w for scene in draw.memory_picture(memory, None, times).strips for w in scene.words]
    assert sorted(w for w in words if w.endswith(" µs")) == ["4 µs", "8 µs"]


@pytest.mark.parametrize("make", MEMORIES)
def test_by_time_no_line_crosses_a_box_either(make):
    memory = make()
    ways = [(use.buffer, way) for level in memory.levels[:2] for use in level.buffers
            for way in (True, False)]  # fmt: skip
    now = {way: 7.0 * k for k, way in enumerate(ways)}
    full, *low = draw.memory_picture(memory, memory, draw.Times(now, now, 40.0, 60.0)).forms
    for scene in full:
        nothing_crosses(scene)
    for scene in (scene for form in low for scene in form):
        nothing_crosses(scene, told=False)  # what takes no time says nothing there


def test_what_is_updated_in_place_is_loaded_and_stored():
    (scene,) = drawn(insight.memory(naive()))
    assert {"↓ 2 KiB", "↑ 2.2 KiB"} <= set(scene.words)
    ways = [band.role for band in rects(scene, "read", "write") if band.of.buffer == "C"]
    assert ways == ["read", "read", "write", "write"], "each above and below the cache"


def test_nothing_is_referred_to_by_an_id():
    """The first element with an id may stand in a hidden tab; what refers to it would vanish."""
    text = "".join(map(svg, drawn(insight.memory(shared()), insight.memory(naive(1024)))))
    assert "url(" not in text and ' id="' not in text and "href" not in text


def test_of_several_strips_a_pane_may_show_the_first():
    """Half a pane is too low for the words of one; a single strip is seen whole."""
    one, several = draw.memory_picture(insight.memory(kept())), insight.memory(many())
    assert [strip.scrolls for strip in one.strips] == [False]
    assert {strip.scrolls for strip in draw.memory_picture(several).strips} == {True}
