"""What a C-like language calls things: the facts that tell one target's text from another's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The table of one target. `{…}` in a text is filled in where it is used.

    `maths` maps "name:type", else "name", to a text of its arguments `{0}`, `{1}`; a type's
    `through` is the wider type in which its functions are computed. What a table does not have,
    the target cannot say.
    """

    title: str
    types: Mapping[str, str]
    vectors: Mapping[tuple[str, int], str]  # built-in vector types with members x, y, z, w
    kernel: str  # the head of a kernel: {name} {params} {threads}
    param: str  # a parameter: {const} {type} {name} {number}
    scopes: Mapping[str, str]  # an array in a scope: {align} {type} {name} {cells}
    aligned: str  # {bytes}
    pointers: Mapping[str, str]  # what stands before a pointer's type into a scope
    barrier: str
    barrier_global: str  # one that also orders accesses to global memory
    maths: Mapping[str, str]
    infinity: Mapping[str, str]  # type -> positive infinity
    nan: Mapping[str, str]
    long_suffix: str
    place_params: Mapping[str, str] = field(default_factory=dict)  # unit -> parameter it arrives in
    headers: Mapping[str, str] = field(default_factory=dict)  # type, or "" always -> text
    through: Mapping[str, str] = field(default_factory=dict)
    function: str = ""  # what stands before a helper function
    keywords: frozenset[str] = frozenset()
