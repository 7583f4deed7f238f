"""The emulator: programs and kernels run on NumPy, refusing what a GPU would punish.

On one ground (values, arrays, memory, comparison) stand `kernels`, which run in lockstep, and above
them `programs`, run by their meaning, the large ones as kernels.
"""

from workbench.emulate.compare import Expected, Wrong, expected, first_wrong
from workbench.emulate.errors import EmulationError, NotEnoughMemory
from workbench.emulate.kernels.record import Record
from workbench.emulate.kernels.run import RedundantWrites, Run, run
from workbench.emulate.programs.cells import evaluate_cells
from workbench.emulate.programs.evaluate import evaluate
from workbench.emulate.sample import draw_blocks, sample

__all__ = [
    "EmulationError",
    "Expected",
    "NotEnoughMemory",
    "Record",
    "RedundantWrites",
    "Run",
    "Wrong",
    "draw_blocks",
    "evaluate",
    "evaluate_cells",
    "expected",
    "first_wrong",
    "run",
    "sample",
]
