"""stage_copies: a copy to shared memory that asks for it goes through registers, in two statements.

The note is TVM's, ``manifest_shared_memory_local_stage`` on a block, as its dlight sets it (src/
tirx/…/manifest_shared_memory_local_stage.cc): what a thread loads it keeps until it stores it, so
that a pipeline of the loop around may do other work in between. Its notes count both statements.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    BufferStore,
    Const,
    For,
    IterVar,
    PrimFunc,
    Range,
    Stmt,
    Var,
    const,
    copy_fresh,
    once,
    seq,
    walk,
)
from workbench.ir.places import Places, places

STAGED = "manifest_shared_memory_local_stage"


@once
def stage_copies(func: PrimFunc) -> PrimFunc:
    """`func` with two statements, by way of registers, for each copy whose block asks for it."""
    known = places(func)
    asked = [one for one in known.blocks.values() if _asks(one.block)]
    kept = {realize: own for realize in asked if (own := _registers(known, realize)) is not None}
    changed: dict[Stmt, Stmt] = {
        next(iter(_nest(known, realize)), realize): seq(
            *(_half(known, realize, own, load) for load in (True, False))
        )
        for realize, own in kept.items()
    }
    if not changed:
        return func
    staged = known.replace_each(changed)
    root = replace(staged.root, alloc_buffers=(*staged.root.alloc_buffers, *kept.values()))
    return replace(staged, body=replace(staged.body, block=root))


def _asks(block: Block) -> bool:
    return any(value for key, value in block.annotations if _is_staged(key, value))


def _is_staged(key: str, _value: object) -> bool:
    return key.rpartition(".")[2] == STAGED  # TVM writes the name of a dialect ahead of it


def _nest(known: Places, realize: BlockRealize) -> list[For]:
    """The loops around the block that do nothing else, outermost first."""
    loops: list[For] = []
    inside: Stmt = realize
    for around in known.above(realize):
        if not isinstance(around, For) or around.body is not inside:
            break
        loops.insert(0, around)
        inside = around
    while loops and loops[0].annotations:  # a pipeline of that copy alone
        loops.pop(0)
    return loops


def _registers(known: Places, realize: BlockRealize) -> Buffer | None:
    """What threads keep of the copy, each its own; None where it is none of so many cells."""
    store, loops = realize.block.body, _nest(known, realize)
    sizes = [loop.extent.value for loop in loops if isinstance(loop.extent, Const)]
    if not isinstance(store, BufferStore) or store.buffer.scope != "shared":
        return None
    if realize.block.init is not None or len(sizes) < len(loops):
        return None
    shape = tuple(map(int, sizes)) or (1,)
    return Buffer(f"{store.buffer.name}_local", shape, store.buffer.type, "local")


def _half(known: Places, realize: BlockRealize, own: Buffer, load: bool) -> Stmt:
    """The nest of the copy with its loads alone, to `own`, or with its stores alone."""
    nest: Stmt = next(iter(_nest(known, realize)), realize)
    made, _ = copy_fresh(nest)
    loops = [n for n in walk(made) if isinstance(n, For)]
    (run,) = (n for n in walk(made) if isinstance(n, BlockRealize))
    return _within(loops, _staged(run, loops, own, load))


def _within(loops: list[For], body: Stmt) -> Stmt:
    for loop in reversed(loops):
        body = replace(loop, body=body)
    return body


def _staged(run: BlockRealize, loops: list[For], own: Buffer, load: bool) -> BlockRealize:
    block, store = run.block, run.block.body
    assert isinstance(store, BufferStore)
    turns = [Var(loop.loop_var.name, loop.loop_var.type) for loop in loops]
    iterators = tuple(
        IterVar(var, Range(const(0, var.type), loop.extent), "spatial")
        for var, loop in zip(turns, loops, strict=True)
    )
    cell = tuple(turns) or (const(0, "int32"),)
    region = (BufferRegion(own, tuple(Range(e, const(1, e.dtype)) for e in cell)),)
    if load:
        staged = replace(
            block,
            name=own.name,
            writes=region,
            annotations=(),
            body=BufferStore(own, store.value, cell),
        )
    else:
        notes = tuple(pair for pair in block.annotations if not _is_staged(*pair))
        body = BufferStore(store.buffer, own[cell], store.indices)
        staged = replace(block, reads=region, annotations=notes, body=body)
    values = (*run.iter_values, *(loop.loop_var - loop.min for loop in loops))
    staged = replace(staged, iter_vars=(*block.iter_vars, *iterators))
    return replace(run, iter_values=values, block=staged)
