"""Where a tensor intrinsic fits: a block does just what a description says, to tiles of buffers.

Statement by statement and operand by operand the block is held against the description, as TVM's
`tensorize` does, both without blocks, iterators and loops that run once, which mean nothing here.
Variables and buffers correspond one to one. A tile begins where the first access of it says: the
index less the description's, in which no loop of the tile is left; every other access has to
differ from the description's by the same, and in the dimensions ahead of the tile by nothing, or
the tile would lie in two planes.

So each access is the description's, moved by what stands still within one turn. The description
and what runs it touch no other cells, and mean the same by terms (`tensor_intrin`): one may stand
for the other, whatever lies in the buffers. That operands are not exchanged keeps terms equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations

from workbench import arith
from workbench.arith import Bounds
from workbench.intrin.tensor_intrin import TensorIntrin
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    For,
    IfThenElse,
    Not,
    PrimFunc,
    Select,
    SeqStmt,
    Stmt,
    Var,
    binary,
    dtypes,
    free_vars,
    seq,
    stmts_of,
    substitute,
    walk,
)
from workbench.script import expr_text

_EITHER_WAY = frozenset({"+", "*", "min", "max", "and", "or", "==", "!="})


class Mismatch(Exception):
    """The block is not what the description says: why, the first unequal pair, what repairs it."""

    def __init__(self, why: str, hint: str, ours: str = "", theirs: str = "") -> None:
        super().__init__(why)
        self.why, self.hint = why, hint
        self.detail = f"the block has {ours}, the description {theirs}" if ours else ""


@dataclass(frozen=True, slots=True)
class View:
    """The tile of `buffer` that a parameter stands for: it begins at `base`.

    The parameter's dimensions are the last ones of the buffer.
    """

    buffer: Buffer
    base: tuple[Expr, ...]

    def cell(self, inside: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where in the buffer the cell `inside` the tile lies."""
        ahead = len(self.base) - len(inside)
        moved = (binary("+", *pair) for pair in zip(self.base[ahead:], inside, strict=True))
        return (*self.base[:ahead], *moved)


def match(intrin: TensorIntrin, block: Block, dom: Bounds) -> Mapping[Buffer, View]:
    """The tile of each parameter of the description with which `block` does what it says.

    `dom` has the bounds of what stands around the block, and of its iterators. Raises Mismatch.
    """
    if block.init is not None:
        raise Mismatch(
            "it starts sums itself, with T.init()",
            "take it out first, by decompose_reduction at the outermost loop of the sum",
        )
    ours, theirs = tile_of(block.body), tile_of(intrin.desc.root.body)
    try:
        return _Matching(intrin.desc, dom).whole(ours, theirs)
    except Mismatch:
        order = next(_other_orders(intrin.desc, ours, theirs, dom), None)
        if order is None:
            raise
        names = ", ".join(f"`{loop.loop_var.name}`" for loop in order)
        raise Mismatch(
            "its loops are not in the order of the description",
            f"reorder them: {names}, the last one innermost",
        ) from None


def _other_orders(desc: PrimFunc, ours: Stmt, theirs: Stmt, dom: Bounds) -> Iterator[list[For]]:
    """The orders of the loops in which the block would be what the description says."""
    loops, body = _perfect(ours)
    for order in permutations(loops) if len(loops) <= 4 else ():
        try:
            _Matching(desc, dom).whole(_around(order, body), theirs)
        except Mismatch:
            continue
        yield list(order)


def _perfect(stmt: Stmt) -> tuple[list[For], Stmt]:
    loops: list[For] = []
    while isinstance(stmt, For):
        loops.append(stmt)
        stmt = stmt.body
    return loops, stmt


def _around(loops: Iterable[For], body: Stmt) -> Stmt:
    for loop in reversed(list(loops)):
        body = replace(loop, body=body)
    return body


def tile_of(stmt: Stmt) -> Stmt:
    """`stmt` without blocks, told in the loops around, and without loops that run once.

    Raises Mismatch for a block that starts sums, or allocates memory, which no description does.
    """
    match stmt:
        case BlockRealize(predicate=predicate, block=block):
            if block.init is not None or block.alloc_buffers:
                does = "starts sums" if block.init is not None else "allocates memory"
                raise Mismatch(
                    f"`{block.name}` in it {does}", "tensorize a loop or block without that"
                )
            body = tile_of(substitute(block.body, stmt.bindings))
            return body if predicate is TRUE else IfThenElse(predicate, body)
        case For(extent=Const(value=1)):
            return tile_of(substitute(stmt.body, {stmt.loop_var: stmt.min}))
        case For(body=body):
            return For(stmt.loop_var, stmt.min, stmt.extent, stmt.kind, tile_of(body), stmt.thread)
        case SeqStmt(stmts):
            return seq(*map(tile_of, stmts))
        case IfThenElse(condition, then_case, else_case):
            otherwise = None if else_case is None else tile_of(else_case)
            return IfThenElse(condition, tile_of(then_case), otherwise)
    return stmt


class _Matching:
    """One attempt: what corresponds so far."""

    def __init__(self, desc: PrimFunc, dom: Bounds) -> None:
        self.dom = dict(dom)
        self.params = desc.params
        self.loops: dict[Var, Expr] = {}  # of a loop of the description, ours
        self.views: dict[Buffer, View] = {}

    def whole(self, ours: Stmt, theirs: Stmt) -> Mapping[Buffer, View]:
        self.statement(ours, theirs)
        return {param: self.views[param] for param in self.params}

    # --- statements ---

    def statement(self, ours: Stmt, theirs: Stmt) -> None:
        match ours, theirs:
            case For(), For():
                self.loop(ours, theirs)
            case BufferStore(), BufferStore():
                self.element(ours, theirs)
                self.value(ours.value, theirs.value)
            case IfThenElse(condition, then, None), IfThenElse(condition=other, then_case=do):
                self.value(condition, other)
                self.statement(then, do)
            case IfThenElse(condition, then, None), _ if arith.prove(condition, self.dom):
                self.statement(then, theirs)  # which all turns do
            case SeqStmt(stmts), SeqStmt(others) if len(stmts) == len(others):
                for pair in zip(stmts, others, strict=True):
                    self.statement(*pair)
            case _:
                raise Mismatch(
                    f"it has {_word(ours)} where the description has {_word(theirs)}",
                    _other_statement(ours, theirs),
                )

    def loop(self, ours: For, theirs: For) -> None:
        name = ours.loop_var.name
        if not arith.equal(ours.extent, theirs.extent, self.dom):
            raise Mismatch(
                f"`{name}` runs {expr_text(ours.extent)} times, in the description "
                f"{expr_text(theirs.extent)}",
                f"split `{name}` so that {expr_text(theirs.extent)} of its turns are inside",
            )
        if (ours.kind, ours.thread) != (theirs.kind, theirs.thread):
            raise Mismatch(
                f"`{name}` is {ours.thread or ours.kind}, in the description "
                f"{theirs.thread or theirs.kind}",
                f"leave `{name}` as it is until the tile is tensorized",
            )
        self.loops[theirs.loop_var] = ours.loop_var - ours.min + theirs.min
        self.dom.update(arith.loop_bounds([ours], self.dom))
        self.statement(ours.body, theirs.body)

    # --- values ---

    def value(self, ours: Expr, theirs: Expr) -> None:
        """Refuse where the two are not the same, operand by operand."""
        if _counts(ours) and _counts(theirs):
            told = substitute(theirs, self.loops)
            if ours.dtype == theirs.dtype and arith.equal(ours, told, self.dom):
                return
        match ours, theirs:
            case BufferLoad(), BufferLoad():
                self.element(ours, theirs)
                return
            case BinOp(op, a, b), BinOp(other, c, d) if op == other:
                self.operands((a, b), (c, d), op, ours)
                return
            case (Const(), Const()) if (ours.type, repr(ours.value)) == (
                theirs.type,
                repr(theirs.value),
            ):
                return
            case (Cast(type=one, value=a), Cast(type=same, value=b)) if one == same:
                self.value(a, b)
                return
            case (Not(a), Not(b)):
                self.value(a, b)
                return
            case (Select(), Select()):
                self.each(
                    (ours.condition, ours.true_value, ours.false_value),
                    (theirs.condition, theirs.true_value, theirs.false_value),
                )
                return
            case (Call(op, args, kind), Call(other, others, same)) if (op, kind, len(args)) == (
                other,
                same,
                len(others),
            ):
                self.each(args, others)
                return
        raise self.unequal(ours, theirs)

    def each(self, ours: tuple[Expr, ...], theirs: tuple[Expr, ...]) -> None:
        for pair in zip(ours, theirs, strict=True):
            self.value(*pair)

    def operands(
        self, ours: tuple[Expr, Expr], theirs: tuple[Expr, Expr], op: str, whole: BinOp
    ) -> None:
        known = dict(self.views)
        try:
            self.each(ours, theirs)
        except Mismatch:
            self.views = dict(known)
            if op not in _EITHER_WAY or not self.holds(lambda: self.each(ours[::-1], theirs)):
                self.views = known
                raise
            self.views = known
            right = BinOp(op, *ours[::-1])
            raise Mismatch(
                f"the two sides of `{op}` stand the other way round in the description",
                f"write {expr_text(right)} in the program, or register an intrinsic that is "
                "described so",
                f"`{expr_text(whole)}`",
                f"`{expr_text(BinOp(op, *theirs))}`",
            ) from None

    def holds(self, asked: Callable[[], None]) -> bool:
        """Whether what is asked is no mismatch."""
        known = dict(self.views)
        try:
            asked()
        except Mismatch:
            return False
        finally:
            self.views = known
        return True

    def unequal(self, ours: Expr, theirs: Expr) -> Mismatch:
        """The mismatch of two values of which neither is a part of the other's form."""
        hint = "write what the description says, or register an intrinsic that says this"
        if isinstance(theirs, Cast) and self.holds(lambda: self.value(ours, theirs.value)):
            hint = f'convert it in the program: T.Cast("{theirs.type}", {expr_text(ours)})'
        elif isinstance(ours, Cast) and self.holds(lambda: self.value(ours.value, theirs)):
            hint = f"leave the conversion to {ours.type} out of the program"
        return Mismatch(
            "it does not compute what the description says",
            hint,
            f"`{expr_text(ours)}`",
            f"`{expr_text(theirs)}`",
        )

    # --- tiles ---

    def element(self, ours: BufferLoad | BufferStore, theirs: BufferLoad | BufferStore) -> None:
        """Refuse where the two do not touch the same cell of a tile."""
        view = self.views.get(theirs.buffer)
        if view is None:
            view = self.views[theirs.buffer] = self.begun(ours, theirs)
        inside = tuple(substitute(index, self.loops) for index in theirs.indices)
        same = ours.buffer is view.buffer and all(
            arith.equal(a, b, self.dom)
            for a, b in zip(ours.indices, view.cell(inside), strict=True)
        )
        if not same:
            name = view.buffer.name
            told = substitute(BufferLoad(theirs.buffer, inside), {})
            raise Mismatch(
                f"not all that it does to {name} is in one tile as the description has it",
                f"split the loops so that a tile of {name} stands still within them",
                f"`{_cell_text(ours)}`",
                f"`{expr_text(told)}`, of the tile at {_place_text(view.base)}",
            )

    def begun(self, ours: BufferLoad | BufferStore, theirs: BufferLoad | BufferStore) -> View:
        """The tile of which this is the first access."""
        buffer, param = ours.buffer, theirs.buffer
        self.check_kind(buffer, param, isinstance(ours, BufferStore))
        ahead = len(buffer.shape) - len(param.shape)
        tile = {v for told in self.loops.values() for v in free_vars(told)}
        base = list(ours.indices[:ahead])
        for index, inside in zip(ours.indices[ahead:], theirs.indices, strict=True):
            base.append(arith.simplify(index - substitute(inside, self.loops), self.dom))
        if any(map(arith.reads_memory, base)):  # which the block may change
            raise Mismatch(
                f"where the tile of {buffer.name} begins is read from memory",
                f"read {buffer.name} through a copy, sch.cache_read, whose tiles loops tell",
                f"`{_cell_text(ours)}`",
                f"`{expr_text(BufferLoad(param, theirs.indices))}`",
            )
        if not any(tile.intersection(free_vars(at)) for at in base):
            return View(buffer, tuple(base))
        raise Mismatch(
            f"{buffer.name} is not read or written by the description's indices",
            self.other_indices(ours, theirs, ahead, tile),
            f"`{_cell_text(ours)}`",
            f"`{expr_text(BufferLoad(param, theirs.indices))}`",
        )

    def check_kind(self, buffer: Buffer, param: Buffer, writes: bool) -> None:
        name, scope = buffer.name, param.storage_scope
        if any(view.buffer is buffer for view in self.views.values()):
            raise Mismatch(
                f"{name} would be two of the description's parameters",
                f"read {name} through a copy: sch.cache_read",
            )
        if buffer.type != param.type:
            raise Mismatch(
                f"{name} holds {buffer.type}, {param.name} of the description {param.type}",
                "take an intrinsic of that type",
            )
        if buffer.storage_scope != scope:
            how = "write it" if writes else "read it"
            verb = "cache_write" if writes else "cache_read"
            raise Mismatch(
                f"{name} is in {buffer.storage_scope} memory, {param.name} of the description "
                f"in {scope}",
                f'{how} through a copy in "{scope}", by {verb}',
            )
        if len(buffer.shape) < len(param.shape):
            raise Mismatch(
                f"{name} has fewer dimensions than {param.name} of the description",
                f"take an intrinsic whose tile has {len(buffer.shape)} dimensions",
            )

    def other_indices(
        self,
        ours: BufferLoad | BufferStore,
        theirs: BufferLoad | BufferStore,
        ahead: int,
        tile: set[Var],
    ) -> str:
        """What to do where no tile begins: the same tile with its dimensions exchanged, or none."""
        inside = [substitute(index, self.loops) for index in theirs.indices]
        axes = range(len(ours.indices))
        for order in permutations(axes) if len(axes) <= 4 else ():
            moved = [ours.indices[k] for k in order]
            gaps = (
                arith.simplify(index - at, self.dom)
                for index, at in zip(moved[ahead:], inside, strict=True)
            )
            if not any(tile.intersection(free_vars(gap)) for gap in (*moved[:ahead], *gaps)):
                names = [f"i{k}" for k in axes]
                map_text = f"lambda {', '.join(names)}: ({', '.join(names[k] for k in order)})"
                return (
                    f"read {ours.buffer.name} through a copy, sch.cache_read, and lay that out by "
                    f'index_map="{map_text}", sch.transform_layout'
                )
        return "let the loops of the tile count its cells one by one, and no other loop"


def _counts(e: Expr) -> bool:
    """Whether `e` is a number told by loops alone."""
    return dtypes.is_int(e.dtype) and not any(isinstance(n, (BufferLoad, Call)) for n in walk(e))


def _word(stmt: Stmt) -> str:
    match stmt:
        case For(extent=extent):
            return f"a loop of {expr_text(extent)}"
        case BufferStore(buffer=buffer):
            return f"a store to {buffer.name}"
        case IfThenElse(condition=condition):
            return f"the condition {expr_text(condition)}"
    return f"{len(stmts_of(stmt))} statements"


def _other_statement(ours: Stmt, theirs: Stmt) -> str:
    if isinstance(ours, IfThenElse):
        return "split by factors that divide, or pad: a tile is whole"
    if isinstance(theirs, For) and isinstance(ours, BufferStore):
        return "name a loop further out, whose turns make up the tile"
    if isinstance(ours, For) and isinstance(theirs, BufferStore):
        return "name a loop further in"
    return "tensorize what does one thing: move other statements out of the tile"


def _cell_text(node: BufferLoad | BufferStore) -> str:
    return expr_text(BufferLoad(node.buffer, node.indices))


def _place_text(base: tuple[Expr, ...]) -> str:
    return f"[{', '.join(map(expr_text, base))}]"
