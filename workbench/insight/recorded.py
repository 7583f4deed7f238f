"""recorded: what a GPU counted of kernels, once, kept as data and found by their text."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from workbench import script
from workbench.ir import Kernel
from workbench.lower.keep_values import keep_values


def kernel_key(kernel: Kernel) -> str:
    """What a kernel is found by: a hash of its text as a compiler gets it, without its name."""
    text = script.show(replace(keep_values(kernel), name="main"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
