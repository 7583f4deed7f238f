"""The emulator: programs and kernels run on NumPy, refusing what a GPU would punish."""

from workbench.emulate.errors import EmulationError
from workbench.emulate.evaluate import evaluate
from workbench.emulate.record import Record
from workbench.emulate.run import RedundantWrites, Run, run
from workbench.emulate.sample import sample

__all__ = ["EmulationError", "Record", "RedundantWrites", "Run", "evaluate", "run", "sample"]
