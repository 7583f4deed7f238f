"""Odd programs by family: what people write besides one perfect nest a block.

Each is small enough to be run by its terms. Names say what is odd; a family is what a verb may get
wrong in the same way. Sizes are small, and not all alike, so that a mistaken axis shows.

The texts are files in ``corpus/``, one a family: first a line about the family, then of each
program its name, its parameters, its own buffers where it has any, and its statements:

    == row sum then scaled
    A[3, 4]; n[3]i; B[3, 4]
    own s[1]; t[4]h @shared
    for r in range(3):
        ...

A letter behind a shape is a type (`TYPES`), float32 where there is none; ``@`` tells a scope;
``n: i`` is a parameter that is one number.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from textwrap import indent

from workbench.ir import PrimFunc
from workbench.script import parse

TYPES = {
    "b": "int8",
    "d": "float64",
    "f": "float32",
    "h": "float16",
    "i": "int32",
    "l": "int64",
    "m": "bool",
    "s": "int16",
    "u": "uint8",
}


def _declared(spec: str) -> tuple[str, str]:
    """The name and the arguments that ``t[4, 6]i @shared`` declares."""
    name, _, rest = spec.partition("[")
    shape, _, rest = rest.partition("]")
    letter, _, scope = rest.partition(" @")
    return name, f'({shape},), "{TYPES[letter or "f"]}", scope="{scope or "global"}"'


def _parameter(spec: str) -> str:
    """The parameter that ``A[3, 4]i`` declares, or ``n: i``, which is one number."""
    name, number, letter = spec.partition(": ")
    if number:
        return f"{name}: T.{TYPES[letter]}"
    name, buffer = _declared(spec)
    return f"{name}: T.Buffer({buffer})"


def _text(section: str) -> str:
    """A whole program of a section without its name."""
    params, _, body = section.partition("\n")
    own = ""
    if body.startswith("own "):
        own, _, body = body.removeprefix("own ").partition("\n")
    signature = ", ".join(map(_parameter, params.split("; ")))
    buffers = [_declared(spec) for spec in filter(None, own.split("; "))]
    lines = [f"{name} = T.alloc_buffer({buffer})" for name, buffer in buffers]
    inside = indent("\n".join([*lines, body.rstrip()]), "    ")
    return f"@T.prim_func\ndef main({signature}):\n{inside}\n"


def family(text: str) -> dict[str, str]:
    """The programs of a file by their names."""
    sections = [section.partition("\n") for section in text.split("\n== ")[1:]]
    programs = {name: _text(section) for name, _, section in sections}
    assert len(programs) == len(sections), "two programs of one name"
    return programs


FAMILIES = {
    path.stem.replace("_", " "): family(path.read_text(encoding="utf-8"))
    for path in sorted(Path(__file__).with_suffix("").glob("*.txt"))
}


@cache
def program(family: str, name: str) -> PrimFunc:
    """That program, read once: programs never change, and much is known of one that was asked."""
    result = parse(FAMILIES[family][name])
    assert isinstance(result, PrimFunc)
    return result
