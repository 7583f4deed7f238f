"""The emulator: programs and kernels run on NumPy, refusing what a GPU would punish."""

from workbench.emulate.errors import EmulationError
from workbench.emulate.evaluate import evaluate

__all__ = ["EmulationError", "evaluate"]
