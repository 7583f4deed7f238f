"""What the notebook and the GPU worker say to each other: plain values, no program, no CuPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel of a job: `arguments` are indices into the job's arrays, `sizes` follow them.

    A size is the number and its type, "int32" or "int64". `shared` are the bytes of shared memory
    that it asks for.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[int, ...]
    sizes: tuple[tuple[int, str], ...] = ()
    shared: int = 0


@dataclass(frozen=True, slots=True)
class Hello:
    """Which GPU is there?"""


@dataclass(frozen=True, slots=True)
class Run:
    """Compile `source`, copy `arrays` to the GPU, launch, and send back those of `outputs`.

    `scratch` gives the size and type of further arrays, which follow `arrays` and start unset.
    """

    source: str
    launches: tuple[Launch, ...]
    arrays: tuple[np.ndarray, ...]
    outputs: tuple[int, ...]
    scratch: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Time:
    """Take samples of the time of `run`'s launches; `flush` empties the L2 cache before each."""

    run: Run
    flush: bool = False
    samples: int = 200
    seconds: float = 1.0
    spread: float = 0.02


@dataclass(frozen=True, slots=True)
class TimeLibrary:
    """Take samples of the time of the vendor's own routine on the two `arrays`.

    Of cuBLAS "add" and "multiply", of vectors and of matrices; of cuDNN "convolve", pictures NCHW
    with taps FCHW behind `padding` zeros on each side.
    """

    routine: Literal["add", "multiply", "convolve"]
    arrays: tuple[np.ndarray, np.ndarray]
    padding: int = 0
    flush: bool = False
    samples: int = 200
    seconds: float = 1.0
    spread: float = 0.02


@dataclass(frozen=True, slots=True)
class Gpu:
    """The answer to Hello. `busy` is the share of the last second that others kept it busy."""

    name: str
    arch: str
    memory_bytes: int
    free_bytes: int
    driver: str
    cupy: str
    busy: float | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """The answer to Run; `registers` are those of a thread of each launch, () on a CPU."""

    outputs: tuple[np.ndarray, ...]
    registers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """Ahead of an answer: so many workers have the GPU before; with 0, the turn has come."""

    before: int


@dataclass(frozen=True, slots=True)
class Timed:
    """The answer to a request for time: seconds of one run, what the clocks said; see `Ran`.

    `notes` are sentences about what may have disturbed it.
    """

    samples: tuple[float, ...]
    launches_per_sample: int
    how: str
    clocks: str
    steady: bool
    registers: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer when something went wrong: `what` is one of the kinds that `failures` explains.

    After `fatal` ones the worker is ended: the GPU holds on to the error.
    """

    what: str
    message: str
    fatal: bool = False
    facts: dict[str, int] = field(default_factory=dict)


Request = Hello | Run | Time | TimeLibrary
Reply = Gpu | Ran | Timed | Failed
