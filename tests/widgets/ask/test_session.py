"""A lab's session by itself: requests in, plain data out, with no widget and no thread."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.widgets.programs import ADD, parse
from workbench.diag import Fail
from workbench.lesson import who_computes
from workbench.schedule import Schedule
from workbench.widgets.ask.session import SHOWN, Session
from workbench.widgets.ask.setup import Options
from workbench.widgets.run.jobs import Job, Jobs
from workbench.widgets.run.runner import Runner

CHOICES = ("block 0, thread 5", "block 1, thread 1", "time step 5")


class Later:
    """Jobs that are done when the test says so."""

    def __init__(self) -> None:
        self.runner = Runner()
        self.waiting: list[Job] = []

    def begin(self, job: Job) -> None:
        if self.waiting:
            raise Fail("Can't run: a run is under way", hint="stop it first")
        self.runner.stop.clear()
        self.waiting.append(job)

    def stop(self) -> None:
        self.runner.stop.set()

    def do(self) -> None:
        job = self.waiting.pop()
        job.done(job.work(self.runner, job.tell, job.waits))


def session(**options: Any) -> Session:
    return Session(Schedule(parse(ADD)), Later(), Options(**options))


def step(here: Session, verb: str, loop: str, **args: str) -> dict[str, Any]:
    """Apply `verb` at the loop of that name; what the browser gets of it."""
    names = here.page["names"]
    (place,) = [k for k, about in names.items() if (about["name"], about["kind"]) == (loop, "loop")]
    here.changes()
    here.ask({"do": "apply", "verb": verb, "place": place, "args": args})
    return here.changes()


def bind_both(here: Session) -> None:
    step(here, "split", "i", factors="[2, 4]")
    step(here, "bind", "i_0", thread_axis='"blockIdx.x"')
    step(here, "bind", "i_1", thread_axis='"threadIdx.x"')


def test_it_needs_no_widgets():
    wall = """
import sys
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"anywidget", "ipywidgets", "traitlets", "IPython"}:
            raise ImportError(name)
sys.meta_path.insert(0, Wall())
from tests.widgets.ask.test_session import bind_both, session
here = session()
bind_both(here)
print(here.state["status"]["text"])
"""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", wall], capture_output=True, text=True, cwd=root)
    said = 'Step 3, bind(i_1, "threadIdx.x"): each turn of i_1 (4×) is now a thread.\n'
    assert done.stdout == said, done.stderr


def test_all_that_is_shown_is_there_from_the_start_and_is_plain():
    here = session()
    made = here.changes()
    assert set(made) == {*SHOWN, "page_0"} and made == here.state
    assert json.loads(json.dumps(made["page_0"])) == made["page_0"]
    assert here.changes() == {}, "what was told is not told again"


def test_a_step_changes_what_it_shows_and_nothing_else():
    here = session()
    made = step(here, "split", "i", factors="[2, 4]")
    assert set(made) == {"status", "tree", "place", "at", "lines", "page_1"}
    assert made["at"] == 1 and len(made["tree"]) == 2
    before = here.state["page_0"]
    here.choose({"at": 0})
    assert set(here.changes()) == {"status", "at", "place"} and here.page is before


def test_what_is_looked_at_again_changes_nothing():
    here = session()
    bind_both(here)
    here.changes()
    here.ask({"do": "look"})
    assert here.changes() == {}


def test_a_refusal_is_the_status_and_all_else_stays():
    here = session()
    made = step(here, "split", "i", factors="[2, 3]")
    assert list(made) == ["status"] and made["status"]["kind"] == "refused"
    assert "6 of 8" in made["status"]["error"]["headline"]
    assert here.choose({"view": {"program": "ptx"}}) is None
    assert list(here.changes()) == ["status"]


def test_the_same_refusal_is_told_another_time():
    here = session()
    first = step(here, "split", "i", factors="[2, 3]")["status"]
    second = step(here, "split", "i", factors="[2, 3]")["status"]
    assert first != second and first["error"] == second["error"]


def test_a_fault_is_the_status(monkeypatch: pytest.MonkeyPatch):
    here = session()
    monkeypatch.setattr(Schedule, "apply", lambda *a, **k: 1 / 0)
    made = step(here, "split", "i", factors="[2, 4]")
    assert made["status"]["kind"] == "failed"
    assert made["status"]["text"] == "The lab failed: ZeroDivisionError: division by zero"


def test_a_choice_that_there_is_not_is_put_right():
    here = session()
    bind_both(here)
    assert here.choose({"at": 99, "against": 99}) == {"at": 99, "against": 99}
    made = here.changes()
    assert (made["at"], made["against"]) == (3, -1)


def test_a_run_tells_how_far_it_is_and_what_came_out():
    here = session()
    bind_both(here)
    here.ask({"do": "run"})
    assert here.state["status"] == {"kind": "running", "text": "Running step 3 …"}
    (job,) = here._jobs.waiting
    job.waits(2)
    assert here.state["status"]["text"] == (
        "Running step 3: waiting for the GPU: 2 notebooks before you"
    )
    job.tell(1, 2)
    told = {"kind": "running", "text": "Running step 3: 1 of 2 blocks", "done": 1, "of": 2}
    assert here.state["status"] == told
    here.ask({"do": "run"})
    assert here.state["status"]["text"] == "Can't run: a run is under way."
    here.choose({"at": 1})  # the result goes to the node that was run
    here._jobs.do()
    assert here.state["page_3"]["run"]["ok"] is True and "run" not in here.page


def test_stop_is_said_and_gives_no_result():
    here = session()
    bind_both(here)
    here.ask({"do": "run"})
    here.ask({"do": "stop"})
    assert here.state["status"]["text"] == "Stopping …"
    here._jobs.do()
    assert here.page["run"]["ok"] is None


def test_a_form_of_a_program_that_was_left_has_no_call():
    here = session()
    place = here.state["place"]
    step(here, "split", "i", factors="[2, 4]")
    here.ask({"do": "write", "verb": "split", "place": place, "args": {"factors": "[4, 2]"}})
    assert here.changes() == {} and here.state["call"] == {}


def test_an_answer_is_kept_in_the_history():
    here = session(question=who_computes("C", 5, CHOICES, steps="split and both binds"))
    asked = here.state["setup"]["question"]["name"]
    here.changes()
    here.ask({"do": "answer", "name": asked, "choice": 0})
    assert here.history.answers == {asked: CHOICES[0]}
    assert here.changes()["answers"] == {asked: CHOICES[0]}
    assert here.state["status"]["text"] == "The program as it was written."


def test_an_answer_takes_the_place_of_what_was_refused():
    """What was chosen stands at the question, once."""
    here = session(question=who_computes("C", 5, CHOICES, steps="split and both binds"))
    step(here, "split", "i", factors="[2, 3]")
    here.ask({"do": "answer", "name": here.state["setup"]["question"]["name"], "choice": 0})
    assert here.state["status"] == {"kind": "ready", "text": "The program as it was written."}


def test_two_nodes_are_compared():
    here = session()
    bind_both(here)
    assert here.comparison is None
    here.changes()
    here.choose({"against": 0})
    assert set(here.changes()) >= {"against", "compare_0_3"}
    assert here.comparison is here.state["compare_0_3"]


def job(work: Any, log: list[Any]) -> Job:
    """A job that notes what becomes of it."""

    def tell(done: int, of: int) -> None:
        log.append((done, of))

    return Job(work, tell, log.append, log.append, lambda error: log.append(str(error)))


def test_a_thread_tells_how_far_it_is_and_what_came_out():
    log: list[Any] = []
    jobs = Jobs(Runner(), lambda: log.append("changed"))

    def work(runner: Runner, progress: Any, waits: Any) -> dict[str, Any]:
        waits(2)
        progress(1, 2)
        return {"text": "done"}

    jobs.begin(job(work, log))
    jobs.wait()
    assert log == [2, "changed", (1, 2), "changed", {"text": "done"}, "changed"]


def test_one_thread_at_a_time_and_a_fault_is_told():
    log: list[Any] = []
    jobs = Jobs(Runner(), lambda: None)

    def work(runner: Runner, progress: Any, waits: Any) -> dict[str, Any]:
        runner.stop.wait(10)
        progress(1, 2)  # after stop it says nothing
        raise ValueError("broken")

    jobs.begin(job(work, log))
    with pytest.raises(Fail, match="a run is under way"):
        jobs.begin(job(work, log))
    jobs.stop()
    jobs.wait()
    assert log == ["broken"]
