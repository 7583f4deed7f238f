"""Memory of the machine that a run takes: what is free, what is refused, what is remembered."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import TypeVar

from workbench.emulate.errors import TooLarge

T = TypeVar("T")

SMALL = 1 << 24  # bytes for which nobody is asked: that takes longer than a small run
MOST = 1 << 25  # bytes that one `Memo` may hold: a long serial loop brings new keys for ever
ENTRY = 1 << 10  # bytes that a small value and its key cost, roughly

# of control groups, by version: where they lie, limit, use, and the part of it that is files
_GROUPS = {
    "": ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    "memory": (
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
}


class Memo(dict[Hashable, T]):
    """A dictionary that forgets everything before it holds more than MOST bytes."""

    _size = 0

    def keep(self, key: Hashable, value: T, size: int = 0) -> None:
        """Remember `value`, which takes `size` bytes beside its entry."""
        self._size += ENTRY + size
        if self._size > MOST:
            self.clear()
            self._size = ENTRY + size
        self[key] = value


def check_fits(what: str, need: int, few: Callable[[], int] | None = None) -> None:
    """Raise TooLarge where `what` needs more bytes than are free; not where that is not known.

    `few` works out what two blocks of it need, where it has more.
    """
    free = free_memory() if need > SMALL else None
    if free is not None and need > free:
        hint = "run it on smaller arrays."
        if few is not None and few() <= free:
            hint = f"run some of its blocks: kernel.emulate(…, blocks=[0, 1]); or {hint}"
        raise TooLarge(
            f"Can't run {what}: it needs {need:,} bytes of memory, and {free:,} are free",
            detail=f"its arrays are there already; {need >> 20:,} MiB more would hold what comes "
            f"between, and who writes and reads each cell; {free >> 20:,} MiB are free",
            hint=hint,
        )


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that may still be taken: the least of what the machine and its limits leave.

    On Linux what `root`/proc/meminfo calls available and what is left of the control groups that
    this process is in; elsewhere all memory of the machine, None where even that is not known.
    """
    left = [*_left_on_machine(root), *_left_in_groups(root)]
    if left:
        return max(0, min(left))
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _left_on_machine(root: Path) -> Iterator[int]:
    table = _read_table(root / "proc/meminfo")
    if "MemAvailable:" in table:
        yield table["MemAvailable:"] << 10  # in KiB


def _left_in_groups(root: Path) -> Iterator[int]:
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, place = line.split(":", 2)
        for kind in {"", "memory"} & set(controllers.split(",")):
            above, limit, use, files = _GROUPS[kind]
            group = root / above / place.lstrip("/")
            # a container may see its own group as the topmost one: all that exist are asked
            for folder in (group, *group.parents):
                most, used = _read(folder / limit).strip(), _read(folder / use).strip()
                if most.isdigit() and used.isdigit():
                    yield int(most) - int(used) + _read_table(folder / "memory.stat").get(files, 0)
                if folder == root / above:
                    break


def _read_table(path: Path) -> dict[str, int]:
    rows = (line.split() for line in _read(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
