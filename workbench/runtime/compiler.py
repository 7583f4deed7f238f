"""The C compiler of this machine: which one, with which options, and how its cores share loops."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# What is stated with each time. A product and the sum it goes into are rounded at once (fma), as
# nvcc and TVM do; errno and traps, of which no program knows, stand in the way of vectors, and of
# addresses as ivopts writes them gcc does not see any more that arrays do not overlap.
OPTIONS = ("-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-fno-ivopts")
# Where it makes masked vectors of loads under a condition, and takes all turns of a short loop of
# them apart, gcc 12 is wrong: of 6,000 small loops with conditions 49 were, and none that kept
# short loops whole; gcc 13 was right where no condition became a mask. A product without conditions
# is faster without these: 12 ms become 18. clang, which does not know them, needs none.
_CONDITIONS = ("--param", "max-completely-peel-times=1", "-fno-tree-loop-if-convert")
_CONDITION = re.compile(r"^ {4,}.*(\bif \(| \? )", re.MULTILINE)  # in a loop, so not in our helpers
# Code on Windows stands anywhere as it is; clang refuses -fPIC there.
_PLACED = () if sys.platform == "win32" else ("-fPIC",)
_LIBRARY = ("-std=gnu17", "-fopenmp-simd", "-shared", *_PLACED, "-w")
_NAMES = ("cc", "gcc", "clang")
_VERSION_SECONDS = 60.0
_LINK_SECONDS = 300.0  # zig makes its C library first: 20 s of a core, longer on a busy machine
# How cores share a loop out -> what a compiler needs for it, and two lines that it has to link.
_WAYS = {
    "openmp": ("-fopenmp", "#include <omp.h>\nint main(void) { return omp_get_max_threads(); }\n"),
    "threads": (
        "-pthread",
        "#include <pthread.h>\n#include <unistd.h>\n"
        "int main(void) { return pthread_self() == 0 || sysconf(_SC_NPROCESSORS_ONLN) < 1; }\n",
    ),
}
_SAID = {
    "openmp": "OpenMP shares parallel loops among the cores",
    "threads": "it has no OpenMP: a pool of threads shares parallel loops among the cores",
    "nothing": "it links neither OpenMP nor threads: parallel loops run serially",
}


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: how it is called, and what it is."""

    command: tuple[str, ...]
    version: str

    @property
    def cores_by(self) -> str:
        """How cores share loops out: "openmp", "threads" or "nothing", tried out once."""
        return _cores_by(self.command)

    @property
    def said(self) -> str:
        """What compiles programs, and what becomes of their parallel loops."""
        return f"{self.version} compiles programs; {_SAID[self.cores_by]}"

    def options(self, text: str) -> str:
        """The options for the program `text`, on which its time depends."""
        is_gcc = "clang" not in self.version
        some = _CONDITIONS if is_gcc and _CONDITION.search(text) else ()
        return " ".join((*OPTIONS, *some, _tuned()))

    def call(self, text: str, source: str, library: str) -> tuple[str, ...]:
        """What makes the `library` of the file `source`, which holds `text`."""
        way = _WAYS.get(self.cores_by, ("",))[0]
        ends = ("-o", library, source, *(() if sys.platform == "win32" else ("-lm",)))
        options = self.options(text).split()
        return (*self.command, *options, *_LIBRARY, *filter(None, [way]), *ends)


@cache
def compiler() -> Compiler | None:
    """The compiler that $CC names, else the machine's, else zig's of the package ziglang."""
    given = shlex.split(os.environ.get("CC", ""))
    ways = [given] if given else []
    ways += [[path] for name in _NAMES if (path := shutil.which(name))]
    if find_spec("ziglang"):
        ways.append([sys.executable, "-m", "ziglang", "cc"])
    for way in ways:
        version = _version(way)
        if version:
            return Compiler(tuple(way), version)
    return None


def cpu_name() -> str:
    """What the maker calls the CPU of this machine, and how many of its cores are ours."""
    number = cores()
    return f"{_model()}, {number} core{'s' if number > 1 else ''}"


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _model() -> str:
    known = Path("/proc/cpuinfo")
    if known.exists():
        for line in known.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "CPU"


def _tuned() -> str:
    """What lets the compiler use all that this machine has."""
    if platform.machine() in ("arm64", "aarch64"):
        return "-mcpu=native"
    return "-march=native -mprefer-vector-width=256"  # of masked wider ones gcc 12 makes wrong ones


def _version(command: list[str]) -> str:
    """The first line that the compiler says of itself; "" where it does not answer."""
    said = _ran((*command, "--version"), _VERSION_SECONDS)
    return said.stdout.partition("\n")[0].strip() if said is not None else ""


@cache
def _cores_by(command: tuple[str, ...]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for way, (option, text) in _WAYS.items():
            source = Path(folder, "probe.c")
            source.write_text(text)
            made = str(Path(folder, "probe"))
            # and as a library, as programs are: what zig makes first is there before a call's limit
            for kind in ((), _LIBRARY):
                options = (*OPTIONS, *_tuned().split(), *kind, option)
                call = (*command, *options, "-o", made, str(source))
                if _ran(call, _LINK_SECONDS) is None:
                    break
            else:
                return way
    return "nothing"


def _ran(call: tuple[str, ...], seconds: float) -> subprocess.CompletedProcess[str] | None:
    """What ran to a good end; None for all else."""
    try:
        done = subprocess.run(
            call, capture_output=True, text=True, errors="replace", timeout=seconds
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done if done.returncode == 0 else None
