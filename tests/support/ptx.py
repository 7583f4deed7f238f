"""What nvcc makes of programs: registers, and what it loads through a cache no store changes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from workbench import target
from workbench.codegen import source
from workbench.ir import PrimFunc
from workbench.lower import lower

CUDA = target.get("cuda")

_ENTRY = re.compile(r"\.entry (\w+)\((.*?)(?=\.entry|\Z)", re.DOTALL)
_LABEL = re.compile(r"(\$\w+):$")
_BRANCH = re.compile(r"(@\S+ )?bra\S*\s+(\$\w+);")
_PARAMETER = re.compile(r"ld\.param\S*\s+(%rd\d+), \[(\w+)\]")
_LOAD = re.compile(r"ld\.global\.nc\S*\s[^;]*\[(%rd\d+)")
_STORE = re.compile(r"st\.global\S*\s+\[(%rd\d+)")
_MADE = re.compile(r"(?!ld|st)[a-z]\S*\s+(%rd\d+), (.*);")
Reach = dict[str, frozenset[str]]
"""The parameters that each 64-bit register may be an address in."""


def text_of(*programs: PrimFunc) -> str:
    """The source of several programs as one: each in a namespace, headers first."""
    heads: dict[str, None] = {}
    bodies = []
    for k, program in enumerate(programs):
        text = source(lower(program, CUDA).kernels, CUDA)
        heads.update(dict.fromkeys(re.findall(r"^#include.*$", text, re.MULTILINE)))
        body = re.sub(r"^#include.*\n", "", text, flags=re.MULTILINE)
        bodies.append(f"namespace p{k} {{\n{body.replace('main_kernel', f'kernel_{k}')}}}\n")
    return "\n".join([*heads, *bodies])


def ptx_of(nvcc: str, text: str, arch: str, folder: Path) -> str:
    """The PTX of a CUDA text; raises CalledProcessError where nvcc does not take it."""
    path = folder / "kernels.cu"
    path.write_text(text)
    call = [nvcc, f"-arch={arch}", "-ptx", str(path), "-o", "-"]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout


def registers(nvcc: str, text: str, folder: Path) -> int:
    """How many registers a thread of a CUDA text takes on an H200, by ptxas."""
    (folder / "kernel.cu").write_text(text)
    command = [nvcc, "-arch=sm_90", "-Xptxas", "-v", "-cubin", "kernel.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    (found,) = re.findall(r"Used (\d+) registers", done.stderr)
    return int(found)


def stale_loads(ptx: str) -> dict[str, set[str]]:
    """Of each kernel, the parameters that it stores to and also loads by ``ld.global.nc``.

    An address is that of every parameter which it may have been made of, on some way through the
    kernel to where it is used: what is known ahead of an instruction grows until all ways agree.
    """
    return {name: found for name, body in _ENTRY.findall(ptx) if (found := _stale(body))}


def _stale(body: str) -> set[str]:
    lines = [line.strip() for line in body.splitlines()]
    ahead = _ahead(lines)
    loaded, stored = (
        {name for k, line in enumerate(lines) for name in _reached(pattern, line, ahead.get(k, {}))}
        for pattern in (_LOAD, _STORE)
    )
    return loaded & stored


def _reached(pattern: re.Pattern[str], line: str, reach: Reach) -> frozenset[str]:
    found = pattern.search(line)
    return reach.get(found[1], frozenset()) if found else frozenset()


def _ahead(lines: list[str]) -> dict[int, Reach]:
    """What is known ahead of each line that is come to."""
    places = {found[1]: k for k, line in enumerate(lines) if (found := _LABEL.match(line))}
    ahead: dict[int, Reach] = {0: {}}
    todo = [0]
    while todo:
        here = todo.pop()
        behind = _behind(lines[here], ahead[here])
        for there in _next(lines, here, places):
            old = ahead.get(there)
            new = {r: behind.get(r, frozenset()) | (old or {}).get(r, frozenset())
                   for r in {*behind, *(old or {})}}  # fmt: skip
            if new != old:
                ahead[there] = new
                todo.append(there)
    return ahead


def _next(lines: list[str], here: int, places: dict[str, int]) -> list[int]:
    branch = _BRANCH.match(lines[here])
    after = [here + 1] if here + 1 < len(lines) and lines[here] != "ret;" else []
    if not branch:
        return after
    return [places[branch[2]], *(after if branch[1] else [])]


def _behind(line: str, reach: Reach) -> Reach:
    if given := _PARAMETER.match(line):
        return {**reach, given[1]: frozenset({given[2]})}
    if made := _MADE.match(line):
        used = (reach.get(register, frozenset()) for register in re.findall(r"%rd\d+", made[2]))
        return {**reach, made[1]: frozenset().union(*used)}
    return reach
