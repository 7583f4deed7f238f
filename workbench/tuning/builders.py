"""Builders: processes that build candidates and say what their kernels take by the model.

They spare time and decide nothing: what they answer is what the search would work out itself, so
that one that is lost, or a space that no other process can import, costs nothing but that time.
Several searches share them: what is asked says of which program and space it is.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from random import Random
from typing import Any, BinaryIO, TypeAlias

from workbench import script
from workbench import target as targets
from workbench.ir import PrimFunc
from workbench.target import Target
from workbench.tuning.ready import ready
from workbench.tuning.score import Scored, are_those, scored
from workbench.tuning.space import Decisions, Space, candidate
from workbench.tuning.trial import Refusal

Job: TypeAlias = tuple[str, tuple[str, str], str, str]
"""The text of a program, the module and name of its space, and the names of both targets."""

LEAST_CORES = 4  # with fewer, importing the workbench anew takes what they would spare
MOST = 16


def useful(trials: int) -> int:
    """How many processes help a search of so many trials on this machine; 0 for none."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(cores - 1, MOST) if cores >= LEAST_CORES and trials >= 32 else 0


class Processes:
    """At most `count` processes, for all searches of a call; there are none until one is of use."""

    def __init__(self, count: int) -> None:
        self._most = count
        self._started: list[subprocess.Popen[bytes]] | None = None

    @property
    def alive(self) -> list[subprocess.Popen[bytes]]:
        """Those that were started and not closed."""
        return self._started or []

    def start(self) -> None:
        """Have them import the workbench, which takes a while, ahead of what they are asked."""
        if self._started is None:
            self._started = [_started([*sys.path]) for _ in range(self._most)]

    def close(self) -> None:
        """End them."""
        for process in self.alive:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        self._started = []


class Builders:
    """What `processes` do for one program and space; () where they could not know the space."""

    def __init__(
        self,
        program: PrimFunc,
        space: Space | None,
        target: Target,
        model: Target,
        processes: Processes,
    ) -> None:
        known = all(targets.CATALOGUE.get(one.name) == one for one in (target, model))
        named = _named(space)
        self._job: Job = (script.show(program), named or ("", ""), target.name, model.name)
        self._processes = processes if known and named else Processes(0)
        self._processes.start()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._processes.alive)

    def build(self, many: Sequence[Decisions], whole: bool) -> dict[Decisions, Scored | Refusal]:
        """What was made of decisions, of those that were built as they are; proved, if `whole`."""
        if not self.count or not many:
            return {}
        waiting: SimpleQueue[Decisions] = SimpleQueue()  # the next is whoever's is through first
        for one in many:
            waiting.put(one)
        with ThreadPoolExecutor(self.count) as pool:
            asked = partial(_asked, self._job, waiting, whole)
            answers = pool.map(asked, self._processes.alive)
            try:
                return {asked: one for found in answers for asked, one in found}
            except BaseException:  # an interrupt: a space that never ends would hold the pool
                self._processes.close()
                raise


def _named(space: Space | None) -> tuple[str, str] | None:
    """The module and name by which another process finds the space; None where it can not."""
    if space is None:
        return "", ""
    module, name = getattr(space, "__module__", ""), getattr(space, "__qualname__", "")
    found = getattr(sys.modules.get(module), name, None)
    return (module, name) if found is space and module != "__main__" else None


def _started(path: list[str]) -> subprocess.Popen[bytes]:
    command = (sys.executable, "-P", "-c", "from workbench.tuning.builders import serve; serve()")
    here = str(Path(__file__).parents[2])
    own = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": own, "OMP_NUM_THREADS": "1"},
        start_new_session=True,  # an interrupt in a notebook is none of theirs
    )
    _say(process.stdin, path)
    return process


def _asked(
    job: Job, waiting: SimpleQueue[Decisions], whole: bool, process: subprocess.Popen[bytes]
) -> list[tuple[Decisions, Scored | Refusal]]:
    """What a process makes of those that wait, one after the other; what it had when it ended."""
    found: list[tuple[Decisions, Scored | Refusal]] = []
    assert process.stdout is not None
    with suppress(Empty, EOFError, OSError, pickle.UnpicklingError):
        while process.poll() is None:
            decisions = waiting.get_nowait()
            _say(process.stdin, (job, whole, decisions))
            one = _Unpickler(process.stdout).load()
            if one is not None:
                found.append((decisions, one))
    return found


def _say(pipe: BinaryIO | Any, value: object) -> None:
    with suppress(OSError):  # it has gone
        _Pickler(pipe, pickle.HIGHEST_PROTOCOL).dump(value)
        pipe.flush()


class _Pickler(pickle.Pickler):
    """Names a target, of which each process has its own."""

    def persistent_id(self, obj: object) -> str | None:
        return obj.name if isinstance(obj, Target) else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: str) -> Target:
        return targets.get(pid)


def serve() -> None:
    """Answer on standard output what is asked on standard input, until that ends."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a space prints
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # and whatever it asks a user
    sys.path[:] = pickle.load(source)
    with suppress(EOFError):
        while True:
            job, whole, decisions = pickle.load(source)
            program, space, target, model = _told(job)
            made = candidate(program, space, target, decisions, Random(0), whole=whole)
            found = scored(0, made, model)
            none_drawn = are_those(found.decisions, decisions)  # by another generator
            _say(sink, found.sent if none_drawn else None)


@cache  # of as many programs as one call searches for
def _told(job: Job) -> tuple[PrimFunc, Space, Target, Target]:
    """What a job names: the program, its space, the target, and that of the model."""
    text, (module, name), target_name, model_name = job
    program = script.parse(text)
    assert isinstance(program, PrimFunc)
    target, model = targets.get(target_name), targets.get(model_name)
    space: Space = getattr(import_module(module), name) if name else ready(target)
    return program, space, target, model
