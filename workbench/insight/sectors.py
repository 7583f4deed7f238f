"""sectors: how many 32-byte sectors of global memory each request of a warp touches."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.insight.warps import IDLE, distinct

SECTOR = 32  # bytes; what device memory and the caches of NVIDIA's GPUs move at once


def sectors(table: Any, width: int) -> Any:
    """For each request how many sectors it touches: a lane may reach over into the next.

    `table` has a row a request with the byte address of each lane, IDLE where one sleeps; a lane
    moves `width` bytes.
    """
    first = np.where(table == IDLE, IDLE, table // SECTOR)
    last = np.where(table == IDLE, IDLE, (table + width - 1) // SECTOR)
    return distinct(np.concatenate([first, last], axis=1))
