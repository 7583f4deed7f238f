"""Programs for any size, by family, and random schedules of them held against their meaning."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np

import workbench as wb
from tests.support.random_steps import Chooser
from tests.support.told import Told, take_ours
from workbench import access, emulate, ir, script
from workbench.ir import Buffer, PrimFunc, Sized
from workbench.ir.places import places
from workbench.runtime.built import Built
from workbench.schedule import Schedule, ScheduleError

HEAD = """
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n, m, k = T.int32(), T.int32(), T.int32()
"""
PAIR = """    A = T.match_buffer(a, ({shape},), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, ({out},), "float32")
"""
MATRICES = """    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (k, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
"""
BLOCK = """    for {loops} in T.grid({extents}):
        with T.block("{name}"):
            {vars} = T.axis.remap("{kinds}", [{loops}])
            {body}
"""


def nest(name: str, loops: str, extents: str, body: str, kinds: str = "") -> str:
    """A block under its loops, one an iterator: "i, j" over "n, m"."""
    names = loops.split(", ")
    kinds = kinds or "S" * len(names)
    if len(names) == 1:
        head = f"            v{loops} = T.axis.spatial({extents}, {loops})\n"
        lines = "".join(f"            {line}\n" for line in body.splitlines())
        return (
            f'    for {loops} in range({extents}):\n        with T.block("{name}"):\n{head}{lines}'
        )
    return BLOCK.format(
        name=name,
        loops=loops,
        extents=extents,
        kinds=kinds,
        vars=", ".join(f"v{v}" for v in names),
        body=body.replace("\n", "\n            "),
    )


def pair(shape: str, out: str, *stages: str, scratch: str = "") -> str:
    return (
        HEAD.replace(", m, k = T.int32(), T.int32(), T.int32()", " = T.int32()")
        + PAIR.format(shape=shape, out=out)
        + scratch
        + "".join(stages)
    )


TWO = HEAD.replace("n, m, k = T.int32(), T.int32(), T.int32()", "n, m = T.int32(), T.int32()")
ROWS = (
    TWO
    + """    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n * m,), "float32")
    C = T.match_buffer(c, (n * m,), "float32")
"""
)
SUM = "with T.init():\n    C[vi, vj] = T.float32(0)\nC[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]"
FAMILIES = {
    "sum of vectors": pair("n", "n", nest("C", "i", "n", "C[vi] = A[vi] + B[vi]")),
    "two stages": pair(
        "n",
        "n",
        nest("D", "i", "n", "D[vi] = A[vi] + B[vi]"),
        nest("C", "i", "n", "C[vi] = D[vi] * 2.0"),
        scratch="    D = T.alloc_buffer((n,))\n",
    ),
    "window": pair(
        "n + 2",
        "n",
        nest("D", "i", "n + 2", "D[vi] = A[vi] * 3.0"),
        nest("C", "i", "n", "C[vi] = D[vi] + D[vi + 1] + D[vi + 2] * B[vi]"),
        scratch="    D = T.alloc_buffer((n + 2,))\n",
    ),
    "reversed": pair(
        "n",
        "n",
        nest("D", "i", "n", "D[vi] = A[n - 1 - vi]"),
        nest("C", "i", "n", "C[vi] = D[n - 1 - vi] + B[vi]"),
        scratch="    D = T.alloc_buffer((n,))\n",
    ),
    "halves": pair("n * 2", "n * 2", nest("C", "i", "n * 2", "C[vi] = A[vi] + B[vi // 2]")),
    "quarters": pair(
        "n", "(n + 3) // 4", nest("C", "i", "(n + 3) // 4", "C[vi] = A[vi * 4] + B[n - 1]")
    ),
    "in place": pair("n", "n", nest("C", "i", "n", "C[vi] = C[vi] + A[vi] * B[vi]")),
    "size as value": pair(
        "n", "n", nest("C", "i", "n", 'C[vi] = A[vi] * T.Cast("float32", n) + B[vi]')
    ),
    "guarded": pair(
        "n", "n", nest("C", "i", "n", "C[vi] = T.if_then_else(vi + 1 < n, A[vi + 1], B[vi])")
    ),
    "padded": pair(
        "n",
        "n",
        nest("D", "i", "n + 3", "D[vi] = T.if_then_else(1 <= vi and vi < n + 1, A[vi - 1], 2.0)"),
        nest("C", "i", "n", "C[vi] = D[vi] + D[vi + 1] * D[vi + 2] + B[vi]"),
        scratch="    D = T.alloc_buffer((n + 3,))\n",
    ),
    "product": HEAD + MATRICES + nest("C", "i, j, r", "n, m, k", SUM, "SSR"),
    "product of a copy": HEAD
    + MATRICES
    + "    D = T.alloc_buffer((n, k))\n"
    + nest("D", "i, r", "n, k", "D[vi, vr] = A[vi, vr] + 1.0")
    + nest("C", "i, j, r", "n, m, k", SUM.replace("A[", "D["), "SSR"),
    "product and more": HEAD
    + MATRICES
    + "    D = T.alloc_buffer((n, m))\n"
    + nest("D", "i, j, r", "n, m, k", SUM.replace("C[", "D["), "SSR")
    + nest("C", "i, j", "n, m", "C[vi, vj] = T.max(D[vi, vj], T.float32(0))"),
    "transposed": HEAD
    + MATRICES.replace("c, (n, m)", "c, (m, n)")
    + nest("C", "j, i", "m, n", "C[vj, vi] = A[vi, 0] + B[0, vj]"),
    "flat rows": ROWS
    + "    D = T.alloc_buffer((n * m,))\n"
    + nest("D", "i, j", "n, m", "D[vi * m + vj] = A[vi, vj] + B[vi * m + vj]")
    + nest("C", "i, j", "n, m", "C[vi * m + vj] = D[vi * m + vj] * 2.0"),
    "flattened": ROWS
    + "    D = T.alloc_buffer((n * m,))\n"
    + nest("D", "i, j", "n, m", "D[vi * m + vj] = A[vi, vj] * 3.0")
    + nest("C", "i", "n * m", "C[vi] = D[vi] + B[vi]"),
    "reshaped": ROWS
    + "    D = T.alloc_buffer((n, m))\n"
    + nest("D", "i, j", "n, m", "D[vi, vj] = A[vi, vj] + B[vi * m + vj]")
    + nest("C", "i", "n * m", "C[vi] = D[vi // m, vi % m] * 2.0"),
    "rows of tiles": ROWS.replace("n, m)", "n * 4, m)").replace("(n * m", "(n * 4 * m")
    + "    D = T.alloc_buffer((m, 4, n))\n"
    + nest("D", "i, k, j", "n, 4, m", "D[vj, vk, vi] = A[vi * 4 + vk, vj]")
    + nest("C", "i", "n * 4 * m", "C[vi] = D[vi % m, vi // m % 4, vi // m // 4] + B[vi]"),
    "fixed sum": TWO + MATRICES.replace("k", "6") + nest("C", "i, j, r", "n, m, 6", SUM, "SSR"),
}
TRIED = (1, 2, 3, 4, 5, 7, 8, 9)
VERBS = (
    *("split", "split", "fuse", "reorder", "bind", "unroll", "vectorize", "parallel"),
    *("add_unit_loop", "set_scope", "decompose_reduction", "rfactor", "compute_inline"),
    *("reverse_compute_inline", "compute_at", "reverse_compute_at", "cache_read", "cache_write"),
    *("reorder_block_iter_var", "storage_align", "blockize", "transform_layout"),
    *("transform_block_layout", "pad_einsum", "reindex", "reindex_cache_read"),
    *("reindex_cache_write", "decompose_padding", "merge", "loop_partition"),
)


def read(name: str) -> PrimFunc:
    """The program of a family."""
    func = script.parse(FAMILIES[name])
    assert isinstance(func, PrimFunc)
    return func


def sizes_to_try(func: PrimFunc, rng: random.Random, count: int) -> Iterator[dict[str, int]]:
    """Sizes by name: 0 for one that no sum goes over, 1, around tiles, and odd ones."""
    names = [size.name for size in func.sizes]
    every = [(0, *TRIED) if name != "k" else TRIED for name in names]
    first = [tuple(each[0] for each in every), tuple(5 for _ in names)]
    ways = [*product(*every)]
    for values in (*first, *rng.sample(ways, min(count, len(ways)))):
        yield dict(zip(names, values, strict=True))


def at(func: PrimFunc, named: dict[str, int]) -> PrimFunc:
    """`func` with numbers for its sizes, also 0, which makes loops of no turns."""
    return Sized({size: named[size.name] for size in func.sizes}).of(func)


class Meanings:
    """What a program means at some sizes, by terms, specialized ahead of all steps."""

    def __init__(self, first: PrimFunc, rng: random.Random, count: int = 4) -> None:
        self.tried = []
        for named in sizes_to_try(first, rng, count):
            func = at(first, named)
            data, terms = access.random_data(func, 0), access.Terms()
            self.tried.append((named, func, data, terms, access.meaning(func, data, terms)))

    def check(self, then: PrimFunc) -> None:
        """`then`, specialized after its steps, means the same at each of the sizes."""
        for named, first, data, terms, wanted in self.tried:
            func = at(then, named)
            got = access.meaning(func, data, terms)
            for before, after in zip(wanted, got, strict=True):
                if any(term is not after[cell] for cell, term in before.items()):
                    raise AssertionError(
                        f"at {named}: {access.difference(first, func, data)}\n{script.show(then)}"
                    )


def walk_at_random(seed: int, length: int = 6) -> tuple[Counter[str], list[Told], Schedule]:
    """Random steps on the program of a random family; each is held against its meaning."""
    rng = random.Random(seed)
    sch = Schedule(read(rng.choice(list(FAMILIES))))
    meaning, taken, steps = Meanings(sch.func, rng), Counter[str](), list[Told]()
    for _ in range(length):
        step = Chooser(sch.func, rng).step((rng.choice(VERBS),))
        if step is None:
            continue
        try:
            take_ours(sch, step)
        except ScheduleError as refused:
            assert len(refused.headline) <= 120, refused.headline
            continue
        steps.append(step)
        taken[step.verb] += 1
        ir.verify(sch.func)
        text = script.show(sch.func)
        assert ir.structural_equal(script.parse(text), sch.func), text
        try:
            meaning.check(sch.func)
        except Exception as error:
            raise AssertionError(f"{error!r} after {'; '.join(map(str, steps))}\n{text}") from error
    return taken, steps, sch


def bind_rest(sch: Schedule) -> None:
    """Bind the outermost loop of each nest that runs on no GPU yet, where that can be done."""
    func = sch.func
    for realize in places(func).blocks.values():
        loops = places(sch.func).loops_above(realize) if realize in places(sch.func).parent else []
        if loops and not any(loop.thread for loop in loops):
            for axis in ("blockIdx.x", "threadIdx.x"):
                try:
                    sch.bind(sch.get_loops(realize.block.name)[0], axis)
                    break
                except ScheduleError:
                    continue


def built(sch: Schedule, target: str = "cuda") -> Built | None:
    """The kernels of `sch`, with what runs on no GPU yet bound for one; None where refused."""
    if target == "cuda":
        bind_rest(sch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return wb.build(sch, target)
        except ScheduleError:
            return None


def calls(
    func: PrimFunc, rng: random.Random, count: int
) -> Iterator[tuple[dict[str, int], PrimFunc, list[np.ndarray]]]:
    """Sizes to try of `func`, the program at each, and arrays for it."""
    for named in sizes_to_try(func, rng, count):
        there = at(func, named)
        yield named, there, [arrays_of(buffer, rng) for buffer in there.params]


def run_kernels(sch: Schedule, first: PrimFunc, rng: random.Random, target: str = "cuda") -> int:
    """Build and run at some sizes, held against the first program; 0 where it is refused."""
    kernel = built(sch, target)
    if kernel is None:
        return 0
    for named, func, given in calls(first, rng, 3):
        wanted, got = ([array.copy() for array in given] for _ in range(2))
        (kernel.emulate if target == "cuda" else kernel)(*got)
        if all(named.values()):
            emulate.evaluate(func, wanted)
            for a, b in zip(wanted, got, strict=True):
                np.testing.assert_allclose(b, a, err_msg=f"{named}\n{script.show(sch.func)}")
    return 1


def arrays_of(buffer: Buffer, rng: random.Random) -> np.ndarray:
    """Whole numbers, of which sums are exact."""
    draw = np.random.default_rng(rng.randrange(2**32))
    return draw.integers(-3, 4, buffer.shape).astype(buffer.type)
