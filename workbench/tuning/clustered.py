"""Clustered: measures candidates on the workers of a Dask cluster, each with a GPU of its own.

The scheduler and the workers are Dask's (``pip install "mlc-workbench[cluster]"``). What goes there
is the text of the program, and of each candidate the text and the launches of its kernels; what
comes back is an outcome. The wire of Dask is pickle: a cluster has to be one's own, and listens on
127.0.0.1 unless it is told otherwise.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from workbench import script
from workbench.diag import Fail
from workbench.ir import PrimFunc
from workbench.runtime.devices import DeviceReport, device
from workbench.runtime.job import Run
from workbench.runtime.launching import worker
from workbench.tuning.bench import SECONDS, Bench, Terms, job_for_bench
from workbench.tuning.space import Candidate
from workbench.tuning.trial import Outcome

if TYPE_CHECKING:
    from distributed import Client


class Clustered:
    """Measures on the GPUs of a Dask cluster, as many candidates at a time as it has workers.

    `client` is a `distributed.Client` of a cluster with a worker of one thread for each GPU, which
    has a CUDA_VISIBLE_DEVICES of its own. All must be the same GPU, since their times are compared:
    Fail is raised where they are not, and where there is none. A candidate that ends the process
    which runs it costs one trial; one whose worker is lost is measured by another.

    >>> client = distributed.Client(distributed.LocalCluster(threads_per_worker=1))
    >>> best = wb.tune(program, measurer=tuning.Clustered(program, client))
    """

    def __init__(
        self, program: PrimFunc, client: Client, *, seconds: float = SECONDS, flush: bool = False
    ) -> None:
        self._client = client
        self._text = script.show(program)
        reports = list(client.run(device).values())
        self.report = _one_of(reports)
        which = self.report.which
        self.device = f"{which}, caches emptied" if flush else which
        self.side_by_side = len(reports)
        self._terms = Terms(which, "GPU", seconds, flush)

    def submit(self, candidate: Candidate) -> Outcome:
        """How the candidate ends on whichever worker is free."""
        from distributed import KilledWorker

        if candidate.kernel is None:
            return Outcome("constraints", "measured", (), candidate.reason)
        job = job_for_bench(candidate.kernel)
        future = self._client.submit(measured, self._text, self._terms, job, pure=False)
        try:
            outcome = future.result()
        except KilledWorker:
            return Outcome("runtime", "measured", (), "each worker that measured it was lost")
        if isinstance(outcome, Outcome):
            return outcome
        headline, detail = outcome
        raise Fail(headline, detail=detail, hint="a search goes on from its record")


def _one_of(reports: list[DeviceReport]) -> DeviceReport:
    """The report of all workers, which must be of one GPU."""
    names = sorted({report.which for report in reports})
    if len(names) != 1 or not reports[0].is_gpu:
        raise Fail(
            f"Can't measure on this cluster: its workers run on {', '.join(names) or 'nothing'}"[
                :119
            ],
            detail="times of different devices are not compared",
            hint="give it workers with one GPU each, all of one kind",
        )
    return reports[0]


# --- in the workers -------------------------------------------------------------------------------

_BENCHES: dict[tuple[str, Terms], Bench] = {}
_ALONE = Lock()  # a worker of several threads has one GPU all the same


def measured(text: str, terms: Terms, job: Run) -> Outcome | tuple[str, str]:
    """How a candidate of the program `text` ends here; or what is wrong with this machine."""
    with _ALONE:
        if (text, terms) not in _BENCHES:
            program = script.parse(text)
            assert isinstance(program, PrimFunc)
            _BENCHES[text, terms] = Bench(program, terms, worker(terms.unit))
        try:
            return _BENCHES[text, terms].measure(job)
        except Fail as fail:
            return fail.headline.rstrip("."), fail.detail or ""
