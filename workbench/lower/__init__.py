"""From a scheduled program to kernels: what every thread of a launch runs."""

from workbench.lower.arrays import arrays_of
from workbench.lower.faults import (
    Fault,
    faults,
    gaps,
    missing,
    number_of,
    put_ahead,
    stand,
    waits,
    with_fault,
)
from workbench.lower.findings import findings
from workbench.lower.inline_tensor_intrinsics import inline_tensor_intrinsics, tensorized
from workbench.lower.least_target import least_target
from workbench.lower.open_blocks import open_blocks
from workbench.lower.pipeline import KERNEL_PASSES, Lowered, Pass, lower
from workbench.lower.shrink_buffers import Padding, padded_strides, paddings_of
from workbench.lower.stage_copies import stage_copies

__all__ = [
    "KERNEL_PASSES",
    "Fault",
    "faults",
    "gaps",
    "missing",
    "number_of",
    "Lowered",
    "Padding",
    "Pass",
    "arrays_of",
    "findings",
    "inline_tensor_intrinsics",
    "least_target",
    "lower",
    "open_blocks",
    "padded_strides",
    "paddings_of",
    "put_ahead",
    "stage_copies",
    "stand",
    "tensorized",
    "waits",
    "with_fault",
]
