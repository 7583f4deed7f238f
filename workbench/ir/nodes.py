"""The kinds of node that a program is made of: TensorIR, as TVM defines it.

Every node is frozen and equal only to itself, so that it can be shared between programs and be
the key of a cache; `structural_equal` compares by content. Nothing here is ever changed: a step of
a schedule builds a new program around the subtrees that it keeps. One thing is, for TVM's sake: a
module that a lesson puts together, by ``mod["main"] = func``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import wraps
from numbers import Number
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)

from workbench.diag import Fail
from workbench.ir.dtypes import BITS, all_ones, fits, is_float, is_int, join, named
from workbench.ir.writer import writer

C = TypeVar("C")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def node(kind: type[C]) -> type[C]:
    """A class of nodes: one never changes, is equal only to itself and hashes by identity."""
    made = dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, init=False)(kind)
    made.__init__ = _init(made)  # type: ignore[method-assign]
    return made


def _init(kind: type[Any]) -> Callable[..., None]:
    """What `dataclass` would write for a frozen `kind`, with each slot set by its own descriptor.

    There it is `object.__setattr__`, which looks the slot up by its name at each call: more than
    half of the time that a node takes to make, and steps and passes make millions.
    """
    known: dict[str, Any] = {"_missing": MISSING}
    given, named, lines = ["self"], ["*"], list[str]()
    for f in fields(kind):
        name, value = f.name, f.name
        known |= {f"_set_{name}": getattr(kind, name).__set__, f"_default_{name}": f.default}
        if f.default_factory is not MISSING:
            known[f"_make_{name}"] = f.default_factory
            value = f"_make_{name}() if {name} is _missing else {name}"
        optional = f.default is not MISSING or f.default_factory is not MISSING
        arguments = named if f.kw_only else given
        arguments.append(f"{name}=_default_{name}" if optional else name)
        lines.append(f"_set_{name}(self, {value})")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    arguments = [*given, *named] if len(named) > 1 else given
    exec(f"def __init__({', '.join(arguments)}): {'; '.join(lines) or 'pass'}", known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    made.__annotations__ = {f.name: f.type for f in fields(kind)} | {"return": None}
    return made


@dataclass(frozen=True, slots=True)
class Entries:
    """A dictionary that never changes: its keys in their order, each with its value."""

    pairs: tuple[tuple[str, Data], ...]

    @staticmethod
    def of(entries: Mapping[str, Any]) -> Entries:
        """The dictionary `entries`; the order in which it was written says nothing."""
        return Entries(tuple((key, entries[key]) for key in sorted(entries)))


Data: TypeAlias = "bool | int | float | str | tuple[Data, ...] | Entries"
"""What an annotation or a function attribute holds: plain data, with tuples for lists."""


def is_data(value: object) -> bool:
    """Whether `value` is plain data that a text can hold and that is read back from it.

    Neither infinity nor NaN is a literal, and integers have at most 64 bits.
    """
    if isinstance(value, tuple):
        return all(is_data(item) for item in value)
    if isinstance(value, Entries):
        return all(is_text(key) and is_data(item) for key, item in value.pairs)
    if isinstance(value, str):
        return is_text(value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return isinstance(value, float) and math.isfinite(value)


def _as_data(value: Any) -> Any:
    """Lists as tuples and dictionaries as entries, all the way down."""
    if isinstance(value, Mapping) and all(map(is_text, value)):
        return Entries.of({key: _as_data(item) for key, item in value.items()})
    return tuple(map(_as_data, value)) if isinstance(value, (list, tuple)) else value


def is_text(value: object) -> bool:
    """Whether `value` is a string that a file can hold: one without half a surrogate pair."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not re.search("[\ud800-\udfff]", value)


COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
LOGICAL = frozenset({"and", "or"})
ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "min", "max"})
BITWISE = frozenset({"&", "|", "^", "<<", ">>"})
SHIFTS = frozenset({"<<", ">>"})
_OF_NUMBERS = ARITHMETIC | BITWISE  # what they come to has the type of the operands
_OF_SOME_TYPES = LOGICAL | BITWISE | {"/", "//", "%"}
SCOPES = ("global", "shared", "local")  # the memories in which a kernel can have buffers
# Registers of a warp; of those in "warp" memory the last two indices tell thread and register.
FRAGMENTS = ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator", "warp", "metal.simdgroup")
# Fragments that TVM lays out in a pass of its own: they are read and mean what they say, and no
# kernel is made of them.
LAID_OUT_BY_TVM = ("m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC")


def memory_of(scope: str) -> tuple[str, str]:
    """The memory that `scope` names, and the tag behind it.

    TVM's ``global.A_reg`` is a part of global memory, and ``shared.dyn`` is shared memory of which
    a launch says how much there is. FRAGMENTS are local memory: the threads of a warp hold a tile
    together, and as each would do with one of its own, since only calls of the warp touch it.
    """
    if scope in FRAGMENTS or scope in LAID_OUT_BY_TVM:
        return "local", scope
    memory, _, tag = scope.partition(".")
    return (memory, tag) if memory == "global" or scope == "shared.dyn" else (scope, "")


WARP_CALL = "warp_call"
"""The note of a loop that one call of a warp does: its name, and how tiles lie in memory."""

LOOP_KINDS = ("serial", "parallel", "vectorized", "unrolled", "thread_binding")
THREAD_AXES = tuple(f"{unit}Idx.{axis}" for unit in ("block", "thread") for axis in "xyz")
# Virtual threads: copies inside one thread. Each loop on plain "vthread" is an axis of its own.
VIRTUAL_AXES = ("vthread.x", "vthread.y", "vthread.z", "vthread")
AXES = THREAD_AXES + VIRTUAL_AXES


class _Remembering:
    """A place in each node for what is found out about it."""

    __slots__ = ("_below", "_cost", "_dtype", "_free", "_remembered")

    _below: tuple[Node, ...]  # its children: a program is walked many times
    _cost: int  # how long an expression reads
    _dtype: str  # of an operation, which knows it from the start
    _free: tuple[Var, ...]  # the variables that it uses and does not define
    _remembered: dict[Any, Any]


@node
class Node(_Remembering):
    """What expressions, statements and the rest have in common: nothing but being a node."""


About = TypeVar("About", bound=Node)
Others = ParamSpec("Others")
Answer = TypeVar("Answer")


def remembered(about: Node) -> dict[Any, Any]:
    """What has been found out about a node, by names that those who found it out agree on.

    It goes when the node goes, even where it leads back to the node: a table with weak keys would
    keep both for ever.
    """
    try:
        return about._remembered
    except AttributeError:
        object.__setattr__(about, "_remembered", {})
        return about._remembered


def once(
    function: Callable[Concatenate[About, Others], Answer],
) -> Callable[Concatenate[About, Others], Answer]:
    """`function` worked out once for a node, its first argument, and equal other arguments.

    A mapping, as of bounds, is equal to one with the same items.
    """

    @wraps(function)
    def answered(about: About, /, *args: Others.args, **named: Others.kwargs) -> Answer:
        known: dict[Any, Answer] = remembered(about)
        others = (frozenset(v.items()) if isinstance(v, Mapping) else v for v in args)
        key = (function, *others, *named.items())
        if key not in known:
            known[key] = function(about, *args, **named)
        return known[key]

    return answered


# --- expressions ---------------------------------------------------------------------------------


def _elementwise(other: object) -> bool:
    """Whether `other`, as a tensor does, takes operators itself, also from its right side."""
    return getattr(other, "elementwise", False)


class Operand:
    """Python's operators build expressions and fold constants; see `binary`."""

    __slots__ = ()

    @property
    def dtype(self) -> str:
        """The type of the value."""
        raise NotImplementedError

    def __add__(self, other: ExprLike) -> Expr:
        return NotImplemented if _elementwise(other) else binary("+", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return NotImplemented if _elementwise(other) else binary("-", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return NotImplemented if _elementwise(other) else binary("*", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("*", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return NotImplemented if _elementwise(other) else binary("/", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("/", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("//", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return binary("//", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("%", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return binary("%", other, self)

    def __neg__(self) -> Expr:
        if self.dtype.startswith("uint"):
            raise TypeError(f"{self.dtype} has no value below 0; convert what is negated")
        return binary("*", self, -1)  # as TVM: 0 - x would make 0.0 of 0.0, whose negation is -0.0

    def __lt__(self, other: ExprLike) -> Expr:
        return binary("<", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return binary("<=", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return binary(">", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return binary(">=", self, other)

    def __and__(self, other: ExprLike) -> Expr:
        return bitwise("&", self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return bitwise("&", other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return bitwise("|", self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return bitwise("|", other, self)

    def __xor__(self, other: ExprLike) -> Expr:
        return bitwise("^", self, other)

    def __rxor__(self, other: ExprLike) -> Expr:
        return bitwise("^", other, self)

    def __lshift__(self, other: ExprLike) -> Expr:
        return binary("<<", self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return binary("<<", other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return binary(">>", self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return binary(">>", other, self)

    def __invert__(self) -> Expr:
        if self.dtype == "bool":
            return Not(as_expr(self))
        return binary("^", self, all_ones(self.dtype) if is_int(self.dtype) else -1)

    def astype(self, dtype: str) -> Expr:
        """The value converted to `dtype`. Raises ValueError for what is no type of numbers."""
        return cast(named(dtype), as_expr(self))

    def __eq__(self, other: object) -> Any:
        """Whether the two have one value, where an expression is asked for; is it `other`, else.

        As in TVM: collections look for a node, which is equal only to itself.
        """
        return Equality("==", self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return Equality("!=", self, other) if isinstance(other, _OPERANDS) else NotImplemented

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Equality(Operand):
    """What `a == b` or `a != b` of expressions is: a condition where one is asked for."""

    op: str
    a: Any
    b: Any

    @property
    def dtype(self) -> str:
        """The type of a condition."""
        return "bool"

    def __bool__(self) -> bool:
        return (self.a is self.b) == (self.op == "==")


_OPERANDS = (Operand, Number)  # NumPy's are among them


@node
class Expr(Node, Operand):
    """A value, which Python's operators make others of."""

    def __bool__(self) -> bool:
        raise TypeError(
            "an expression has no truth value before the program runs; "
            "combine conditions with &, | and ~, choose with if_then_else"
        )


ExprLike: TypeAlias = Operand | int | float | bool


@node
class Var(Expr):
    """A scalar variable: a loop's, a block iterator's, a parameter. Equal only to itself."""

    name: str
    type: str = "int32"

    @property
    def dtype(self) -> str:
        return self.type


@node
class SizeVar(Var):
    """A size that is known when a program is called: the same 0 or more in all of it.

    Dimensions of arrays are told by it, and loops run so often; see `PrimFunc.sizes`.
    """


Size: TypeAlias = Any  # an int, or an expression of size variables


@node
class Const(Expr):
    """A number of a known type; `value` is a bool, an int or a float, as the type says."""

    value: bool | int | float
    type: str

    @property
    def dtype(self) -> str:
        return self.type


@node
class BinOp(Expr):
    """`a op b`; op is one of ARITHMETIC, BITWISE, COMPARISONS, LOGICAL; both operands of one type.

    ``//`` and ``%`` round towards minus infinity, as Python's do; ``/`` divides floats. BITWISE
    takes integers, in two's complement; ``>>`` keeps the sign. A shift by less than 0, or by as
    many bits as the type has, has no value, as a division by zero has none. ``~x`` is ``x ^ -1``.
    """

    op: str
    a: Expr
    b: Expr

    def __post_init__(self) -> None:
        object.__setattr__(self, "_dtype", self.a.dtype if self.op in _OF_NUMBERS else "bool")

    def __reduce__(self) -> tuple[Any, ...]:
        return BinOp, (self.op, self.a, self.b)  # another process works its type out anew

    @property
    def dtype(self) -> str:
        return self._dtype


@node
class Not(Expr):
    """The logical negation of a bool."""

    a: Expr

    @property
    def dtype(self) -> str:
        return "bool"


@node
class Cast(Expr):
    """`value` converted to `type`; float to integer rounds towards zero."""

    type: str
    value: Expr

    @property
    def dtype(self) -> str:
        return self.type


@node
class Select(Expr):
    """`true_value` where `condition` holds, else `false_value`; both are evaluated."""

    condition: Expr
    true_value: Expr
    false_value: Expr

    @property
    def dtype(self) -> str:
        return self.true_value.dtype


@node
class Call(Expr):
    """A function of scalars: ``if_then_else`` (which evaluates one branch) or a name in MATHS.

    Or REINTERPRET; in a kernel also SHUFFLE, the value that another thread has, and CP_ASYNC.
    """

    op: str
    args: tuple[Expr, ...]
    type: str

    @property
    def dtype(self) -> str:
        return self.type


SHUFFLE = "shuffle_xor"
"""The name of ``(value, bit, width)``: the value of the thread whose number differs in that bit.

Threads are numbered x first. `width` neighbours, a power of two larger than `bit` and at most a
warp, run it together; made by lowering only.
"""

CP_ASYNC = "ptx_cp_async"
"""The name of ``(value,)``, stored to shared memory: it is on its way until the thread waits.

The value is a load from global memory, or `if_then_else` of one and of zeros; see `CommitGroup`.
"""

REINTERPRET = "reinterpret"
"""The name of ``(value,)`` with its bits as they are: a float as an unsigned integer, or back."""

MATHS = {  # name -> number of arguments; names are TVM's
    **dict.fromkeys(("exp", "exp2", "exp10", "log", "log2", "log10", "log1p"), 1),
    **dict.fromkeys(("sqrt", "rsqrt", "sigmoid", "erf", "abs"), 1),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan"), 1),
    **dict.fromkeys(("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), 1),
    **dict.fromkeys(("floor", "ceil", "trunc", "round", "nearbyint"), 1),
    **dict.fromkeys(("pow", "atan2", "fmod", "hypot", "copysign"), 2),
}


@node
class Ramp(Expr):
    """The vector `base, base + stride, …` of `lanes` integers; made by lowering only."""

    base: Expr
    stride: int
    lanes: int

    @property
    def dtype(self) -> str:
        return self.base.dtype


@node
class Broadcast(Expr):
    """`value` in every one of `lanes` lanes; made by lowering only."""

    value: Expr
    lanes: int

    @property
    def dtype(self) -> str:
        return self.value.dtype


# --- memory --------------------------------------------------------------------------------------


@node
class Buffer(Node):
    """A multi-dimensional array in a memory `scope`; equal only to itself, names are for people.

    A dimension is a number of cells, or an expression of size variables.
    `scope` is one of SCOPES: "global", "shared", "local" (registers of one thread) or TVM's own.
    `tag` is what TVM notes behind it, as "dyn", or which of FRAGMENTS local memory is,
    `index_types` the types of the numbers in its shape, () where all are int32, `align` and
    `offset_factor` what TVM asks of where an array lies, in bytes and in elements; no program means
    anything else by these.
    `strides`, in elements, are () for a compact row-major array; `storage_align` lowers to them.
    `scalar` is a parameter that is one number, ``n: T.int32``: of no dimensions, and never stored
    to, so that no block has to say that it reads it.
    """

    name: str
    shape: tuple[Size, ...]
    type: str = "float32"
    scope: str = "global"
    strides: tuple[int, ...] = ()
    scalar: bool = False
    tag: str = ""
    index_types: tuple[str, ...] = ()
    align: int = 64
    offset_factor: int = 0

    @property
    def dtype(self) -> str:
        return self.type

    @property
    def storage_scope(self) -> str:
        """Its memory as TVM writes it, "shared.dyn"."""
        if self.is_fragment:
            return self.tag
        return f"{self.scope}.{self.tag}" if self.tag else self.scope

    @property
    def is_fragment(self) -> bool:
        """Whether the threads of a warp hold it together, see FRAGMENTS."""
        return self.tag in FRAGMENTS or self.tag in LAID_OUT_BY_TVM

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> BufferLoad:
        indices = indices if isinstance(indices, tuple) else (indices,)
        return BufferLoad(self, tuple(as_index(i) for i in indices))


def is_warp_call(node: Node) -> bool:
    """Whether `node` is a loop that one call of a warp does, see WARP_CALL."""
    return isinstance(node, For) and any(key == WARP_CALL for key, _ in node.annotations)


def lie_apart(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether no two cells of an array with these `strides`, in elements, share a place."""
    inside = 1  # the places from the first cell to the last of the dimensions with less stride
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1 and stride < inside:
            return False
        inside += (size - 1) * stride
    return True


@node
class BufferLoad(Expr):
    """The element of `buffer` at `indices`, one index a dimension."""

    buffer: Buffer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> str:
        return self.buffer.type


@node
class Range(Node):
    """The integers from `min` on, `extent` of them."""

    min: Expr
    extent: Expr


@node
class BufferRegion(Node):
    """A box of `buffer`, one range a dimension."""

    buffer: Buffer
    region: tuple[Range, ...]


# --- statements ----------------------------------------------------------------------------------


@node
class Stmt(Node):
    """Something done."""


@node
class BufferStore(Stmt):
    """`buffer[indices] = value`."""

    buffer: Buffer
    value: Expr
    indices: tuple[Expr, ...]

    @property
    def is_async(self) -> bool:
        """Whether it is a copy that is on its way until the thread waits for it."""
        return isinstance(self.value, Call) and self.value.op == CP_ASYNC


@node
class SeqStmt(Stmt):
    """Statements one after the other: never empty, never nested, never of one."""

    stmts: tuple[Stmt, ...]


@node
class For(Stmt):
    """`body` for each value of `loop_var` in `min … min + extent - 1`.

    The loop is its variable: a step that keeps the loop keeps `loop_var`, one that copies the loop
    gives the copy a fresh one. `thread` names the axis of a "thread_binding", one of AXES.
    """

    loop_var: Var
    min: Expr
    extent: Expr
    kind: str
    body: Stmt
    thread: str | None = None
    annotations: tuple[tuple[str, Data], ...] = ()

    @property
    def virtual(self) -> bool:
        """Whether virtual threads do its iterations: copies inside one thread."""
        return self.thread in VIRTUAL_AXES


@node
class IfThenElse(Stmt):
    """`then_case` where `condition` holds, else `else_case`."""

    condition: Expr
    then_case: Stmt
    else_case: Stmt | None = None


@node
class Barrier(Stmt):
    """Every thread of the block waits until all have come here; made by lowering only."""


@node
class CommitGroup(Stmt):
    """The copies of CP_ASYNC that a thread began since its last group are one; of lowering only."""


@node
class WaitGroup(Stmt):
    """A thread waits for its groups of copies but the last `count` of them; of lowering only."""

    count: int


@node
class IterVar(Node):
    """A block's iterator: `var` ranges over `dom`; `kind` is "spatial" or "reduce"."""

    var: Var
    dom: Range
    kind: str


@node
class BlockId(Node):
    """The identity of a block, which survives renaming; a copied block gets a fresh one."""


@node
class Block(Stmt):
    """A unit of computation, isolated from the loops around it by its iterators.

    `init`, where there is one, runs in place of nothing before the first update of each reduction.
    """

    name: str
    iter_vars: tuple[IterVar, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    body: Stmt
    init: Stmt | None = None
    alloc_buffers: tuple[Buffer, ...] = ()
    annotations: tuple[tuple[str, Data], ...] = ()
    id: BlockId = field(default_factory=BlockId)

    @property
    def name_hint(self) -> str:
        """Its name, as TVM calls it."""
        return self.name


@node
class BlockRealize(Stmt):
    """Runs `block` with its iterators bound to `iter_values`, where `predicate` holds."""

    iter_values: tuple[Expr, ...]
    predicate: Expr
    block: Block

    @property
    def bindings(self) -> dict[Var, Expr]:
        """The value of each iterator of the block."""
        iterators = (iterator.var for iterator in self.block.iter_vars)
        return dict(zip(iterators, self.iter_values, strict=True))


# --- programs ------------------------------------------------------------------------------------


@node
class PrimFunc(Node):
    """A function over buffers; `body` is always the realisation of its root block.

    >>> [buffer.name for buffer in add.params], add.params[0].shape
    (['A', 'B'], (8,))
    """

    name: str
    params: tuple[Buffer, ...]
    body: BlockRealize
    attrs: tuple[tuple[str, Data], ...] = ()
    private: bool = False  # TVM's word for one that its module alone calls by name

    @property
    def root(self) -> Block:
        """The block around the whole body, which allocates the intermediate buffers."""
        return self.body.block

    @property
    def sizes(self) -> tuple[SizeVar, ...]:
        """The sizes that the shapes of its parameters are told by, in order; () for numbers."""
        return sizes_in(self.params)

    @property
    def buffer_map(self) -> dict[Buffer, Buffer]:
        """Of each parameter that is an array its buffer: here they are one."""
        return {param: param for param in self.params if not param.scalar}

    def specialize(self, values: Mapping[str, int]) -> PrimFunc:
        """The program in which each of its `sizes` is the number that `values` gives.

        Raises Fail for a size without a positive number, and for a number without a size.
        """
        return writer().specialize(self, values)

    def __repr__(self) -> str:
        return self.script()

    def _repr_html_(self) -> str | None:
        return writer().repr_html(self.script())

    def with_attr(self, attr: str | Mapping[str, Any], value: Any = None) -> PrimFunc:
        """The program with this attribute, or all of a dictionary; "global_symbol" is its name.

        Raises TypeError for a value that is no plain data.

        >>> add.with_attr("global_symbol", "main").name
        'main'
        """
        attrs, name, private = dict(self.attrs), self.name, self.private
        for key, given in (attr if isinstance(attr, Mapping) else {attr: value}).items():
            held = _as_data(given)
            if not is_text(key) or not is_data(held):
                raise TypeError(f"an attribute holds plain data, not {given!r}")
            if key != "global_symbol":
                attrs[key] = held
            elif not isinstance(held, str):
                raise TypeError(f"a function is called by a text, not {given!r}")
            else:
                name, private = held, False
        return replace(self, name=name, attrs=tuple(attrs.items()), private=private)

    def without_attr(self, attr_key: str) -> PrimFunc:
        """The program without the attribute of that name; "global_symbol" makes it private."""
        left = tuple(pair for pair in self.attrs if pair[0] != attr_key)
        return replace(self, attrs=left, private=self.private or attr_key == "global_symbol")

    def script(self, dialect: str = "workbench") -> str:
        """The program as TVMScript text; for `dialect` "tvm" as apache-tvm 0.27 reads it.

        >>> print(add.script("tvm").splitlines()[1])
        # from tvm.script import tirx as T
        """
        return writer().show(self, dialect=dialect)

    def show(self, style: str | None = None, black_format: bool | None = None) -> None:
        """Print the program, coloured where the output can show colour.

        `style` and `black_format` are TVM's: here the text is always laid out alike.

        >>> add.show()
        @T.prim_func
        def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            # with T.block("root"):
            for i in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(8, i)
                    T.reads(A[vi])
                    T.writes(B[vi])
                    B[vi] = A[vi] + T.float32(1)
        """
        writer().print_highlighted(self)


@once
def _sizes_of(e: Node) -> tuple[SizeVar, ...]:
    """The size variables in an expression, in order."""
    if isinstance(e, SizeVar):
        return (e,)
    parts = (getattr(e, name) for name in e.__dataclass_fields__)
    inside = (n for part in parts for n in (part if isinstance(part, tuple) else (part,)))
    return tuple(dict.fromkeys(v for n in inside if isinstance(n, Node) for v in _sizes_of(n)))


def sizes_in(buffers: Sequence[Buffer]) -> tuple[SizeVar, ...]:
    """The size variables that the shapes of `buffers` are told by, in order."""
    told = (n for buffer in buffers for n in buffer.shape if isinstance(n, Expr))
    return tuple(dict.fromkeys(size for n in told for size in _sizes_of(n)))


@node
class SymbolicFunc(Node):
    """A function of which only the text is kept, since its `symbols` are numbers not known yet.

    Where they are sizes of its arguments it is read as a PrimFunc, see `PrimFunc.sizes`. Any other,
    as of an array inside alone, is read as a program once `specialize` says what they are.
    """

    name: str
    text: str
    symbols: tuple[str, ...]
    env: tuple[tuple[str, Data], ...] = ()  # plain values of names around it

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str | None:
        return writer().repr_html(self.text)

    def script(self, dialect: str = "workbench") -> str:
        """The function as TVMScript text."""
        return writer().show(self, dialect=dialect)

    def show(self) -> None:
        """Print the function."""
        print(self.text)

    def specialize(self, values: Mapping[str, int]) -> PrimFunc:
        """The program in which each symbol is the number that `values` gives.

        Raises ParseError for a symbol without a positive number, for a number without a symbol,
        and where the program is none of that size.
        """
        return writer().specialize(self, values)

    def refusal(self, act: str) -> tuple[str, str]:
        """Why it is refused to `act` on it before its symbols are known, and what to do."""
        symbols = ", ".join(f"`{name}`" for name in self.symbols)
        every = ", ".join(f'"{name}": 1024' for name in self.symbols)
        headline = f"Can't {act} {self.name}: its shapes are told by {symbols}"
        return headline, f"give their numbers: func.specialize({{{every}}})"

    if not TYPE_CHECKING:  # or it would take every name for one that is there

        def __getattr__(self, name: str) -> Any:
            if name in ("params", "body", "root", "attrs"):
                headline, hint = self.refusal("look into")
                raise Fail(headline, hint=hint)
            raise AttributeError(name)


class GlobalVar(str):
    """The name of a function in its module."""

    __slots__ = ()

    @property
    def name_hint(self) -> str:
        """The name."""
        return str(self)


class Functions(tuple["PrimFunc", ...]):
    """The functions of a module in their order; TVM asks them by name, as a dictionary."""

    __slots__ = ()

    def keys(self) -> list[GlobalVar]:
        """Their names."""
        return [GlobalVar(func.name) for func in self]

    def values(self) -> list[PrimFunc]:
        """The functions."""
        return list(self)

    def items(self) -> list[tuple[GlobalVar, PrimFunc]]:
        """Each name with its function."""
        return list(zip(self.keys(), self, strict=True))


def _program(given: Any) -> Any:
    """`given`, a function of a module. Raises TypeError for what is none."""
    if isinstance(given, (PrimFunc, SymbolicFunc)):
        return given
    raise TypeError(
        f"a module holds programs, and {type(given).__name__} is none: pass a function made with "
        "@T.prim_func, or the .func of a schedule or of what was built"
    )


@node
class IRModule(Node):
    """Functions by name; what a schedule works on.

    It takes TVM's form, too, ``IRModule({"main": func})``, which names them anew. As in TVM,
    ``mod["main"]`` is also the only function that there is.

    >>> mod = IRModule.from_expr(add)
    >>> [name for name, func in mod.functions.items()], mod["main"] is mod["add"]
    (['add'], True)
    """

    functions: tuple[PrimFunc, ...] = ()

    def __post_init__(self) -> None:
        given: Any = self.functions
        if isinstance(given, Mapping):
            given = (replace(_program(func), name=str(name)) for name, func in given.items())
        object.__setattr__(self, "functions", Functions(map(_program, given)))

    @staticmethod
    def from_expr(expr: PrimFunc) -> IRModule:
        """The module of one function, by its own name."""
        return IRModule(Functions((expr,)))

    def __getitem__(self, name: str) -> PrimFunc:
        for func in self.functions:
            if func.name == name or (name == "main" and len(self.functions) == 1):
                return func
        names = ", ".join(func.name for func in self.functions)
        raise KeyError(f"the module has no function {name!r}; it has: {names}")

    def __setitem__(self, name: str, func: PrimFunc) -> None:
        """Let `name` be `func`: for a module that is put together, and has no step yet.

        The programs of a history keep theirs: `sch.mod` gives a module of its own at each call.
        """
        named = {str(key): value for key, value in Functions(self.functions).items()} | {
            str(name): func
        }
        made = (replace(_program(value), name=key) for key, value in named.items())
        object.__setattr__(self, "functions", Functions(made))
        for known in ("_below", "_remembered"):
            if hasattr(self, known):
                object.__delattr__(self, known)

    def get_global_vars(self) -> list[GlobalVar]:
        """The names of its functions."""
        return Functions(self.functions).keys()

    def get_global_var(self, name: str) -> GlobalVar:
        """The name of the function `name`. Raises ValueError where there is none."""
        if name in Functions(self.functions).keys():  # noqa: SIM118 - not the functions themselves
            return GlobalVar(name)
        names = ", ".join(Functions(self.functions).keys())
        raise ValueError(f"the module has no function {name!r}; it has: {names}")

    def functions_items(self) -> list[tuple[GlobalVar, PrimFunc]]:
        """Each name with its function."""
        return Functions(self.functions).items()

    def update_func(self, var: GlobalVar, func: PrimFunc) -> None:
        """``mod[var] = func``."""
        self[var] = func

    def __repr__(self) -> str:
        return self.script()

    def _repr_html_(self) -> str | None:
        return writer().repr_html(self.script())

    def script(self, dialect: str = "workbench") -> str:
        """The module as TVMScript text."""
        return writer().show(self, dialect=dialect)

    def show(self, style: str | None = None, black_format: bool | None = None) -> None:
        """Print the module, coloured where the output can show colour.

        `style` and `black_format` are TVM's: here the text is always laid out alike.
        """
        writer().print_highlighted(self)


@node
class Kernel(Node):
    """One launch: what every thread of a grid runs; made by lowering only.

    `params` and `allocs` are flat (one dimension); `views` pairs each with the buffer of the
    program that it holds a part of. `axes` pairs each thread axis in use with the variable that
    stands for it in `body`. `grid` and `block` count blocks and threads along x, y, z;
    how many blocks there are, sizes may tell.
    """

    name: str
    params: tuple[Buffer, ...]
    allocs: tuple[Buffer, ...]
    views: tuple[tuple[Buffer, Buffer], ...]
    axes: tuple[tuple[str, Var], ...]
    grid: tuple[Size, Size, Size]
    block: tuple[int, int, int]
    body: Stmt


# Where a field holds it: the slot itself by a second name, asked in a quarter of a call's time.
for _kind, _slot in ((BinOp, "_dtype"), *((k, "type") for k in (Var, Const, Cast, Call, Buffer))):
    setattr(_kind, "dtype", getattr(_kind, _slot))  # noqa: B010


# --- making nodes --------------------------------------------------------------------------------


def const(value: bool | int | float, dtype: str) -> Const:
    """The constant `value` in `dtype`."""
    if dtype == "bool":
        return Const(bool(value), dtype)
    return Const(int(value) if is_int(dtype) else float(value), dtype)


def plain_number(value: Any) -> Any:
    """A number of NumPy's as Python's; anything else as it is."""
    is_one = hasattr(value, "tolist") and getattr(value, "ndim", None) == 0
    return value.tolist() if is_one else value


def as_expr(value: ExprLike) -> Expr:
    """`value` as an expression; Python's int becomes int32, float float32, as in TVM."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Equality):
        return binary(value.op, value.a, value.b)
    value = plain_number(value)
    if isinstance(value, bool):  # before int: bool is an int in Python
        return Const(value, "bool")
    if isinstance(value, int):
        dtype = next((t for t in ("int32", "int64") if fits(value, t)), None)
        if dtype is None:
            raise TypeError("an integer is longer than 64 bits; write it as a float")
        return Const(value, dtype)
    if isinstance(value, float):
        return Const(value, "float32")
    raise TypeError(f"cannot make an expression of {value!r} ({type(value).__name__})")


_INDEX_TYPES = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32",
                "uint32": "int64", "uint64": "int64"}  # fmt: skip


def as_index(value: ExprLike) -> Expr:
    """`value` as an index: a short or unsigned integer in a type in which indices are computed."""
    index = as_expr(value)
    return cast(_INDEX_TYPES.get(index.dtype, index.dtype), index)


TRUE = Const(True, "bool")


def binary(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """`a op b` with its operands brought to one type; constants are folded, nothing is reordered.

    Folds as TVM's operators do: two constants, and on integers ``x + 0``, ``x - 0``, ``x * 1``,
    ``x * 0``, ``x // 1``, ``x % 1``, ``x << 0``, ``x >> 0``; ``and`` and ``or`` with a constant
    side. A Python number takes the type of the other operand.

    Raises TypeError where the two types do not meet or the operator does not take them, and
    ZeroDivisionError for a divisor that is 0.
    """
    a, b = _matched(op, a, b)
    if not isinstance(b, Const):
        if not isinstance(a, Const):
            return BinOp(op, a, b)
    elif isinstance(a, Const):
        dtype = a.type if op in _OF_NUMBERS else "bool"
        value = _FOLD[op](a.value, b.value) if _folds(op, a, b) else None
        if value is not None and (not is_int(dtype) or fits(value, dtype)):
            return const(value, dtype)
    if op in LOGICAL:
        for side, other in ((a, b), (b, a)):
            if isinstance(side, Const):
                return other if side.value == (op == "and") else side
    if is_int(a.dtype):
        if isinstance(b, Const):
            if (op, b.value) in _RIGHT_UNIT:
                return a
            if (op, b.value) in _RIGHT_ZERO:
                return const(0, a.dtype)
        elif isinstance(a, Const):
            if (op, a.value) in _LEFT_UNIT:
                return b
            if op == "*" and a.value == 0:
                return const(0, a.dtype)
    return BinOp(op, a, b)


OF_CONDITIONS = {"&": "and", "|": "or", "^": "!="}  # what they say of two conditions


def bitwise(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """`a op b` of integers, or what OF_CONDITIONS makes of it where both are conditions.

    Raises TypeError for one of each.
    """
    conditions = [as_expr(side).dtype == "bool" for side in (a, b)]
    if any(conditions) and not all(conditions):
        raise TypeError(f"{op!r} takes two integers or two conditions, not one of each")
    return binary(OF_CONDITIONS[op] if all(conditions) else op, a, b)


_RIGHT_UNIT = {("+", 0), ("-", 0), ("*", 1), ("//", 1), ("<<", 0), (">>", 0)}
_RIGHT_ZERO = {("*", 0), ("%", 1)}
_LEFT_UNIT = {("+", 0), ("*", 1)}
_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def _matched(op: str, a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Both operands as expressions of one type that `op` takes."""
    if not (isinstance(a, Expr) and isinstance(b, Expr) and a.dtype == b.dtype):
        a, b = meet(a, b)
    if op not in _OF_SOME_TYPES:
        return a, b
    dtype = a.dtype
    if op in LOGICAL and dtype != "bool":
        raise TypeError(f"{op!r} takes conditions, not {dtype}")
    if op in ("//", "%"):
        if isinstance(b, Const) and b.value == 0:
            raise ZeroDivisionError(f"the right side of {op!r} is 0")
        if not is_int(dtype):
            raise TypeError(f"{op!r} takes integers, not {dtype}; divide floats with '/'")
        return a, b
    if op in BITWISE and not is_int(dtype):
        raise TypeError(f'{op!r} takes integers, not {dtype}; convert with T.Cast("int32", x)')
    if op == "/" and not is_float(dtype):
        raise TypeError("'/' takes floats; divide integers with '//'")
    return a, b


def meet(a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Both values as expressions of the one type in which they meet.

    Raises TypeError where there is none.
    """
    if not isinstance(b, Expr):
        b = number_like(b, a.dtype) if isinstance(a, Expr) else as_expr(b)
        a = as_expr(a)
    elif not isinstance(a, Expr):
        a = number_like(a, b.dtype)
    if a.dtype == b.dtype:
        return a, b
    dtype = join(a.dtype, b.dtype)
    if dtype is None:
        raise TypeError(f"{a.dtype} and {b.dtype} do not meet; write T.Cast on one side")
    return cast(dtype, a), cast(dtype, b)


def number_like(value: ExprLike, dtype: str) -> Expr:
    """A Python number as an operand beside one of type `dtype`, which it keeps where it fits."""
    value = plain_number(value)
    if isinstance(value, bool):  # before int: bool is an int in Python
        return Const(value, "bool")
    if is_float(dtype) and isinstance(value, (int, float)):
        return const(value, dtype)
    if is_int(dtype) and isinstance(value, int) and fits(value, dtype):
        return const(value, dtype)
    return as_expr(value)


def _folds(op: str, a: Const, b: Const) -> bool:
    """Whether `a op b` is known exactly here: float arithmetic is left to the machine."""
    return not is_float(a.type) and op in _FOLD and (op not in SHIFTS or in_width(b.value, b.type))


def in_width(amount: bool | int | float, dtype: str) -> bool:
    """Whether a value of type `dtype` can be shifted by `amount`."""
    return 0 <= amount < BITS[dtype]


def always_has_value(e: BinOp) -> bool:
    """Whether `e` has a value whatever its left side is; only a number on the right is known.

    A division by 0 has none, and a shift too far.
    """
    if e.op in ("//", "%"):
        return isinstance(e.b, Const) and e.b.value != 0
    return e.op not in SHIFTS or (isinstance(e.b, Const) and in_width(e.b.value, e.b.type))


def reinterpret(dtype: str, value: Expr) -> Expr:
    """The bits of `value` as a `dtype`, which has as many."""
    if value.dtype == dtype:
        return value
    bits = f"uint{BITS[dtype]}"
    if is_float(value.dtype):
        value = Call(REINTERPRET, (value,), bits)
    value = cast(bits, value)
    return Call(REINTERPRET, (value,), dtype) if is_float(dtype) else cast(dtype, value)


def cast(dtype: str, value: Expr) -> Expr:
    """`value` as `dtype`: itself where it is that already, an integer constant folded."""
    if value.dtype == dtype:
        return value
    if isinstance(value, Const) and not is_float(value.type):
        return const(value.value, dtype)
    return Cast(dtype, value)


def size_expr(size: Size, dtype: str) -> Expr:
    """A dimension of a buffer as an expression of type `dtype`."""
    return cast(dtype, size) if isinstance(size, Expr) else const(size, dtype)


def seq(*stmts: Stmt) -> Stmt:
    """The statements in order, flat: one alone stands for itself."""
    flat: list[Stmt] = []
    for stmt in stmts:
        flat.extend(stmts_of(stmt))
    if not flat:
        raise ValueError("seq() needs at least one statement")
    return flat[0] if len(flat) == 1 else SeqStmt(tuple(flat))


def stmts_of(stmt: Stmt) -> tuple[Stmt, ...]:
    """What `seq` puts together: the statements of a sequence, or the one that stands for itself."""
    return stmt.stmts if isinstance(stmt, SeqStmt) else (stmt,)


def flat_index(indices: Iterable[Expr], sizes: Iterable[ExprLike], dtype: str) -> Expr:
    """The number of the turn `indices` of loops of so many turns, the last one counting fastest."""
    total: Expr = const(0, dtype)
    for index, size in zip(indices, sizes, strict=True):
        total = total * size + index
    return total


def attrs_dict(pairs: tuple[tuple[str, Data], ...]) -> Mapping[str, Data]:
    """Annotations or attributes as a mapping, in their order."""
    return dict(pairs)
