"""Where the project lives, its name and its version: said in pyproject.toml, the same elsewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import workbench

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE, VERSION = PROJECT["urls"]["Source"], PROJECT["version"]
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for pattern in ("*.md", "*.toml", "*.py", "docs/*.md", "binder/*", "lessons/*.ipynb")
    for path in ROOT.glob(pattern)
}
LESSONS = [name for name in TEXTS if name.startswith("lessons/")]
# An address that begins like one of these names a repository next.
HOSTS = {
    "page": "github.com",
    "file": "raw.githubusercontent.com",
    "colab": "colab.research.google.com/github",
    "binder": "mybinder.org/v2/gh",
}


def named(text: str, *hosts: str) -> list[str]:
    """The repositories that the addresses in `text` name, at some of the hosts."""
    found = []
    for host in hosts:
        found += re.findall(rf"//{re.escape(host)}/([\w.-]+/[\w.-]*\w)", text)
    return found


def test_one_repository_is_named_everywhere():
    ours = SOURCE.removeprefix("https://github.com/")
    others = {name: set(named(text, *HOSTS.values())) - {ours} for name, text in TEXTS.items()}
    assert {name: found for name, found in others.items() if found} == {}
    for host in HOSTS.values():
        assert named(TEXTS["README.md"], host), f"README.md has no address at {host}"
    assert len(LESSONS) >= 4 and all(named(TEXTS[name], HOSTS["page"]) for name in LESSONS)
    assert all(url.startswith(SOURCE) for url in PROJECT["urls"].values())


def test_the_readme_says_how_to_begin_with_git_and_without():
    assert f"git clone {SOURCE}" in TEXTS["README.md"]
    assert f"({SOURCE}/archive/refs/heads/main.zip)" in TEXTS["README.md"]


def test_one_version_is_named_everywhere():
    assert workbench.__version__ == VERSION
    wheel = f"{PROJECT['name'].replace('-', '_')}-{VERSION}-py3-none-any.whl"
    enough = ", ".join(VERSION.split(".")[:2])
    for name in LESSONS:
        assert f"/releases/download/v{VERSION}/{wheel}" in TEXTS[name]
        assert f"[:2] >= [{enough}]" in TEXTS[name]


def test_the_versions_of_python_agree():
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={versions[0]}" and versions == sorted(versions)
    assert TEXTS["binder/runtime.txt"].strip().removeprefix("python-") in versions
    assert f"Python {versions[0]} or later" in TEXTS["README.md"]
    assert f"sys.version_info < ({versions[0].replace('.', ', ')})" in TEXTS["run.py"]


def test_binder_installs_what_a_lesson_needs():
    assert TEXTS["binder/requirements.txt"].split() == [".[lab]"]
    assert "lab" in PROJECT["optional-dependencies"]
