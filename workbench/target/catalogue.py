"""Every target by name, built from what its architecture and its data sheet say."""

from __future__ import annotations

import re
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from workbench.diag import Fail
from workbench.target.target import Target

KIB, MIB, GIB = 2**10, 2**20, 2**30

_GUIDE = "CUDA C++ Programming Guide, technical specifications per compute capability"
_CALCULATOR = "CUDA Toolkit 13.0, cuda_occupancy.h"
_SHUFFLES = "CUDA C++ Programming Guide, warp shuffle functions"
# True of every CUDA GPU from compute capability 6.0 on.
_CUDA: dict[str, object] = {
    "kind": "cuda",
    "max_threads_per_block": 1024,
    "max_block": (1024, 1024, 64),
    "max_grid": (2**31 - 1, 65535, 65535),
    "max_shared_bytes": 48 * KIB,
    "warp_size": 32,
    "max_vector_bytes": 16,
    "max_shuffle_bytes": 8,
    "registers_per_sm": 65536,
    "registers_unit": 256,
    "max_registers_per_thread": 255,
}
_PER_SM = ("max_threads_per_sm", "max_blocks_per_sm", "shared_bytes_per_sm", "l1_bytes")
_ARCH = {  # the numbers of _PER_SM
    "sm_60": (2048, 32, 64 * KIB, 88 * KIB),  # of its own: 24 KiB
    "sm_70": (2048, 32, 96 * KIB, 128 * KIB),
    "sm_75": (1024, 16, 64 * KIB, 96 * KIB),
    "sm_80": (2048, 32, 164 * KIB, 192 * KIB),
    "sm_86": (1536, 16, 100 * KIB, 128 * KIB),
    "sm_89": (1536, 24, 100 * KIB, 128 * KIB),
    "sm_90": (2048, 32, 228 * KIB, 256 * KIB),
    "sm_100": (2048, 32, 228 * KIB, 256 * KIB),
}
# KiB
_DYNAMIC = {
    "sm_70": 96,
    "sm_75": 64,
    "sm_80": 163,
    "sm_86": 99,
    "sm_89": 99,
    "sm_90": 227,
    "sm_100": 227,
}
_UNITS = ("registers_parts", "shared_bytes_reserved", "shared_bytes_unit")
_ARCH_SOURCES = (
    dict.fromkeys((*_CUDA, *_PER_SM), _GUIDE)
    | {"max_shuffle_bytes": _SHUFFLES, "wmma": "PTX ISA, wmma: sm_70 or higher"}
    | {"mma": "PTX ISA, mma.m16n8k16 of .f16: sm_80 or higher"}
    | {"l1_bytes": "NVIDIA's architecture whitepapers and tuning guides: unified data cache"}
    | dict.fromkeys(("registers_unit", *_UNITS), _CALCULATOR)
)
_SHEET = ("sm_count", "clock_hz", "l2_bytes", "memory_bytes", "bandwidth", "peak_flops")

# Of float16 with sums in float32, dense. By `mma.sync`, which wmma is made of, warps reach a part
# of a Hopper's 989 TFLOP/s; the whole takes `wgmma`.
_TENSOR = {
    "nvidia/h200": (663e12, "data sheet: 989 TFLOP/s; by mma.sync 67 %, measured on an H200"),
    "nvidia/h100": (663e12, "data sheet: 989 TFLOP/s; by mma.sync 67 %, measured on an H200"),
    "nvidia/a100": (312e12, "NVIDIA A100 Tensor Core GPU data sheet"),
    "nvidia/l4": (121e12, "NVIDIA L4 Tensor Core GPU data sheet, without sparsity"),
    "nvidia/rtx-4090": (165.2e12, "NVIDIA Ada GPU Architecture whitepaper"),
    "nvidia/rtx-3090": (71e12, "NVIDIA Ampere GA102 GPU Architecture whitepaper"),
    "nvidia/rtx-3090-ti": (80e12, "as an RTX 3090, by multiprocessors and clock"),
}

# What no data sheet tells, on an H200 at 1,980 MHz: 16-byte loads of working sets of 4 to 32 MiB;
# the rest by `benchmarks/rates.py`, kernels that do nothing in a CUDA graph and chains of loads.
_H200_CLOCK, _H200_SMS = 1.98e9, 132
_LAUNCH = {"launch_seconds": 0.5e-6, "block_seconds": 0.6e-9}
_LATENCY = {"shared_latency": 29, "l1_latency": 41, "l2_latency": 286, "device_latency": 655}
_L2_BANDWIDTH = 7.4e12
_MEASURED = "measured on an H200 at 1,980 MHz, November 2026"
_ASSUMED = "assumed: as measured on an H200, a clock and, for L2, a multiprocessor"


class TargetError(Fail, ValueError):
    """A target that is not in the catalogue."""


def number_of(arch: str) -> int:
    """The number of an architecture of NVIDIA's: 75 of "sm_75"."""
    return int(arch.removeprefix("sm_"))


def _of_arch(arch: str) -> dict[str, object]:
    """What all GPUs of an architecture have in common."""
    number = number_of(arch)
    units = (2 if number == 60 else 4, *((1 * KIB, 128) if number >= 80 else (0, 256)))
    per_sm = zip(_PER_SM, _ARCH[arch], strict=True)
    tensor_cores = {"wmma": number >= 70, "mma": number >= 80}
    return {**_CUDA, **dict(per_sm), **dict(zip(_UNITS, units, strict=True)), **tensor_cores}


def _nvidia(name: str, title: str, arch: str, sheet: tuple[float, ...], source: str) -> Target:
    facts = _of_arch(arch)
    facts.update(zip(_SHEET, sheet, strict=True))
    sources = _ARCH_SOURCES | dict.fromkeys(_SHEET, source)
    rates = _rates(sheet[0], sheet[1])
    facts |= rates
    sources |= dict.fromkeys(rates, _MEASURED if name == "nvidia/h200" else _ASSUMED)
    if name in _TENSOR:
        facts["tensor_flops"], sources["tensor_flops"] = _TENSOR[name]
    if arch in _DYNAMIC:
        facts["max_dynamic_shared_bytes"] = _DYNAMIC[arch] * KIB
        sources["max_dynamic_shared_bytes"] = _GUIDE
    if number_of(arch) >= 80:
        facts["async_copy_bytes"] = (4, 8, 16)
        sources["async_copy_bytes"] = "PTX ISA, cp.async: sm_80 or higher; cp-size 4, 8 or 16"
    return _target(name, title, arch, facts, sources)


def _rates(sms: float, clock: float) -> dict[str, float]:
    """What no data sheet tells of a GPU, by an H200's: each in clocks, L2 by multiprocessors."""
    slower = _H200_CLOCK / clock
    bandwidth = _L2_BANDWIDTH * sms / _H200_SMS / slower
    launch = {name: seconds * slower for name, seconds in _LAUNCH.items()}
    return {"l2_bandwidth": bandwidth} | launch | _LATENCY


def _target(
    name: str, title: str, arch: str, facts: dict[str, object], sources: dict[str, str]
) -> Target:
    known: dict[str, Any] = facts | {"sources": MappingProxyType(sources)}
    return Target(name=name, title=title, arch=arch, **known)


def _generic_cuda() -> Target:
    """What every CUDA GPU since Turing can do, with the smallest multiprocessor among them."""
    return _target("cuda", "any CUDA GPU", "sm_75", _of_arch("sm_75"), _ARCH_SOURCES)


def _metal(name: str, title: str, sheet: dict[str, object], source: str) -> Target:
    tables = "Apple, Metal Feature Set Tables, family Apple7 and later"
    shuffles = "Metal Shading Language Specification, SIMD-group functions: no 64-bit types"
    facts: dict[str, object] = {
        "kind": "metal",
        "max_threads_per_block": 1024,
        "max_block": (1024, 1024, 1024),
        "max_grid": (2**31 - 1, 2**31 - 1, 2**31 - 1),
        "max_shared_bytes": 32 * KIB,
        "warp_size": 32,
        "max_vector_bytes": 16,
        "max_shuffle_bytes": 4,
        "simdgroup": True,
    }
    sources = dict.fromkeys(facts, tables) | dict.fromkeys(sheet, source)
    sources["max_shuffle_bytes"] = shuffles
    return _target(name, title, "apple7", facts | sheet, sources)


def _opencl() -> Target:
    """What is usual: OpenCL itself promises one thread a block, and 32 KiB of shared memory."""
    facts: dict[str, tuple[object, str]] = {
        "kind": ("opencl", "OpenCL C Specification 3.0"),
        "max_threads_per_block": (256, "TVM's opencl target; AMD and Intel GPUs without asking"),
        "max_block": ((256, 256, 64), "the least of AMD, Arm, Intel and NVIDIA GPUs"),
        "max_grid": ((2**31 - 1,) * 3, "OpenCL API 3.0, global_work_size: size_t"),
        "max_shared_bytes": (32 * KIB, "OpenCL API 3.0, least CL_DEVICE_LOCAL_MEM_SIZE"),
        "warp_size": (32, "as on NVIDIA and AMD RDNA GPUs; OpenCL names none"),
        "max_vector_bytes": (16, "a load of AMD, Intel and NVIDIA GPUs; OpenCL has 16 elements"),
        "max_shuffle_bytes": (0, "OpenCL C Specification 3.0: only by cl_khr_subgroup_shuffle"),
    }
    numbers = {name: number for name, (number, _) in facts.items()}
    sources = {name: source for name, (_, source) in facts.items()}
    return _target("opencl", "any OpenCL GPU", "opencl", numbers, sources)


def _cpu() -> Target:
    """The machine that Python runs on, whichever it is: its compiler knows what it has."""
    one = "C17: a program is one thread, which runs its loops; `parallel` shares a loop out"
    facts: dict[str, object] = {
        "kind": "c",
        "max_threads_per_block": 1,
        "max_block": (1, 1, 1),
        "max_grid": (1, 1, 1),
        "max_shared_bytes": 0,
        "warp_size": 1,
        "max_vector_bytes": 64,
        "max_shuffle_bytes": 0,
    }
    sources = dict.fromkeys(facts, one) | {"max_vector_bytes": "AVX-512, the widest in use"}
    return _target("c", "this machine's CPU", "native", facts, sources)


CATALOGUE: dict[str, Target] = {
    target.name: target
    for target in (
        _generic_cuda(),
        _nvidia(
            "nvidia/b200",
            "NVIDIA B200 SXM",
            "sm_100",
            (148, 1.98e9, 126 * MIB, 180e9, 8e12, 75e12),
            "NVIDIA HGX B200 data sheet; multiprocessors and L2: Chips and Cheese, Nvidia's B200 "
            "(2025); clock: from the peak",
        ),
        _nvidia(
            "nvidia/h200",
            "NVIDIA H200 SXM",
            "sm_90",
            (132, 1.98e9, 60 * MIB, 141e9, 4.8e12, 67e12),
            "NVIDIA H200 Tensor Core GPU data sheet; multiprocessors, clock and L2 from the device",
        ),
        _nvidia(
            "nvidia/h100",
            "NVIDIA H100 SXM5",
            "sm_90",
            (132, 1.98e9, 50 * MIB, 80e9, 3.35e12, 67e12),
            "NVIDIA H100 Tensor Core GPU data sheet and architecture whitepaper",
        ),
        _nvidia(
            "nvidia/a100",
            "NVIDIA A100 SXM4 80 GB",
            "sm_80",
            (108, 1.41e9, 40 * MIB, 80e9, 2.039e12, 19.5e12),
            "NVIDIA A100 Tensor Core GPU data sheet and architecture whitepaper",
        ),
        _nvidia(
            "nvidia/l4",
            "NVIDIA L4",
            "sm_89",
            (58, 2.04e9, 48 * MIB, 24e9, 300e9, 30.3e12),
            "NVIDIA L4 Tensor Core GPU data sheet; multiprocessors and L2: NVIDIA Ada GPU "
            "Architecture whitepaper",
        ),
        _nvidia(
            "nvidia/tesla-t4",
            "NVIDIA T4",
            "sm_75",
            (40, 1.59e9, 4 * MIB, 16e9, 320e9, 8.1e12),
            "NVIDIA Turing GPU Architecture whitepaper",
        ),
        _nvidia(
            "nvidia/rtx-2080-ti",
            "NVIDIA GeForce RTX 2080 Ti",
            "sm_75",
            (68, 1.545e9, 5632 * KIB, 11e9, 616e9, 13.4e12),
            "NVIDIA Turing GPU Architecture whitepaper",
        ),
        _nvidia(
            "nvidia/tesla-v100",
            "NVIDIA V100 SXM2",
            "sm_70",
            (80, 1.53e9, 6 * MIB, 16e9, 900e9, 15.7e12),
            "NVIDIA Tesla V100 GPU Architecture whitepaper",
        ),
        _nvidia(
            "nvidia/tesla-p100",
            "NVIDIA P100 PCIe 16 GB",
            "sm_60",
            (56, 1.303e9, 4 * MIB, 16e9, 732e9, 9.3e12),
            "NVIDIA Tesla P100 PCIe data sheet and Pascal architecture whitepaper",
        ),
        _nvidia(
            "nvidia/rtx-4090",
            "NVIDIA GeForce RTX 4090",
            "sm_89",
            (128, 2.52e9, 72 * MIB, 24e9, 1.008e12, 82.6e12),
            "NVIDIA Ada GPU Architecture whitepaper",
        ),
        _nvidia(
            "nvidia/rtx-3090",
            "NVIDIA GeForce RTX 3090",
            "sm_86",
            (82, 1.695e9, 6 * MIB, 24e9, 936e9, 35.6e12),
            "NVIDIA Ampere GA102 GPU Architecture whitepaper",
        ),
        _nvidia(
            "nvidia/rtx-3090-ti",
            "NVIDIA GeForce RTX 3090 Ti",
            "sm_86",
            (84, 1.86e9, 6 * MIB, 24e9, 1.008e12, 40e12),
            "NVIDIA GeForce RTX 3090 family specifications; multiprocessors and L2: NVIDIA Ampere "
            "GA102 GPU Architecture whitepaper",
        ),
        _metal("metal", "any Apple GPU", {}, ""),
        _metal(
            "apple/m2-gpu",
            "Apple M2, 10 GPU cores",
            {"sm_count": 10, "bandwidth": 100e9, "peak_flops": 3.6e12},
            "Apple press release, 6 June 2022: Apple unveils M2",
        ),
        _opencl(),
        _cpu(),
    )
}

_ALIASES = {  # TVM's names for the same
    "llvm": "c",
    "cpu": "c",
    "nvidia/nvidia-h200": "nvidia/h200",
    "nvidia/nvidia-h100": "nvidia/h100",
    "nvidia/nvidia-a100": "nvidia/a100",
    "nvidia/geforce-rtx-2080-ti": "nvidia/rtx-2080-ti",
    "nvidia/geforce-rtx-3090": "nvidia/rtx-3090",
    "nvidia/geforce-rtx-3090-ti": "nvidia/rtx-3090-ti",
    "nvidia/geforce-rtx-4090": "nvidia/rtx-4090",
}

_DEVICE_NAMES = (  # how drivers name them
    (r"\bB200\b", "nvidia/b200"),
    (r"H200", "nvidia/h200"),
    (r"H100(?!.*(PCIe|NVL))", "nvidia/h100"),
    (r"A100.*80GB", "nvidia/a100"),
    (r"\bL4\b", "nvidia/l4"),
    (r"\bT4\b", "nvidia/tesla-t4"),
    (r"V100-SXM2", "nvidia/tesla-v100"),
    (r"P100-PCIE-16GB", "nvidia/tesla-p100"),
    (r"RTX 2080 Ti", "nvidia/rtx-2080-ti"),
    (r"RTX 3090 Ti", "nvidia/rtx-3090-ti"),
    (r"RTX 3090", "nvidia/rtx-3090"),
    (r"RTX 4090(?! (D|Laptop))", "nvidia/rtx-4090"),
)


def names() -> tuple[str, ...]:
    """The names of all targets, those of a whole kind first."""
    return tuple(sorted(CATALOGUE, key=lambda name: ("/" in name, name)))


def get(target: str | Target) -> Target:
    """The target called `target`; a Target is returned as it is.

    >>> get("nvidia/tesla-t4").max_shared_bytes
    49152

    Raises TargetError for a name that the catalogue does not have.
    """
    if isinstance(target, Target):
        return target
    known = CATALOGUE.get(_ALIASES.get(target, target)) if isinstance(target, str) else None
    if known is None:
        raise _unknown(target)
    return known


def of_device(name: str) -> Target:
    """The target for a GPU whose driver calls it `name`; the generic one where we have no other.

    >>> of_device("Tesla T4").name, of_device("NVIDIA RTX A2000").name
    ('nvidia/tesla-t4', 'cuda')
    """
    for pattern, target in _DEVICE_NAMES:
        if re.search(pattern, name):
            return CATALOGUE[target]
    return CATALOGUE["cuda"]


def _unknown(asked: object) -> TargetError:
    near = get_close_matches(str(asked), [*CATALOGUE, *_ALIASES], n=1)
    return TargetError(
        f"Can't find a target called {str(asked)[:60]!r}",
        detail="the targets are " + ", ".join(names()),
        hint=f"did you mean {near[0]!r}?" if near else "name one of these.",
    )
