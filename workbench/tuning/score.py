"""What a candidate comes to before it is measured: its program's hash and its modelled time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.insight.modelled import NoTimeError
from workbench.ir.equal import structural_hash
from workbench.runtime.built import Built
from workbench.target import Target
from workbench.tuning.features import Features, features
from workbench.tuning.space import Candidate, Decisions
from workbench.tuning.trial import Refusal, Trial


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate that can be lowered: its program's hash, and its modelled seconds, if there are.

    `made` may be left out: a history and its kernels are large. Of one that another process made
    there may be the `kernel`. `parents` are trials. It is `proved` where all was asked that a
    candidate which runs is asked, see `space.built`.
    """

    decisions: Decisions
    program: str
    modelled: float | None
    made: Candidate | None = None
    parents: tuple[int, ...] = ()
    proved: bool = False
    features: Features = ()
    kernel: Built | None = None

    @property
    def light(self) -> Scored:
        """The same without what was made."""
        return replace(self, made=None, kernel=None)

    @property
    def sent(self) -> Scored:
        """The same without the history, which other processes make anew."""
        return replace(self, made=None, kernel=self.made.kernel if self.made else None)


def scored(batch: int, made: Candidate, model: Target) -> Scored | Refusal:
    """What `made` comes to; a refusal, for batch number `batch`, where it is one."""
    if made.reason:
        return Refusal(batch, made.decisions, made.reason)
    try:
        found = () if model.is_cpu else features(made.kernels, model)
    except NoTimeError:
        found = ()
    seconds = found[0][1] * 1e-6 if found else None
    program = structural_hash(made.schedule.func)
    return Scored(made.decisions, program, seconds, made, (), made.kernel is not None, found)


def are_those(met: Decisions, given: Decisions) -> bool:
    """Whether a candidate met `given` decisions alone, all of them or the first: drew none."""
    return met == given[: len(met)]


def is_of(made: Candidate, trial: Trial) -> bool:
    """Whether the candidate is the one that the trial tells of."""
    same = made.decisions == trial.decisions
    return same and structural_hash(made.schedule.func) == trial.program
