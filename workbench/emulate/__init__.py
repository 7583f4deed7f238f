"""The emulator: programs and kernels run on NumPy, refusing what a GPU would punish."""

from workbench.emulate.errors import EmulationError, NotEnoughMemory
from workbench.emulate.evaluate import evaluate
from workbench.emulate.expected import Expected, expected
from workbench.emulate.first_wrong import Wrong, first_wrong
from workbench.emulate.record import Record
from workbench.emulate.run import RedundantWrites, Run, run
from workbench.emulate.sample import sample

__all__ = [
    "EmulationError",
    "Expected",
    "NotEnoughMemory",
    "Record",
    "RedundantWrites",
    "Run",
    "Wrong",
    "evaluate",
    "expected",
    "first_wrong",
    "run",
    "sample",
]
