"""Let the machine search: spaces of schedules, search, measuring, and records of all of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

# Where each name lives. Modules are loaded at the first use of a name: the pictures of a lab know
# what a trial is, and need nothing of what searches.
_HOME = {
    "Ablation": "ablation",
    "ByModel": "measure",
    "Candidate": "space",
    "Choice": "decided",
    "Clustered": "clustered",
    "Ended": "trial",
    "Header": "record",
    "Learnt": "learnt",
    "Lines": "record",
    "Local": "measure",
    "Measurer": "measure",
    "NotTried": "tried",
    "Outcome": "trial",
    "Progress": "run",
    "Record": "record",
    "RecordError": "record",
    "Refusal": "trial",
    "Refused": "space",
    "Replayed": "measure",
    "Search": "search",
    "Space": "space",
    "Stopped": "run",
    "Trial": "trial",
    "Tried": "tried",
    "TuneError": "run",
    "Tuned": "tried",
    "Watch": "tried",
    "Without": "ablation",
    "best_of": "trial",
    "candidate": "space",
    "choices": "decided",
    "drift": "trial",
    "name_of": "run",
    "read": "record",
    "ready": "ready",
    "require": "space",
    "show": "show",
    "t4": "t4",
    "tune": "run",
    "tvm_database": "tvm_database",
}

__all__ = [*_HOME]  # noqa: PLE0604

if TYPE_CHECKING:  # the same names, as type checkers and editors see them
    from workbench.tuning.ablation import Ablation as Ablation
    from workbench.tuning.ablation import Without as Without
    from workbench.tuning.clustered import Clustered as Clustered
    from workbench.tuning.decided import Choice as Choice
    from workbench.tuning.decided import choices as choices
    from workbench.tuning.learnt import Learnt as Learnt
    from workbench.tuning.measure import ByModel as ByModel
    from workbench.tuning.measure import Local as Local
    from workbench.tuning.measure import Measurer as Measurer
    from workbench.tuning.measure import Replayed as Replayed
    from workbench.tuning.ready import ready as ready
    from workbench.tuning.record import Header as Header
    from workbench.tuning.record import Lines as Lines
    from workbench.tuning.record import Record as Record
    from workbench.tuning.record import RecordError as RecordError
    from workbench.tuning.record import read as read
    from workbench.tuning.run import Progress as Progress
    from workbench.tuning.run import Stopped as Stopped
    from workbench.tuning.run import TuneError as TuneError
    from workbench.tuning.run import name_of as name_of
    from workbench.tuning.run import tune as tune
    from workbench.tuning.search import Search as Search
    from workbench.tuning.show import show as show
    from workbench.tuning.space import Candidate as Candidate
    from workbench.tuning.space import Refused as Refused
    from workbench.tuning.space import Space as Space
    from workbench.tuning.space import candidate as candidate
    from workbench.tuning.space import require as require
    from workbench.tuning.t4 import t4 as t4
    from workbench.tuning.trial import Ended as Ended
    from workbench.tuning.trial import Outcome as Outcome
    from workbench.tuning.trial import Refusal as Refusal
    from workbench.tuning.trial import Trial as Trial
    from workbench.tuning.trial import best_of as best_of
    from workbench.tuning.trial import drift as drift
    from workbench.tuning.tried import NotTried as NotTried
    from workbench.tuning.tried import Tried as Tried
    from workbench.tuning.tried import Tuned as Tuned
    from workbench.tuning.tried import Watch as Watch
    from workbench.tuning.tvm_database import tvm_database as tvm_database


if not TYPE_CHECKING:  # or it would take every name for one that is there

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'workbench.tuning' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"workbench.tuning.{_HOME[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
