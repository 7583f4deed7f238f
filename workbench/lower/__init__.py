"""From a scheduled program to kernels: what every thread of a launch runs."""

from workbench.lower.pipeline import Lowered, Pass, lower

__all__ = ["Lowered", "Pass", "lower"]
