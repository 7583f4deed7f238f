"""Calls of an instruction, as the implementation of a tensor intrinsic makes them: tvm.tir."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.ir import Expr, Var, substitute
from workbench.script import expr_text
from workbench.tvm.not_carried import NotCarried
from workbench.tvm.tir.buffers import Declared, Pointer

Argument = Pointer | Expr | int | float | str


@dataclass(frozen=True, slots=True)
class Instruction:
    """A call that is a statement: its name as ``T.…`` has it, and its arguments in order."""

    name: str
    args: tuple[Argument, ...]

    def text(self, names: Mapping[Declared, str]) -> str:
        """The call as a program has it, in which the declared buffers have these `names`."""
        words: dict[Var, str] = {}
        for buffer, name in names.items():
            words[buffer.elem_offset] = f"{name}.elem_offset"
            strides: tuple[object, ...] = buffer.strides
            for k, stride in enumerate(strides):
                if isinstance(stride, Var):
                    words[stride] = f"{name}.strides[{k}]"
        stand_ins: dict[Var, Expr] = {var: Var(f"word{k}") for k, var in enumerate(words)}

        def written(arg: Argument) -> str:
            if isinstance(arg, Pointer):
                return f"{names.get(arg.buffer, arg.buffer.name)}.{arg.how}"
            if not isinstance(arg, Expr):
                return repr(arg)
            text = expr_text(substitute(arg, stand_ins))
            for k, word in enumerate(words.values()):
                text = re.sub(rf"\bword{k}\b", word, text)
            return text

        return f"T.{self.name}({', '.join(map(written, self.args))})"


@dataclass(frozen=True, slots=True)
class Instructions:
    """Calls that are made one after the other: what ``ib.get()`` returns."""

    calls: tuple[Instruction, ...]


def call_intrin(dtype: str, func_name: str, *args: Argument) -> Instruction:
    """The call of an instruction, for ``ib.emit``: "tir.tvm_mma_sync" and the like.

    What there is, and which arguments it takes, says `te.decl_tensor_intrin`, which reads it.
    Raises NotCarried for what is no instruction of TVM's `tir`, and for a value in place of a
    statement.
    """
    room, _, name = func_name.partition(".")
    if room not in ("tir", "tirx") or not name.isidentifier() or dtype != "handle":
        raise NotCarried(
            f"Can't call {func_name} as a value of type {dtype}: only instructions are called so",
            asked=f'call_intrin("{dtype}", "{func_name}", …)',
            hint="write the function, te.exp(x), in an expression; in an intrinsic, call_intrin("
            '"handle", "tir.tvm_mma_sync", …)',
        )
    return Instruction(name, args)
