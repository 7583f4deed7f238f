"""inject_software_pipeline: the turns of a pipeline, with prologue and epilogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench.check.pipelines import doubled, injected, innermost
from workbench.ir import For, Kernel, replace_node
from workbench.lower.known_bounds import known_bounds
from workbench.lower.shrink_buffers import with_buffers
from workbench.target import Target


def inject_software_pipeline(
    kernel: Kernel, target: Target, marked: Callable[[For], For] = lambda loop: loop
) -> Kernel:
    """Run each statement of a pipeline in its own turn, on a copy of what it hands on.

    Inner pipelines go first: what they become is three statements of the one around. `marked` may
    put more into the statements of a loop ahead of that.
    """
    twice = doubled(kernel.body)
    while plain := innermost(kernel.body):
        loop = marked(plain)
        kernel = replace(kernel, body=replace_node(kernel.body, plain, loop))
        known = known_bounds(kernel)
        made = injected(loop, kernel.body, known, kernel.allocs, kernel.axes, twice)
        kernel = with_buffers(kernel, made.copies, replace_node(kernel.body, loop, made.stmt))
    return kernel
