"""The lessons' programs, small, and steps on them as a learner clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench import script
from workbench.ir import PrimFunc
from workbench.schedule import Schedule

if TYPE_CHECKING:
    from workbench.widgets import Lab

ADD = """
@T.prim_func
def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + B[vi]
"""

WINDOW = """
@T.prim_func
def window_sum(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("C"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""


def parse(text: str) -> PrimFunc:
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


def key(lab: Lab, name: str, kind: str = "loop") -> str:
    """The key of the loop, block or buffer called `name` on the page that is shown."""
    names = lab.session.page["names"]
    (found,) = [k for k, about in names.items() if (about["name"], about["kind"]) == (name, kind)]
    return found


def send(lab: Lab, **message: Any) -> None:
    """What the browser sends, handled as the widget handles it."""
    lab._handle_custom_msg(message, [])


def apply(lab: Lab, verb: str, place: str, kind: str = "loop", **args: str) -> None:
    """Choose a place and apply a verb with the texts of its form."""
    lab.place = key(lab, place, kind)
    send(lab, do="apply", verb=verb, place=lab.place, args=args)


def bind_both(lab: Lab, factors: str = "[2, 4]") -> None:
    """The steps of lesson 1."""
    apply(lab, "split", "i", factors=factors)
    apply(lab, "bind", "i_0", thread_axis='"blockIdx.x"')
    apply(lab, "bind", "i_1", thread_axis='"threadIdx.x"')


def window_steps(sch: Schedule) -> None:
    """The steps of lesson 2, marked as the lesson marks them."""
    block = sch.get_block("C")
    (i,) = sch.get_loops(block)
    i_0, i_1 = sch.split(i, factors=[None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    sch.mark("bound")
    stage = sch.cache_read(block, 0, "shared")
    sch.compute_at(stage, i_1)
    sch.mark("cached")
    _, inner = sch.split(sch.get_loops(stage)[-1], factors=[None, 128])
    sch.bind(inner, "threadIdx.x")
    sch.mark("cooperative")
