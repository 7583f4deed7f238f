"""Who touched which cell, held against a list of everything that was touched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.cases import seeds
from workbench.emulate.kernels.shadow import Race, Shadow
from workbench.ir import Buffer, BufferLoad, BufferStore, const

A = Buffer("A", (64,), "int32")
HERE = (const(0, "int32"),)
NODES = (
    BufferLoad(A, HERE),
    BufferLoad(A, HERE),
    BufferStore(A, const(1, "int32"), HERE),
    BufferStore(A, const(2, "int32"), HERE),
)
OWNERS = 6


class Plain:
    """Every touch of every cell, in order, as (owner, node)."""

    def __init__(self) -> None:
        self.touched: dict[int, list[tuple[int, object]]] = {}

    def judge(self, node, lanes: list[tuple[int, int]]) -> tuple[int, set[int], set[int]] | None:
        """None for a race, else (extra, again, shared) of `Overlap`."""
        before = {cell: list(self.touched.get(cell, ())) for cell, _ in lanes}
        writes = isinstance(node, BufferStore)
        for cell, owner in lanes:
            others = [n for o, n in before[cell] if o != owner]
            wrote = [n for _, n in before[cell] if isinstance(n, BufferStore)]
            if not writes and any(isinstance(n, BufferStore) for n in others):
                return None
            if writes and any(isinstance(n, BufferLoad) for n in others):
                return None
            met = writes and any(isinstance(n, BufferStore) for n in others)
            if met and any(n is not node for n in wrote):
                return None
        for cell, owner in lanes:
            self.touched.setdefault(cell, []).append((owner, node))
        if not writes:
            return 0, set(), set()
        wrote = {c: [o for o, n in self.touched[c] if isinstance(n, BufferStore)] for c, _ in lanes}
        shared = {c for c, owners in wrote.items() if len(set(owners)) > 1}
        again = {
            c for c, o in lanes if any(isinstance(n, BufferStore) and p != o for p, n in before[c])
        }
        extra = sum(wrote[c][0] != o for c, o in lanes)
        return (extra, again, shared) if shared else (0, set(), set())

    def forget(self, owner: int) -> None:
        for cell, touched in self.touched.items():
            self.touched[cell] = [t for t in touched if t[0] != owner]


def check(seed: int, window: bool) -> str:
    """Random accesses until a race, or until nothing more comes."""
    rng = np.random.default_rng(seed)
    shadow, plain = Shadow(64, OWNERS, len(NODES), window=window), Plain()
    few = int(rng.choice((3, 60)))  # cells: where they are few, they are touched often
    for _ in range(int(rng.integers(1, 12))):
        node = NODES[rng.choice(4, p=(0.1, 0.05, 0.5, 0.35))]
        start, count = int(rng.integers(few)), int(rng.integers(1, 4))
        cells = np.minimum(start + rng.integers(0, 4, count), 63)
        owners = cells % OWNERS if rng.random() < 0.8 else rng.integers(0, OWNERS, count)
        expected = plain.judge(node, list(zip(cells.tolist(), owners.tolist(), strict=True)))
        try:
            found = shadow.judge(node, cells, owners)
        except Race as race:
            assert expected is None, race
            (first, how), (second, by) = race.first, race.second
            assert by is node and first != second and (first, how) in plain.touched[race.cell]
            assert isinstance(how, BufferStore) or isinstance(node, BufferStore)
            return "race"
        assert expected is not None
        extra, again, shared = expected
        everything = np.arange(64)
        if found is None:
            assert not shared
        else:
            assert found.extra == extra
            assert set(np.flatnonzero(found.shared.among(everything))) == shared
            marked = found.again.among(everything) if found.again else np.zeros(64, bool)
            assert set(np.flatnonzero(marked)) == again
        if rng.random() < 0.1:
            shadow.clear()
            plain.touched.clear()
    for cell, touched in plain.touched.items():
        writers = {o for o, n in touched if isinstance(n, BufferStore)}
        for owner in range(OWNERS):
            other = shadow.other_writer(cell, owner)
            assert other in writers - {owner} if writers - {owner} else other is None
    return "overlap" if any(len(t) > 1 for t in plain.touched.values()) else "apart"


@pytest.mark.parametrize("window", [False, True])
def test_it_knows_what_a_list_of_everything_knows(window: bool):
    assert {check(seed, window) for seed in seeds(10)} == {"race", "overlap", "apart"}


def test_an_owner_is_forgotten_and_the_others_are_not():
    shadow = Shadow(8, 4, 2)
    load, _, store, _ = NODES
    shadow.judge(store, np.array([0, 1]), np.array([0, 1]))
    shadow.judge(load, np.array([4, 4]), np.array([0, 1]))
    shadow.forget(lambda cells, owners: owners == 0)
    shadow.judge(store, np.array([0, 4]), np.array([1, 1]))  # only 0 was there, and 1 itself
    with pytest.raises(Race):
        shadow.judge(store, np.array([4]), np.array([2]))
    with pytest.raises(Race):
        shadow.judge(load, np.array([1]), np.array([0]))


def test_cells_that_lie_apart_are_cleared_one_by_one_and_all_at_once():
    shadow = Shadow(4096, 4, 2, window=True)
    store = NODES[2]
    for cells in (np.arange(0, 4096, 512), np.arange(4096), np.array([7])):
        assert shadow.judge(store, cells, np.zeros(len(cells), int)) is None
        shadow.clear()
        assert shadow.judge(store, cells, np.ones(len(cells), int)) is None
        shadow.clear()
    assert not shadow.written().any()
