"""Text as it is written: lines with their owners, places of nodes, names for people."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from workbench.diag import Span
from workbench.ir import BlockId, Buffer, Entries, Node, Var

Key: TypeAlias = tuple[str, Node]
"""What a name stands for: ("loop", variable), ("iter", variable), ("buffer", …), ("block", id)."""


class Mark(NamedTuple):
    """One occurrence of a name: its line (from 1), its columns (from 0) and what it stands for."""

    line: int
    col: int
    end_col: int
    key: Key


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a printed program: its text, the statement it belongs to, which part of it."""

    text: str
    owner: Node
    part: str


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed program and where everything stands in it.

    `spans` has the place to put a caret for a node: a loop's or block's header, a store, an
    expression; where a node is printed more than once, the first place. `extents` has the whole
    of each statement, its body included.
    """

    text: str
    lines: list[Line]
    spans: dict[Node, Span]
    extents: dict[Node, Span]
    marks: list[Mark]
    names: dict[Node, str]

    def text_at(self, mark: Mark) -> str:
        """The name that stands at `mark`."""
        return self.lines[mark.line - 1].text[mark.col : mark.end_col]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words in which our text and TVM's differ."""

    header: tuple[str, ...]
    module: str
    prim_func: str
    block: str
    block_attr: str
    alloc_buffer: str
    attributes: Mapping[str, str]  # of functions, where it calls them otherwise
    ahead: frozenset[str] = frozenset()  # the types of sizes that stand ahead of a program
    lets: bool = False  # whether names for values are written


DIALECTS = {
    "workbench": Dialect(
        header=(),
        module="@ir_module",
        prim_func="@T.prim_func",
        block="T.block",
        block_attr="T.block_attr",
        alloc_buffer="T.alloc_buffer",
        attributes={},
    ),
    "tvm": Dialect(  # apache-tvm 0.27: tirx is its name for tir, sblock for block
        header=("# from tvm.script import ir as I", "# from tvm.script import tirx as T", ""),
        module="@I.ir_module",
        prim_func="@T.prim_func(s_tir=True)",
        block="T.sblock",
        block_attr="T.sblock_attr",
        alloc_buffer="T.sblock_alloc_buffer",
        attributes={"tir.noalias": "tirx.noalias"},
        ahead=frozenset({"int64"}),
        lets=True,
    ),
}

# Names that mean something else where a program's text is read.
RESERVED = frozenset({"T", "I", "range", "ir_module", "float", "int", "bool"})


def identifier(name: str) -> str:
    """`name` as something Python can read as a name: itself where it is that already."""
    clean = unicodedata.normalize("NFKC", name)  # as Python reads a name: `ﬁ` is `fi`
    if not clean.isidentifier():
        clean = re.sub(r"\W", "_", clean, flags=re.ASCII) or "v"
        clean = clean if not clean[0].isdigit() else "v" + clean
    return clean + "_" if keyword.iskeyword(clean) or clean in RESERVED else clean


class Names:
    """Chooses names: the node's own where it is free in the scope, else with a number."""

    def __init__(self) -> None:
        self.given: dict[Node, str] = {}  # of every node ever named here
        self._in_scope: dict[str, Node] = {}

    def define(self, node: Node, wanted: str) -> str:
        """A name for `node`, like `wanted`, that nothing in scope has."""
        base = name = identifier(wanted)
        count = 0
        while self._in_scope.get(name, node) is not node:
            count += 1
            name = f"{base}_{count}"
        self._in_scope[name] = node
        self.given[node] = name
        return name

    def take(self, node: Node, name: str) -> None:
        """Let `node` be called `name`, whatever else is."""
        self._in_scope[name] = node
        self.given[node] = name

    def of(self, node: Var | Buffer) -> str:
        """The name of `node`; one that nothing defines gets a name of its own."""
        name = self.given.get(node)
        if name is None or self._in_scope.get(name) is not node:
            name = self.define(node, node.name)
        return name

    def release(self, nodes: Collection[Node]) -> None:
        """The scope of `nodes` ends: their names are free again."""
        for node in nodes:
            self._in_scope.pop(self.given[node], None)


@dataclass(slots=True)
class Writer:
    """Collects the text of a program and remembers where everything went."""

    dialect: Dialect = field(default_factory=lambda: DIALECTS["workbench"])
    names: Names = field(default_factory=Names)
    lines: list[Line] = field(default_factory=list)
    spans: dict[Node, Span] = field(default_factory=dict)
    extents: dict[Node, Span] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    indent: int = 0
    loops: dict[Var, Node] = field(default_factory=dict)  # the loops around, by variable
    kinds: dict[Node, str] = field(default_factory=dict)  # what a variable is: "loop" or "iter"
    bound: list[Var] = field(default_factory=list)  # names for values that are in scope
    _text: list[str] = field(default_factory=list)
    _col: int = 0

    def begin(self) -> None:
        """Start a line at the current indentation."""
        self._text = [" " * (4 * self.indent)]
        self._col = 4 * self.indent

    def put(self, text: str) -> None:
        """Add `text` to the line."""
        self._text.append(text)
        self._col += len(text)

    def end(self, owner: Node, part: str) -> None:
        """Finish the line: it is the `part` of the statement `owner`."""
        self.lines.append(Line("".join(self._text), owner, part))

    def row(self, text: str, owner: Node, part: str) -> None:
        """A whole line at once."""
        self.begin()
        self.put(text)
        self.end(owner, part)

    @property
    def text(self) -> str:
        """The line so far."""
        return "".join(self._text)

    @property
    def col(self) -> int:
        """The column at which the next text goes."""
        return self._col

    @property
    def line(self) -> int:
        """The number of the line being written."""
        return len(self.lines) + 1

    def spanned(self, node: Node, start: int) -> None:
        """`node` stands on this line from column `start` up to here."""
        if node not in self.spans:
            self.spans[node] = Span(self.line, start, self.line, self._col)

    def extent(self, node: Node, first: int) -> None:
        """`node`, a statement, goes from line `first` to the end of the last line."""
        start = len(self.lines[first - 1].text) - len(self.lines[first - 1].text.lstrip())
        self.extents[node] = Span(first, start, len(self.lines), len(self.lines[-1].text))

    def name(self, node: Var | Buffer) -> None:
        """The name of a variable or buffer, marked."""
        kind = "buffer" if isinstance(node, Buffer) else self.kinds.get(node, "loop")
        self.marked(self.names.of(node), (kind, node))

    def marked(self, text: str, key: Key) -> None:
        """`text`, an occurrence of what `key` says."""
        self.marks.append(Mark(self.line, self._col, self._col + len(text), key))
        self.put(text)

    def block_name(self, name: str, identity: BlockId) -> None:
        """The quoted name of a block, marked within the quotes."""
        quoted = string(name)
        self.put(quoted[0])
        self.marked(quoted[1:-1], ("block", identity))
        self.put(quoted[-1])

    def done(self) -> Printed:
        """What was written."""
        text = "\n".join(line.text for line in self.lines)
        return Printed(text, self.lines, self.spans, self.extents, self.marks, self.names.given)


def string(text: str) -> str:
    """`text` as a literal in double quotes."""
    literal = repr(text)
    if literal[0] == "'":
        literal = '"' + literal[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'
    return literal


def data(value: object) -> str:
    """Plain data (an annotation's value) as a literal; tuples are written as lists, as in TVM."""
    if isinstance(value, Entries):
        value = dict(value.pairs)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(data(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{data(k)}: {data(v)}" for k, v in value.items()) + "}"
    return repr(value)


def shape(sizes: tuple[int, ...]) -> str:
    """A shape as a tuple: ``(8,)``."""
    return f"({sizes[0]},)" if len(sizes) == 1 else "(" + ", ".join(map(str, sizes)) + ")"
