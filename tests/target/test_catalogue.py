"""The catalogue of GPUs: every number has a source, every name is found, a wrong one is told."""

from __future__ import annotations

from dataclasses import fields

import pytest

from workbench import target
from workbench.target import CATALOGUE, Target, TargetError

TARGETS = pytest.mark.parametrize("gpu", CATALOGUE.values(), ids=str)
NUMBERS = [f.name for f in fields(Target) if f.name not in {"name", "title", "arch", "sources"}]


@TARGETS
def test_every_number_has_a_source(gpu: Target):
    without = [f for f in NUMBERS if getattr(gpu, f) is not None and not gpu.source_of(f)]
    assert not without
    assert set(gpu.sources) <= set(NUMBERS)


@TARGETS
def test_the_numbers_agree_with_each_other(gpu: Target):
    assert max(gpu.max_block) >= gpu.max_threads_per_block
    assert gpu.max_threads_per_block % gpu.warp_size == 0
    if gpu.max_threads_per_sm is not None and gpu.shared_bytes_per_sm is not None:
        assert gpu.max_threads_per_sm >= gpu.max_threads_per_block
        assert gpu.shared_bytes_per_sm >= gpu.max_shared_bytes
        assert gpu.max_warps_per_sm == gpu.max_threads_per_sm // 32
    if gpu.kind == "cuda" and gpu.peak_flops and gpu.sm_count and gpu.clock_hz:
        lanes = {"sm_60": 64, "sm_70": 64, "sm_75": 64, "sm_80": 64}.get(gpu.arch, 128)
        assert gpu.peak_flops == pytest.approx(2 * lanes * gpu.sm_count * gpu.clock_hz, rel=0.02)


def test_rates_that_were_measured_on_one_gpu_say_so_on_others():
    h200, t4 = target.get("nvidia/h200"), target.get("nvidia/tesla-t4")
    assert h200.source_of("l2_bandwidth").startswith("measured on an H200")
    assert t4.source_of("l2_bandwidth").startswith("assumed: as measured on an H200")
    assert t4.l2_bandwidth == pytest.approx(7.4e12 * 40 / 132 * 1.59 / 1.98)
    assert t4.launch_seconds * t4.clock_hz == pytest.approx(h200.launch_seconds * h200.clock_hz)
    assert t4.l2_latency == h200.l2_latency
    assert target.get("cuda").l2_bandwidth is None


def test_the_generic_target_asks_for_no_more_than_any_gpu_has():
    generic = target.get("cuda")
    cards = [t for t in CATALOGUE.values() if t.kind == "cuda"]
    assert generic.max_shared_bytes == min(t.max_shared_bytes for t in cards)
    assert generic.max_threads_per_sm == min(t.max_threads_per_sm or 0 for t in cards)
    assert generic.bandwidth is None
    assert generic.source_of("bandwidth") == ""
    assert target.get("metal").max_warps_per_sm is None


def test_a_target_is_found_by_name_by_tvms_name_and_as_itself():
    h200 = target.get("nvidia/h200")
    assert target.get("nvidia/nvidia-h200") is h200
    assert target.get(h200) is h200
    assert target.get("llvm") is target.get("cpu") is target.get("c")
    assert str(h200) == "nvidia/h200"
    assert target.names()[:4] == ("c", "cuda", "metal", "opencl")


@pytest.mark.parametrize(
    "driver, name",
    [
        ("NVIDIA H200", "nvidia/h200"),
        ("NVIDIA H100 80GB HBM3", "nvidia/h100"),
        ("NVIDIA H100 PCIe", "cuda"),
        ("NVIDIA A100-SXM4-80GB", "nvidia/a100"),
        ("NVIDIA A100-SXM4-40GB", "cuda"),
        ("Tesla T4", "nvidia/tesla-t4"),
        ("Tesla V100-SXM2-16GB", "nvidia/tesla-v100"),
        ("Tesla P100-PCIE-16GB", "nvidia/tesla-p100"),
        ("NVIDIA GeForce RTX 2080 Ti", "nvidia/rtx-2080-ti"),
        ("NVIDIA GeForce RTX 3090 Ti", "nvidia/rtx-3090-ti"),
        ("NVIDIA GeForce RTX 3090", "nvidia/rtx-3090"),
        ("NVIDIA L4", "nvidia/l4"),
        ("NVIDIA L40S", "cuda"),
        ("NVIDIA B200", "nvidia/b200"),
        ("NVIDIA GB200", "cuda"),
        ("NVIDIA GeForce RTX 4090", "nvidia/rtx-4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "cuda"),
        ("NVIDIA GeForce GTX 1050", "cuda"),
    ],
)
def test_a_device_is_recognised_by_its_drivers_name(driver: str, name: str):
    assert target.of_device(driver).name == name


def test_a_wrong_name_is_told_with_the_near_one():
    with pytest.raises(TargetError) as err:
        target.get("nvidia/h20")
    assert str(err.value) == (
        "Can't find a target called 'nvidia/h20'.\n"
        "found: the targets are c, cuda, metal, opencl, apple/m2-gpu, nvidia/a100, nvidia/b200, "
        "nvidia/h100, nvidia/h200, nvidia/l4, nvidia/rtx-2080-ti, nvidia/rtx-3090, "
        "nvidia/rtx-3090-ti, nvidia/rtx-4090, nvidia/tesla-p100, nvidia/tesla-t4, "
        "nvidia/tesla-v100\n"
        "do:    did you mean 'nvidia/h200'?"
    )


def test_a_name_like_nothing_is_told():
    with pytest.raises(TargetError) as err:
        target.get("hexagon")
    assert str(err.value).startswith(
        "Can't find a target called 'hexagon'.\nfound: the targets are "
    )
    assert str(err.value).endswith("\ndo:    name one of these.")
