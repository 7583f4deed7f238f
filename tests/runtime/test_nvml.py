"""What the driver's library says, in words; and nothing where there is no such library."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from workbench.runtime.nvml import Nvml

BUS = "0000:5E:00.0"


class Library:
    """Answers as NVML does: through pointers, with 0 where it went well."""

    def __init__(self, reasons: int = 0, found: int = 0) -> None:
        self.reasons = reasons
        self.found = found
        self.asked: list[bytes] = []

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlDeviceGetHandleByPciBusId_v2(self, bus, card) -> int:
        self.asked.append(bus)
        card._obj.value = 77
        return self.found

    def nvmlDeviceGetUtilizationRates(self, card, shares) -> int:
        shares[0], shares[1] = 97, 12
        return 0 if card.value == 77 else 2

    def nvmlDeviceGetClockInfo(self, card, which, number) -> int:
        number._obj.value = {1: 1500, 2: 3201}[which]
        return 0

    def nvmlDeviceGetMaxClockInfo(self, card, which, number) -> int:
        number._obj.value = 1980
        return 0

    def nvmlDeviceGetTemperature(self, card, which, number) -> int:
        number._obj.value = 41
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, card, number) -> int:
        number._obj.value = self.reasons
        return 0


class Old(Library):
    """Without a thermometer, and without an answer about clocks."""

    nvmlDeviceGetTemperature = property()  # raises AttributeError, as a symbol that is not there


class Closed(Library):
    """Which does not say it of this card."""

    def nvmlDeviceGetUtilizationRates(self, *arguments) -> int:
        return 3

    nvmlDeviceGetClockInfo = nvmlDeviceGetUtilizationRates
    nvmlDeviceGetCurrentClocksThrottleReasons = nvmlDeviceGetUtilizationRates


def missing(name: str) -> Library:
    raise OSError(f"{name}: cannot open shared object file")


def nvml(library: Library) -> Nvml:
    return Nvml(BUS, lambda name: library)


def test_it_says_clocks_heat_and_who_uses_it():
    library = Library()
    card = nvml(library)
    assert library.asked == [b"0000:5E:00.0"]
    assert card.clocks() == "SM clock 1500 of 1980 MHz, memory 3201 MHz, 41 °C"
    assert card.utilization() == 0.97
    assert card.slowed() == ()


@pytest.mark.parametrize(
    "reasons, words",
    [
        (0x1 | 0x2 | 0x8 | 0x10 | 0x100, ()),  # idle, asked for, while clocks change
        (0x4, ("its power limit",)),
        (0x20 | 0x40, ("its heat",)),
        (0x4 | 0x40 | 0x80, ("its power limit", "its heat", "its power supply")),
    ],
)
def test_what_slows_the_card_is_told(reasons: int, words: tuple[str, ...]):
    assert nvml(Library(reasons)).slowed() == words


def test_a_card_that_has_no_thermometer_has_clocks():
    assert nvml(Old()).clocks() == "SM clock 1500 of 1980 MHz, memory 3201 MHz"


@pytest.mark.parametrize(
    "made", [lambda: Nvml(BUS, missing), lambda: nvml(Library(found=6)), lambda: nvml(Closed())]
)
def test_where_nobody_answers_nothing_is_known(made: Callable[[], Nvml]):
    card = made()
    assert (card.clocks(), card.utilization(), card.slowed()) == ("clocks not known", None, ())


def test_a_machine_without_the_driver_has_no_such_library():
    assert Nvml(BUS, lambda name: object()).utilization() is None
