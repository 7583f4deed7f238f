"""The convolution of lesson 10, in tiles of 16 x 16, and its schedule for Tensor Cores."""

from __future__ import annotations

from workbench import te
from workbench.ir import Expr, PrimFunc
from workbench.schedule import Schedule

TILE, WARP = 16, 32
Pair = tuple[int, int]  # of the batch, of the filters


def tile_convolution(size: int, inputs: int, outputs: int, batch: int) -> PrimFunc:
    """3 x 3 taps over pictures with a border of zeros, stored as NHWCnc.

    `inputs`, `outputs` and `batch` count tiles: of 16 channels, 16 filters, 16 pictures.
    """
    data = te.placeholder((batch, size, size, inputs, TILE, TILE), name="A", dtype="float16")
    taps = te.placeholder((3, 3, inputs, outputs, TILE, TILE), name="W", dtype="float16")

    def padded(n: Expr, h: Expr, w: Expr, c: Expr, nn: Expr, cc: Expr) -> Expr:
        inside = te.all(h >= 1, h - 1 < size, w >= 1, w - 1 < size)
        return te.if_then_else(inside, data[n, h - 1, w - 1, c, nn, cc], te.const(0, "float16"))

    border = te.compute((batch, size + 2, size + 2, inputs, TILE, TILE), padded, name="Apad")
    ic, kh, kw, ii = (
        te.reduce_axis((0, extent), name=name)
        for name, extent in (("ic", inputs), ("kh", 3), ("kw", 3), ("ii", TILE))
    )
    result = te.compute(
        (batch, size, size, outputs, TILE, TILE),
        lambda n, h, w, o, nn, oo: te.sum(
            border[n, h + kh, w + kw, ic, nn, ii].astype("float32")
            * taps[kh, kw, ic, o, ii, oo].astype("float32"),
            axis=[ic, kh, kw, ii],
        ),
        name="Conv",
    )
    return te.create_prim_func([data, taps, result])


def on_tensor_cores(
    func: PrimFunc, warps: Pair = (2, 2), tiles: Pair = (2, 2), chunk: int = 2, vector: int = 1
) -> PrimFunc:
    """The convolution as TVM's tutorial has it, all of its tiles done by calls of a warp.

    A block has `warps`, a warp `tiles` of outputs, and `chunk` tiles of channels are fetched at a
    time; of A `vector` numbers at once, of W eight.
    """
    sch = Schedule(func)
    tensor_cores(sch, warps, tiles, chunk, vector)
    return sch.func


def tensor_cores(sch: Schedule, warps: Pair, tiles: Pair, chunk: int = 2, vector: int = 1) -> None:
    """The steps of `on_tensor_cores`."""
    share_out(sch, warps, tiles, chunk)
    for name, tile, at_once in (("Apad_shared", 0, vector), ("W_shared", 3, 8)):
        fetch(sch, name, tile, warps, at_once)
    sch.decompose_reduction("Conv", "ic_0")
    tensorize_tiles(sch)


def tensorize_tiles(sch: Schedule) -> None:
    """The last steps of `on_tensor_cores`: what is done to tiles becomes calls of a warp."""
    for block, intrinsic in (
        ("Apad_shared_wmma_matrix_a", "wmma_load_16x16x16_f16_a_shared"),
        ("W_shared_wmma_matrix_b", "wmma_load_16x16x16_f16_b_shared"),
        ("Conv_init", "wmma_fill_16x16x16_f32"),
        ("Conv_wmma_accumulator", "wmma_store_16x16x16_f32_global"),
    ):
        sch.tensorize(sch.get_loops(block)[-2], intrinsic)
    sch.tensorize(sch.get_loops("Conv_update")[-3], "wmma_sync_16x16x16_f16f16f32")


def share_out(sch: Schedule, warps: Pair, tiles: Pair, chunk: int) -> None:
    """Which tiles a block and a warp have, with their sums and factors in fragments."""
    shared = [sch.cache_read("Conv", which, "shared") for which in (0, 1)]
    sch.compute_inline("Apad")
    parts = [sch.cache_read("Conv", k, f"wmma.matrix_{part}") for k, part in enumerate("ab")]
    out = sch.cache_write("Conv", 0, "wmma.accumulator")
    n, h, w, o, nn, oo, ic, kh, kw, ii = sch.get_loops("Conv")
    pixel = sch.fuse(h, w)
    n_0, n_1, n_2 = sch.split(n, [None, warps[0], tiles[0]])
    o_0, o_1, o_2 = sch.split(o, [None, warps[1], tiles[1]])
    ic_0, ic_1 = sch.split(ic, [None, chunk])
    sch.reorder(pixel, n_0, o_0, n_1, o_1, ic_0, kh, ic_1, kw, n_2, o_2, nn, oo, ii)
    for loop, axis in (
        (pixel, "blockIdx.z"),
        (n_0, "blockIdx.x"),
        (o_0, "blockIdx.y"),
        (n_1, "threadIdx.y"),
        (o_1, "threadIdx.z"),
    ):
        sch.bind(loop, axis)
    sch.reverse_compute_at(out, o_1, preserve_unit_loops=True)
    for names, loop in ((parts, kw), (shared, kh)):
        for name in names:
            sch.compute_at(name, loop, preserve_unit_loops=True)


def start_apart(sch: Schedule, warps: Pair, tiles: Pair, chunk: int) -> None:
    """The steps of `share_out`, and the sums started in a block of their own."""
    share_out(sch, warps, tiles, chunk)
    sch.decompose_reduction("Conv", "ic_0")


def fetch(sch: Schedule, name: str, tile: int, warps: Pair, vector: int) -> None:
    """The copy `name`, made by all threads of a block, each warp its share of the tiles.

    Loop number `tile` of the copy counts them; `vector` numbers are fetched at once.
    """
    loops = sch.get_loops(name)[-6:]
    y, rest = sch.split(loops[tile], [warps[0], None])
    z, _ = sch.split(rest, [warps[1], None])
    _, x, lanes = sch.split(sch.fuse(*loops[-2:]), [None, WARP, vector])
    for loop, axis in ((y, "threadIdx.y"), (z, "threadIdx.z"), (x, "threadIdx.x")):
        sch.bind(loop, axis)
    if vector > 1:
        sch.vectorize(lanes)
