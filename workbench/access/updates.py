"""Updates: stores ``C[i] = C[i] op e`` with one of + * min max, which may come in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from workbench.access.units import same_cell
from workbench.ir import (
    BinOp,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    Node,
    Stmt,
    binary,
    free_vars,
    seq,
    stmts_of,
    stores,
    walk,
)

COMBINERS = ("+", "*", "min", "max")


@dataclass(frozen=True, slots=True)
class Update:
    """`store`: its cell becomes itself `op` `term`."""

    store: BufferStore
    op: str
    term: Expr
    term_first: bool

    def join(self, result: Expr, term: Expr) -> Expr:
        """The value that the store has, its operands in the order of the program."""
        return binary(self.op, term, result) if self.term_first else binary(self.op, result, term)


@dataclass(frozen=True)
class Sums:
    """What the stores of a block do: updates that have nothing to do with each other.

    Told as a `TupleUpdate` of `combiners` is.
    """

    updates: tuple[Update, ...]
    ordered = False

    @property
    def stores(self) -> tuple[BufferStore, ...]:
        """A store for each."""
        return tuple(one.store for one in self.updates)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that are stored to."""
        return tuple(one.store.buffer for one in self.updates)

    @property
    def terms(self) -> tuple[Expr, ...]:
        """What comes into each."""
        return tuple(one.term for one in self.updates)

    def add(self, cells: Sequence[BufferLoad]) -> Stmt:
        """Add the terms to `cells`."""
        return self.join(cells, self.terms)

    def join(self, cells: Sequence[BufferLoad], parts: Sequence[Expr]) -> Stmt:
        """Add `parts` to `cells`."""
        each = zip(self.updates, cells, parts, strict=True)
        return seq(*(BufferStore(c.buffer, one.join(c, part), c.indices) for one, c, part in each))


def update_of(store: BufferStore) -> Update | None:
    """The update that `store` is, by itself; None for another one."""
    value = store.value
    if not (isinstance(value, BinOp) and value.op in COMBINERS):
        return None
    for result, term in ((value.a, value.b), (value.b, value.a)):
        if not (isinstance(result, BufferLoad) and result.buffer is store.buffer):
            continue
        if same_cell(result.indices, store.indices) and not reads(term, [store.buffer]):
            return Update(store, value.op, term, term_first=term is value.a)
    return None


def updates_of(body: Stmt) -> tuple[Update, ...]:
    """The updates that the stores of `body` are, if they may come in any order; else none.

    Each reads its own cell, and nothing else in `body` reads what any of them writes: no term, no
    index, and nothing that says whether one runs. Those of one buffer, whose cells may be the
    same, have one `op`, since (c + a) max b is not (c max b) + a.
    """
    found = [update_of(store) for store in stores(body)]
    updates = [one for one in found if one is not None]
    ops = {(one.store.buffer, one.op) for one in updates}
    written = {one.store.buffer for one in updates}
    loads = [n for n in walk(body) if isinstance(n, BufferLoad) and n.buffer in written]
    alike = len(updates) == len(found) and len(ops) == len(written)
    return tuple(updates) if alike and len(loads) == len(updates) else ()


def why_ordered(body: Stmt) -> str:
    """Why the updates of `body`, which are not those of `updates_of`, must keep their order."""
    ops: dict[Buffer, str] = {}
    for store in stores(body):
        one, buffer = update_of(store), store.buffer
        if one is None:
            return "only sums, products, min and max of values that do not read the result commute"
        if ops.setdefault(buffer, one.op) != one.op:
            return f"updates of {buffer.name} by {ops[buffer]} and by {one.op} do not commute"
    loads = Counter(n.buffer for n in walk(body) if isinstance(n, BufferLoad))
    own = Counter(store.buffer for store in stores(body))
    read = next(buffer.name for buffer in ops if loads[buffer] > own[buffer])
    return f"what {read} holds on the way goes into an update: a value, an index or a condition"


def sums_of(block: Block) -> Sums | None:
    """What `block` does, if that is an update of each of one or more buffers; else None."""
    if block.alloc_buffers or any(not isinstance(s, BufferStore) for s in _stmts(block.body)):
        return None
    found = Sums(updates_of(block.body))
    return found if found.updates and len(set(found.buffers)) == len(found.buffers) else None


def why_no_sums(block: Block) -> str:
    """What `block` lacks to be sums from one start each, see `sums_of` and `starts_of`."""
    found = [one for one in _stmts(block.body) if isinstance(one, BufferStore)]
    if block.alloc_buffers or len(found) < len(_stmts(block.body)):
        return f"`{block.name}` holds more than stores such as C = C + …"
    counts = Counter(store.buffer for store in found)
    for store in found:
        name = store.buffer.name
        if counts[store.buffer] > 1:
            return f"`{block.name}` stores to {name} more than once"
        if update_of(store) is not None:
            continue
        if _is_deeper(store):
            op = store.value.op  # type: ignore[attr-defined]  # _is_deeper
            whole = f"{name} {op} (…)" if op in ("+", "*") else f"T.{op}({name}, …)"
            return f"{name} is not a side of its own in what is stored there: write {whole}"
        together = f", nor are {_names(counts)} updated together as by argmax"
        return (
            f"what is stored to {name} is not {name} + …, with + or * or T.min or T.max, of values "
            f"that do not read {name}{together if len(counts) > 1 else ''}"
        )
    if not updates_of(block.body):
        return why_ordered(block.body)
    return (
        f"T.init() of `{block.name}` does not store one value to each of {_names(counts)}, the "
        "same in all turns of the sum"
    )


def _is_deeper(store: BufferStore) -> bool:
    """Whether `store` is an update but for its brackets, as C = C + a + b."""
    value = store.value
    if not isinstance(value, BinOp) or value.op not in COMBINERS:
        return False
    own = [one for one in _sides(value, value.op) if reads(one, [store.buffer])]
    return len(own) == 1 and isinstance(own[0], BufferLoad)


def _sides(e: Expr, op: str) -> Iterator[Expr]:
    """What `op` puts together in `e`."""
    if isinstance(e, BinOp) and e.op == op:
        yield from _sides(e.a, op)
        yield from _sides(e.b, op)
    else:
        yield e


def _names(buffers: Iterable[Buffer]) -> str:
    return ", ".join(buffer.name for buffer in buffers)


def starts_of(block: Block, results: Sequence[BufferStore]) -> tuple[Expr, ...] | None:
    """What the init of `block` puts into the cells of `results`.

    None where it is other than this, or not always the same, or the sum goes on to other cells.
    """
    stmts = _stmts(block.init)
    starts = {s.buffer: s for s in stmts if isinstance(s, BufferStore)}
    buffers = [one.buffer for one in results]
    if len(stmts) != len(starts) or starts.keys() != set(buffers):
        return None
    moving = {it.var for it in block.iter_vars if it.kind == "reduce"}
    for one in results:
        start = starts[one.buffer]
        if not same_cell(start.indices, one.indices) or reads(start.value, buffers):
            return None
        if not moving.isdisjoint(free_vars(start)):
            return None
    return tuple(starts[buffer].value for buffer in buffers)


def _stmts(stmt: Stmt | None) -> Sequence[Stmt]:
    return () if stmt is None else stmts_of(stmt)


def reads(e: Node, buffers: Collection[Buffer]) -> bool:
    """Whether `e` loads from one of `buffers`."""
    return any(isinstance(n, BufferLoad) and n.buffer in buffers for n in walk(e))
