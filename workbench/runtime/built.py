"""Built: kernels with their text, ready to run on a GPU or on the emulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, Any

from workbench import script
from workbench import target as targets
from workbench.ir import Expr, Kernel, PrimFunc, Size
from workbench.lower import Lowered, least_target
from workbench.runtime import registers
from workbench.runtime.devices import COLAB, NO_DRIVER, DeviceReport, cpu, device
from workbench.runtime.timing import Timing
from workbench.script.memory import shape_text
from workbench.target import Target

if TYPE_CHECKING:
    from workbench.emulate import Run

RUN_SECONDS = 20.0  # a lesson's kernel takes milliseconds; an endless one is stopped after this


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A program's kernels on a target; call it with one array for each parameter.

    `source` is the text of all of them, which keeps in registers what a thread would load again;
    `lowered` holds them, as they are counted, and the passes that made them.

    >>> kernel = wb.build(bound)
    >>> kernel
    <add for cuda: add_kernel<<<(2, 1, 1), (4, 1, 1)>>>>
    """

    func: PrimFunc
    target: Target
    lowered: Lowered
    source: str

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The launches, in order.

        >>> [launch.name for launch in kernel.kernels]
        ['add_kernel']
        """
        return self.lowered.kernels

    @property
    def grid(self) -> tuple[Size, Size, Size]:
        """Blocks along x, y, z of the only kernel; ValueError where there are several.

        Expressions where sizes tell them, which the arrays of a call do.

        >>> kernel.grid
        (2, 1, 1)
        """
        return self._only.grid

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block along x, y, z of the only kernel; ValueError where several.

        >>> kernel.block
        (4, 1, 1)
        """
        return self._only.block

    @property
    def registers(self) -> tuple[int | None, ...]:
        """Registers of a thread of each kernel, once it ran or was timed on a GPU; None before.

        >>> len(kernel.registers)  # (None,), as long as none ran
        1
        """
        return tuple(registers.known(self.source, kernel.name) for kernel in self.kernels)

    @property
    def device(self) -> DeviceReport:
        """What runs it here, and why.

        >>> kernel.device.which == wb.device().which
        True
        """
        if self.target.is_cpu:
            return cpu()
        if self.target.kind != "cuda":
            return DeviceReport("emulator", f"{self.target.kind} kernels run on the emulator here")
        found, least = device(), targets.get(least_target(self.func))
        if found.gpu is not None and _older(found.gpu.arch, least.arch):
            why = f"{found.which} is {found.gpu.arch}, and this kernel takes {least.arch} or later"
        elif (found.missing, found.how_to_get) == NO_DRIVER[1:] and _older(COLAB, least.arch):
            why = f"{found.why}, and this kernel takes {least.arch} or later"
        else:
            return found
        return DeviceReport(
            "emulator",
            why,
            f"a GPU that has mma.sync, as {least.title}",
            "use a machine that has one; the emulator comes to the same numbers.",
        )

    def __call__(
        self,
        *arrays: Any,
        seconds: float = RUN_SECONDS,
        waits: Callable[[int], None] | None = None,
    ) -> None:
        """Run on the arrays, outputs written in place: on the GPU, or emulated where there is none.

        For a CPU: compiled and run there, or by its meaning where there is no C compiler.
        NumPy arrays are used where they lie; CuPy and DLPack arrays go through the host. Raises
        ArgumentError before anything runs, DeviceError when the GPU fails or takes more than
        `seconds` once its turn has come, EmulationError for what a GPU would punish.

        Notebooks that share a GPU have it one after the other: `waits` is called with how many are
        before, whenever that changes, and with 0 when the turn has come; else it is printed.

        >>> kernel(A, B)
        >>> B
        array([1., 2., 3., 4., 5., 6., 7., 8.], dtype=float32)
        """
        _launching().run(self, arrays, seconds, waits)

    def launches(self, *arrays: Any) -> tuple[Kernel, ...]:
        """The kernels as a call with these arrays launches them, for `wb.insight`.

        Of a program for any size, with the sizes that arrays, one for each parameter, tell; else
        `kernels`. Only shapes are looked at. One that has no block is left out. Raises
        ArgumentError where arrays tell no size, or two.

        >>> wb.insight.counts(kernel.launches(A, B)).blocks
        2
        """
        return _launching().launches(self, arrays)

    def emulate(
        self,
        *arrays: Any,
        blocks: Sequence[int] | None = None,
        progress: Callable[[int, int], None] | None = None,
        stop: Event | None = None,
    ) -> Run:
        """Run on the emulator of GPUs, whole or only `blocks`, and return what it counted.

        The arrays are NumPy's, one for each parameter with its shape and type; outputs are written
        in place. `progress` is called with blocks done and blocks in all; setting `stop` ends the
        run early. Raises ArgumentError before anything runs, EmulationError for what a GPU would
        punish, NotEnoughMemory.

        >>> run = kernel.emulate(A, B)
        >>> run.blocks
        2
        """
        return _launching().emulated(self, arrays, blocks, progress, stop)

    def time(
        self,
        *arrays: Any,
        flush: bool = False,
        seconds: float = RUN_SECONDS,
        waits: Callable[[int], None] | None = None,
    ) -> Timing:
        """How many seconds one run takes on its device; the arrays are copied and stay as they are.

        `flush` empties the caches before every sample; `waits` is as in a call, and nothing else of
        the workbench runs on the device meanwhile. Without one, the time recorded for
        this very program on another machine; DeviceError where there is none.

        >>> try:
        ...     print(kernel.time(A, B).median < 1.0)
        ... except wb.DeviceError:  # no GPU, and no time recorded
        ...     print(True)
        True
        """
        return _launching().timed(self, arrays, flush, seconds, waits)

    @property
    def _only(self) -> Kernel:
        if len(self.kernels) != 1:
            names = ", ".join(kernel.name for kernel in self.kernels)
            raise ValueError(f"{self.func.name} has {len(self.kernels)} kernels: {names}")
        return self.kernels[0]

    def _repr_html_(self) -> str | None:
        return script.repr_html(self.source, "cuda", caption=repr(self))

    def __repr__(self) -> str:
        if self.target.is_cpu:
            return f"<{self.func.name} for {self.target.name}: {self._only.name}>"
        launches = ", ".join(f"{k.name}<<<{_text(k.grid)}, {k.block}>>>" for k in self.kernels)
        return f"<{self.func.name} for {self.target.name}: {launches}>"


def _older(arch: str, than: str) -> bool:
    return targets.number_of(arch) < targets.number_of(than)


def _text(grid: tuple[Size, Size, Size]) -> tuple[Size, Size, Size] | str:
    """A grid as people read it, also where sizes tell it."""
    return shape_text(grid) if any(isinstance(n, Expr) for n in grid) else grid


def _launching() -> Any:
    """What needs NumPy is loaded when something runs: building and reading text need none."""
    return import_module("workbench.runtime.launching")
