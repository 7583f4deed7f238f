"""What a C-like language calls things: the facts that tell one target's text from another's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The table of one target. `{…}` in a text is filled in where it is used.

    `maths` maps "name:type", or else "name", to a text of its arguments `{0}`, `{1}`; the functions
    of a type in `through` are computed in the wider one. What a table does not have, the target
    cannot say.
    """

    title: str
    types: Mapping[str, str]
    vectors: Mapping[tuple[str, int], str]  # built-in vector types, with members x, y, z, w
    kernel: str  # the head of a kernel: {name} {params} {threads}
    param: str  # a parameter: {const} {type} {name} {number}
    scopes: Mapping[str, str]  # an array in a scope: {align} {type} {name} {cells}
    aligned: str  # {bytes}
    pointers: Mapping[str, str]  # what stands before the type of a pointer into a scope
    barrier: str
    barrier_global: str  # one that also orders accesses to global memory
    shuffle: str  # what another thread of the warp has: {mask} of those that run it {value} {bit}
    maths: Mapping[str, str]
    infinity: Mapping[str, str]  # type -> positive infinity
    nan: Mapping[str, str]
    long_suffix: str
    place_params: Mapping[str, str] = field(default_factory=dict)  # unit -> its parameter
    headers: Mapping[str, str] = field(default_factory=dict)  # type, or "" for always -> text
    through: Mapping[str, str] = field(default_factory=dict)
    function: str = ""  # what stands before a helper function
    reserved: frozenset[str]  # what no variable may be called
    macros: re.Pattern[str]  # and what headers may put something else for

    def words(self) -> set[str]:
        """Every word of the texts of the table, which a variable of that name would hide."""
        texts = [self.kernel, self.param, self.aligned, self.barrier, self.barrier_global]
        texts += [self.function, self.shuffle, *self.types.values(), *self.vectors.values()]
        for more in (self.scopes, self.pointers, self.maths, self.place_params):
            texts += more.values()
        texts += [*self.infinity.values(), *self.nan.values()]
        code = re.sub(r'"[^"]*"|\{\w*\}|\[\[.*?\]\]', " ", " ".join(texts))
        return set(re.findall(r"\b[A-Za-z_]\w*", code))


def functions(names: Iterable[str], text: str, of: str = "") -> dict[str, str]:
    """Entries of `maths`: each of `names`, with `of` behind it, is `text` with its name in."""
    return {f"{name}{of}": text.format(name=name) for name in names}


def vectors(name: str, dtype: str, *lanes: int) -> dict[tuple[str, int], str]:
    """Entries of `vectors`: so many of `dtype` are called `name` and their number."""
    return {(dtype, count): f"{name}{count}" for count in lanes}
