"""Fixtures that every test folder may use."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Tests start about a hundred processes. Where none may keep what it compiles beside the sources,
# each would compile all that it imports, from NumPy to Jupyter; elsewhere they keep it.
if sys.dont_write_bytecode and not sys.pycache_prefix:
    sys.pycache_prefix = str(Path(tempfile.gettempdir()) / f"workbench-pyc-{os.getuid()}")
    sys.dont_write_bytecode = False
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import hypothesis  # the first of them: pytest compiles it in its own way

from tests.support import tools
from tests.support.cases import CASES
from tests.support.dealt import dealt

if TYPE_CHECKING:
    from tests.support.together import Together

# One thread a process, and none that spins while it waits: the test processes share two cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("MPLBACKEND", "agg")

# What checks addresses in other languages for jsonschema takes most of a second to import, and no
# notebook has one; jsonschema does without it.
sys.modules["rfc3987_syntax"] = None

# A shell's job in the background begins without Ctrl-C, of which some tests tell.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Collecting makes objects that all stay: to look for garbage among them takes a fifth of its time.
gc.disable()

# An example may take as long as it takes: a busy machine is no fault of the code.
hypothesis.settings.register_profile("workbench", deadline=None, max_examples=2 * CASES)
hypothesis.settings.load_profile("workbench")

# A test that asks for one of these programs is of this kind.
KINDS = {"gxx": "tool", "cc": "tool", "nvcc": "tool", "opencl": "tool", "chromium": "browser"}


@pytest.hookimpl(tryfirst=True)  # before what -m leaves out is left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in KINDS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(KINDS[fixture])
    items[:] = dealt(items, getattr(config, "workerinput", {}).get("workercount", 1))


def pytest_collection_finish() -> None:
    """From here on garbage is collected, rarely, and not looked for in what collecting made."""
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)  # many tests make many programs: at 700 it takes 8 % of a run
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _widgets_of_a_file() -> Iterator[None]:
    """ipywidgets keeps each widget until it is closed, and a lab all that it shows.

    Thousands of programs would stay, which the collector goes through again and again, and the
    process once more before it ends.
    """
    yield
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].Widget.close_all()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium for browser tests."""
    return tools.need("chromium")


@pytest.fixture(scope="session")
def gxx() -> str:
    """The path of g++."""
    return tools.need("g++")


@pytest.fixture(scope="module")
def as_cpp(gxx: str) -> Iterator[Together]:
    """Takes what a test expects of kernels as C++; the last of a file waits for all of them."""
    from tests.support.together import Together  # which takes NumPy and half of the workbench

    together = Together()
    yield together
    faults = together.faults()
    if faults:
        pytest.fail("\n\n".join(["as C++, of tests that passed until here:", *faults]))


@pytest.fixture(scope="session")
def cc() -> None:
    """Skips where there is no C compiler."""
    tools.need_cc()


@pytest.fixture(scope="session")
def nvcc() -> str:
    """The path of NVIDIA's CUDA compiler."""
    return tools.need("nvcc")


@pytest.fixture(scope="session")
def opencl() -> None:
    """Skips where nothing runs OpenCL."""
    tools.need_opencl()
