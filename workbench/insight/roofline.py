"""roofline: the fastest a program could be on a GPU, from its work and its global traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from workbench.insight.accesses import accesses
from workbench.insight.counts import counts
from workbench.insight.fragments import calls_of_warps
from workbench.insight.page import Kind, Table
from workbench.insight.warp_requests import MULTIPLY_ADDS, PRODUCTS
from workbench.ir import Kernel, dtypes
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Roofline:
    """Work over bytes against the roofs of a target.

    `intensity` is operations a byte of global traffic requested (no cache assumed), `ideal` the
    same with every byte of the parameters moved once. `peak` is in operations a second,
    `bandwidth` in bytes a second, `ridge` the intensity at which they meet; `roof` is the most
    operations a second at `intensity`, `bound` "memory" or "compute", `seconds` the least time.
    """

    target: str
    work: int
    bytes: int
    least_bytes: int
    intensity: float
    ideal: float
    peak: float
    bandwidth: float
    ridge: float
    roof: float
    bound: str
    seconds: float
    caption: str
    table: Table
    kind: Kind = "modelled"

    @property
    def least_seconds(self) -> float:
        """The least time of the work with every byte of the parameters moved once."""
        return max(self.work / self.peak, self.least_bytes / self.bandwidth)


def roofline(kernels: Sequence[Kernel], target: Target) -> Roofline | None:
    """Where `kernels` stand under the roofs of `target`; None where it has no data sheet.

    Peak and bandwidth are the data sheet's; what matrix units multiply has the peak that they have
    by ``mma.sync``. Caches, which let real traffic be less than what is asked for, are left out.
    """
    counted = counts(kernels)
    peak, bandwidth = _peak(kernels, counted.work, target), target.bandwidth
    if peak is None or bandwidth is None:
        return None
    traffic = counted.traffic[0]
    moved = traffic.load_bytes + traffic.store_bytes
    touched = {  # by what the program has: each kernel has a buffer of its own for it
        dict(kernel.views)[access.buffer]: access.buffer
        for kernel in kernels
        for access in accesses(kernel)
        if access.buffer.scope == "global"
    }
    least = sum(prod(b.shape) * dtypes.itemsize(b.type) for b in touched.values())
    intensity = counted.work / moved if moved else 0.0
    ideal = counted.work / least if least else 0.0
    ridge = peak / bandwidth
    roof = min(peak, bandwidth * intensity)
    bound = "memory" if intensity < ridge else "compute"
    seconds = max(counted.work / peak, moved / bandwidth)
    caption = (
        f"{intensity:.3g} operations a byte: on {target.title} {bound} is the limit, "
        f"at most {roof / 1e9:.4g} billion operations a second where caches keep nothing."
    )
    rows: tuple[tuple[str | int | float, ...], ...] = (
        ("work (operations)", counted.work),
        ("bytes asked of global memory", moved),
        ("bytes if each were moved once", least),
        ("operations a byte", round(intensity, 4)),
        ("operations a byte at best", round(ideal, 4)),
        ("operations a byte where both roofs meet", round(ridge, 2)),
        ("roof (billion operations a second)", round(roof / 1e9, 1)),
    )
    return Roofline(
        target.name,
        counted.work,
        moved,
        least,
        intensity,
        ideal,
        peak,
        bandwidth,
        ridge,
        roof,
        bound,
        seconds,
        caption,
        Table(("what", "how much"), rows),
    )


def _peak(kernels: Sequence[Kernel], work: int, target: Target) -> float | None:
    """Operations a second, with as many on matrix units as `kernels` have; None if not known."""
    calls = sum(calls_of_warps(kernels, name) for name in PRODUCTS)
    if not calls or target.peak_flops is None or target.tensor_flops is None:
        return None if calls else target.peak_flops
    tensor = min(2 * MULTIPLY_ADDS * calls, work)
    return work / (tensor / target.tensor_flops + (work - tensor) / target.peak_flops)
