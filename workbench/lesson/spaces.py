"""The spaces of lessons 5 and 12: few choices each, so that all that is in them was measured."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from workbench import te
from workbench.ir import PrimFunc
from workbench.lesson.products import in_shared
from workbench.schedule import Schedule
from workbench.te import topi
from workbench.tuning import require

SHARED_BYTES = 48 * 1024  # of a block, on every NVIDIA GPU
REGISTERS = 255  # of a thread, the same


def five_numbers(sch: Schedule) -> None:
    """Lesson 4's schedule of a product, whose five numbers are choices: the space of lesson 5."""
    down, across = _one_of(sch, 2, 4, 8, 16), _one_of(sch, 2, 4, 8, 16)
    threads_down, threads_across = _one_of(sch, 8, 16, 32), _one_of(sch, 8, 16, 32)
    depth = _one_of(sch, 4, 8, 16, 32)

    sums, threads = down * across, threads_down * threads_across
    rows, columns = threads_down * down, threads_across * across
    require(sums < REGISTERS, f"{sums} sums do not fit the registers of a thread")
    for side in (rows, columns):
        fetched = side * depth
        require(
            fetched % (4 * threads) == 0,
            f"{threads} threads cannot share {fetched} numbers out, four at a time",
        )
    shared = 4 * depth * (rows + columns)
    require(shared <= SHARED_BYTES, f"{shared} bytes of shared memory are more than 48 KiB")
    in_shared(sch, (down, across), (threads_down, threads_across), depth)


def _one_of(sch: Schedule, *numbers: int) -> int:
    return sch.sample_categorical(numbers, probs=[1 / len(numbers)] * len(numbers))


def layer(inputs: int = 512, outputs: int = 512, size: int = 7) -> PrimFunc:
    """A convolution of 3 x 3 with its bias and its ReLU, by default ResNet-50's last.

    It has so many channels of pictures of `size` x `size`.

    >>> [buffer.shape for buffer in lesson.layer().params]
    [(1, 512, 7, 7), (512, 512, 3, 3), (1, 512, 1, 1), (1, 512, 7, 7)]
    """
    data = te.placeholder((1, inputs, size, size), name="data")
    kernel = te.placeholder((outputs, inputs, 3, 3), name="kernel")
    bias = te.placeholder((1, outputs, 1, 1), name="bias")
    conv = topi.nn.conv2d_nchw(data, kernel, 1, 1, dilation=1, out_dtype="float32")
    return te.create_prim_func([data, kernel, bias, topi.nn.relu(conv + bias)])


def layer_tiles(sch: Schedule) -> None:
    """The schedule of `tile_layer`, whose tiles are choices: the space of lesson 12."""
    loops = sch.get_loops("conv2d_nchw")
    channels, rows, columns = (
        sch.sample_perfect_tile(loop, n=3, max_innermost_factor=8) for loop in loops[1:4]
    )
    depth = _one_of(sch, 4, 8, 16, 32)

    threads = channels[1] * rows[1] * columns[1]
    sums = channels[2] * rows[2] * columns[2]
    require(32 <= threads <= 512, f"{threads} threads a block are not 32 to 512")
    require(sums <= 64, f"{sums} sums are more than 64")
    padded = (prod(rows[1:]) + 2) * (prod(columns[1:]) + 2)
    shared = 4 * depth * (padded + 9 * prod(channels[1:]))
    require(shared <= SHARED_BYTES, f"{shared} bytes of shared memory are more than 48 KiB")
    tile_layer(sch, channels, rows, columns, depth)


def tile_layer(
    sch: Schedule,
    channels: Sequence[int],
    rows: Sequence[int],
    columns: Sequence[int],
    depth: int,
) -> None:
    """Take the steps of `layer_tiles` on `layer`, with these tiles.

    `channels`, `rows` and `columns` are shared out to blocks, threads, and the sums of a thread;
    `depth` input channels are fetched at a time.

    >>> sch = wb.Schedule(lesson.layer())
    >>> lesson.tile_layer(sch, (128, 4, 1), (1, 7, 1), (1, 7, 1), 8)
    >>> wb.build(sch).grid, wb.build(sch).block
    ((128, 1, 1), (196, 1, 1))
    """
    conv = sch.get_block("conv2d_nchw")
    sch.compute_inline("T_add")
    sums = sch.cache_write(conv, 0, "local")
    sch.reverse_compute_inline("compute")
    tiles = [sch.cache_read(conv, which, "shared") for which in (0, 1)]
    sch.compute_inline("pad_temp")
    n, ff, yy, xx, rc, ry, rx = sch.get_loops(conv)
    f_0, f_1, f_2 = sch.split(ff, factors=channels)
    y_0, y_1, y_2 = sch.split(yy, factors=rows)
    x_0, x_1, x_2 = sch.split(xx, factors=columns)
    c_0, c_1 = sch.split(rc, factors=[None, depth])
    sch.reorder(n, f_0, y_0, x_0, f_1, y_1, x_1, c_0, c_1, ry, rx, f_2, y_2, x_2)
    sch.bind(sch.fuse(n, f_0, y_0, x_0), "blockIdx.x")
    thread = sch.fuse(f_1, y_1, x_1)
    sch.bind(thread, "threadIdx.x")
    sch.reverse_compute_at(sums, thread)
    for tile in tiles:
        sch.compute_at(tile, c_0)
        loops = sch.get_loops(tile)
        cells = sch.fuse(*loops[loops.index(c_0) + 1 :])
        _, lane = sch.split(cells, factors=[None, channels[1] * rows[1] * columns[1]])
        sch.bind(lane, "threadIdx.x")
    sch.decompose_reduction(conv, c_0)
