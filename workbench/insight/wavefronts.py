"""wavefronts: in how many goes the banks of shared memory serve each request of a warp.

The rule was found by measuring: it says what an H200 counts for each of 1,226 requests (the table
is `tests/insight/shared_wavefronts.json`). A warp is served in groups of neighbouring lanes: all 32
where a lane moves up to 4 bytes, 16 where it moves 8, 8 where it moves 16. A group takes one
wavefront for each of the different words of 4 bytes that the busiest bank holds for it; lanes that
want one word, or parts of it, share it. For loads alone two groups become one where every lane
wants just what its neighbour does (lane i what lane i ^ 1 does, or every one what i ^ 2 does); an
idle lane agrees with any.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.insight.warps import IDLE, distinct

WARP = 32  # lanes
PAST_L1 = 16  # bytes of a lane that an asynchronous copy brings past the L1 cache
LINE, LINES = 128, 4  # bytes of a line of L1, and how many come at a time
BANKS, WORD = 32, 4  # banks, and bytes that one bank serves at once (all NVIDIA GPUs since Maxwell)


def wavefronts(table: Any, width: int, *, writes: bool) -> Any:
    """For each request how many wavefronts it takes.

    `table` has a row a request with the byte address of each of 32 lanes, IDLE where one sleeps;
    a lane moves `width` bytes, at a multiple of that.
    """
    together = lanes_together(table, width, writes=writes)
    total = np.zeros(len(table), dtype=np.int64)
    for lanes in np.unique(together).tolist():
        rows = together == lanes
        groups = table[rows].reshape(-1, lanes)
        each = _busiest(groups, max(1, width // WORD)).reshape(-1, WARP // lanes)
        total[rows] = each.sum(axis=1)
    return total


def copied(at: Any, to: Any, width: int) -> Any:
    """For each asynchronous copy how many wavefronts its store takes, at least.

    The lanes of a request load `width` bytes each `at` addresses of global memory, and store them
    `to` others of shared memory. 16 bytes go past L1, straight to where they are wanted. Fewer go
    through the banks of a line as of shared memory, and no lane shares what another loads; four
    lines come at a time. An H100 counts just that of each regular one of 80 requests of 4 and 8
    bytes but one, and up to twice as many of random ones.
    """
    if width >= PAST_L1:
        return np.ones(len(to), dtype=np.int64)
    apart = np.where(at == IDLE, IDLE, at % LINE + np.arange(WARP) * LINE)
    lines = distinct(np.where(at == IDLE, IDLE, at // LINE))
    near = _busiest(apart, max(1, width // WORD))
    far = np.maximum(near, -(-lines // LINES))
    return 1 + np.maximum(wavefronts(to, width, writes=True), far)


def lanes_together(table: Any, width: int, *, writes: bool) -> Any:
    """For each request how many neighbouring lanes are served together; see `wavefronts`."""
    words = max(1, width // WORD)
    together = np.full(len(table), WARP // words)
    if words > 1 and not writes:
        together[_agrees(table, 1) | _agrees(table, 2)] *= 2
    return together


def _agrees(table: Any, step: int) -> Any:
    """The requests in which every lane `i` wants what `i ^ step` does, if both want anything."""
    other = table[:, np.arange(WARP) ^ step]
    return ((table == other) | (table == IDLE) | (other == IDLE)).all(axis=1)


def _busiest(groups: Any, words: int) -> Any:
    """For each group the most different words that one bank holds, of `words` words a lane."""
    asked = [np.where(groups == IDLE, IDLE, groups // WORD + k) for k in range(words)]
    together = np.sort(np.concatenate(asked, axis=1), axis=1)
    fresh = together != IDLE
    fresh[:, 1:] &= together[:, 1:] != together[:, :-1]
    row, column = np.nonzero(fresh)
    bank = row * BANKS + together[row, column] % BANKS
    return np.bincount(bank, minlength=len(groups) * BANKS).reshape(-1, BANKS).max(axis=1)
