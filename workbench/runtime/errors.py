"""What a run refuses: arguments that do not fit, and devices that fail."""

from __future__ import annotations

from workbench.diag import Fail


class ArgumentError(Fail, ValueError):
    """Arrays that a kernel cannot take; nothing has run and nothing was written."""


class DeviceError(Fail, RuntimeError):
    """A launch that the GPU did not finish, or a time asked for where there is no GPU."""
