"""What a run refuses: arguments that do not fit, and devices that fail."""

from __future__ import annotations

from workbench.diag import Fail


class ArgumentError(Fail, ValueError):
    """Arrays that a kernel cannot take; nothing has run and nothing was written.

    >>> try:
    ...     kernel(A[:4], B)
    ... except wb.ArgumentError as error:
    ...     print(error.headline)
    Can't call add: `A` has shape (4,), not (8,).
    """


class DeviceError(Fail, RuntimeError):
    """A launch that the GPU did not finish, or a time asked for where there is no GPU.

    >>> raised = wb.DeviceError("The GPU did not finish", hint="run it on the emulator")
    >>> print(raised)
    The GPU did not finish.
    do:    run it on the emulator
    """
