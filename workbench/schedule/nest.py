"""Loop nests: what the loop verbs ask of them and how they are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench import script
from workbench.diag import Refusal
from workbench.ir import Block, Const, Data, Expr, For, PrimFunc, Stmt, free_vars
from workbench.ir.places import places


def nest(loops: Sequence[For], body: Stmt) -> Stmt:
    """The loops around each other, the first outermost, with `body` inside."""
    for loop in reversed(loops):
        body = replace(loop, body=body)
    return body


def constant_extent(loop: For) -> int | None:
    """How often `loop` runs, None where that varies."""
    extent = loop.extent
    return extent.value if isinstance(extent, Const) and isinstance(extent.value, int) else None


def divisors(number: int) -> list[int]:
    """The divisors of a positive `number`, in order."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def refuse_if_taken(verb: str, loop: For) -> None:
    """Raise Refusal where `loop` is bound or annotated, which `verb` would lose."""
    name = loop.loop_var.name
    if loop.kind == "thread_binding":
        raise Refusal(
            f"Can't {verb} `{name}`: it is bound to {loop.thread}",
            loop,
            hint=f"{verb} before you bind: undo the bind, {verb}, then bind the loops that result",
        )
    if loop.annotations:
        keys = ", ".join(f'"{key}"' for key, _ in loop.annotations)
        raise Refusal(
            f"Can't {verb} `{name}`: it is annotated with {keys}",
            loop,
            hint=f'take the annotation off: sch.unannotate("{name}", {keys.split(", ")[0]})',
        )


def perfect_nest(loop: For) -> list[For]:
    """`loop` and the loops directly inside each other below it, down to the first that is not."""
    found = [loop]
    while isinstance(found[-1].body, For):
        found.append(found[-1].body)
    return found


def uses(expr: Expr, loop: For) -> bool:
    """Whether `expr` reads the variable of `loop`."""
    return not isinstance(expr, Const) and loop.loop_var in free_vars(expr)


def refuse_if_bound(task: str, loop: For) -> None:
    """Raise Refusal, beginning with `task`, where threads do the iterations of `loop`."""
    if loop.kind == "thread_binding":
        raise Refusal(
            f"{task}: it is bound to {loop.thread}",
            loop,
            hint="choose a loop inside it, or undo the bind",
            detail=f"each iteration of `{loop.loop_var.name}` is done by another "
            + ("thread" if (loop.thread or "").startswith("thread") else "block"),
        )


def refuse_if_extent_varies(verb: str, loop: For) -> None:
    """Raise Refusal where `loop` does not always run equally often."""
    if constant_extent(loop) is None:
        raise Refusal(
            f"Can't {verb} `{loop.loop_var.name}`: the number of its iterations varies",
            loop,
            detail=f"it runs {script.expr_text(loop.extent)} times",
            hint=f"{verb} a loop that runs a fixed number of times",
        )


def annotated(
    func: PrimFunc, target: Block | For, annotations: tuple[tuple[str, Data], ...]
) -> PrimFunc:
    """`func` with the annotations of a loop or block replaced."""
    known = places(func)
    if isinstance(target, For):
        return known.replace(target, replace(target, annotations=annotations))
    realize = known.realize(target)
    block = replace(target, annotations=annotations)
    return known.replace(realize, replace(realize, block=block))
