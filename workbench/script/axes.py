"""A block's iterators: how they are written, and how that text is read."""

from __future__ import annotations

import ast

from workbench import arith
from workbench.ir import (
    BlockRealize,
    Const,
    Expr,
    For,
    IterVar,
    Range,
    Var,
    cast,
    const,
    dtypes,
)
from workbench.script.grammar import print_expr, read_word
from workbench.script.memory import expr_words, range_between, read_index
from workbench.script.reader import Reader
from workbench.script.writer import Writer

_SPATIAL = ("axis.spatial", "axis.S")
_REDUCE = ("axis.reduce", "axis.R")
AXES = (*_SPATIAL, *_REDUCE, "axis.remap")

Axis = tuple[IterVar, Expr]  # an iterator and what it is bound to


# --- writing -------------------------------------------------------------------------------------


def print_axes(w: Writer, s: BlockRealize) -> None:
    """One line an iterator; neighbours bound to a whole loop each share a ``T.axis.remap``."""
    pairs = list(zip(s.block.iter_vars, s.iter_values, strict=True))
    k = 0
    while k < len(pairs):
        count = 0
        while k + count < len(pairs) and _is_whole_loop(w, *pairs[k + count]):
            count += 1
        if count > 1:
            _print_remap(w, s, pairs[k : k + count])
        else:
            count = 1
            _print_axis(w, s, *pairs[k])
        k += count
    # Names come into scope only now: a binding speaks of what is outside the block.


def _is_whole_loop(w: Writer, i: IterVar, value: Expr) -> bool:
    if not isinstance(value, Var) or value not in w.loops or value.type != i.var.type:
        return False
    loop = w.loops[value]
    assert isinstance(loop, For)
    return all(
        arith.equal(mine, its)
        and (isinstance(mine, Const) or expr_words(w, mine) == expr_words(w, its))  # as it is read
        for mine, its in ((i.dom.min, loop.min), (i.dom.extent, loop.extent))
    )


def _name_axis(w: Writer, i: IterVar) -> None:
    w.kinds[i.var] = "iter"
    w.names.define(i.var, i.var.name)
    start = w.col
    w.name(i.var)
    w.spanned(i, start)


def _print_remap(w: Writer, s: BlockRealize, pairs: list[tuple[IterVar, Expr]]) -> None:
    w.begin()
    for k, (i, _) in enumerate(pairs):
        if k:
            w.put(", ")
        _name_axis(w, i)
    kinds = "".join("S" if i.kind == "spatial" else "R" for i, _ in pairs)
    w.put(f' = T.axis.remap("{kinds}", [')
    for k, (_, value) in enumerate(pairs):
        if k:
            w.put(", ")
        print_expr(w, value)
    w.put("])")
    w.end(s, "axis")


def _print_axis(w: Writer, s: BlockRealize, i: IterVar, value: Expr) -> None:
    w.begin()
    _name_axis(w, i)
    w.put(f" = T.axis.{i.kind}(")
    if isinstance(i.dom.min, Const) and i.dom.min.value == 0:
        print_expr(w, i.dom.extent)
    else:
        w.put("(")
        print_expr(w, i.dom.min)
        w.put(", ")
        print_expr(w, i.dom.min + i.dom.extent)
        w.put(")")
    w.put(", ")
    print_expr(w, value)
    w.put(")")
    w.end(s, "axis")


# --- reading -------------------------------------------------------------------------------------


def read_axes(r: Reader, target: ast.expr, call: ast.Call) -> list[Axis]:
    """The iterators that one statement defines."""
    name = r.function(call.func)
    if name == "axis.remap":
        return _read_remap(r, target, call)
    if isinstance(target, (ast.Tuple, ast.List)):
        hint = 'for several at once write vi, vj = T.axis.remap("SS", [i, j])'
        raise r.error(target, f"T.{name} makes one iterator", hint=hint)
    dom_tree, value_tree = r.arguments(call, "dom", "value")
    value = read_index(r, value_tree)
    dom = _read_dom(r, dom_tree)
    dtype = dtypes.join(dom.extent.dtype, value.dtype) or value.dtype
    dom = Range(cast(dtype, dom.min), cast(dtype, dom.extent))
    kind = "spatial" if name in _SPATIAL else "reduce"
    return [_define(r, target, kind, dom, cast(dtype, value))]


def _read_dom(r: Reader, tree: ast.expr) -> Range:
    """``128``, or ``(1, 4)`` for the values from 1 up to 4."""
    if isinstance(tree, (ast.Tuple, ast.List)) and len(tree.elts) == 2:
        return range_between(read_index(r, tree.elts[0]), read_index(r, tree.elts[1]))
    extent = read_index(r, tree)
    return Range(const(0, extent.dtype), extent)


def _read_remap(r: Reader, target: ast.expr, call: ast.Call) -> list[Axis]:
    """``vi, vj = T.axis.remap("SR", [i, j])``: each iterator is one whole loop."""
    kinds_tree, loops_tree = r.arguments(call, "kinds", "bindings")
    kinds = read_word(r, kinds_tree, "the kinds of the iterators")
    if set(kinds) - {"S", "R"}:
        hint = "write S for a spatial iterator and R for one that is reduced over"
        raise r.error(kinds_tree, f'Can\'t read the kinds "{kinds}"', hint=hint)
    loops = loops_tree.elts if isinstance(loops_tree, (ast.List, ast.Tuple)) else [loops_tree]
    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if not len(kinds) == len(loops) == len(names):
        hint = 'as many of each: vi, vj = T.axis.remap("SR", [i, j])'
        headline = f"{len(names)} names, {len(kinds)} kinds and {len(loops)} loops do not match"
        raise r.error(call, headline, hint=hint)
    axes = []
    for name, letter, loop in zip(names, kinds, loops, strict=True):
        var = read_index(r, loop)
        if not isinstance(var, Var) or var not in r.extents:
            hint = "remap takes loops; for anything else write T.axis.spatial(extent, value)"
            raise r.error(loop, f"`{r.text(loop)}` is no loop", hint=hint)
        kind = "spatial" if letter == "S" else "reduce"
        axes.append(_define(r, name, kind, Range(*r.extents[var]), var))
    return axes


def _define(r: Reader, target: ast.expr, kind: str, dom: Range, value: Expr) -> Axis:
    if not isinstance(target, ast.Name):
        hint = "write a name: vi = T.axis.spatial(8, i)"
        raise r.error(target, "Can't name an iterator this", hint=hint)
    var = Var(target.id, value.dtype)
    r.define(target, target.id, var)
    r.iterators[var] = dom.min, dom.extent
    return IterVar(var, dom, kind), value
