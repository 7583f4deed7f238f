"""The convolution of lesson 6 and schedules of it: what is asked, and what is not."""

from __future__ import annotations

from workbench import te
from workbench.ir import Expr, PrimFunc
from workbench.schedule import BlockHandle, Schedule

Pair = tuple[int, int]  # of filters, of pictures


def convolution(
    size: int, channels: int, filters: int, batch: int, *, layout: str = "HWCN"
) -> PrimFunc:
    """3 x 3 taps over pictures with a border of zeros, A being stored as `layout` says."""
    lengths = {"H": size, "W": size, "C": channels, "N": batch}
    data = te.placeholder(tuple(lengths[letter] for letter in layout), name="A")
    taps = te.placeholder((3, 3, channels, filters), name="W")

    def padded(y: Expr, x: Expr, c: Expr, n: Expr) -> Expr:
        place = {"H": y - 1, "W": x - 1, "C": c, "N": n}
        inside = te.all(y >= 1, y - 1 < size, x >= 1, x - 1 < size)
        return te.if_then_else(inside, data[tuple(place[letter] for letter in layout)], 0.0)

    border = te.compute((size + 2, size + 2, channels, batch), padded, name="Apad")
    ry, rx, rc = (
        te.reduce_axis((0, extent), name=name)
        for extent, name in ((3, "ry"), (3, "rx"), (channels, "rc"))
    )
    result = te.compute(
        (size, size, filters, batch),
        lambda y, x, f, n: te.sum(
            border[y + ry, x + rx, rc, n] * taps[ry, rx, rc, f], axis=[ry, rx, rc]
        ),
        name="B",
    )
    return te.create_prim_func([data, taps, result])


def one_output_each(func: PrimFunc, *, pictures: str = "threadIdx.x") -> PrimFunc:
    """A thread for each output, its neighbours in `threadIdx.x` other pictures, or other filters.

    `pictures` is the axis that counts these; the filters are on the other one.
    """
    sch = Schedule(func)
    sch.compute_inline("Apad")
    y, x, f, n, *_ = sch.get_loops("B")
    others = {"threadIdx.x": "blockIdx.x", "blockIdx.x": "threadIdx.x"}
    sch.bind(sch.fuse(y, x), "blockIdx.y")
    sch.bind(f, others[pictures])
    sch.bind(n, pictures)
    return sch.func


def tiled_convolution(
    func: PrimFunc,
    tile: Pair = (8, 8),
    threads: Pair = (8, 8),
    copies: Pair = (1, 1),
    *,
    step: int = 8,
    near: bool = True,
    together: bool = True,
) -> PrimFunc:
    """Blocks of tiles of outputs, as lesson 6 has them, with `step` channels at a time.

    Each of `tile`, `threads` and `copies` (virtual threads) is of filters, then of pictures. With
    `near`, a thread copies its factors to registers; without `together`, each thread fetches all
    that its block needs.
    """
    sch = Schedule(func)
    fetched = [sch.cache_read("B", which, "shared") for which in (0, 1)]
    sch.compute_inline("Apad")
    share_out(sch, tile, threads, copies, step)
    for which in (0, 1) if near else ():
        sch.compute_at(sch.cache_read("B", which, "local"), "rc_1")
    for name in fetched:
        sch.compute_at(name, "rx")
        if together:
            fetch_together(sch, name, threads)
    return sch.func


def share_out(sch: Schedule, tile: Pair, threads: Pair, copies: Pair, step: int) -> None:
    """Which outputs a block, a virtual thread and a thread have, with their sums in registers."""
    far = sch.cache_write("B", 0, "local")
    y, x, f, n, ry, rx, rc = sch.get_loops("B")
    bz = sch.fuse(y, x)
    f_0, f_1, f_2, f_3 = sch.split(f, [None, copies[0], threads[0], tile[0] // copies[0]])
    n_0, n_1, n_2, n_3 = sch.split(n, [None, copies[1], threads[1], tile[1] // copies[1]])
    rc_0, rc_1 = sch.split(rc, [None, step])
    sch.reorder(bz, f_0, n_0, f_1, n_1, f_2, n_2, rc_0, ry, rx, rc_1, f_3, n_3)
    for loop, axis in (
        (bz, "blockIdx.z"),
        (f_0, "blockIdx.y"),
        (n_0, "blockIdx.x"),
        (f_1, "vthread.y"),
        (n_1, "vthread.x"),
        (f_2, "threadIdx.y"),
        (n_2, "threadIdx.x"),
    ):
        sch.bind(loop, axis)
    sch.reverse_compute_at(far, n_2)


def fetch_together(sch: Schedule, name: BlockHandle | str, threads: Pair) -> None:
    """The copy `name`, made by all threads of a block along two axes, four cells at a time."""
    channel, cell = sch.get_loops(name)[-2:]
    y, _ = sch.split(channel, [threads[0], None])
    x, _, vector = sch.split(cell, [threads[1], None, 4])
    sch.bind(y, "threadIdx.y")
    sch.bind(x, "threadIdx.x")
    sch.vectorize(vector)
