"""bind: let threads or blocks of the GPU do the iterations of a loop, all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench import script
from workbench.arith import by_sizes
from workbench.check import doers_on, refuse_conflict
from workbench.check.kernels import nest_of
from workbench.check.threads import OWN_AXIS, mixing, name_of, one_size, why_not_mixed
from workbench.diag import plural
from workbench.ir import AXES, VIRTUAL_AXES, For, PrimFunc
from workbench.ir.places import places
from workbench.verbs.nest import constant_extent, refuse_if_extent_varies, same_turns
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import Site

MOST_THREADS = 1024  # of a block, on every GPU of the catalogue


def _check(func: PrimFunc, loop: For, thread_axis: str) -> None:
    site = Site(places(func), loop, f"bind `{loop.loop_var.name}` to {thread_axis}")
    if thread_axis not in AXES:
        near = next((axis for axis in AXES if axis.lower() == thread_axis.lower()), None)
        axes = f"the axes: {', '.join(AXES)}"
        raise site.refuse("there is no such axis", hint=f"did you mean {near}?" if near else axes)
    if loop.kind == "thread_binding":
        raise site.refuse(f"it is bound to {loop.thread} already", hint="undo that bind first")
    if not (thread_axis.startswith("block") and by_sizes(loop.extent)):
        refuse_if_extent_varies(site)
    # before what this axis does not allow: where iterations conflict, no other axis helps
    refuse_conflict(func, loop, f"Can't {site.task}", doers_on(thread_axis))
    _refuse_axis(site, thread_axis)


def _refuse_axis(site: Site[For], axis: str) -> None:
    """Refuse what the other bound loops of the same kernel do not allow."""
    loop, known = site.node, site.places
    nest = nest_of(site.func, loop)
    for other in nest.bound:
        if other.thread != axis or axis == OWN_AXIS:
            continue
        if not same_turns(loop, other):
            mine, its = map(_turns_text, (loop, other))
            raise site.refuse(
                f"it runs {mine} times, but `{other.loop_var.name}`, bound to it in this "
                f"kernel, {its} times",
                loop,
                other,
                hint=f"split `{site.name}` so that the part you bind runs {its} times",
                detail=one_size(axis),
            )
        outer, inner = (other, loop) if other in known.above(loop) else (loop, other)
        user = mixing(outer, inner) if outer in known.above(inner) else None
        if user is not None:
            raise site.refuse(
                f"`{other.loop_var.name}` is bound to it too, and {name_of(user)} uses both",
                outer,
                inner,
                user,
                hint="bind one of them to another axis, or keep it serial",
                detail=why_not_mixed(outer, inner, axis),
            )
    if axis[0] == "t":
        turns = constant_extent(loop) or 1
        count = nest.threads * (1 if nest.size(axis) == turns else turns)
        if count > MOST_THREADS:
            raise site.refuse(
                f"a block would have {count} threads, and no GPU takes more than {MOST_THREADS}",
                detail=f"`{site.name}` runs {turns} times; so far a block has "
                f"{nest.threads} {plural(nest.threads, 'thread')}",
                hint=f"split `{site.name}` first, and bind the outer part to a block axis",
            )


def _turns_text(loop: For) -> str:
    return str(constant_extent(loop) or script.expr_text(loop.extent))


def _choices(func: PrimFunc, loop: For) -> Iterator[dict[str, str]]:
    nest = nest_of(func, loop)
    inside = any(outer.thread for outer in places(func).all_loops_above(loop))

    def unlikely(axis: str) -> tuple[bool, bool, bool]:
        other = nest.size(axis) not in (1, constant_extent(loop))  # of another length
        # in a loop of blocks: their threads
        return axis in VIRTUAL_AXES, axis.startswith("block") == inside, other

    yield from ({"thread_axis": axis} for axis in sorted(AXES, key=unlikely))


@primitive(group="threads", sizes=True, check=_check, choices=_choices)
def bind(func: PrimFunc, loop: For, thread_axis: str) -> Edit[None]:
    """Turn `loop` from time into blocks or threads, all at once: each does one iteration.

    Threads of a block that do a loop of a sum, product, minimum or maximum share it out: each adds
    up its own part, and all put the parts together. So they do with several sums of one block, and
    with several values that are updated together, as by argmax.

    A virtual thread, "vthread.x", "vthread.y", "vthread.z" or "vthread", is a copy inside one
    thread: each statement below is done for all copies before the next one is, and what a copy
    keeps in local memory is its own. So a thread owns strided cells. Each loop on plain "vthread"
    is an axis of its own; a loop of a sum is no virtual thread.

    >>> sch.bind("i", "threadIdx.x")
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    """
    bound = replace(loop, kind="thread_binding", thread=thread_axis)
    return Edit(places(func).replace(loop, bound), None)
