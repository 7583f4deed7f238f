"""Runs kernels as C++ on the CPU: the text for any target, under g++ with its sanitizer."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path

import numpy as np

from tests.support import tools
from workbench import target
from workbench.codegen import LANGUAGES, source
from workbench.ir import (
    CP_ASYNC,
    SHUFFLE,
    Barrier,
    Buffer,
    Call,
    Kernel,
    WaitGroup,
    dtypes,
    is_warp_call,
    walk,
)
from workbench.lower import Lowered
from workbench.runtime.sized import AtSizes

HERE = Path(__file__).parent
CACHE = Path(tempfile.gettempdir()) / f"workbench-cpp-{os.getuid()}"
FLAGS = [
    "-std=c++17", "-O0", "-ffp-contract=off", "-fno-strict-aliasing", "-Wno-unknown-pragmas",
    "-fsanitize=undefined", "-fno-sanitize-recover=all",
    "-ftrivial-auto-var-init=pattern", "-Wno-attributes",
]  # fmt: skip
LINKER = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []  # takes a third of the other's time


class CppFailure(AssertionError):
    """A kernel that did what C++ or CUDA does not define, or that depends on its threads' order."""


@dataclass(frozen=True)
class Executable:
    """Programs compiled into one executable, and the arrays that each of them takes."""

    path: Path
    arrays: tuple[tuple[Buffer, ...], ...]  # of each program: its parameters, then workspace
    texts: tuple[str, ...]

    def run(self, jobs: Sequence[tuple[int, Sequence[np.ndarray]]]) -> None:
        """Run each (program, arrays), writing outputs into the arrays.

        Every job runs twice, the second time with blocks and threads in the opposite order. Raises
        CppFailure where the results differ or the sanitizer finds something.
        """
        with tempfile.TemporaryDirectory() as folder:
            given, made = Path(folder, "in"), Path(folder, "out")
            given.write_bytes(b"".join(self._job(n, a, back) for n, a in jobs for back in (0, 1)))
            done = subprocess.run(
                [self.path, given, made], capture_output=True, text=True, timeout=300
            )
            if done.returncode:
                raise CppFailure(self._told(done, jobs))
            self._take(made.read_bytes(), jobs)

    def _job(self, program: int, arrays: Sequence[np.ndarray], backwards: int) -> bytes:
        parts = [struct.pack("<qq", program, backwards)]
        for k, buffer in enumerate(self.arrays[program]):
            size = bytes_of(buffer)
            data = np.ascontiguousarray(arrays[k]).tobytes() if k < len(arrays) else b"\xff" * size
            assert len(data) == size, f"{buffer.name} takes {size} bytes, not {len(data)}"
            parts += [struct.pack("<q", size), data]
        return b"".join(parts)

    def _take(self, made: bytes, jobs: Sequence[tuple[int, Sequence[np.ndarray]]]) -> None:
        at = 0
        for program, arrays in jobs:
            sizes = [bytes_of(buffer) for buffer in self.arrays[program]]
            for k, array in enumerate(arrays):
                start = at + sum(sizes[:k])
                forth = made[start : start + sizes[k]]
                back = made[start + sum(sizes) : start + sum(sizes) + sizes[k]]
                if forth != back:
                    name = self.arrays[program][k].name
                    raise CppFailure(
                        f"{name} depends on the order of threads\n\n{self.texts[program]}"
                    )
                array[...] = np.frombuffer(forth, array.dtype).reshape(array.shape)
            at += 2 * sum(sizes)

    def _told(
        self,
        done: subprocess.CompletedProcess[str],
        jobs: Sequence[tuple[int, Sequence[np.ndarray]]],
    ) -> str:
        started = re.findall(r"^job (\d+)$", done.stderr, re.MULTILINE)
        said = "\n".join(x for x in done.stderr.splitlines() if not re.fullmatch(r"job \d+", x))
        program = jobs[int(started[-1]) // 2][0] if started else 0
        why = said or f"the process ended with {done.returncode} (negative: a signal)"
        return f"{why}\n\n{self.texts[program]}"


def run_cpp(lowered: Lowered, args: Sequence[np.ndarray]) -> None:
    """Run the kernels of one program on arrays for its parameters; outputs are written in place."""
    compile_cpp([lowered]).run([(0, args)])


def compile_cpp(programs: Sequence[Lowered], language: str = "cuda") -> Executable:
    """One executable for all `programs`; the same text is not compiled again."""
    texts = tuple(source(program.kernels, target.get(language)) for program in programs)
    return _executable(programs, texts, language)


def compile_sized(text: str, launched: Sequence[AtSizes]) -> Executable:
    """One executable of a CUDA text for any size: a program for each launch of it."""
    return _executable(launched, (text,) * len(launched), "cuda")


def _executable(
    programs: Sequence[Lowered | AtSizes], texts: tuple[str, ...], language: str
) -> Executable:
    arrays = tuple(memory_of(program) for program in programs)
    given = [one.given if isinstance(one, AtSizes) else [()] * len(one.kernels) for one in programs]
    parts = [
        _program_text(k, program.kernels, texts[k], arrays[k], given[k])
        for k, program in enumerate(programs)
    ]
    table = ",\n".join(
        f"  {{{len(a)}, {len(p.kernels)}, program_{k}::launches}}"
        for k, (p, a) in enumerate(zip(programs, arrays, strict=True))
    )
    text = "\n".join([*parts, f"const Program programs[] = {{\n{table}\n}};\n"])
    return Executable(_built(text, language), arrays, texts)


def memory_of(program: Lowered | AtSizes) -> tuple[Buffer, ...]:
    """The parameters of the program, then what its kernels hand to each other in global memory."""
    found = dict.fromkeys(program.func.params)
    for kernel in program.kernels:
        views = dict(kernel.views)
        found.update(dict.fromkeys(views[flat] for flat in kernel.params))
    return tuple(found)


def _program_text(
    number: int,
    kernels: Sequence[Kernel],
    text: str,
    arrays: Sequence[Buffer],
    given: Sequence[Sequence[tuple[int, str]]],
) -> str:
    text = _as_cpp(text)
    rows, calls = [], []
    for k, kernel in enumerate(kernels):
        views = dict(kernel.views)
        args = [
            f"(decltype(argument<{n}>({kernel.name})))a[{arrays.index(views[flat])}]"
            for n, flat in enumerate(kernel.params)
        ]
        args += [str(value) for value, _ in given[k]]
        head = text.split(f"{kernel.name}(")[1].split("{")[0]
        args += re.findall(r"uint3 (blockIdx|threadIdx)", head)
        call = f"{kernel.name}({', '.join(args)});"
        calls.append(f"static void call_{k}(void** a) {{ {call} }}")
        grid, block = (
            "{" + ", ".join(map(str, size)) + "}" for size in (kernel.grid, kernel.block)
        )
        waits = any(
            isinstance(node, Barrier | WaitGroup)
            or is_warp_call(node)
            or (isinstance(node, Call) and node.op in (SHUFFLE, CP_ASYNC))
            for node in walk(kernel.body)
        )
        rows.append(f"  {{{grid}, {block}, {str(waits).lower()}, call_{k}}}")
    launches = "static const Launch launches[] = {\n" + ",\n".join(rows) + "\n};"
    return "\n".join([f"namespace program_{number} {{", text, *calls, launches, "}"])


def _as_cpp(text: str) -> str:
    """The text without what only a GPU's compiler takes and no macro can hide."""
    text = re.sub(r"^(#include|using) .*\n", "", text, flags=re.MULTILINE)
    text = text.replace('extern "C" ', "")
    text = text.replace("extern __shared__", "__shared__").replace("[];", f"[{227 << 10}];")
    text = re.sub(r"^(template|static)[^{]*\{\n  asm volatile(.*\n)+?\}\n", "", text, flags=re.M)
    text = re.sub(r"^static [^{]*wmma_fill[^{]*\{\n.*\n\}\n", "", text, flags=re.M)
    text = re.sub(r" \[\[[a-z_0-9()]+\]\]", "", text)  # Metal: where a parameter comes from
    text = re.sub(
        r"^(  (alignas\(\d+\) )?)threadgroup ", r"\1__shared__ ", text, flags=re.MULTILINE
    )
    text = re.sub(r"\b(device|threadgroup|thread) (const )?(?=\w+\*)", r"\2", text)
    if "__kernel " not in text:
        return text
    text = re.sub(r"^  __local ", "  __shared__ ", text, flags=re.MULTILINE)
    text = re.sub(r"__(global|local|private) ", "", text)
    return re.sub(rf"\b({'|'.join(_CELLS)})(2|4|8|16)\b", r"cl_\1\2", text)


_CELLS = set(LANGUAGES["opencl"].types.values()) - {"bool"}


def bytes_of(buffer: Buffer) -> int:
    return int(np.prod(buffer.shape, dtype=np.int64)) * dtypes.itemsize(buffer.type)


def _built(text: str, language: str) -> Path:
    """The executable of a generated text, from the cache if it is there."""
    runtime = "".join(path.read_text() for path in sorted(HERE.glob("*_on_cpu.*")))
    common = CACHE / _digest(runtime + " ".join(FLAGS))
    path = CACHE / _digest(common.name + language + text)
    if path.exists():
        return path
    common.mkdir(parents=True, exist_ok=True)
    _compile(["-c", str(HERE / "cuda_on_cpu.cpp")], support := common / "cuda_on_cpu.o")
    # The header, compiled: g++ finds that first, and a small kernel takes half the time.
    header = f"{language}_on_cpu.h"
    _compile(["-x", "c++-header", str(HERE / header)], common / f"{header}.gch")
    with tempfile.TemporaryDirectory() as folder:
        generated = Path(folder, "kernels.cpp")
        generated.write_text(f'#include "{header}"\n{text}')
        _compile([*LINKER, f"-I{common}", str(generated), str(support)], path)
    return path


def _compile(what: Sequence[str], path: Path) -> None:
    """Make `path` of it, unless that is there; who wants what another process makes waits."""
    with path.with_suffix(".turn").open("w") as turn:
        flock(turn, LOCK_EX)  # until it is closed
        if path.exists():
            return
        unfinished = path.with_suffix(f".{os.getpid()}")
        command = [tools.need("g++"), *FLAGS, f"-I{HERE}", *what, "-o", str(unfinished)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise CppFailure(f"g++ does not take the text:\n{done.stderr}")
        unfinished.rename(path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
