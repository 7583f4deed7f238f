"""Let the machine search: spaces of schedules, search, measuring, and records of all of it."""

from workbench.tuning.ablation import Ablation, Without
from workbench.tuning.clustered import Clustered
from workbench.tuning.decided import Choice, choices
from workbench.tuning.learnt import Learnt
from workbench.tuning.measure import ByModel, Local, Measurer, Replayed
from workbench.tuning.ready import ready
from workbench.tuning.record import Header, Lines, Record, RecordError, read
from workbench.tuning.run import Progress, Stopped, TuneError, name_of, tune
from workbench.tuning.search import Search
from workbench.tuning.show import show
from workbench.tuning.space import Candidate, Refused, Space, candidate, require
from workbench.tuning.t4 import t4
from workbench.tuning.tasks import tune_tasks
from workbench.tuning.trial import Ended, Outcome, Refusal, Trial, best_of, drift
from workbench.tuning.tried import NotTried, Tried, Tuned, Watch
from workbench.tuning.tvm_database import tvm_database
from workbench.tuning.tvm_trace import TvmRecordError, from_tvm

__all__ = [
    "Ablation",
    "ByModel",
    "Candidate",
    "Choice",
    "Clustered",
    "Ended",
    "Header",
    "Learnt",
    "Lines",
    "Local",
    "Measurer",
    "NotTried",
    "Outcome",
    "Progress",
    "Record",
    "RecordError",
    "Refusal",
    "Refused",
    "Replayed",
    "Search",
    "Space",
    "Stopped",
    "Trial",
    "Tried",
    "TuneError",
    "Tuned",
    "TvmRecordError",
    "Watch",
    "Without",
    "best_of",
    "candidate",
    "choices",
    "drift",
    "from_tvm",
    "name_of",
    "read",
    "ready",
    "require",
    "show",
    "t4",
    "tune",
    "tune_tasks",
    "tvm_database",
]
