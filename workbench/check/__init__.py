"""The one checker: what is wrong with a program, however it came about, and what wastes time."""

from workbench.check.conflict import doers_on, refuse_conflict
from workbench.check.exchange import exchanged_alike
from workbench.check.finding import Finding
from workbench.check.program import check_limits, check_program
from workbench.check.sums import refuse_torn_sum, shares_sums

__all__ = [
    "Finding",
    "check_limits",
    "check_program",
    "doers_on",
    "exchanged_alike",
    "refuse_conflict",
    "refuse_torn_sum",
    "shares_sums",
]
