"""The products of lesson 11, of halves on Tensor Cores: by wmma, and by mma.sync step by step."""

from __future__ import annotations

from typing import Literal

from workbench import script
from workbench.diag import Fail, count_text
from workbench.history.step import value_text
from workbench.intrin import TensorIntrin
from workbench.ir import Block, Const, Expr, For, PrimFunc, once
from workbench.schedule import BlockHandle, LoopHandle, Schedule
from workbench.tuning.tensor_tiling import by_tiles, pipeline_tiles
from workbench.verbs.nest import divisors

TILE, WARP, VECTOR = 16, 32, 8
Pair = tuple[int, int]  # of rows, of columns
Calls = Literal["wmma", "mma"]
SCOPES: dict[Calls, tuple[str, str, str]] = {
    "wmma": ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"),
    "mma": ("warp", "warp", "warp"),
}
NAMES: dict[Calls, tuple[str, str, str, str, str]] = {
    "wmma": (
        "wmma_load_16x16x16_f16_a_shared",
        "wmma_load_16x16x16_f16_b_trans_shared",
        "wmma_fill_16x16x16_f32",
        "wmma_sync_16x16x16_f16f16f32_trans",
        "wmma_store_16x16x16_f32_global",
    ),
    "mma": (
        "mma_ldmatrix_f16_a",
        "mma_ldmatrix_f16_b_trans",
        "mma_fill_16x16_f32",
        "mma_f16f16f32_trans_b",
        "mma_store_16x16_f32_global_",
    ),
}
HELD = "i // 16, j // 16, i % 8 * 4 + j % 8 // 2, j % 16 // 8 * {} + i % 16 // 8 * {} + j % 2"


def half_product(rows: int, columns: int, terms: int) -> PrimFunc:
    """C = A B in float32, of halves; B lies by column and term."""
    text = f"""
@T.prim_func
def matmul(A: T.Buffer(({rows}, {terms}), "float16"), B: T.Buffer(({columns}, {terms}), "float16"),
           C: T.Buffer(({rows}, {columns}), "float32")):
    for i, j, k in T.grid({rows}, {columns}, {terms}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vj, vk])
"""
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


@once
def half_tiles(
    func: PrimFunc,
    calls: Calls,
    block: Pair = (64, 64),
    warps: Pair = (2, 2),
    depth: int = 64,
    *,
    swizzle: bool = False,
    pad: int = 0,
) -> PrimFunc:
    """The product with all of its tiles done by calls of a warp.

    A block of `warps` has the outputs of `block` and fetches `depth` terms at a time, in rows that
    are `pad` halves longer than they need to be, or with columns that change places.
    """
    sch = Schedule(func)
    in_tiles(sch, calls, block, warps, depth)
    by_calls(sch, calls)
    for name in ("A_shared", "B_shared"):
        if swizzle:
            sch.annotate(name, "permuted_layout", 1)
        if pad:
            sch.storage_align(name, 0, axis=0, factor=depth, offset=pad)
    return sch.func


def in_tiles(sch: Schedule, calls: Calls, block: Pair, warps: Pair, depth: int) -> None:
    """Take lesson 10's steps on a product: tiles of 16 x 16 for warps, in fragments.

    The `calls` are to be "wmma" or "mma". A block has `block` outputs, down and across, and so
    many `warps`; it fetches `depth` terms of the sums at a time. By "mma" the program says which
    thread has which cell of a tile in which register. Raises Fail, and takes no step, where tiles
    of 16 do not fill the block, or blocks not the product.

    >>> sch = wb.Schedule(lesson.exercise("copies_ahead").program)
    >>> lesson.in_tiles(sch, "mma", (64, 64), (2, 2), 64)
    >>> lesson.by_calls(sch, "mma")
    >>> wb.build(sch, target="nvidia/a100").block
    (32, 2, 2)
    """
    check_tiles(sch, calls, block, warps, depth)
    a, b, sums = SCOPES[calls]
    shared = [sch.cache_read("C", name, "shared") for name in "AB"]
    held = [sch.cache_read("C", f"{n}_shared", scope) for n, scope in (("A", a), ("B", b))]
    out = sch.cache_write("C", 0, sums)
    if calls == "mma":
        lay_out(sch, held)
    i, j, k = sch.get_loops("C")
    i_0, i_1, i_2, i_3 = sch.split(i, [None, warps[0], block[0] // warps[0] // TILE, TILE])
    j_0, j_1, j_2, j_3 = sch.split(j, [None, warps[1], block[1] // warps[1] // TILE, TILE])
    k_0, k_1, k_2 = sch.split(k, [None, depth // TILE, TILE])
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2, i_3, j_3, k_2)
    for loop, axis in ((i_0, "blockIdx.y"), (j_0, "blockIdx.x"), (i_1, "threadIdx.y"),
                       (j_1, "threadIdx.z")):  # fmt: skip
        sch.bind(loop, axis)
    sch.reverse_compute_at(out, j_1)
    by_tiles(sch, out, (TILE, TILE))
    for name in held:
        sch.compute_at(name, k_1)
        by_tiles(sch, name, (TILE, TILE))
    for name in shared:
        sch.compute_at(name, k_0)
        by_all(sch, name, warps)
    sch.decompose_reduction("C", k_0)


def check_tiles(sch: Schedule, calls: Calls, block: Pair, warps: Pair, depth: int) -> None:
    """Raise Fail for what `in_tiles` cannot share out without a rest."""
    if calls not in NAMES:
        raise Fail(
            f"Can't do tiles by {value_text(calls)}: there are no such calls",
            hint=f"write one of {', '.join(map(value_text, NAMES))}",
        )
    for name, pair in (("block", block), ("warps", warps), ("depth", (depth, depth))):
        if not isinstance(pair, (tuple, list)) or [type(n) for n in pair] != [int, int]:
            like = "64, a number" if name == "depth" else "(2, 2): how many down, how many across"
            given = depth if name == "depth" else pair
            raise Fail(f"Can't take {name}={value_text(given)}", hint=f"write {name}={like}")
    loops = (sch.get(loop) for loop in sch.get_loops("C"))
    rows, columns, terms = (loop.extent for loop in loops if isinstance(loop, For))
    check_side("rows", block[0], rows, warps[0])
    check_side("columns", block[1], columns, warps[1])
    check_side("terms", depth, terms, 1)


def check_side(what: str, each: int, every: Expr, warps: int) -> None:
    """Raise Fail where tiles of 16 do not fill `each` rows, columns or terms of `warps`, or where
    those do not fill `every` one of the product.
    """
    known = int(every.value) if isinstance(every, Const) else 0
    tile = TILE * max(warps, 1)
    if warps < 1:
        found = "a block has one warp or more each way"
    elif each < 1 or each % tile:
        of = f", for {count_text(warps, 'warp')}" if warps > 1 else ""
        found = f"it takes multiples of {tile}{of}"
    elif known % each:
        found = f"{known:,} of the product are no multiple of that"
    else:
        return
    fit = [number for number in divisors(known) if number % tile == 0] if known else []
    raise Fail(
        f"Can't give a block {each:,} {what}: {found}",
        hint=f"give it {' or '.join(map(str, fit))} {what}" if fit else "take fewer warps",
    )


def lay_out(sch: Schedule, held: list[BlockHandle]) -> None:
    """Where a warp has a cell: the tile's row and column, the thread, its register."""
    for name, near, far in ((held[0], 4, 2), (held[1], 2, 4), ("C", 4, 2)):
        sch.transform_layout(name, ("write", 0), f"lambda i, j: ({HELD.format(near, far)})")


def by_all(sch: Schedule, name: BlockHandle | str, warps: Pair) -> None:
    """The copy `name` by all threads of a block, 16 bytes at a time."""
    cells = sch.fuse(*sch.get_loops(name)[-2:])
    _, y, z, x, vector = sch.split(cells, [None, *warps, WARP, VECTOR])
    for loop, axis in ((y, "threadIdx.y"), (z, "threadIdx.z"), (x, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.vectorize(vector)


def by_calls(sch: Schedule, calls: Calls) -> None:
    """Let `calls` of a warp do the tiles: two loads, the start, the products, the store.

    >>> sch = wb.Schedule(lesson.exercise("copies_ahead").program)
    >>> lesson.in_tiles(sch, "mma", (64, 64), (2, 2), 64)
    >>> lesson.by_calls(sch, "mma")
    >>> "ldmatrix_x4(" in wb.build(sch, target="nvidia/a100").source
    True
    """
    load_a, load_b, fill, product, store = NAMES[calls]
    a, b, sums = (scope.replace(".", "_") for scope in SCOPES[calls])
    sch.tensorize(sch.get_loops(f"A_shared_{a}")[-2], load_a)
    sch.tensorize(sch.get_loops(f"B_shared_{b}")[-2], load_b)
    sch.tensorize(sch.get_loops("C_init")[-2], fill)
    sch.tensorize(sch.get_loops("C_update")[-3], product)
    out = sch.get(sch.get_block(f"C_{sums}"))
    if isinstance(out, Block) and out.writes[0].buffer.scope == "shared":
        store = store.replace("global", "shared_dyn")
    sch.tensorize(sch.get_loops(f"C_{sums}")[-2], store)


def described(intrinsic: str) -> PrimFunc:
    """What the tensor intrinsic of that name does, as a program."""
    found = TensorIntrin.get(intrinsic)
    assert found is not None
    return found.desc


@once
def under_way(func: PrimFunc, tiles: int, *, ahead: bool = False) -> PrimFunc:
    """What `half_tiles` made, with `tiles` in shared memory at a time, copied asynchronously.

    With fragments `ahead`, those of the next step are loaded before this one's products.
    """
    sch = Schedule(func)
    turns, steps = turns_of(sch)
    pipeline_tiles(sch, turns, steps, tiles, ("A_shared_warp", "B_shared_warp") if ahead else ())
    return sch.func


@once
def through_registers(func: PrimFunc, warps: Pair = (2, 2)) -> PrimFunc:
    """What `half_tiles` made, with the next tile on its way in registers, as in lesson 9."""
    sch = Schedule(func)
    turns, steps = turns_of(sch)
    sch.unroll(steps)
    for name in ("A_shared", "B_shared"):
        held = sch.cache_read(name, 0, "local")
        sch.compute_at(held, turns)
        by_all(sch, held, warps)
    copies = {"A_shared": 2, "B_shared": 2}
    sch.pipeline(turns, stages=[0, 0, 0, 0, 1], order=[0, 3, 1, 4, 2], copies=copies)
    return sch.func


def turns_of(sch: Schedule) -> tuple[LoopHandle, LoopHandle]:
    """The loop over the tiles that are fetched, and the one over the steps of a tile."""
    turns, steps = sch.get_loops("C_update_o")[4:6]
    return turns, steps
