"""Who measures: tvm.auto_scheduler.measure."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.tvm.not_carried import refusing

__all__ = ["LocalRPCMeasureContext", "Runner"]


@dataclass(frozen=True, slots=True)
class Runner:
    """The device of this machine, in a process of its own; without one, the modelled time."""


class LocalRPCMeasureContext:
    """A worker of this machine, which a bad candidate may end without harm: `runner`.

    What TVM's takes says how often a candidate runs; here it runs until its time is sure.
    """

    def __init__(self, *, number: int = 3, repeat: int = 1, min_repeat_ms: int = 0) -> None:
        self.runner = Runner()


__getattr__ = refusing(__name__)
