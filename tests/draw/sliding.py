"""Programs and random selections for the tests of pictures that slide."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul, naive
from tests.support.gpu_programs import VECTOR_ADD, parsed, window_steps
from workbench import draw, insight
from workbench.draw import Picture, Rect, Scene, Words
from workbench.ir import PrimFunc


def _blocked() -> PrimFunc:
    return blocking_with_shared(wb.Schedule(matmul(128)), 4, 4, 8, 8, 8).func


def _local() -> PrimFunc:
    return blocking(wb.Schedule(matmul(64)), 2, 2, 4, 4, 4, keep=True).func


def _naive() -> PrimFunc:
    return naive(wb.Schedule(matmul(16)), 4).func


def _tail() -> PrimFunc:
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", "1000")))
    i_0, i_1 = sch.split("i", [None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return sch.func


def _fused() -> PrimFunc:
    sch = wb.Schedule(matmul(32))
    i, j, _ = sch.get_loops("C")
    i_0, i_1 = sch.split(sch.fuse(i, j), [None, 64])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return sch.func


TURNED = """
@T.prim_func
def main(A: T.Buffer((16, 12), "float32"), B: T.Buffer((16, 12), "float32")):
    for i in T.thread_binding(16, thread="blockIdx.x"):
        for j in range(12):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[{index}, vj] = A[vi, vj]
"""


PROGRAMS: dict[str, Callable[[], PrimFunc]] = {
    "serial": cache(lambda: matmul(12)),
    "naive": cache(_naive),
    "blocked": cache(_blocked),
    "local": cache(_local),
    "fused": cache(_fused),
    "tail": cache(_tail),
    "turned": cache(lambda: parsed(TURNED.format(index="vi * 5 % 16"))),
    **{name: cache(lambda name=name: window_steps()[name]) for name in ("bound", "shared")},
}  # fmt: skip


def sliders(func: PrimFunc, rng: random.Random, number: int) -> Iterator[dict[str, int]]:
    """Random selections: most of what a learner chooses first, and some of the rest."""
    axes = insight.tiles(func).axes
    for _ in range(number):
        chosen = [axis for axis in axes if rng.random() < (0.1 if axis.role == "serial" else 0.7)]
        yield {axis.key: rng.randrange(axis.extent) for axis in chosen}


def other(picture: Picture, rng: random.Random) -> dict[str, int]:
    """Other values for the axes that a picture was drawn for."""
    return {axis: rng.randrange(*values) for axis, *values in picture.slides or ()}


def drawn(func: PrimFunc, select: dict[str, int]) -> list[Picture]:
    """The tiles, at each of the levels that the selection has."""
    names = draw.levels_of(insight.tiles(func, select))
    return [draw.picture_of(func, "tiles", select=select, level=name) for name in names]


def numbers(scene: Scene) -> list[tuple[object, ...]]:
    """What can be seen of the rectangles and words of a scene, and which cells they are."""
    made: list[tuple[object, ...]] = []
    for s in scene.shapes:
        if isinstance(s, Rect):
            made.append((s.role, s.of.cells, s.x, s.y, s.width, s.height))
        elif isinstance(s, Words):
            made.append((s.role, s.label, s.x, s.y))
        else:
            made.append((s.role, s.lines))
    return made


def alike(a: Scene, b: Scene) -> list[object]:
    """In what two scenes differ by more than rounding."""
    pairs = zip(numbers(a), numbers(b), strict=True)
    return [(x, y) for x, y in pairs if not _same(x, y)] + [
        (a.width, a.height, b.width, b.height)
    ] * ((a.width, a.height) != (b.width, b.height))


def _same(a: tuple[object, ...], b: tuple[object, ...]) -> bool:
    return len(a) == len(b) and all(
        abs(x - y) < 1e-6 if isinstance(x, float) and isinstance(y, float) else x == y
        for x, y in zip(a, b, strict=True)
    )
