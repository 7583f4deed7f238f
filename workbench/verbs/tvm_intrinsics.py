"""Tensor intrinsics in a file for apache-tvm: by TVM's own names, or registered there as text.

TVM has ours for Tensor Cores under the same names, with the same descriptions. Of others the
description and the implementation are written as functions: what the implementation reads and
writes stands at its block, since TVM makes views of the tiles by that.
"""

from __future__ import annotations

import re

from workbench import arith, script
from workbench.intrin import Mismatch, TensorIntrin, match, names
from workbench.ir import Buffer, PrimFunc, is_warp_call, walk
from workbench.script.writer import identifier, string

# Not those of bfloat16, nor those that load sums.
_OF_TVM = re.compile(r"wmma_(load|fill|sync|store)_16x16x16_(?!bf16)(?!\w+_c_)")
IMPORT = "import tvm.s_tir.tensor_intrin.cuda  # which registers those of Tensor Cores"


def tvm_name(name: str) -> str | None:
    """The name that TVM has an intrinsic under, which does what ours of `name` means; or None.

    Ours may be another pair with the same description, such as one of `te.decl_tensor_intrin`.
    """
    if _OF_TVM.match(name):
        return name
    meant = TensorIntrin.get(name)
    assert meant is not None
    for known in filter(_OF_TVM.match, names()):
        other = TensorIntrin.get(known)
        assert other is not None
        try:
            tiles = match(other, meant.desc.root, {})
        except Mismatch:
            continue
        if [tiles[param].buffer for param in other.desc.params] == [*meant.desc.params]:
            return known
    return None


def registered(name: str) -> str:
    """The lines that register the intrinsic `name`. Raises ValueError where these can't be written.

    That is where its implementation makes calls of a warp, which stand here as loops.
    """
    intrin = TensorIntrin.get(name)
    assert intrin is not None
    if any(map(is_warp_call, walk(intrin.impl.body))):
        raise ValueError(name)
    desc, impl = (f"{identifier(name)}_{part}" for part in ("desc", "impl"))
    return "\n\n\n".join(
        (
            _function(intrin.desc, desc),
            _function(intrin.impl, impl),
            f"tvm.s_tir.TensorIntrin.register({string(name)}, {desc}, {impl})",
        )
    )


def _function(func: PrimFunc, name: str) -> str:
    """The text of a function whose outermost block says what it touches of each parameter."""
    plain = PrimFunc(name, func.params, func.body)
    rows = script.show(plain, dialect="tvm").splitlines()
    root = next(k for k, row in enumerate(rows) if row.strip().startswith("# with T.sblock"))
    reads, writes = arith.access_regions(func.root)
    touched = (
        (what, dict.fromkeys(r.buffer for r in regions if r.buffer in func.params))
        for what, regions in (("reads", reads), ("writes", writes))
    )
    head = [f"        T.{what}({', '.join(map(_whole, of))})" for what, of in touched]
    first = next(k for k, row in enumerate(rows) if row.startswith("@T.prim_func"))
    inside = [f"    {row}" for row in rows[root + 1 :]]
    return "\n".join([*rows[first:root], '    with T.sblock("root"):', *head, *inside])


def _whole(buffer: Buffer) -> str:
    return f"{buffer.name}[{', '.join(f'0:{size}' for size in buffer.shape)}]"
