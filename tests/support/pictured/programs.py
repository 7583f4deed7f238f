"""Random schedules of small programs, of all the kinds that a lab shows: drawn by their number."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import workbench as wb
from benchmarks.matmuls import matmul
from tests.support.gpu_programs import WINDOW_SUM, block_matmul, parsed
from tests.support.gpu_steps import gpu_steps
from tests.support.mma_product import Product
from tests.support.mma_product import scheduled as by_lanes
from tests.support.random_programs import random_program
from tests.support.random_steps import Chooser
from tests.support.tensor_core_product import whole
from tests.support.told import Told, take_ours
from tests.support.virtual_threads import strided_matmul
from workbench import te
from workbench.ir import PrimFunc


@dataclass(frozen=True)
class Drawn:
    """A schedule of a `kind`; `before` is the program one step earlier, `seed` what drew it.

    Where a number was dragged, `before` is the program that it was dragged in.
    """

    seed: int
    kind: str
    func: PrimFunc
    before: PrimFunc | None
    steps: tuple[PrimFunc, ...]
    sch: wb.Schedule


def drawn(seed: int) -> Drawn:
    """The schedule number `seed`."""
    rng = random.Random(f"pictured {seed}")
    kind = rng.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    sch: wb.Schedule | None = None
    while sch is None:
        with suppress(wb.ScheduleError, IndexError):
            sch = KINDS[kind][1](rng)
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 3)):
            _step(sch, Chooser(sch.func, rng).step())
    path = [node.mod[sch.func.name] for node in sch.node.path()]
    programs = tuple(func for func in path if isinstance(func, PrimFunc))
    before = programs[-2] if len(programs) > 1 else None
    return Drawn(seed, kind, sch.func, before, programs, sch)


def _step(sch: wb.Schedule, told: Told | None) -> None:
    """Take a step, where it is not refused."""
    with suppress(wb.ScheduleError, IndexError):
        if told is not None:
            take_ours(sch, told)


def _anything(rng: random.Random) -> wb.Schedule:
    """A random program under steps of any verb, mostly with threads."""
    sch = wb.Schedule(random_program(rng))
    first = rng.random() < 0.5
    bound = rng.random() < 0.8
    if bound and first:
        _bind(sch, rng)
    for _ in range(rng.randint(0, 6)):
        _step(sch, Chooser(sch.func, rng).step())
    if bound and not first:
        _bind(sch, rng)
    return sch


def _bind(sch: wb.Schedule, rng: random.Random) -> None:
    for told in gpu_steps(sch.func, rng):
        _step(sch, told)


def _product(rng: random.Random) -> wb.Schedule:
    """A product in tiles, of sides that these need not divide; fetched together, or not."""
    local, threads, depth = rng.choice((1, 2, 3)), rng.choice((2, 4)), rng.choice((2, 4))
    sides = [rng.choice((4, 6, 8, 9, 12)) for _ in range(2)]
    sch = wb.Schedule(matmul(*sides, rng.choice((3, 4, 8))))
    block_matmul(sch, sch.get_block("C"), rng.random() < 0.6, local, threads, depth)
    return sch


def _shared_sums(rng: random.Random) -> wb.Schedule:
    """A product whose threads share each sum out, evenly or not; it starts there, or ahead."""
    rows, columns = rng.choice((1, 2, 3)), rng.choice((2, 3, 4))
    sch = wb.Schedule(matmul(rows, columns, rng.choice((8, 32, 50, 64))))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.bind(i, "blockIdx.x")
    sch.bind(j, rng.choice(("blockIdx.y", "threadIdx.y")))
    k_0, k_1 = sch.split(k, [None, rng.choice((2, 3, 8, 32))])
    if rng.random() < 0.3:
        sch.reorder(k_1, k_0)
    sch.bind(k_1, "threadIdx.x")
    if rng.random() < 0.3:
        sch.decompose_reduction(block, sch.get_loops(block)[2])
    return sch


def _far_apart(rng: random.Random) -> wb.Schedule:
    """A product whose threads each own tiles far apart."""
    copies = rng.choice(((2, 2), (1, 2), (2, 1)))
    axes = rng.choice((("vthread.y", "vthread.x"), ("vthread", "vthread")))
    return strided_matmul(
        8, rng.choice((4, 8)), copies, rng.choice((1, 2)), rng.choice((2, 4)), axes
    )


def _pipelined(rng: random.Random) -> wb.Schedule:
    """A product whose tiles come a turn ahead: by registers, or by asynchronous copies."""
    if rng.random() < 0.5:
        sch = _through_registers(rng)
        stages = rng.choice(([0, 0, 0, 0, 1], [0, 0, 1, 1, 1], [0, 0, 1, 1, 2]))
        order = rng.choice((None, None, [0, 3, 1, 4, 2]))
        sch.pipeline("k_0", stages=stages, order=order)
        return sch
    sch = wb.Schedule(matmul(8, 8, rng.choice((8, 12, 16))))
    block_matmul(sch, sch.get_block("C"), True, local=2, threads=rng.choice((2, 4)), depth=2)
    apart = [0] if rng.random() < 0.6 else None
    stages = rng.choice(([0, 0, 1], [0, 0, 2], [0, 1, 2]))
    sch.pipeline("k_0", stages=stages, async_stages=apart)
    return sch


def _through_registers(rng: random.Random) -> wb.Schedule:
    """A product each of whose tiles comes to registers first, then to shared memory."""
    sch = wb.Schedule(matmul(8, 8, rng.choice((8, 12))))
    block_matmul(sch, sch.get_block("C"), True, local=2, threads=2, depth=4)
    for name in ("A_shared", "B_shared"):
        held = sch.cache_read(name, 0, "local")
        sch.compute_at(held, "k_0")
        fused = sch.fuse(*sch.get_loops(held)[-2:])
        _, thread, _ = sch.split(fused, [None, 4, 4])
        sch.bind(thread, "threadIdx.x")
    return sch


def _window(rng: random.Random) -> wb.Schedule:
    """A window sum, as it is, from shared memory, or fetched together; often with a last block in
    part."""
    size = rng.choice((32, 40, 50, 64, 100))
    text = WINDOW_SUM.replace("1027", str(size + 3)).replace("1024", str(size))
    sch = wb.Schedule(parsed(text))
    threads = rng.choice((4, 8, 16, 32, 40))
    (i,) = sch.get_loops("C")
    i_0, i_1 = sch.split(i, [None, threads])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    if rng.random() < 0.7:
        copy = sch.cache_read("C", 0, "shared")
        sch.compute_at(copy, i_1)
        if rng.random() < 0.7:
            _, ax = sch.split(sch.get_loops(copy)[-1], [None, threads])
            sch.bind(ax, "threadIdx.x")
    return sch


def _two_stages(rng: random.Random) -> wb.Schedule:
    """Two window sums, one after the other, the first in shared memory or a kernel of its own."""
    n = rng.choice((8, 10))
    A = te.placeholder((n + 2, n + 2), name="A")
    H = te.compute((n + 2, n), lambda i, j: A[i, j] + A[i, j + 1] + A[i, j + 2], name="H")
    B = te.compute((n, n), lambda i, j: H[i, j] + H[i + 1, j] + H[i + 2, j], name="B")
    sch = wb.Schedule(te.create_prim_func([A, B]))
    i, j = sch.get_loops("B")
    (i_0, i_1), (j_0, j_1) = sch.split(i, factors=[None, 4]), sch.split(j, factors=[None, 4])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(sch.fuse(i_1, j_1), "threadIdx.x")
    if rng.random() < 0.3:
        _bind(sch, rng)
        return sch
    sch.set_scope("H", 0, "shared")
    sch.compute_at("H", j_0)
    if rng.random() < 0.6:
        sch.compute_at(sch.cache_read("H", 0, "shared"), j_0)
        _, tx = sch.split(sch.fuse(*sch.get_loops("A_shared")[-2:]), factors=[None, 16])
        sch.bind(tx, "threadIdx.x")
    _, tx = sch.split(sch.fuse(*sch.get_loops("H")[-2:]), factors=[None, 16])
    sch.bind(tx, "threadIdx.x")
    return sch


def _convolution(rng: random.Random) -> wb.Schedule:
    """A convolution of four dimensions, with a margin of zeros or without; a block does a pixel."""
    side, window = rng.choice(((2, 2), (2, 3), (3, 1), (3, 2)))
    margin, of, filters, images = rng.choice((0, window // 2)), 2, rng.choice((4, 8)), 4
    given = side + window - 1 - 2 * margin
    A = te.placeholder((given, given, of, images), name="A")
    W = te.placeholder((window, window, of, filters), name="W")
    P = A
    if margin:
        shape, ends = (side + window - 1,) * 2, (margin, margin + given)
        P = te.compute(
            (*shape, of, images),
            lambda y, x, c, n: te.if_then_else(
                te.all(*(at >= ends[0] for at in (y, x)), *(at < ends[1] for at in (y, x))),
                A[y - margin, x - margin, c, n],
                0.0,
            ),
            name="P",
        )
    ry, rx = (te.reduce_axis((0, window), name=name) for name in ("ry", "rx"))
    rc = te.reduce_axis((0, of), name="rc")
    B = te.compute(
        (side, side, filters, images),
        lambda y, x, f, n: te.sum(P[y + ry, x + rx, rc, n] * W[ry, rx, rc, f], [ry, rx, rc]),
        name="B",
    )
    sch = wb.Schedule(te.create_prim_func([A, W, B]))
    if margin and rng.random() < 0.9:
        sch.compute_inline("P")
    y, x, f, n, *sums = sch.get_loops("B")
    sch.bind(sch.fuse(y, x), "blockIdx.z")
    f_0, f_1, f_2 = sch.split(f, [None, 2, rng.choice((1, 2))])
    n_0, n_1 = sch.split(n, [None, 2])
    rng.shuffle(sums)
    sch.reorder(f_0, f_1, n_0, *sums, n_1, f_2)
    for loop, axis in ((f_0, "blockIdx.y"), (f_1, "threadIdx.y"), (n_0, "threadIdx.x")):
        sch.bind(loop, axis)
    if rng.random() < 0.7:
        sch.reverse_compute_at(sch.cache_write("B", 0, "local"), n_0)
    for place in range(2) if rng.random() < 0.7 else ():
        copy = sch.cache_read("B", place, "shared")
        sch.compute_at(copy, rng.choice(sums[:2]))
        own = [loop for loop in sch.get_loops(copy) if loop.name.startswith("ax")]
        _, ty, tx = sch.split(sch.fuse(*own), [None, 2, images // 2])
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
    if rng.random() < 0.3:
        sch.decompose_reduction("B", sums[0])
    return sch


def _tiles(rng: random.Random) -> wb.Schedule:
    """A product of tiles on matrix units: by lanes, or by ``wmma``."""
    if rng.random() < 0.3:
        return wb.Schedule(whole("float32", rng.random() < 0.5, rng.choice((0, 8))).func)
    sides = rng.choice(((16, 16, 16), (32, 16, 16), (16, 32, 32), (32, 32, 32)))
    m, n, k = sides
    trans, swizzle = rng.random() < 0.5, rng.random() < 0.3
    stages, ahead = rng.choice(((1, 0), (1, 0), (2, 0), (2, 1)))
    of = Product(m, n, k, m, n, 16 if k < 32 else k, 1, 1 + (n > 16), trans, swizzle, stages, ahead)
    return by_lanes(of)


Kind = Callable[[random.Random], wb.Schedule]
KINDS: dict[str, tuple[int, Kind]] = {
    "any verb": (46, _anything),
    "shared sums": (4, _shared_sums),
    "tiles of a product": (14, _product),
    "virtual threads": (4, _far_apart),
    "pipelines": (7, _pipelined),
    "window sums": (10, _window),
    "two stages": (7, _two_stages),
    "convolutions": (6, _convolution),
    "matrix units": (2, _tiles),
}
"""Of each kind how many of a hundred schedules, and what draws one."""
