"""The picture of occupancy in a lab: with the registers that this session knows."""

from __future__ import annotations

import pytest

from tests.widgets.programs import WINDOW, parse, window_steps
from workbench import draw
from workbench.insight import recorded
from workbench.runtime import DeviceReport, built, registers
from workbench.runtime.job import Gpu
from workbench.schedule import Schedule
from workbench.widgets.page.memo import build
from workbench.widgets.page.pictures import picture_pane


@pytest.mark.parametrize(
    ("arch", "caption"),
    [
        ("sm_90", "NVIDIA H200 SXM: 31% of its warps are there; limited by registers."),
        ("sm_75", "NVIDIA H200 SXM: 12% to 100% of its warps are there; a compiler decides."),
    ],
)
def test_registers_hold_for_a_gpu_of_their_kind(
    arch: str, caption: str, monkeypatch: pytest.MonkeyPatch
):
    """90 registers are 96 for each of 32 lanes and 4 warps: 12,288 of 65,536, room for 5 blocks.

    Each quarter of a multiprocessor has 16,384, for 5 warps; of 64 these are 20.
    """
    gpu = Gpu("Fake GPU", arch, 1, 1, "CUDA 12.8", "0.0")
    monkeypatch.setattr(built, "device", lambda: DeviceReport("Fake GPU", "", gpu=gpu))
    monkeypatch.setattr(registers, "_KNOWN", {})
    monkeypatch.setattr(recorded, "_all", dict)
    sch = Schedule(parse(WINDOW.replace("1024", "1048576").replace("1027", "1048579")))
    window_steps(sch)
    program = sch.func
    (kernel,) = build(program, draw.GPU).kernels
    registers.note(build(program, draw.GPU).source, [(kernel.name, 90)])
    assert picture_pane("occupancy", program)["caption"] == caption
