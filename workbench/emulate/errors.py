"""EmulationError: what the emulator raises, with the place in the program marked."""

from __future__ import annotations

from workbench import script
from workbench.diag import Fail, Refusal
from workbench.ir import Kernel, Node, PrimFunc


class EmulationError(Fail, RuntimeError):
    """A program did what a GPU would punish, or was given arrays that it cannot run on.

    >>> try:
    ...     emulate.evaluate(add, [A[:4], B])
    ... except wb.EmulationError as error:
    ...     print(error.headline)
    Can't run with an array of shape (4,) for A: the program says (8,).
    """

    refusal: Refusal | None = None  # what was raised inside, with its places as nodes


class NotEnoughMemory(EmulationError):
    """A run would need more memory than is free; nothing has run.

    >>> raised = emulate.NotEnoughMemory("This needs 9 GiB, and 2 are free", hint="run some blocks")
    >>> print(raised)
    This needs 9 GiB, and 2 are free.
    do:    run some blocks
    """


class TooLarge(Refusal):
    """A NotEnoughMemory on its way to the learner."""


def explain(refusal: Refusal, program: PrimFunc | Kernel) -> EmulationError:
    """`refusal` as the learner reads it, its places marked in the text of `program`."""
    kind = NotEnoughMemory if isinstance(refusal, TooLarge) else EmulationError
    nodes = [place for place in refusal.at if isinstance(place, Node)]
    where = script.mark_nodes(program, nodes) if nodes else ""
    error = kind(refusal.headline, where=where, detail=refusal.detail, hint=refusal.hint)
    error.refusal = refusal
    return error
