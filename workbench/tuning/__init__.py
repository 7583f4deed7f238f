"""Let the machine search: spaces of schedules, search, measuring, and records of all of it."""

from workbench.tuning.measure import ByModel, Local, Measurer, Replayed
from workbench.tuning.ready import ready
from workbench.tuning.record import Header, Lines, Record, RecordError, read
from workbench.tuning.run import Progress, TuneError, name_of, tune
from workbench.tuning.search import Search
from workbench.tuning.space import Candidate, Refused, Space, candidate, require
from workbench.tuning.trial import Ended, Outcome, Refusal, Trial

__all__ = [
    "ByModel",
    "Candidate",
    "Ended",
    "Header",
    "Lines",
    "Local",
    "Measurer",
    "Outcome",
    "Progress",
    "Record",
    "RecordError",
    "Refusal",
    "Refused",
    "Replayed",
    "Search",
    "Space",
    "Trial",
    "TuneError",
    "candidate",
    "name_of",
    "read",
    "ready",
    "require",
    "tune",
]
