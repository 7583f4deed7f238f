"""The memory of kernels in which a lesson is driven: ``python -m benchmarks.kernels [lesson]``.

Each kernel is one of Jupyter's. It runs the lesson's cells, then shows every step of every lab
beside its neighbour in every pane, and runs each lab's last program: more than a learner does.
One kernel alone is measured, then four at once; told are the MiB that each holds then (RSS), its
share of them (PSS: what kernels share is told in parts), and the most that it held.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

ROOT = Path(__file__).parent.parent
LESSON = "04_shared_blocking"
SECONDS = 900  # for one cell
MIB = 500  # at most, a kernel
DRIVE = """
import gc
from benchmarks.lab_pages import faults
from workbench.widgets import Lab
for lab in [found for found in gc.get_objects() if isinstance(found, Lab)]:
    assert not list(faults(lab))
    lab.run()
"""


async def driven(lesson: str, folder: Path) -> AsyncKernelManager:
    """A kernel in which the lesson was driven, still running; its files are in `folder`."""
    manager = AsyncKernelManager()
    await manager.start_kernel(cwd=str(folder), env={**os.environ, "PYTHONPATH": str(ROOT)})
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready()
    cells = nbformat.read(ROOT / "lessons" / f"{lesson}.ipynb", as_version=4).cells
    for code in (*(cell.source for cell in cells if cell.cell_type == "code"), DRIVE):
        await _execute(client, code)
    client.stop_channels()
    return manager


async def _execute(client: AsyncKernelClient, code: str) -> None:
    """Run a cell; raises RuntimeError where that fails."""
    reply = await client.execute_interactive(
        code, timeout=SECONDS, output_hook=lambda _: None, store_history=False
    )
    if reply["content"]["status"] != "ok":
        raise RuntimeError(f"{code[:60]} …: {reply['content']['evalue']}")


def held(pid: int) -> tuple[float, float, float]:
    """MiB that the process holds, its share of them, and the most it held."""
    found = {}
    for name in ("smaps_rollup", "status"):
        for line in Path(f"/proc/{pid}/{name}").read_text().splitlines():
            key, _, rest = line.partition(":")
            if rest.endswith(" kB"):
                found.setdefault(key, int(rest.split()[0]) / 1024)
    return found["Rss"], found["Pss"], found["VmHWM"]


async def measured(number: int, lesson: str) -> list[tuple[float, float, float]]:
    """What so many kernels at once hold, each after it was driven."""
    with TemporaryDirectory() as folder:
        places = [Path(folder) / str(k) for k in range(number)]
        for place in places:
            place.mkdir()
        kernels = await asyncio.gather(*(driven(lesson, place) for place in places))
        found = [held(kernel.provisioner.process.pid) for kernel in kernels]
        await asyncio.gather(*(kernel.shutdown_kernel(now=True) for kernel in kernels))
    return found


def main() -> int:
    """Print the table; 1 where a kernel holds too much."""
    lesson = sys.argv[1] if len(sys.argv) > 1 else LESSON
    most = 0.0
    print(f"{lesson}, MiB{'RSS':>20}{'PSS':>8}{'most':>8}")
    for number in (1, 4):
        for rss, pss, high in asyncio.run(measured(number, lesson)):
            most = max(most, high)
            print(f"one of {number} kernels{rss:>22.0f}{pss:>8.0f}{high:>8.0f}", flush=True)
    print(f"to reach: {MIB} MiB a kernel; {'reached' if most <= MIB else 'NOT REACHED'}")
    return 0 if most <= MIB else 1


if __name__ == "__main__":
    sys.exit(main())
