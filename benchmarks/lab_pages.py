"""Every pane of every lab of the lessons, every step beside its neighbour, and the saved pages.

``python -m benchmarks.lab_pages``: none of it may fail, and a page of 76 steps is to be written
within 2 s and to have at most 2 MB.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from itertools import product
from pathlib import Path
from unittest.mock import patch
from weakref import WeakValueDictionary

import workbench as wb
from benchmarks.lab_messages import untrue
from benchmarks.matmuls import blocking, large_branches, naive, small_branches
from tests.lessons.test_lessons import LESSONS, run_cells
from workbench.widgets import Lab
from workbench.widgets.page.view import MACHINE_PANES, PROGRAM_PANES

SECONDS, BYTES = 2.0, 2_000_000
TOO_MUCH = f", more than {SECONDS:g} s or {BYTES / 1e6:g} MB"


def labs(lesson: Path) -> list[Lab]:
    """The labs of a lesson as its cells open them, without their files."""
    made: list[Lab] = []
    begun = sys.modules["workbench.lesson.begin"]

    def lab(*args: object, autosave: object = None, **options: object) -> Lab:
        made.append(Lab(*args, **options))  # type: ignore[arg-type]
        return made[-1]

    with (
        patch.object(wb, "lab", lab),
        patch.object(begun, "_begun", WeakValueDictionary()),
        redirect_stdout(StringIO()),
    ):
        run_cells(lesson)
    return made


def faults(lab: Lab, panes: tuple[str, ...] = MACHINE_PANES) -> Iterator[str]:
    """What is wrong when every step is shown beside its neighbour, both ways, in each pane.

    The node, the one beside it, the view and the place are chosen in one message, and the place
    and the selection are those of the program that was left.
    """
    pairs = [(n.parent.id, n.id) for n in lab.history if n.parent is not None] or [(0, 0)]
    for machine in panes:
        for at, against in (*pairs, *(pair[::-1] for pair in pairs)):
            left = lab.session.page
            view = {
                "program": PROGRAM_PANES[(at + against) % len(PROGRAM_PANES)],
                "machine": machine,
                "buffer": left["buffers"][-1]["name"],
                "select": {axis["key"]: axis["extent"] - 1 for axis in left.get("axes", ())},
                "more": False,
            }
            lab.set_state({"view": view, "place": lab.place, "against": against, "at": at})
            wrong = lab.status["text"] if "error" in lab.status else untrue(lab)
            if wrong:
                yield f"{lab.setup['title']}, {at} beside {against}, {machine}: {wrong}"


def small_ways() -> wb.Schedule:
    """The ways of lessons 3 and 4 through the product of 8 x 8 matrices, and two more: 76 steps."""
    sch = small_branches()
    for way, tiles in ((blocking, (4, 4, 2, 2, 4)), (naive, (4,))):
        sch.goto(0)
        way(sch, *tiles)
    return sch


def saved(ways: Callable[[], wb.Schedule], seen: bool) -> str:
    """What it took to write a page of every program, and whether that was too much.

    Of a lab that has shown none of them before, or, where they are `seen`, each with its costs, as
    it does where a learner takes the steps in it.
    """
    sch = ways()
    lab = wb.lab(sch, panes=["tiles", "memory", "CUDA"])
    for node in lab.history if seen else ():
        lab.set_state({"at": node.id})
        lab.session.ask({"do": "count"})  # as the browser does soon after
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        file = Path(folder) / "lab.html"
        began = time.process_time()
        lab.to_html(file)
        seconds, size = time.process_time() - began, file.stat().st_size
    told = TOO_MUCH if size > BYTES or seconds > SECONDS else ""
    return (
        f"{ways.__name__}, {len(sch.history) - 1} steps, {'each' if seen else 'none'} shown "
        f"before: {seconds:.2f} s, {size / 1e6:.2f} MB{told} "
        f"(ten million additions: {pace():.2f} s)"
    )


def pace() -> float:
    """Seconds of the processor for ten million additions: what else the machine does slows both."""
    began = time.process_time()
    total = 0
    for k in range(10_000_000):
        total += k
    return time.process_time() - began


def main() -> int:
    """Print what fails, and the sizes and times; 1 where anything fails or is too large."""
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lab.html"
        for lesson in LESSONS:
            for lab in labs(lesson):
                wrong = list(faults(lab))
                lab.to_html(file)
                bad |= bool(wrong)
                size = file.stat().st_size / 1e6
                print(f"{lesson.stem}, {lab.setup['title']}: {len(lab.history)} programs, "
                      f"{len(wrong)} faults, page of {size:.2f} MB")  # fmt: skip
                print(*wrong, sep="\n", end="\n" * bool(wrong), flush=True)
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(1, maxtasksperchild=1) as pool:  # each with nothing remembered
        for told in pool.starmap(saved, product((small_ways, large_branches), (True, False)), 1):
            bad |= TOO_MUCH in told
            print(told)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
