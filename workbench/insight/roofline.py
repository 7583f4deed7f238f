"""roofline: the fastest a program could be on a GPU, from its work and its global traffic."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.insight.page import Kind, Table


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
