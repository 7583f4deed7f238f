"""Where the project lives, its name and its version: said in pyproject.toml, the same elsewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import run
import workbench

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE, VERSION = PROJECT["urls"]["Source"], PROJECT["version"]
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for pattern in ("*.md", "*.toml", "*.cff", "*.py", "docs/*.md", "binder/*", "lessons/*.ipynb")
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


def test_the_changelog_tells_versions_newest_first():
    text = TEXTS["CHANGELOG.md"]
    unreleased, *released = re.findall(r"^## \[(.*?)\](.*)$", text, re.M)
    assert unreleased == ("Unreleased", "") and VERSION in dict(released)
    days = [day for _, day in released]
    assert all(re.fullmatch(r" - \d{4}-\d\d-\d\d", day) for day in days)
    assert days == sorted(days, reverse=True)
    links = dict(re.findall(r"^\[(.*?)\]: (.*)$", text, re.M))
    newest = released[0][0]
    assert links == {
        "Unreleased": f"{SOURCE}/compare/v{newest}...HEAD",
        **{version: f"{SOURCE}/releases/tag/v{version}" for version, _ in released},
    }


def test_the_citation_names_what_the_project_does():
    citation = yaml.safe_load(TEXTS["CITATION.cff"])
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert {"message", "title", "authors"} <= set(citation)  # what the format asks for
    assert citation["authors"] == PROJECT["authors"]
    assert citation["version"] == VERSION and citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == SOURCE and citation["keywords"] == PROJECT["keywords"]
    released = re.search(rf"^## \[{re.escape(VERSION)}\] - (.*)$", TEXTS["CHANGELOG.md"], re.M)
    assert released and str(citation["date-released"]) == released[1]


def test_faults_of_security_are_reported_in_private():
    assert f"({SOURCE}/security/advisories/new)" in TEXTS["SECURITY.md"]


def test_the_versions_of_python_agree():
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={versions[0]}" and versions == sorted(versions)
    assert TEXTS["binder/runtime.txt"].strip().removeprefix("python-") in versions
    assert f"Python {versions[0]} or later" in TEXTS["README.md"]
    assert f"sys.version_info < ({versions[0].replace('.', ', ')})" in TEXTS["run.py"]


def test_binder_installs_what_a_lesson_needs():
    assert TEXTS["binder/requirements.txt"].split() == [".[lab]"]
    assert "lab" in PROJECT["optional-dependencies"]


# --- what checks it elsewhere ---------------------------------------------------------------------

WORKFLOWS = {
    path.stem: yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # where `on` is a word
    for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
JOBS = [
    pytest.param(job, id=f"{workflow}-{name}")
    for workflow, whole in WORKFLOWS.items()
    for name, job in whole["jobs"].items()
]


def test_the_workflows_are_those_that_there_are_to_be():
    assert set(WORKFLOWS) == {"tests", "release", "weekly"}
    for whole in WORKFLOWS.values():
        assert set(whole) <= {"name", "on", "permissions", "concurrency", "jobs"}
        assert whole["permissions"] == {"contents": "read"}, "a job that needs more says so"
    assert set(WORKFLOWS["tests"]["on"]) == {"push", "pull_request"}
    assert WORKFLOWS["release"]["on"] == {"release": {"types": ["published"]}}


@pytest.mark.parametrize("job", JOBS)
def test_a_job_ends_and_runs_what_there_is(job: dict[str, Any]):
    keys = {"strategy", "needs", "environment", "permissions"}
    assert set(job) - keys == {"runs-on", "timeout-minutes", "steps"}
    for step in job["steps"]:
        assert set(step) <= {"uses", "with", "run", "env"} and ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@(v\d+|release/v\d+)", step["uses"])
        words = step.get("run", "").split()
        for word in words:
            if word.endswith(".py") or word.startswith("tests/"):
                assert (ROOT / word).exists(), word
        for module in re.findall(r"-m (tests\.\S+)", step.get("run", "")):
            assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module
        for option in re.findall(r"run\.py test (--\S+)", step.get("run", "")):
            assert option in run.KINDS


def test_the_oldest_and_the_newest_python_are_tested():
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tested = WORKFLOWS["tests"]["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert tested == [versions[0], versions[-1]]


def test_ruff_has_one_version():
    (pinned,) = [text for text in PROJECT["optional-dependencies"]["test"] if "ruff" in text]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repo,) = hooks["repos"]
    assert f"ruff=={repo['rev'].removeprefix('v')}" == pinned
