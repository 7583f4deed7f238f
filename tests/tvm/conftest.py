"""A machine without a GPU, for the lessons of TVM's."""

import pytest

from workbench.runtime import DeviceReport


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch):
    report = DeviceReport("emulator", "no NVIDIA driver is installed here", "a GPU", "use Colab.")
    monkeypatch.setattr("workbench.runtime.built.device", lambda: report)
    monkeypatch.setattr("workbench.runtime.device", lambda: report)
    return report
