"""A space: a function of a Schedule with sampled choices, run into one candidate at a time."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from threading import Lock
from typing import TypeAlias

from workbench.diag import Fail
from workbench.history.history import TRIED
from workbench.ir import Kernel, PrimFunc
from workbench.ir.equal import structural_hash
from workbench.lower import Lowered
from workbench.runtime.building import build, unproved
from workbench.runtime.built import Built
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.verbs.choices import Decision, Domain

Space: TypeAlias = Callable[[Schedule], "Schedule | None"]
"""Takes steps on a schedule that stands at its start; what it samples makes the space."""

Decisions: TypeAlias = tuple[Decision, ...]

_SILENT = Lock()  # what warnings are ignored is the process's: two at once would leave it so


class Refused(Fail):
    """A rule of a space that a candidate does not keep: it is left out, and the reason kept."""


def require(holds: bool, reason: str) -> None:
    """A constraint of a space: a candidate for which it does not hold is refused, with the reason.

    Raises Refused, and Fail for a reason that is no text. Ask as early as the numbers are known:
    what is refused ahead of the steps costs next to nothing.

    >>> tuning.require(16 * 16 <= 1024, "a block has at most 1024 threads")
    """
    if not isinstance(reason, str):
        raise Fail(f"Can't require this: its reason, {reason!r}, is no text"[:119])
    if not holds:
        raise Refused(reason)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Candidate:
    """What a space made of some decisions: a history of steps with its kernels, or a refusal.

    `decisions` are those of the choices that were met, in their order, each of one of `domains`.
    Where a rule, a verb, the checker or a limit of the target refused it, `reason` says why, and
    there is no `kernel`. Of one that is only `drafted` there are `kernels` to be counted.
    """

    decisions: Decisions
    domains: tuple[Domain, ...]
    schedule: Schedule
    kernel: Built | None = None
    reason: str = ""
    drafted: Lowered | None = None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Its launches, in order; () of a refusal."""
        lowered = self.kernel.lowered if self.kernel else self.drafted
        return lowered.kernels if lowered else ()

    def __repr__(self) -> str:
        return f"<Candidate of {self.schedule.func.name}: {self.reason or self.decisions}>"


class _Deciding:
    """Makes choices by what was decided for each, as long as that lasts, then by drawing.

    A decision that is not of its choice's domain, since an earlier one changed what there is to
    choose, is repaired.
    """

    def __init__(self, given: Sequence[Decision], rng: Random) -> None:
        self.given = given
        self.rng = rng
        self.domains: list[Domain] = []
        self.decisions: list[Decision] = []

    def __call__(self, domain: Domain) -> Decision:
        k = len(self.decisions)
        if k >= len(self.given):
            decision: Decision = domain.draw(self.rng)
        elif domain.wrong(self.given[k]):
            decision = domain.repaired(self.given[k])
        else:
            decision = self.given[k]
        self.domains.append(domain)
        self.decisions.append(decision)
        return decision


def candidate(
    program: PrimFunc,
    space: Space,
    target: Target,
    given: Sequence[Decision],
    rng: Random,
    kernel: Built | None = None,
    *,
    whole: bool = True,
) -> Candidate:
    """The candidate of `given` decisions; those that are missing are drawn by `rng`.

    Every proof that a step, the checker or lowering asks for is made; where a `kernel` was built of
    the same program before, they were made then. One that is not `whole` is to be ranked and not to
    be run: `built` proves the rest, and may refuse. What the space raises besides refusals is
    raised here, too.
    """
    deciding = _Deciding(given, rng)
    sch = Schedule(program, decide=deciding)
    lowered: Lowered | None = None
    reason = ""
    with _no_cycles_looked_for():
        try:
            sch = _of(sch, space(sch))
            if kernel and structural_hash(sch.func) != structural_hash(kernel.func):
                kernel = None
            lowered = None if kernel else unproved(sch, target)
        except Fail as fail:
            reason, kernel = fail.headline.rstrip("."), None
    decided = tuple(deciding.decisions), tuple(deciding.domains)
    drafted = Candidate(*decided, sch, kernel, reason, lowered)
    return built(drafted, target) if whole else drafted


def built(drafted: Candidate, target: Target) -> Candidate:
    """The candidate with its kernel, or refused where the checker finds it wrong."""
    if drafted.reason or drafted.kernel:
        return drafted
    try:
        with _SILENT, warnings.catch_warnings(), _no_cycles_looked_for():
            warnings.simplefilter("ignore")  # a search tries what wastes work, and measures it
            return replace(drafted, kernel=build(drafted.schedule, target))
    except Fail as fail:
        return replace(drafted, reason=fail.headline.rstrip("."), drafted=None)


def _of(given: Schedule, made: object) -> Schedule:
    """The schedule that a space made of the `given` one: itself, or another of its history."""
    if made is None:
        return given
    own = isinstance(made, Schedule) and made.history is given.history
    if not isinstance(made, Schedule) or not own or made.node.id == TRIED:
        raise Refused("The space returns something else than the schedule that it was given")
    return made


@contextmanager
def _no_cycles_looked_for() -> Iterator[None]:
    """Without Python's collector of cycles, which takes a sixth of a candidate's time.

    A program is a tree; what few cycles there are are found after.
    """
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()
