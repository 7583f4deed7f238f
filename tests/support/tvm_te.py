"""Compute expressions in TVM, and the program that it makes of them, read here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import workbench as wb
from tests.support.same_program import Different, compare
from workbench import script
from workbench.ir import PrimFunc


def load_te() -> Any:
    """TVM's te, with the names of tirx that ours has beside it."""
    from tvm import te, tirx

    own = {
        "const": tirx.const,
        "select": tirx.Select,
        "logical_not": tirx.Not,
        "equal": lambda a, b: tirx.EQ(tirx.convert(a), tirx.convert(b)),
        "not_equal": lambda a, b: tirx.NE(tirx.convert(a), tirx.convert(b)),
    }
    return SimpleNamespace(**{**vars(te), **own})


def load_topi() -> Any:
    """TVM's topi."""
    from tvm import topi

    return topi


def any_target() -> Any:
    """A target: conv2d_NCHWc asks for one and does not look at it."""
    from tvm.target import Target

    return Target("llvm")


def their_program(te: Any, args: list[Any]) -> PrimFunc:
    """TVM's program of `args`; its divisions of integers, which are of none below 0, as ours."""
    text = str(te.create_prim_func(args).script()).replace("tirx.noalias", "tir.noalias")
    parsed = script.parse(text.replace("T.Div(", "T.floordiv("))
    assert isinstance(parsed, PrimFunc)
    return parsed


def verdict(ours: PrimFunc, theirs: PrimFunc) -> str:
    """Where the programs differ: nowhere, in how "expressions" are written, or as it is told."""
    mine = script.parse(script.show(ours))
    assert isinstance(mine, PrimFunc)
    if wb.structural_equal(mine, theirs):
        return ""
    try:
        compare(mine, theirs)
    except Different as difference:
        return str(difference)
    return "expressions"
