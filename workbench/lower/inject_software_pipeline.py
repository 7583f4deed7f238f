"""inject_software_pipeline: the turns of a pipeline, with prologue and epilogue."""

from __future__ import annotations

from workbench.check.double_buffers import doubled
from workbench.check.pipeline_of import refuse_async
from workbench.check.pipelines import injected, innermost
from workbench.ir import Kernel, replace_node
from workbench.lower.known_bounds import known_bounds
from workbench.lower.pipeline_marks import with_marks
from workbench.lower.shrink_buffers import with_buffers
from workbench.target import Target


def inject_software_pipeline(kernel: Kernel, target: Target) -> Kernel:
    """Run each statement of a pipeline in its own turn, on a copy of what it hands on.

    Inner pipelines go first: what they become is three statements of the one around. Marks tell
    where each statement is from then on.
    """
    twice = doubled(kernel.body)
    while loop := innermost(kernel.body):
        refuse_async(loop, target)
        known = known_bounds(kernel)
        made = injected(
            loop, kernel.body, known, kernel.allocs, kernel.axes, twice, True, with_marks
        )
        kernel = with_buffers(kernel, made.copies, replace_node(kernel.body, loop, made.stmt))
    return kernel
