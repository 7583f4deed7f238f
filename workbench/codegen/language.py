"""What a C-like language calls things: the facts that tell one target's text from another's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.ir import dtypes

FUNCTIONS = (  # of one float, in every language, under these names
    *("exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt"),
    *("sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("floor", "ceil", "trunc", "round"),
)
SHORT = {  # in names of calls of a warp
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "int8": "i8",
    "int32": "i32",
    "tf32": "tf32",  # float32, rounded
}
# Division that rounds down: {function} {type} {name}
HELPERS = {
    "floordiv": """{function}{type} {name}({type} a, {type} b) {{
  {type} quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}}""",
    "floormod": """{function}{type} {name}({type} a, {type} b) {{
  {type} rest = a % b;
  return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}}""",
}
_COPIED = """{{{{
  {{type}} made;
  memcpy(&made, &value, sizeof made);
  return made;
}}}}"""


def bit_helpers(types: Mapping[str, str], body: str = _COPIED) -> dict[str, str]:
    """The functions that give each float of `types` as bits, and bits as it."""
    made = {}
    for dtype in filter(dtypes.is_float, types):
        bits = f"uint{dtypes.BITS[dtype]}"
        for name, own in ((f"{dtype}_as_bits", dtype), (f"bits_as_{dtype}", bits)):
            head = "{function}{type} {name}(" + types[own] + " value) "
            made[name] = head + body.format(own=types[own])
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The table of one target. `{…}` in a text is filled in where it is used.

    `maths` maps "name:type", or else "name", to a text of its arguments `{0}`, `{1}` and its
    `{type}`; the functions of a type in `through` are computed in the wider one. A type in `bits`
    is none that the language computes in: functions make the wider one of it, and it of that and
    of float64. Before a loop of a kind in `loops` stands a line, with its {extent} in. What a table
    does not have, the target cannot say.
    """

    title: str
    types: Mapping[str, str]
    stored: Mapping[str, str] = field(default_factory=dict)  # a type -> its cells, if others
    vectors: Mapping[tuple[str, int], str]  # built-in vector types
    members: Sequence[str] = "xyzw"  # of a built-in vector type
    struct: str = "struct {align}{name} {{\n  {type} lane[{lanes}];\n}};"  # any other vector type
    kernel: str  # the head of a kernel: {name} {params} {threads}, of them {x} {y} {z}
    param: str  # a parameter: {const} {type} {restrict} {name} {number}
    restrict: str = "__restrict__ "  # of a parameter that is reached by its own name alone
    size: str = "{type} {name}"  # a parameter that is a number of cells: {type} {name} {number}
    scopes: Mapping[str, str]  # an array in a scope: {align} {type} {name} {cells}
    dynamic: tuple[str, str] = ("", "")  # memory {whole} of the launch, an array in it at {place}
    aligned: str  # {bytes}
    pointers: Mapping[str, str]  # what stands before the type of a pointer into a scope
    simdgroup: str = ""  # matrices of 8 x 8 that threads hold together: {type} {name} {count}
    heap: tuple[str, str] = ("", "")  # a large array made, of {type} {name} {cells}, and given back
    launch: str = "// launch: grid {grid}, block {block}"  # above a kernel
    loops: Mapping[str, str] = field(default_factory=lambda: {"unrolled": "#pragma unroll{turns}"})
    part: str = ""  # the head of a function that is an iteration of a loop that cores share
    pool: str = ""  # the text of what shares such a loop out, if no line before it says so
    barrier: str = ""
    barrier_global: str = ""  # one that also orders accesses to global memory
    shuffle: str = ""  # what another thread of the warp has, if it is seen: {mask} {value} {bit}
    masks: Mapping[int, str] = field(default_factory=dict)  # how many run it; 0: another {width}
    maths: Mapping[str, str]
    infinity: Mapping[str, str]  # type -> positive infinity
    nan: Mapping[str, str]
    long_suffix: str
    place_params: Mapping[str, str] = field(default_factory=dict)  # unit -> its parameter
    places: Mapping[str, str] = field(default_factory=dict)  # an axis -> its text, if another
    headers: Mapping[str, str] = field(default_factory=dict)  # type, or "" for always -> text
    through: Mapping[str, str] = field(default_factory=dict)
    bits: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)  # see below
    convert: str = "{type}({value})"  # a value in another type
    function: str = ""  # what stands before a helper function
    helpers: Mapping[str, str] = field(default_factory=lambda: HELPERS)
    helper: str = "{name}"  # what a helper function is called where it is of {type}
    reserved: frozenset[str]  # what no variable may be called
    macros: re.Pattern[str]  # and what headers may put something else for

    def words(self) -> set[str]:
        """Every word of the texts of the table, which a variable of that name would hide."""
        texts = [
            self.kernel,
            self.param,
            self.restrict,
            self.size,
            self.aligned,
            self.barrier,
            self.barrier_global,
        ]
        texts += [self.function, self.shuffle, *self.heap]
        for more in (
            *(self.types, self.stored, self.vectors, self.scopes, self.pointers),
            *(self.maths, self.infinity, self.nan, self.place_params, self.places),
        ):
            texts += more.values()
        for name in self.helpers:
            texts += [self.helper.format(name=name, type=ctype) for ctype in self.types.values()]
        texts += [name for pair in self.bits.values() for name in pair]
        return _words(texts)

    def keywords(self) -> set[str]:
        """The words of its types and memories, which a page shows as those of a language."""
        texts = [self.kernel, self.param, self.restrict, self.size]
        for more in (self.types, self.vectors, self.scopes, self.pointers, self.place_params):
            texts += more.values()
        return _words(texts) - self.place_params.keys()


def _words(texts: Iterable[str]) -> set[str]:
    """The identifiers in texts of a table, outside strings, places to fill in and attributes."""
    code = re.sub(r'"[^"]*"|\{\w*\}|\[\[.*?\]\]', " ", " ".join(texts))
    return set(re.findall(r"\b[A-Za-z_]\w*", code))


def functions(names: Iterable[str], text: str, of: str = "") -> dict[str, str]:
    """Entries of `maths`: each of `names`, with `of` behind it, is `text` with its name in."""
    return {f"{name}{of}": text.format(name=name) for name in names}


def vectors(name: str, dtype: str, *lanes: int) -> dict[tuple[str, int], str]:
    """Entries of `vectors`: so many of `dtype` are called `name` and their number."""
    return {(dtype, count): f"{name}{count}" for count in lanes}
