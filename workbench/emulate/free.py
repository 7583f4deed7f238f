"""How much memory a run may still take on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

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


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that may still be taken: the least of what the machine and its limits leave.

    On Linux what `root`/proc/meminfo calls available and what is left of the control groups that
    this process is in; elsewhere all memory of the machine, None where even that is not known.
    """
    found = [*_of_machine(root), *_of_groups(root)]
    if found:
        return max(0, min(found))
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_machine(root: Path) -> Iterator[int]:
    known = _table(root / "proc/meminfo")
    if "MemAvailable:" in known:
        yield known["MemAvailable:"] << 10  # in KiB


def _of_groups(root: Path) -> Iterator[int]:
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, place = line.split(":", 2)
        for kind in {"", "memory"} & set(controllers.split(",")):
            above, limit, use, files = _GROUPS[kind]
            group = root / above / place.lstrip("/")
            # a container may see its own group as the topmost one: all that exist are asked
            for folder in (group, *group.parents):
                most, used = _text(folder / limit).strip(), _text(folder / use).strip()
                if most.isdigit() and used.isdigit():
                    yield int(most) - int(used) + _table(folder / "memory.stat").get(files, 0)
                if folder == root / above:
                    break


def _table(path: Path) -> dict[str, int]:
    rows = (line.split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
