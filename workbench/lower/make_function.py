"""make_function: the whole program as one function, which a CPU runs."""

from __future__ import annotations

from dataclasses import replace

from workbench.diag import Refusal
from workbench.ir import AXES, For, Kernel, Node, PrimFunc, rewrite, walk
from workbench.lower.c_name import c_name

_ONE = (1, 1, 1)


def make_function(func: PrimFunc) -> tuple[Kernel, ...]:
    """Make one function of all nests; what a scope is called changes nothing on a CPU.

    Virtual threads are iterations, one after the other. Raises Refusal for what only a GPU has.
    """
    for loop in walk(func.body):
        if isinstance(loop, For) and loop.thread in AXES and not loop.virtual:
            raise bound(loop)
    buffers = (*func.params, *func.root.alloc_buffers)
    body = rewrite(func.root.body, _serial)
    name = c_name(f"{func.name}_kernel")
    views = tuple((b, b) for b in buffers)
    return (Kernel(name, func.params, func.root.alloc_buffers, views, (), _ONE, _ONE, body),)


def bound(loop: For) -> Refusal:
    """Why a loop that threads or blocks of a GPU do is none of a CPU."""
    name = loop.loop_var.name
    return Refusal(
        f"Can't build this for a CPU: `{name}` is bound to {loop.thread}, which only a GPU has",
        loop,
        hint='build it for a GPU, target="cuda", or leave out bind and share the loop out among '
        f'cores: sch.parallel("{name}")',
    )


def _serial(node: Node) -> Node:
    if isinstance(node, For) and node.virtual:
        return replace(node, kind="serial", thread=None)
    return node
