"""Statements that are put together in Python, one call after the other: tvm.tir.ir_builder."""

from __future__ import annotations

from workbench.tvm.not_carried import LEFT_OUT, not_carried, refusing, unknown
from workbench.tvm.tir.calls import Instruction, Instructions

__all__ = ["IRBuilder", "create"]


class IRBuilder:
    """Takes the calls that implement a tensor intrinsic, in their order."""

    def __init__(self) -> None:
        self._calls: list[Instruction] = []

    def emit(self, stmt: Instruction) -> None:
        """Note a call of `tvm.tir.call_intrin`. Raises TypeError for anything else."""
        if not isinstance(stmt, Instruction):
            raise TypeError(f"a statement is made by tvm.tir.call_intrin, and is not {stmt!r}")
        self._calls.append(stmt)

    def get(self) -> Instructions:
        """All that was noted."""
        return Instructions(tuple(self._calls))

    def __getattr__(self, name: str) -> object:
        called = f"tvm.tir.ir_builder.IRBuilder.{name}"
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_carried(called) if called in LEFT_OUT else unknown(called, ["emit", "get"])


def create() -> IRBuilder:
    """A builder in which nothing is yet."""
    return IRBuilder()


__getattr__ = refusing(__name__)
