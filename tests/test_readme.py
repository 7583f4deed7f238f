"""The README is true: its code runs, prints what it shows, and its links and commands exist."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from docs.pictures import pictures

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.M | re.S)
LINKS = re.findall(r"\]\(([^)\s]+)\)", README)


def run(code: str, name: str, scope: dict[str, object]) -> str:
    """What `code` prints; its text is kept where a decorated function's source is looked up."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), scope)
    return out.getvalue()


def test_the_code_prints_what_the_readme_shows():
    scope: dict[str, object] = {"__name__": "readme"}
    shown = 0
    for k, (kind, text) in enumerate(BLOCKS):
        if kind != "python":
            continue
        printed = run(text, f"<README block {k}>", scope)
        following = BLOCKS[k + 1] if k + 1 < len(BLOCKS) else ("", "")
        if following[0] in ("text", "cuda"):
            assert printed.rstrip() == following[1].rstrip()
            shown += 1
        else:
            assert printed == ""
    assert shown == 2


def test_the_example_of_the_architecture_runs():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
    scope: dict[str, object] = {"__name__": "architecture"}
    printed = [run(code, f"<block {k}>", scope) for k, (kind, code) in enumerate(blocks)
               if kind == "python"]  # fmt: skip
    shown = [text for kind, text in blocks if kind == "text"]
    assert [out for out in printed if out] == shown and len(shown) == 1


def test_the_files_that_the_architecture_names_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w/-]+(?:\.(?:py|md)|/))`", text):
        assert any((root / name).exists() for root in (ROOT, ROOT / "workbench")), name


def test_six_lines_are_six_lines():
    code = [text for kind, text in BLOCKS if kind == "python"]
    assert len(code[1].strip().splitlines()) == 6


def inside(link: str) -> str | None:
    """The file of the repository that a link leads to, here or on the network."""
    if not link.startswith("http"):
        return link
    parts = re.split(r"/blob/main/|lab/tree/|githubusercontent\.com/[^/]+/[^/]+/main/", link)
    return parts[1] if len(parts) == 2 else None


def test_links_into_the_repository_lead_somewhere():
    files = [path for link in LINKS if (path := inside(link))]
    assert len(files) > 10
    assert [path for path in files if not (ROOT / path).is_file()] == []


def test_pictures_are_shown_away_from_the_repository_too():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 4 and all(x.startswith("https://") for x in pictures)
    assert sum((inside(x) or "").startswith("docs/img/") for x in pictures) == 2


def test_the_two_commands_exist():
    commands = [line.split("#")[0].split() for line in dict(BLOCKS)["sh"].strip().splitlines()]
    assert [c[:2] for c in commands] == [["python3", "run.py"]] * 2
    for command in commands:
        done = subprocess.run(
            [sys.executable, ROOT / command[1], "--help"], capture_output=True, text=True, cwd=ROOT
        )
        assert done.returncode == 0
        assert command[2] in done.stdout


def test_the_pictures_are_what_our_code_draws():
    for name, svg in pictures().items():
        assert (ROOT / name).read_text(encoding="utf-8") == svg, "run python -m docs.pictures"
        assert ElementTree.fromstring(svg).tag.endswith("svg"), "a browser shows XML alone"


def test_continuous_integration_runs_the_readmes_test_command():
    script = (ROOT / ".ci" / "run").read_text()
    assert script.splitlines()[-1] == "exec env CI=1 python3 run.py test"
