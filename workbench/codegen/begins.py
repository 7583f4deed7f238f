"""begins: in which lines of the text of a kernel its statements begin, and its accesses stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from workbench.codegen.source import LANGUAGES, preamble, text_kernel
from workbench.codegen.walker import Walker
from workbench.ir import (
    Buffer,
    BufferLoad,
    BufferStore,
    For,
    Kernel,
    Node,
    SeqStmt,
    Stmt,
    children,
    expressions_in,
    stmts_of,
    stores,
    walk_statements,
)
from workbench.lower.keep_values import keep_values
from workbench.target import Target


class Begins:
    """The lines, from 1 on, of the `source` of `kernels`, in which those of one of them begin.

    It is that of this number, and no statement stands in it twice.

    The text is a GPU's. It keeps values, by statements of its own between those of the kernel,
    which stay in their order: so what became of each of these is told by its number. Loops whose
    loads it joins are vector statements there, one for each statement in them.
    """

    def __init__(self, kernels: Sequence[Kernel], target: Target, number: int = 0) -> None:
        kernel, language = kernels[number], LANGUAGES[target.kind]
        kept, text = keep_values(kernel), text_kernel(kernel, target)
        walkers = [Walker(text_kernel(one, target), language) for one in kernels]
        walker = walkers[number] = Walker(text, language)
        walker.begins = {}
        texts = [one.kernel_text() for one in walkers]
        parts = [*preamble(language, walkers), *texts[:number]]
        ahead = sum(part.count("\n") + 2 for part in parts)
        self._lines = {
            stmt: ahead + walker.begins[written]
            for stmt, written in _written(kept.body, text.body)
            if written in walker.begins
        }
        self._kernel, self._kept = kernel, kept
        pairs = zip(self._of_kernel(kernel), self._of_kernel(kept), strict=True)
        self._became: dict[Node, Stmt] = dict(pairs)
        self._holds = {part: one for one in self._of_kernel(kernel) for part in expressions_in(one)}
        self._first = self._behind_kept()
        self._made = {*kept.allocs} - {*kernel.allocs}

    def _of_kernel(self, text: Kernel) -> Iterator[Stmt]:
        """The statements of `text` that are also the kernel's, in its order."""
        counted = {node.loop_var for node in walk_statements(self._kernel) if isinstance(node, For)}
        stored = {store.buffer for store in stores(self._kernel.body)}
        for node in walk_statements(text.body):
            if isinstance(node, For):
                known = node.loop_var in counted
            elif isinstance(node, BufferStore):
                known = node.buffer in stored
            else:
                known = isinstance(node, Stmt) and not isinstance(node, SeqStmt)
            if known:
                assert isinstance(node, Stmt)
                yield node

    def _behind_kept(self) -> dict[Stmt, Stmt]:
        """The statements right behind those that keep values for them, with the first of these."""
        own, first = {*self._became.values()}, dict[Stmt, Stmt]()
        for node in walk_statements(self._kept.body):
            keeping: Stmt | None = None
            for stmt in node.stmts if isinstance(node, SeqStmt) else ():
                if stmt not in own:
                    keeping = keeping or stmt
                elif keeping is not None:
                    first[stmt], keeping = keeping, None
        return first

    def ahead(self, stmt: Stmt) -> int:
        """The line ahead of which one is that comes before `stmt`: also before what is kept for it.

        0 for what has no line.
        """
        became = self._became.get(stmt)
        return self._lines.get(self._first.get(became, became), 0) if became is not None else 0

    def lines(self, place: Node) -> tuple[int, ...]:
        """Where a statement begins, or those stand that do an access; none for what has no line.

        A load whose value the text keeps stands where that is loaded.
        """
        became = self._became.get(self._holds.get(place, place))
        if became is None:
            return ()
        found = self._loading(became, place) if isinstance(place, BufferLoad) else [became]
        return tuple(sorted({self._lines[one] for one in found if one in self._lines}))

    def _loading(self, became: Stmt, load: BufferLoad) -> list[Stmt]:
        """The statements of the text that load what `became` uses of the array of `load`."""
        loaded = _loaded(became)
        kept = loaded & self._made
        if load.buffer in loaded or not kept:
            return [became]
        keeping = [one for one in stores(self._kept.body) if one.buffer in kept]
        return [one for one in keeping if load.buffer in _loaded(one)] or [became]


def _loaded(stmt: Stmt) -> set[Buffer]:
    return {node.buffer for node in expressions_in(stmt) if isinstance(node, BufferLoad)}


def _written(kept: Stmt, text: Stmt) -> Iterator[tuple[Stmt, Stmt]]:
    """Each statement of `kept` with that of `text` which does it, where neighbours are joined."""
    rest = iter(stmts_of(text))
    for stmt in stmts_of(kept):
        made = next(rest)
        yield stmt, made
        joined = isinstance(stmt, For) and getattr(made, "loop_var", None) is not stmt.loop_var
        if not joined:
            for one, other in zip(children(stmt), children(made), strict=True):
                if isinstance(one, Stmt) and isinstance(other, Stmt):
                    yield from _written(one, other)
            continue
        assert isinstance(stmt, For)
        inside = stmts_of(stmt.body)
        for one, other in zip(inside, (made, *islice(rest, len(inside) - 1)), strict=True):
            yield one, other.body if isinstance(other, For) else other
