"""The emulator: programs and kernels run on NumPy, refusing what a GPU would punish."""

from workbench.emulate.errors import EmulationError
from workbench.emulate.evaluate import evaluate
from workbench.emulate.run import RedundantWrites, Run, run

__all__ = ["EmulationError", "RedundantWrites", "Run", "evaluate", "run"]
