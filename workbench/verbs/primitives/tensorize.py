"""tensorize: let a tensor intrinsic run what a block does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.arith import Bounds
from workbench.diag import Fail
from workbench.intrin import NOTE, Mismatch, TensorIntrin, match, names, tile_of
from workbench.ir import Block, Const, For, PrimFunc, Stmt
from workbench.ir.places import Places
from workbench.verbs.domains import domain
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.primitives.blockize import turn_as_block
from workbench.verbs.site import Site, site_of, with_block


def _choices(func: PrimFunc, block_or_loop: For | Block) -> Iterator[Mapping[str, Any]]:
    """The intrinsics whose tile has as many turns of as many loops."""
    turns = _turns(block_or_loop if isinstance(block_or_loop, For) else block_or_loop.body)
    for name in names():
        intrin = TensorIntrin.get(name)
        assert intrin is not None
        if turns and _turns(intrin.desc.root.body) == turns:
            yield {"tensor_intrin": name}


def _turns(stmt: Stmt) -> list[int]:
    """How often each of the loops around the innermost statement runs, in any order."""
    try:
        stmt = tile_of(stmt)
    except Mismatch:
        return []
    found: list[int] = []
    while isinstance(stmt, For):
        found.append(int(stmt.extent.value) if isinstance(stmt.extent, Const) else 0)
        stmt = stmt.body
    return sorted(found)


@primitive(group="blocks", choices=_choices, sizes=True)
def tensorize(
    func: PrimFunc,
    block_or_loop: For | Block,
    tensor_intrin: str,
    preserve_unit_iters: bool = True,
) -> Edit[None]:
    """Let the intrinsic of that name run what the block, or one turn around the loop, does.

    A loop is made a block first, as `blockize` does. What the block does has to be what the
    intrinsic's description says, loop by loop and operand by operand, and nothing else; it stays
    as it is, with a note which intrinsic runs it. Lowering puts the implementation there.

    >>> sch.tensorize("k_1", "dot4")
    @T.prim_func
    def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((1,), "float32")):
        # with T.block("root"):
        for k_0, k_1 in T.grid(2, 4):
            with T.block("C"):
                vk = T.axis.reduce(8, k_0 * 4 + k_1)
                T.reads(C[0], A[vk], B[vk])
                T.writes(C[0])
                C[0] = C[0] + A[vk] * B[vk]
    ---
    @T.prim_func
    def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((1,), "float32")):
        # with T.block("root"):
        for k_0 in range(2):
            with T.block("C_o"):
                vk_o = T.axis.reduce(2, k_0)
                T.reads(C[0], A[vk_o * 4 : vk_o * 4 + 4], B[vk_o * 4 : vk_o * 4 + 4])
                T.writes(C[0])
                T.block_attr({"tensor_intrin": "dot4"})
                for k_1 in range(4):
                    with T.block("C"):
                        vk_i = T.axis.reduce(4, k_1)
                        T.reads(C[0], A[vk_o * 4 + vk_i], B[vk_o * 4 + vk_i])
                        T.writes(C[0])
                        C[0] = C[0] + A[vk_o * 4 + vk_i] * B[vk_o * 4 + vk_i]
    """
    plain = site_of(func, block_or_loop, "tensorize")
    try:
        intrin = TensorIntrin.get(tensor_intrin)
    except Fail as unknown:
        raise plain.refuse(
            f"there is no tensor intrinsic {tensor_intrin!r}",
            hint=unknown.hint,
            detail=unknown.detail,
        ) from None
    assert intrin is not None
    where, block = _as_block(func, block_or_loop, preserve_unit_iters)
    site = Site(where, block, plain.task)
    dom = {**site.bounds, **domain(block)}
    try:
        match(intrin, block, dom)
    except Mismatch as found:
        fits = next(_that_fit(block, dom), None)
        raise plain.refuse(
            f"it is no {tensor_intrin}: {found.why}",
            hint=f'take "{fits}", which is what it does' if fits else found.hint,
            detail=found.detail,
        ) from None
    notes = tuple(pair for pair in block.annotations if pair[0] != NOTE)
    noted = replace(block, annotations=(*notes, (NOTE, tensor_intrin)))
    return Edit(with_block(where, noted))


def _that_fit(block: Block, dom: Bounds) -> Iterator[str]:
    """The names of the intrinsics whose description is what `block` does."""
    for name in names():
        intrin = TensorIntrin.get(name)
        assert intrin is not None
        try:
            match(intrin, block, dom)
        except Mismatch:
            continue
        yield name


def _as_block(
    func: PrimFunc, block_or_loop: For | Block, preserve_unit_iters: bool
) -> tuple[Places, Block]:
    """The block that is to be run by an intrinsic, and where all is in the program with it."""
    if isinstance(block_or_loop, For):
        edit = turn_as_block(site_of(func, block_or_loop, "tensorize"), preserve_unit_iters)
        return edit.places, edit.places.blocks[edit.result].block
    site = site_of(func, block_or_loop, "tensorize")
    site.check_held()
    return site.places, block_or_loop
