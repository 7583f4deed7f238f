"""The pictures of occupancy and of the roofline, against numbers that are worked out on paper."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import log2

import pytest

import workbench as wb
from tests.draw.test_pictures import PHONE
from workbench import draw, script
from workbench.draw.occupancy import occupancy_picture
from workbench.draw.roofline import roofline_picture
from workbench.draw.scene import Path, Rect, Scene, Words, width_of
from workbench.insight import occupancy, roofline
from workbench.ir import Kernel, PrimFunc
from workbench.lower import lower
from workbench.target import get

H200 = get("nvidia/h200")  # 132 multiprocessors, each with 64 warps, 32 slots, 228 KiB of shared

LOCAL = """
@T.prim_func
def main(A: T.Buffer(({cells},), "float32"), C: T.Buffer(({cells},), "float32")):
    for b in T.thread_binding({blocks}, thread="blockIdx.x"):
        for i in T.thread_binding({threads}, thread="threadIdx.x"):
            C[b * {threads} + i] = A[b * {threads} + i] * T.float32(2)
"""
SHARED = """
@T.prim_func
def main(A: T.Buffer((10240,), "float32"), C: T.Buffer((10240,), "float32")):
    S = T.alloc_buffer((10240,), "float32", scope="shared")
    for b in T.thread_binding({blocks}, thread="blockIdx.x"):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            for k in range(320):
                S[k * 32 + i] = A[k * 32 + i]
            for k in range(320):
                if b == 0:
                    C[k * 32 + i] = S[10239 - k * 32 - i]
"""


def program(blocks: int, threads: int) -> PrimFunc:
    text = LOCAL.format(blocks=blocks, threads=threads, cells=blocks * threads)
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


def kernel(func: PrimFunc) -> Kernel:
    return lower(func, get("cuda")).kernels[0]


def scene(blocks: int, threads: int, registers: int | None = None) -> Scene:
    return drawn(kernel(program(blocks, threads)), registers)


def drawn(of: Kernel, registers: int | None = None) -> Scene:
    (strip,) = occupancy_picture([occupancy(of, H200, registers)]).strips
    assert strip.width < PHONE
    return strip


def bricks(strip: Scene) -> dict[str, tuple[int, int]]:
    """Of each bar how many blocks are there, and how many have room besides."""
    found: dict[str, list[str]] = {}
    for shape in strip.shapes:
        name, _, rest = shape.of.title.partition(":")
        if rest and not name.startswith("wave"):
            found.setdefault(name, []).append(shape.role)
    return {name: (roles.count("used"), roles.count("unused")) for name, roles in found.items()}


def limit(strip: Scene) -> list[str]:
    return [s.label for s in strip.shapes if isinstance(s, Words) and s.role == "strong"]


def busy(strip: Scene) -> list[str]:
    """What is said of the waves."""
    return list(dict.fromkeys(s.of.title for s in strip.shapes if "wave" in s.of.title))


def test_of_blocks_that_are_few_the_number_is_told_and_no_resource_is_a_limit():
    """256 blocks of 2 warps on 132 multiprocessors: 124 have 2, 8 have 1; 512 of 8,448 warps."""
    strip = scene(256, 64, registers=32)
    assert bricks(strip) == {
        "warps": (2, 30), "block slots": (2, 30), "registers": (2, 30)
    }  # fmt: skip
    assert limit(strip) == [] and "256 blocks on 132 multiprocessors: 1 wave" in strip.words
    assert busy(strip) == ["wave 1: 132 of 132 multiprocessors work"]
    full = sorted({s.height for s in strip.shapes if isinstance(s, Rect) and "wave" in s.of.title})
    assert full == pytest.approx([2, 12])
    (words,) = (x for x in [occupancy_picture([occupancy(kernel(program(256, 64)), H200)])])
    assert words.caption == (
        "NVIDIA H200 SXM: 6% of its warps are there; 256 blocks for 132 multiprocessors."
    )


def test_one_block_a_multiprocessor_and_some_without():
    strip = scene(100, 128, registers=32)
    assert bricks(strip)["warps"] == (1, 15)
    assert busy(strip) == ["wave 1: 100 of 132 multiprocessors work"]


def there(strip: Scene) -> dict[str, str]:
    """What is said of each bar."""
    said = (shape.of.title.partition(": ") for shape in strip.shapes if ": room" in shape.of.title)
    return {name: rest for name, _, rest in said}


def test_before_a_compiler_has_run_the_blocks_that_are_there_are_a_span():
    """1,321 blocks of 1,024 threads: two of 64 warps, or one of 64 registers a thread."""
    strip = scene(1321, 1024)
    assert there(strip) == {
        "warps": "room for 2 blocks, 1 to 2 are there",
        "block slots": "room for 32 blocks, 1 to 2 are there",
        "registers": "room for 1 to 8 blocks, 1 to 2 are there",
    }
    assert bricks(strip)["warps"] == (1, 1), "one surely is"
    picture = draw.picture_of(program(1321, 1024), "timeline")
    assert picture.caption == "264 of about 264 places · tail 1 block · up to 100% of warps"


def test_of_one_there_is_one():
    strip = scene(1, 1024)
    assert there(strip)["warps"] == "room for 2 blocks, 1 is there"
    assert "1 block on 132 multiprocessors: 1 wave" in strip.words
    assert there(scene(132, 1024, registers=64))["registers"] == "room for 1 block, 1 is there"
    picture = draw.picture_of(program(1, 1024), "timeline")
    assert picture.full.endswith(": 1 of 1 block runs, 0 done.")


def test_a_resource_is_named_only_if_it_is_the_limit_whatever_the_registers():
    """A block of 16 warps: room for 4 by warps, for 2 where a thread has 64 registers."""
    few = scene(1320, 512, registers=32)
    assert limit(few) == ["warps: the limit"] and bricks(few)["warps"] == (4, 0)
    many = scene(1320, 512, registers=64)
    assert limit(many) == ["registers: the limit"]
    assert bricks(many)["warps"] == (2, 2) and bricks(many)["registers"] == (2, 0)
    unknown = scene(1320, 512)
    assert limit(unknown) == [] and bricks(unknown)["warps"] == (1, 3)
    assert any(s.role == "idle" for s in unknown.shapes), "what registers may be is dotted"
    assert (
        "a compiler decides"
        in occupancy_picture([occupancy(kernel(program(1320, 512)), H200)]).caption
    )


def test_shared_memory_with_what_is_reserved_and_the_last_wave():
    """40 KiB and 1 KiB a block: room for 5; 10,000 blocks by 660 are 15 waves and 100 blocks."""
    func = script.parse(SHARED.format(blocks=10_000))
    assert isinstance(func, PrimFunc)
    strip = drawn(kernel(func))
    assert limit(strip) == ["shared memory: the limit"]
    assert bricks(strip)["shared memory"] == (5, 0)
    assert "41 KiB of 228 KiB" in strip.words
    assert "10,000 blocks on 132 multiprocessors: 16 waves" in strip.words
    assert busy(strip) == [
        "wave 1: 132 of 132 multiprocessors work",
        "wave 16: 100 of 132 multiprocessors work",
    ]


def test_a_gpu_of_which_nobody_knows_has_no_bars():
    picture = occupancy_picture([occupancy(kernel(program(4, 32)), get("apple/m2-gpu"))])
    assert picture.strips == () and picture.caption.startswith("How many blocks")


# --- the roofline ---------------------------------------------------------------------------------


def spots(strip: Scene) -> dict[str, tuple[float, float]]:
    """Where programs stand: operations a byte, and doublings below the roof, both by logarithm."""
    found = {}
    for shape in strip.shapes:
        if isinstance(shape, Rect) and shape.of.title.startswith("step"):
            x, y = shape.x + shape.width / 2, shape.y + shape.height / 2
            name = shape.of.title.partition(":")[0]
            found[name] = (-4 + (x - 46) * 16 / (312 - 46), (y - 20) * 12 / (196 - 20))
    return found


def test_a_program_stands_on_the_roof_at_its_intensity():
    """One multiplication for a load and a store of 4 bytes: 1/8, and 4.8 TB/s allow 0.6 T."""
    picture = draw.picture_of(program(4, 32), "roofline")
    (strip,) = picture.strips
    assert spots(strip) == {"step 0": pytest.approx((-3, log2(67 / 0.6)))}
    assert picture.caption == "0.125 operations a byte: memory is the limit."
    assert {"67 T", "4.2 T", "262 G", "16 G"} <= set(strip.words)
    assert picture.table.rows == ((0, 128, 1024, 0.125, "memory"),)


def test_memory_is_the_limit_for_sure_only_where_no_cache_could_help():
    """Each output loads 128 of 8,192 cells: a GPU that keeps them runs above where it stands.

    2 operations for 16 bytes, 524,288 for 49,152 at best; roofs meet at 14, so that 64 x 64 is
    bound by memory either way, and 1024 x 1024 by what is asked for twice.
    """
    for size, said in ((64, "memory is the limit."), (1024, "limit without caches.")):
        func = script.parse(PRODUCT.replace("64", str(size)))
        assert isinstance(func, PrimFunc)
        sch = wb.Schedule(func)
        sch.bind("i", "blockIdx.x")
        sch.bind("j", "threadIdx.x")
        picture = draw.picture_of(sch.func, "roofline")
        assert picture.caption.endswith(said)
        assert {"NVIDIA H200 SXM", "each byte once", "step 0"} <= set(picture.strips[0].words)
        assert "if caches keep nothing" in picture.full


def test_steps_that_stand_close_have_words_that_do_not_meet():
    one = roofline([kernel(program(4, 32))], H200)
    assert one is not None
    rates = [2 ** (step / 4) for step in range(5)]
    known = [replace(one, intensity=one.intensity * n, roof=one.roof * n) for n in rates]
    (strip,) = roofline_picture([*enumerate(known)]).strips
    labels = [s for s in strip.shapes if isinstance(s, Words) and s.of.title.startswith("step")]
    assert [words.label for words in labels] == ["3", "2", "1", "0", "step 4"]
    rooms = [
        (s.x - width_of(s.label) * (s.anchor == "end"), width_of(s.label), s.y) for s in labels
    ]
    for (left, wide, low), (other, broad, foot) in combinations(rooms, 2):
        assert abs(low - foot) >= 13 or left + wide <= other or other + broad <= left


PRODUCT = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"),
         C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def test_the_steps_are_joined_in_order_and_those_in_one_spot_are_one():
    func = script.parse(PRODUCT)
    assert isinstance(func, PrimFunc)
    sch = wb.Schedule(func)
    sch.bind("i", "blockIdx.x")
    sch.bind("j", "threadIdx.x")
    copy = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(copy, "j")
    picture = draw.picture_of(sch.func, "roofline", steps=steps_of(sch))
    told = [row[0] for row in picture.table.rows]
    assert told == [1, 2, 4], "at 0 and 3 a loop is not bound"
    (strip,) = picture.strips
    assert min(spots(strip)).startswith("step 1")
    (way,) = (s for s in strip.shapes if isinstance(s, Path) and s.role == "joined")
    assert len(way.lines[0]) == len(spots(strip))
    chosen = [s.of.title for s in strip.shapes if s.role == "chosen"]
    assert len(chosen) == 1 and "4" in chosen[0].partition(":")[0]


def test_steps_beyond_the_axes_stand_in_one_spot_each_with_its_number():
    one = roofline([kernel(program(4, 32))], H200)
    assert one is not None
    known = [replace(one, intensity=n, roof=n * H200.bandwidth) for n in (0.001, 0.002, 0.001, 8)]
    (strip,) = roofline_picture([*enumerate(known)]).strips
    titles = [s.of.title for s in strip.shapes if s.role == "served"]
    assert titles == [
        "step 0 2: 0.001 operations a byte, memory is the limit\n"
        "step 1: 0.002 operations a byte, memory is the limit"
    ]


def steps_of(sch: wb.Schedule) -> draw.Steps:
    return [(node.id, node.mod[sch.func.name]) for node in sch.node.path()]


def test_work_without_traffic_that_counts_is_under_the_level_roof():
    """2,048 multiplications a cell of 8 bytes: 256 a byte, and 67 / 4.8 is where roofs meet."""
    text = LOCAL.replace("T.float32(2)", " * ".join(["T.float32(2)"] * 256))
    func = script.parse(text.format(blocks=1, threads=4, cells=4))
    assert isinstance(func, PrimFunc)
    one = roofline([kernel(func)], H200)
    assert one is not None and one.bound == "compute"
    assert spots(roofline_picture([(3, one)]).strips[0]) == {
        "step 3": pytest.approx((log2(256 / 8), 0))
    }


def test_what_is_reserved_and_registers_of_a_thread_are_told_where_there_is_room():
    """8 KiB for a block's arrays, which takes 9."""
    text = SHARED.format(blocks=10).replace("10240", "2048").replace("10239", "2047")
    func = script.parse(text.replace("320", "64"))
    assert isinstance(func, PrimFunc)
    assert "8 KiB + 1 KiB reserved of 228 KiB" in drawn(kernel(func)).words
    assert "5,632 (88 a thread) of 65,536" in scene(1320, 64, registers=88).words
    assert "512 to 16,384 (1 to 255 a thread) of 65,536" in scene(1320, 64).words


def test_where_there_is_little_room_less_is_said_of_the_same_bars():
    """The key goes first, then what a block takes is told in the fewest words."""
    text = SHARED.format(blocks=10).replace("10240", "2048").replace("10239", "2047")
    func = script.parse(text.replace("320", "64"))
    assert isinstance(func, PrimFunc)
    forms = occupancy_picture([occupancy(kernel(func), H200)]).forms
    (full,), (low,), (lowest,) = forms
    assert bricks(full) == bricks(low) == bricks(lowest)
    assert "filled: blocks that are there; hollow: room for more" in full.words
    assert "a block takes 8 KiB + 1 KiB reserved of 228 KiB" not in full.words  # no room
    for scene, shared, waves in (
        (full, "8 KiB + 1 KiB reserved of 228 KiB", "10 blocks on 132 multiprocessors: 1 wave"),
        (low, "8 KiB + 1 KiB reserved of 228 KiB", "10 blocks: 1 wave"),
        (lowest, "9 KiB of 228 KiB", "10 blocks: 1 wave"),
    ):
        assert {shared, waves} <= set(scene.words)
    wide = [sum(map(width_of, scene.words)) for (scene,) in forms]
    assert wide[0] * 0.8 > wide[1] > wide[2]


def test_idle_lanes_stand_beside_the_warps():
    picture = occupancy_picture([occupancy(kernel(program(1320, 4)), H200)])
    assert picture.caption.startswith("28 of 32 lanes have no thread; NVIDIA H200 SXM: ")
    assert "4 of 32 lanes; a block takes 1 of 64" in str(picture.strips)
    assert "lanes" not in occupancy_picture([occupancy(kernel(program(1320, 64)), H200)]).caption
