"""Loops of a stage before there is a program: thread axes, and what split and fuse make."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.te import Axis


@dataclass(frozen=True, slots=True, eq=False)
class IterVar:
    """A loop to be, or a thread axis, which has a `thread_tag` such as "threadIdx.x".

    `extent` is how often a thread axis was said to run; None where it was not said, and for loops,
    whose extents are known once their consumers are placed.
    """

    name: str
    kind: str = "spatial"
    thread_tag: str = ""
    extent: int | None = None

    @property
    def var(self) -> IterVar:
        """Itself, for ``tx.var.equal(0)``."""
        return self

    def equal(self, number: int) -> Turn:
        """That it is the thread of that number: for `Stage.set_store_predicate`."""
        return Turn(self, number)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a loop, or one thread of an axis."""

    axis: IterVar
    number: int


Loop = Axis | IterVar


def thread_axis(
    dom: tuple[int, int] | int | str | None = None, tag: str = "", name: str = ""
) -> IterVar:
    """An axis of threads or blocks for `bind`: ``thread_axis((0, 8), "threadIdx.x")``.

    `dom` may be left out, and the tag stand in its place. Raises ValueError without a tag, and for
    a `dom` that does not begin at 0.
    """
    extent: int | None = None
    if isinstance(dom, str):
        tag = dom
    elif isinstance(dom, tuple):
        first, extent = dom
        if first != 0:
            raise ValueError(f"a thread axis begins at 0, not at {first}")
    else:
        extent = dom
    if not tag:
        raise ValueError('a thread axis has a tag: thread_axis((0, 8), "threadIdx.x")')
    return IterVar(name or tag, "thread", tag, extent)
