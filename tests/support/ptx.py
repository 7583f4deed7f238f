"""What nvcc makes of programs, as PTX: which arrays it loads through a cache no store changes."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from workbench import target
from workbench.codegen import source
from workbench.ir import PrimFunc
from workbench.lower import lower

CUDA = target.get("cuda")

_ENTRY = re.compile(r"\.entry (\w+)\((.*?)\n\}", re.DOTALL)
_PARAMETER = re.compile(r"ld\.param\.[bu]64\s+(%rd\d+), \[(\w+)\]")
_MADE = re.compile(r"\t(?:mov|add|sub|cvta|selp|mad|cvt|shl|or)\S*\s+(%rd\d+), ([^;]*);")
_LOAD = re.compile(r"ld\.global\.nc\S*\s[^;]*\[(%rd\d+)")
_STORE = re.compile(r"st\.global\S*\s+\[(%rd\d+)")


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


def stale_loads(ptx: str) -> dict[str, set[str]]:
    """Of each kernel, the parameters that it stores to and also loads by ``ld.global.nc``.

    An address is that of every parameter which it may have been made of, over all ways through
    the kernel: by registers, in whatever order, until nothing more is found. nvcc gives each
    value a register of its own but where ways meet, so that this is hardly ever too much.
    """
    return {name: found for name, body in _ENTRY.findall(ptx) if (found := _stale(body))}


def _stale(body: str) -> set[str]:
    reach = _reach(body)
    loaded, stored = (
        set().union(*(reach[register] for register in pattern.findall(body)))
        for pattern in (_LOAD, _STORE)
    )
    return loaded & stored


def _reach(body: str) -> dict[str, set[str]]:
    """The parameters that each 64-bit register may be an address in."""
    reach: defaultdict[str, set[str]] = defaultdict(set)
    for register, parameter in _PARAMETER.findall(body):
        reach[register].add(parameter)
    made = list(_uses(body))
    more = True
    while more:
        more = False
        for register, used in made:
            if not reach[used] <= reach[register]:
                reach[register] |= reach[used]
                more = True
    return reach


def _uses(body: str) -> Iterator[tuple[str, str]]:
    for register, operands in _MADE.findall(body):
        for used in re.findall(r"%rd\d+", operands):
            yield register, used
