"""What a run takes beside its arrays: little, known before it starts, and refused where it is not
there."""

from __future__ import annotations

import gc
import importlib
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench import emulate, lower, script, target
from workbench.emulate.kernels.need import of_launches
from workbench.emulate.kernels.plan import Plan
from workbench.emulate.memory import free_memory
from workbench.emulate.programs.evaluate import of_meaning
from workbench.emulate.programs.order import Order
from workbench.ir import PrimFunc
from workbench.widgets.run.runner import Runner

MIB = 1 << 20
ROOM = 1 << 12  # lanes at a time in these tests, so that small arrays come in many pieces
CUDA = target.get("cuda")
RUN = importlib.import_module("workbench.emulate.kernels.run")
MEMORY = importlib.import_module("workbench.emulate.memory")

ADD = """
@T.prim_func
def add(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}"), C: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        with T.block("C"):
            vi = T.axis.spatial({n}, i)
            C[vi] = A[vi] + B[vi]
"""
IN_PLACE = """
@T.prim_func
def twice(A: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        with T.block("C"):
            vi = T.axis.spatial({n}, i)
            A[vi] = A[vi] + A[vi]
"""
BETWEEN = """
@T.prim_func
def between(A: T.Buffer(({n},), "{t}"), C: T.Buffer(({n},), "{t}")):
    B = T.alloc_buffer(({n},), "{t}")
    for i in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({n}, i)
            {guard}
            B[vi] = A[vi] + A[vi]
    for i in range({n}):
        with T.block("C"):
            vi = T.axis.spatial({n}, i)
            C[vi] = B[{index}] + A[vi]
"""
TRANSPOSE = """
@T.prim_func
def transpose(A: T.Buffer(({m}, {n}), "{t}"), C: T.Buffer(({n}, {m}), "{t}")):
    for i, j in T.grid({m}, {n}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj, vi] = A[vi, vj]
"""
ROWS = """
@T.prim_func
def rows(A: T.Buffer(({m}, {n}), "{t}"), C: T.Buffer(({m},), "{t}")):
    for i, j in T.grid({m}, {n}):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.{t}(0)
            C[vi] = C[vi] + A[vi, vj]
"""


def parsed(text: str, **sizes: object) -> PrimFunc:
    func = script.parse(text.format(**sizes))
    assert isinstance(func, PrimFunc)
    return func


def flat(text: str, threads: int = 64, **sizes: object) -> PrimFunc:
    """Each block's loop over blocks and `threads` threads."""
    sch = wb.Schedule(parsed(text, **sizes))
    for name in ("B", "C") if "alloc_buffer" in text else ("C",):
        loop, *_ = sch.get_loops(sch.get_block(name))
        outer, inner = sch.split(loop, [None, threads])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
    return sch.func


def tiled(m: int, n: int, dtype: str) -> PrimFunc:
    sch = wb.Schedule(parsed(TRANSPOSE, m=m, n=n, t=dtype))
    i, j = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, [None, 8])
    j_0, j_1 = sch.split(j, [None, 8])
    sch.reorder(i_0, j_0, i_1, j_1)
    axes = ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    for loop, axis in zip((i_0, j_0, i_1, j_1), axes, strict=True):
        sch.bind(loop, axis)
    return sch.func


def everywhere(n: int) -> PrimFunc:
    """Every block writes all of C: allowed, since all write the same."""
    text = ADD.replace("for i in range({n})", "for b, i in T.grid(4, {n})")
    sch = wb.Schedule(parsed(text, n=n, t="int32"))
    b, i = sch.get_loops(sch.get_block("C"))
    outer, inner = sch.split(i, [None, 64])
    sch.bind(b, "blockIdx.y")
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return sch.func


PROGRAMS: dict[str, Callable[[], PrimFunc]] = {
    "add": lambda: flat(ADD, n=1 << 18, t="float32"),
    "add, float64": lambda: flat(ADD, n=1 << 17, t="float64"),
    "add, blocks of four": lambda: flat(ADD, threads=4, n=1 << 18, t="float32"),
    "add, a guard": lambda: flat(ADD, n=(1 << 18) - 77, t="float32"),
    "add, by all": lambda: everywhere(1 << 16),
    "in place, int8": lambda: flat(IN_PLACE, n=1 << 18, t="int8"),
    "between kernels": lambda: flat(BETWEEN, n=1 << 18, t="float32", guard="", index="vi"),
    "transpose": lambda: tiled(512, 512, "float32"),
    "transpose, int8, guards": lambda: tiled(501, 499, "int8"),
    "rows": lambda: flat(ROWS, m=1 << 14, n=16, t="float32"),
}


@pytest.fixture(autouse=True, scope="module")
def before() -> Iterator[None]:
    """What other tests left is looked at once, and not by each collection of these."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def zeros(func: PrimFunc) -> list[np.ndarray]:
    return [np.zeros(p.shape, p.dtype) for p in func.params]


def taken(run: Callable[[], object]) -> int:
    """The most bytes of memory that `run` holds at any time."""
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_takes_what_it_said_and_little(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(RUN, "ROOM", ROOM)
    func = PROGRAMS[name]()
    kernels, arrays = lower.lower(func, CUDA).kernels, zeros(func)
    emulate.run(kernels, arrays, params=func.params)  # what is loaded late is loaded now
    chosen = [range(int(np.prod(k.grid))) for k in kernels]
    said = of_launches([Plan(k, ROOM) for k in kernels], chosen, func.params, ROOM)
    took = taken(lambda: emulate.run(kernels, arrays, params=func.params))
    own = sum(a.nbytes for a in arrays)
    assert own + took <= 10 * own + MIB
    assert took / 2 - MIB <= said <= 2 * took + MIB


def test_by_meaning_it_takes_what_it_said():
    func = parsed(ADD, n=1 << 18, t="float32")
    took = taken(lambda: emulate.evaluate(func, zeros(func)))
    assert took / 2 <= of_meaning(func, Order()) <= 2 * took


def test_nothing_of_a_piece_is_left_when_the_next_one_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(RUN, "ROOM", ROOM)
    func = flat(ADD, n=1 << 17, t="float32")
    kernels = lower.lower(func, CUDA).kernels
    held: list[int] = []

    def note(done: int, total: int) -> None:
        held.append(tracemalloc.get_traced_memory()[0])

    gc.collect()
    gc.disable()  # what is left is what refers to itself, or is kept
    try:
        taken(lambda: emulate.run(kernels, zeros(func), params=func.params, progress=note))
    finally:
        gc.enable()
    assert len(held) == 32 and held[-1] - held[1] < 64 << 10


LONG = """
@T.prim_func
def long(A: T.Buffer((64, 1024), "float32"), C: T.Buffer((64,), "float32")):
    for i, j in T.grid(64, 1024):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vj]
"""


def test_a_long_serial_loop_remembers_only_so_much(monkeypatch: pytest.MonkeyPatch):
    func = flat(LONG)
    kernels = lower.lower(func, CUDA).kernels

    def run() -> None:
        emulate.run(kernels, zeros(func))

    run()
    before = taken(run)
    monkeypatch.setattr("workbench.emulate.memory.MOST", 1 << 14)
    monkeypatch.setattr("workbench.emulate.kernels.shadow.MOST", 1 << 14)
    assert taken(run) < before / 2


# --- refused before it starts --------------------------------------------------------------------

TOO_LARGE = """\
Can't run add_kernel: it needs {need:,} bytes of memory, and 1,000,000 are free.
found: its arrays are there already; {mib} MiB more would hold what comes between, and who writes \
and reads each cell; 0 MiB are free
do:    run some of its blocks: kernel.emulate(…, blocks=[0, 1]); or run it on smaller arrays."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a million bytes left."""
    monkeypatch.setattr(MEMORY, "free_memory", lambda: 1_000_000)


def test_a_run_that_does_not_fit_is_refused(small: None):
    func = flat(ADD, n=1 << 18, t="float32")
    (kernel,) = lower.lower(func, CUDA).kernels
    need = of_launches([Plan(kernel, RUN.ROOM)], [range(1 << 12)], func.params, RUN.ROOM)
    arrays = [np.ones(1 << 18, "float32") for _ in range(3)]
    with pytest.raises(emulate.NotEnoughMemory) as caught:
        wb.build(func).emulate(*arrays)
    assert str(caught.value) == TOO_LARGE.format(need=need, mib=need >> 20)
    assert (arrays[2] == 1).all()
    wb.build(func).emulate(*arrays, blocks=[0, 1])
    assert (arrays[2][:128] == 2).all() and (arrays[2][128:] == 1).all()


@pytest.mark.parametrize("exponent", [18, 21])  # in order, and as launches
def test_a_program_by_its_meaning_that_does_not_fit_is_refused(small: None, exponent: int):
    func = parsed(ADD, n=1 << exponent, t="int8")
    arrays = [np.ones(1 << exponent, "int8") for _ in range(3)]
    with pytest.raises(emulate.NotEnoughMemory, match=r"Can't run add: it needs [\d,]+ bytes"):
        emulate.evaluate(func, arrays)
    assert (arrays[2] == 1).all()


def test_a_lab_tells_that_it_does_not_fit(small: None):
    func = flat(ADD, n=1 << 18, t="float32")
    told = Runner().run(func, func, lambda *_: None)
    assert told["ok"] is False and "bytes of memory, and 1,000,000 are free" in told["text"]


def test_where_the_free_memory_is_unknown_nothing_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(MEMORY, "free_memory", lambda: None)
    func = flat(ADD, n=64, t="float32")
    arrays = [np.ones(64, "float32") for _ in range(3)]
    wb.build(func).emulate(*arrays)
    assert (arrays[2] == 2).all()


FILES = {
    "meminfo": {"proc/meminfo": "MemTotal: 4000 kB\nMemAvailable: 2000 kB\n"},
    "no limit": {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"},
    "version 2": {
        "proc/self/cgroup": "0::/a/b\n",
        "sys/fs/cgroup/a/memory.max": "900000\n",
        "sys/fs/cgroup/a/memory.current": "600000\n",
        "sys/fs/cgroup/a/memory.stat": "anon 1\ninactive_file 100000\n",
        "sys/fs/cgroup/a/b/memory.max": "max\n",
        "sys/fs/cgroup/a/b/memory.current": "5\n",
    },
    "version 1, in a container": {
        "proc/self/cgroup": "9:cpu,cpuacct:/\n4:memory:/docker/1\n0::/x\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "700000\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "800000\n",
    },
}


@pytest.mark.parametrize(
    ("kinds", "free"),
    [
        (("meminfo",), 2000 << 10),
        (("meminfo", "no limit"), 2000 << 10),
        (("meminfo", "version 2"), 400_000),
        (("version 2",), 400_000),
        (("meminfo", "version 1, in a container"), 0),
    ],
)
def test_the_free_memory_is_the_least_that_any_limit_leaves(tmp_path: Path, kinds, free: int):
    for kind in kinds:
        for name, text in FILES[kind].items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    assert free_memory(tmp_path) == free


def test_the_free_memory_of_this_machine_is_a_sensible_number(tmp_path: Path):
    assert MIB < (free_memory() or 2 * MIB) < 1 << 50
    assert MIB < (free_memory(tmp_path) or 2 * MIB) < 1 << 50  # as where there is no /proc


# --- pieces of one launch ------------------------------------------------------------------------


def ran_in_pieces(text: str, monkeypatch: pytest.MonkeyPatch, **given: str) -> list[np.ndarray]:
    monkeypatch.setattr(RUN, "ROOM", 64)
    func = flat(text, threads=16, n=256, t="int32", **given)
    arrays = [np.arange(256, dtype="int32"), np.zeros(256, "int32")]
    emulate.run(lower.lower(func, CUDA).kernels, arrays, params=func.params)
    return arrays


def test_what_one_piece_wrote_another_may_read_in_the_next_kernel(monkeypatch):
    a, c = ran_in_pieces(BETWEEN, monkeypatch, guard="", index="255 - vi")
    np.testing.assert_array_equal(c, 2 * a[::-1] + a)


def test_what_no_piece_wrote_is_seen_in_every_piece(monkeypatch):
    with pytest.raises(emulate.EmulationError, match=r"Can't read B\[200\]: nothing has written"):
        ran_in_pieces(BETWEEN, monkeypatch, guard="T.where(i < 200)", index="vi")
