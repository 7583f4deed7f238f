"""What the driver says of a GPU at a moment: clocks, heat, what slows it, who keeps it busy.

Through the driver's own library NVML, which is there wherever the driver is: asking takes
microseconds, so that it is asked between samples, while the card works.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from typing import Any

BUSY = 0.2  # a share of time at which times will vary
_LIBRARY = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
_SM, _MEMORY = 1, 2  # nvmlClockType_t
_GPU_SENSOR = 0  # nvmlTemperatureSensors_t
# nvmlClocksEventReasons -> what slows the card. Left out: that it idles, that a clock was asked
# for, and 0x8, "hardware slowdown", which is also seen while clocks change.
_SLOWED = {
    0x04: "its power limit",
    0x20: "its heat",
    0x40: "its heat",
    0x80: "its power supply",
}


class Nvml:
    """The GPU at a PCI bus address, such as "0000:5E:00.0"; answers are None where NVML has none.

    `load` opens a library by its name.
    """

    def __init__(self, bus: str, load: Any = ctypes.CDLL) -> None:
        self._library: Any = None
        self._card = ctypes.c_void_p()
        with suppress(OSError, AttributeError):  # no library, or one that is none of NVIDIA's
            library = load(_LIBRARY)
            find = library.nvmlDeviceGetHandleByPciBusId_v2
            if not library.nvmlInit_v2() and not find(bus.encode(), ctypes.byref(self._card)):
                self._library = library

    def utilization(self) -> float | None:
        """The share of its last samples, a second or less, in which a kernel ran."""
        shares = (ctypes.c_uint * 2)()  # of the GPU and of its memory, in percent
        asked = self._asked("nvmlDeviceGetUtilizationRates", shares)
        return shares[0] / 100 if asked else None

    def slowed(self) -> tuple[str, ...]:
        """What keeps the clocks lower than they could be, in words."""
        reasons = ctypes.c_ulonglong()
        if not self._asked("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.byref(reasons)):
            return ()
        found = (word for bit, word in _SLOWED.items() if reasons.value & bit)
        return tuple(dict.fromkeys(found))

    def clocks(self) -> str:
        """The clocks and the temperature, in words."""
        now = self._number("nvmlDeviceGetClockInfo", _SM)
        most = self._number("nvmlDeviceGetMaxClockInfo", _SM)
        memory = self._number("nvmlDeviceGetClockInfo", _MEMORY)
        if now is None or most is None or memory is None:
            return "clocks not known"
        heat = self._number("nvmlDeviceGetTemperature", _GPU_SENSOR)
        degrees = "" if heat is None else f", {heat} °C"
        return f"SM clock {now} of {most} MHz, memory {memory} MHz{degrees}"

    def _number(self, name: str, which: int) -> int | None:
        number = ctypes.c_uint()
        return number.value if self._asked(name, which, ctypes.byref(number)) else None

    def _asked(self, name: str, *arguments: Any) -> bool:
        """Whether the function gave an answer; a card need not have each."""
        with suppress(AttributeError):
            return self._library is not None and not getattr(self._library, name)(
                self._card, *arguments
            )
        return False
