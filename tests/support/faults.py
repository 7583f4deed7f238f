"""Faults to seed in the compiler, one at a time, to see that the checks find each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from pytest import MonkeyPatch

from workbench.ir import (
    BufferRegion,
    Const,
    Expr,
    Range,
    Var,
    const,
)

Seed = Callable[[MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A mutation, and which random schedules are likely to come across it."""

    seed: Seed
    verbs: tuple[str, ...] | None = None  # any, where not given
    builds: bool = False  # whether it shows in kernels only
    code: bool = False  # whether it shows only when their text is compiled and run
    first: int = 0  # the random schedule to begin with, where few come across it


FAULTS: dict[str, Fault] = {}


def fault(
    *verbs: str, builds: bool = False, code: bool = False, first: int = 0
) -> Callable[[Seed], Seed]:
    """Enter a fault under what its docstring says."""

    def enter(seed: Seed) -> Seed:
        name = (seed.__doc__ or "").rstrip(".")
        FAULTS[name] = Fault(seed, verbs or None, builds or code, code, first)
        return seed

    return enter


def _verb(name: str) -> Any:
    return import_module(f"workbench.verbs.primitives.{name}")


def _wrap(mp: MonkeyPatch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Replace `owner.name` by `change(original, *arguments)`."""
    original = getattr(owner, name)
    mp.setattr(owner, name, lambda *args, **kwargs: change(original, *args, **kwargs))


def _nothing(*args: object, **kwargs: object) -> None:
    return None


def _shorter(box: Iterable[Range]) -> tuple[Range, ...]:
    """`box` without the last cell of its last dimension of several."""
    sides = list(box)
    for k, side in reversed(list(enumerate(sides))):
        if isinstance(side.extent, Const) and side.extent.value > 1:
            sides[k] = Range(side.min, side.extent - 1)
            break
    return tuple(sides)


# --- verbs ---------------------------------------------------------------------------------------


@fault("split")
def split_without_predicate(mp: MonkeyPatch) -> None:
    """split forgets T.where where the factors do not divide."""
    mp.setattr(_verb("split"), "guarded", lambda body, condition: body)


@fault("split")
def split_off_by_one(mp: MonkeyPatch) -> None:
    """split begins at 1."""

    def change(original: Any, body: Any, values: dict[Var, Expr], **kwargs: Any) -> Any:
        return original(body, {var: e + 1 for var, e in values.items()}, **kwargs)

    _wrap(mp, _verb("split"), "replace_loops", change)


@fault("fuse")
def fuse_swapped(mp: MonkeyPatch) -> None:
    """fuse gives the loops each other's indices."""

    def change(original: Any, body: Any, values: dict[Var, Expr], **kwargs: Any) -> Any:
        swapped = dict(zip(values, reversed(list(values.values())), strict=True))
        return original(body, swapped, **kwargs)

    _wrap(mp, _verb("fuse"), "replace_loops", change)


@fault("decompose_reduction")
def decompose_without_init(mp: MonkeyPatch) -> None:
    """decompose_reduction drops the init."""
    mp.setattr(_verb("decompose_reduction"), "seq", lambda init, rest: rest)


@fault("reorder")
def reorder_extents(mp: MonkeyPatch) -> None:
    """reorder leaves the extents where they were."""

    def change(original: Any, loops: Any, body: Any) -> Any:
        extents = sorted(loop.extent.value for loop in loops)
        return original(
            [replace(a, extent=const(n, "int32")) for a, n in zip(loops, extents, strict=True)],
            body,
        )

    _wrap(mp, _verb("reorder"), "nest", change)


@fault("bind", builds=True)
def bind_unchecked(mp: MonkeyPatch) -> None:
    """Nothing looks whether threads get in each other's way."""
    mp.setattr(_verb("bind"), "refuse_conflict", _nothing)
    program = import_module("workbench.check.program")
    for check in ("_conflicts", "_repeated_updates"):
        mp.setattr(program, check, lambda *args: ())


@fault("cache_read")
def cache_read_short(mp: MonkeyPatch) -> None:
    """cache_read copies one cell too few."""
    _wrap(mp, _verb("cache_read"), "_box", lambda original, *args: _shorter(original(*args)))


@fault("cache_write")
def cache_write_short(mp: MonkeyPatch) -> None:
    """cache_write copies one cell too few."""
    _wrap(mp, _verb("cache_write"), "_box", lambda original, *args: _shorter(original(*args)))


@fault("compute_at", "reverse_compute_at")
def compute_at_short(mp: MonkeyPatch) -> None:
    """compute_at makes one iteration too few."""

    def change(original: Any, *args: Any) -> Any:
        need = original(*args)
        return replace(need, size=max(need.size - 1, 1))

    _wrap(mp, import_module("workbench.verbs.moving"), "within", change)


@fault("reverse_compute_at")
def reverse_compute_at_unchecked(mp: MonkeyPatch) -> None:
    """reverse_compute_at does not look whether what it reads is made."""
    mp.setattr(_verb("reverse_compute_at"), "check_fed", _nothing)
    mp.setattr(_verb("reverse_compute_at"), "_check_together", _nothing)


@fault("compute_inline")
def inline_swapped(mp: MonkeyPatch) -> None:
    """compute_inline swaps the indices."""

    def change(original: Any, e: Expr, cell: dict[Var, Expr], dom: Any) -> Any:
        return original(e, dict(zip(cell, reversed(list(cell.values())), strict=True)), dom)

    _wrap(mp, _verb("compute_inline"), "_at", change)


@fault("set_scope")
def set_scope_forgets(mp: MonkeyPatch) -> None:
    """set_scope moves the buffer where it is allocated, not where it is used."""

    def change(original: Any, realize: Any, buffers: dict[Any, Any]) -> Any:
        allocated = tuple(buffers.get(b, b) for b in realize.block.alloc_buffers)
        return replace(realize, block=replace(realize.block, alloc_buffers=allocated))

    _wrap(mp, _verb("set_scope"), "substitute_buffers", change)


@fault("split", "fuse")
def replay_forgets(mp: MonkeyPatch) -> None:
    """A trace replays lists backwards."""

    def change(original: Any, value: Any, to: Any) -> Any:
        done = original(value, to)
        return done[::-1] if isinstance(value, tuple) and value and len(value) < 4 else done

    _wrap(mp, import_module("workbench.schedule.schedule"), "map_refs", change)


# --- text and regions ----------------------------------------------------------------------------


@fault("split")
def printer_without_brackets(mp: MonkeyPatch) -> None:
    """The printer takes products to bind no tighter than sums."""
    operators = import_module("workbench.script.operators")
    mp.setitem(operators._BINDS, "+", 11)


@fault()
def region_short(mp: MonkeyPatch) -> None:
    """Inferred regions of several cells lack the last one."""

    def change(original: Any, boxes: Any, hidden: Any) -> Any:
        return tuple(BufferRegion(r.buffer, _shorter(r.region)) for r in original(boxes, hidden))

    _wrap(mp, import_module("workbench.arith.region"), "_regions", change)


# --- arithmetic ----------------------------------------------------------------------------------


@fault("split", "fuse", builds=True)
def arith_divides_too_much(mp: MonkeyPatch) -> None:
    """simplify divides without looking at the rest."""
    normal = import_module("workbench.arith.normal").Normal

    def change(original: Any, self: Any, s: Any, step: int) -> Any:
        kept = type(s)({d: f // step for d, f in s.digits.items() if f % step == 0}, 0)
        return original(self, s, step) or (kept, type(s)())

    _wrap(mp, normal, "_coarse", change)


@fault("split", "fuse", builds=True)
def arith_bounds_short(mp: MonkeyPatch) -> None:
    """Upper bounds of variables are one too low."""
    normal = import_module("workbench.arith.normal").Normal

    def change(original: Any, self: Any, e: Expr) -> Any:
        low, high = original(self, e)
        many = isinstance(e, Var) and None not in (low, high) and high > low
        return (low, high - 1) if many else (low, high)

    _wrap(mp, normal, "_part_interval", change)


# --- lowering ------------------------------------------------------------------------------------


@fault("split", builds=True)
def lower_without_predicate(mp: MonkeyPatch) -> None:
    """Lowering drops predicates."""
    dropper = import_module("workbench.lower.drop_blocks")._Dropper
    mp.setattr(dropper, "_guarded", lambda self, condition, then, other: self.statement(then))


@fault("annotate", builds=True)
def lower_without_else(mp: MonkeyPatch) -> None:
    """Lowering loses else."""
    dropper = import_module("workbench.lower.drop_blocks")._Dropper
    _wrap(
        mp,
        dropper,
        "_guarded",
        lambda original, self, test, then, other: original(self, test, then, None),
    )


@fault("annotate", builds=True)
def lower_init_always(mp: MonkeyPatch) -> None:
    """Lowering runs an init in every iteration."""
    inline = import_module("workbench.lower.inline_iterators")
    mp.setattr(inline, "_initially", lambda init, iterators, values: init)


@fault("cache_read", "compute_at", "set_scope", builds=True)
def lower_without_barriers(mp: MonkeyPatch) -> None:
    """Lowering puts no barriers."""
    pipeline = import_module("workbench.lower.pipeline")
    passes = tuple(p for p in pipeline.KERNEL_PASSES if p.__name__ != "insert_barriers")
    mp.setattr(pipeline, "KERNEL_PASSES", passes)


@fault("cache_read", "compute_at", builds=True)
def shrink_shifted(mp: MonkeyPatch) -> None:
    """Shrunk arrays begin one cell too late."""

    def change(original: Any, *args: Any) -> Any:
        window = original(*args)
        return replace(window, start=(window.start[0] + 1, *window.start[1:]))

    finder = import_module("workbench.lower.shrink_buffers").WindowFinder
    _wrap(mp, finder, "window", change)


@fault("cache_read", "compute_at", "cache_write", builds=True)
def shrink_short(mp: MonkeyPatch) -> None:
    """Shrunk arrays lack their last cell."""
    shrink = import_module("workbench.lower.shrink_buffers")
    _wrap(mp, shrink, "box_around", lambda original, *args: _shorter(original(*args)))


@fault("annotate", builds=True)
def flatten_transposed(mp: MonkeyPatch) -> None:
    """Flat offsets are those of the transposed array."""
    flatten = import_module("workbench.lower.flatten_buffers")
    _wrap(mp, flatten, "strides", lambda original, buffer: tuple(reversed(original(buffer))))


@fault("annotate", builds=True)
def launch_too_few(mp: MonkeyPatch) -> None:
    """A launch has one thread too few."""

    def change(original: Any, sizes: dict[str, int], unit: str) -> Any:
        x, y, z = original(sizes, unit)
        return (max(x - 1, 1), y, z) if unit == "threadIdx" else (x, y, z)

    _wrap(mp, import_module("workbench.lower.split_kernels"), "_triple", change)


@fault("vectorize", builds=True, first=113)
def vectors_contiguous(mp: MonkeyPatch) -> None:
    """Vector accesses are taken to be contiguous."""
    vectorizer = import_module("workbench.lower.vectorize_loops")._Vectorizer
    _wrap(mp, vectorizer, "_step", lambda original, self, index: min(original(self, index) or 0, 1))


# --- C-like text ---------------------------------------------------------------------------------


@fault("unannotate", code=True, first=20)
def code_truncates(mp: MonkeyPatch) -> None:
    """Code writes / for a floor division of negative numbers."""
    expressions = import_module("workbench.codegen.expressions").Expressions
    mp.setattr(expressions, "_rounds_down", lambda self, a, b: True)


@fault("annotate", code=True, first=130)
def code_without_casts(mp: MonkeyPatch) -> None:
    """Code drops casts."""
    expressions = import_module("workbench.codegen.expressions").Expressions
    mp.setattr(expressions, "_cast", lambda self, dtype, value: self._text(value))


@fault("split", code=True, first=1)
def code_without_brackets(mp: MonkeyPatch) -> None:
    """Code drops brackets."""
    expressions = import_module("workbench.codegen.expressions").Expressions
    mp.setattr(expressions, "text", lambda self, e, binds=0: self._text(e)[0])


# --- running by meaning --------------------------------------------------------------------------


@fault("annotate")
def meaning_init_always(mp: MonkeyPatch) -> None:
    """evaluate runs an init in every iteration."""
    evaluation = import_module("workbench.emulate.programs.evaluate").Evaluation
    mp.setattr(evaluation, "_is_first", lambda self, block, env, mask: mask)
