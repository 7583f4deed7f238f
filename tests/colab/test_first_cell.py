"""The cell that begins every lesson: what it keeps, what it fetches, what it says where it cannot.

In a bare environment with pip, Jupyter and NumPy, and without a workbench. first_cell.py has the
same under Colab's packages and with our own wheel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.colab.first_cell import CELL, HOME, LESSONS, release_in, setup_of, wheel_of

pytestmark = pytest.mark.tool
SAID = "\nimport workbench; print(workbench.__file__, workbench.__version__)"


def init(version: str) -> str:
    """The text of a package that has what the cell asks of a workbench."""
    names = "T = lesson = Schedule = object()\n__all__ = ['Schedule']\n"
    return f"__version__ = {version!r}\n{names}"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A Python that has the packages of this one, but for the workbench."""
    venv.create(tmp_path / "bare", symlinks=True)
    (site,) = tmp_path.glob("bare/lib/python3.*/site-packages")
    here = Path(pytest.__file__).parents[1]
    assert not (here / "workbench" / "__init__.py").exists()
    (site / "packages.pth").write_text(str(here))  # the .pth files there are not read
    return tmp_path / "bare" / "bin" / "python"


def run(python: Path, cell: str, **environment: str) -> str:
    """What Python prints that runs `cell`, and then says which workbench it has."""
    call = [python, "-c", cell + SAID]
    done = subprocess.run(
        call,
        env={**os.environ, **environment},
        cwd=python.parents[2],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_every_lesson_begins_with_the_same_cell():
    assert {setup_of(path) for path in LESSONS} == {CELL}


@pytest.mark.parametrize("version", ["0.1", "0.2.0rc1", "0.10.0", "9.dev1"])
def test_a_workbench_that_will_do_is_kept(version: str, bare: Path, tmp_path: Path):
    package = tmp_path / "there" / "workbench"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(init(version))
    no_pip = "import subprocess; subprocess.run = None\n"
    found = run(bare, no_pip + CELL, PYTHONPATH=str(package.parent))
    assert found == f"{package / '__init__.py'} {version}"


@pytest.mark.parametrize("before", ["older", "ends", "a folder of that name"])
def test_else_the_wheel_is_fetched(before: str, bare: Path, tmp_path: Path):
    texts = {"older": init("0.0.9"), "ends": "raise SystemExit('no configuration')"}
    if before in texts:
        wheel = wheel_of(tmp_path, "mlc-workbench", "0.0.9", texts[before])
        (site,) = bare.parents[1].glob("lib/python3.*/site-packages")
        zipfile.ZipFile(wheel).extractall(site)
    else:
        (tmp_path / "workbench").mkdir()
    wheel_of(release_in(tmp_path), "mlc-workbench", "0.1.0", init("0.1.0"))
    place, version = run(bare, CELL.replace(HOME, tmp_path.as_uri())).split()
    assert Path(place).is_relative_to(bare.parents[1]) and version == "0.1.0"


BUILD = """
import zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(folder + "/{wheel}", "w") as made:
        for name, text in {files!r}.items():
            made.writestr(name, text)
    return "{wheel}"
"""


def test_without_the_wheel_the_repository_is_fetched(bare: Path, tmp_path: Path):
    """As the host packs it: one folder, which is built without what a network would bring."""
    wheel = Path(wheel_of(tmp_path, "mlc-workbench", "0.3.0", init("0.3.0")))
    with zipfile.ZipFile(wheel) as made:
        files = {name: made.read(name).decode() for name in made.namelist()}
    archive = tmp_path / "archive/refs/heads/main.zip"
    archive.parent.mkdir(parents=True)
    project = "[build-system]\nrequires = []\nbuild-backend = 'make'\nbackend-path = ['.']\n"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("workbench-main/pyproject.toml", project)
        packed.writestr("workbench-main/make.py", BUILD.format(wheel=wheel.name, files=files))
    assert run(bare, CELL.replace(HOME, tmp_path.as_uri())).endswith(" 0.3.0")


SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
sys.executable, cells = json.loads(sys.argv[1])
for cell in cells:
    InteractiveShell.instance().run_cell(cell)
"""


@pytest.mark.parametrize(
    ("pip", "reason"),
    [
        ("there", "ERROR: Could not install packages due to an OSError: "),
        ("missing", "No module named pip"),
        ("a browser", "[Errno 2] No such file or directory: "),
    ],
)
def test_where_nothing_can_be_installed_each_cell_says_one_sentence(
    pip: str, reason: str, bare: Path, tmp_path: Path
):
    venv.create(tmp_path / "empty", symlinks=True)
    pythons = {"there": bare, "missing": tmp_path / "empty" / "bin" / "python"}
    home = tmp_path.as_uri()
    later = ["@T.prim_func\ndef f(): ...", "wb.Schedule(1)", "lesson.begin(1)", "np.arange(8)"]
    cells = [CELL.replace(HOME, home), *later]
    given = json.dumps([str(pythons.get(pip, "no-such-program")), cells])
    done = subprocess.run([bare, "-c", SHELL, given], cwd=tmp_path, capture_output=True, text=True)
    said = done.stdout.splitlines()
    assert len(said) == 5 and len(set(said)) == 1 and done.stderr == "", done
    begins = "This lesson cannot begin: its workbench is not here and could not be fetched ("
    assert said[0].startswith(begins) and reason in said[0]
    assert said[0].endswith(f"run this cell again, or install it as {home} says.")


POOL = "HTTPSConnectionPool(host='github.com', port=443): Max retries exceeded with url: /a.whl"
MADE = "<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f2242656490>"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            f"ERROR: Could not install packages due to an OSError: {POOL} (Caused by "
            f"NewConnectionError('{MADE}: Failed to establish a new connection: [Errno -2] Name or "
            "service not known'))\n",
            "Failed to establish a new connection: [Errno -2] Name or service not known",
        ),
        (
            f"ERROR: Could not install packages due to an OSError: {POOL} (Caused by ProxyError("
            f"'Cannot connect to proxy.', NewConnectionError('{MADE}: Failed to establish a new "
            "connection: [Errno 111] Connection refused')))\n",
            "Failed to establish a new connection: [Errno 111] Connection refused",
        ),
        (
            f"WARNING: Retrying\nERROR: Could not install packages due to an OSError: {POOL} "
            "(Caused by SSLError(SSLError(1, '[SSL] unknown error (_ssl.c:1006)')))\n",
            "SSLError(SSLError(1, '[SSL] unknown error (_ssl.c:1006",
        ),
        (
            "ERROR: HTTP error 404 while getting x.whl\n",
            "ERROR: HTTP error 404 while getting x.whl",
        ),
    ],
)
def test_without_a_network_the_reason_is_told(said: str, reason: str, bare: Path, tmp_path: Path):
    pip = f"types.SimpleNamespace(returncode=1, stderr={said!r})"
    cells = [f"import subprocess, types\nsubprocess.run = lambda *_, **__: {pip}", CELL]
    given = json.dumps([sys.executable, cells])
    done = subprocess.run([bare, "-c", SHELL, given], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == (
        "This lesson cannot begin: its workbench is not here and could not be fetched "
        f"({reason}). With a network, run this cell again, or install it as {HOME} says.\n"
    )


def test_a_package_that_the_lesson_needs_is_named(bare: Path, tmp_path: Path):
    package = tmp_path / "there" / "workbench"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(init("0.1.0"))
    given = json.dumps([sys.executable, ["import sys; sys.modules['numpy'] = None", CELL]])
    path = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run([bare, "-c", SHELL, given], env=path, capture_output=True, text=True)
    assert done.stdout.startswith("This lesson cannot begin: import of numpy halted")
    assert len(done.stdout.splitlines()) == 1 and done.stderr == ""
