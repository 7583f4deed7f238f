"""The scripts of the small views: each a module by itself that asks nothing of the network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from workbench.widgets import small
from workbench.widgets.small.player import Player
from workbench.widgets.small.quiz import QuizView
from workbench.widgets.small.repair import RepairView

FOLDER = Path(small.__file__).parent


def test_every_file_is_part_of_a_view():
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".js", ".css")}
    own = {f"{view}.{kind}" for view in ("quiz", "player", "repair") for kind in ("js", "css")}
    assert files == {"view.js", "lecture.css", *own}


@pytest.mark.parametrize("name", ["quiz", "player", "repair"])
def test_a_view_is_one_module_and_asks_nothing_of_the_network(name: str, tmp_path: Path):
    script, style = small.script(f"{name}.js"), small.style(f"{name}.css")
    assert not re.search(r"https?://|\bfetch\(|\bimport\b|XMLHttpRequest|url\(", script + style)
    assert all("," in used for used in re.findall(r"var\(--jp-[^)]*", style))
    node = shutil.which("node")
    if node is not None:
        (tmp_path / "view.mjs").write_text(script)
        subprocess.run([node, "--check", tmp_path / "view.mjs"], check=True)


def test_what_is_shown_without_a_script_is_text():
    """Whatever stands in it; sentences are marked up by Python, code is not."""
    asked = [{"text": "`<b>`?", "shown": "CUDA", "code": "a < b", "choices": ["<i>", "not sure"]}]
    quiz = QuizView("<h1>", asked, [None], lambda *_: [None], lambda _: "", "told")
    assert "<code>&lt;b&gt;</code>" in quiz.still() and "a &lt; b" in quiz.still()
    assert "<i>" not in quiz.still() and "<h1>" not in quiz.still() and repr(quiz) == "told"
    seen = {"said": "<b>", "right": False, "lit": [], "timelines": [("<i>", "b", "c")]}
    repair = RepairView("<h2>", ["a < b"], [1], lambda line: seen)
    still = repair.still()
    assert "<h2>" not in still and "<b>" not in still and "<i>" not in still
    assert "   1 | a &lt; b" in still and "&lt;i&gt; → b → c" in still
    assert repr(repair) == "<h2>\n   1 | a < b\n<b>\n<i> → b → c"
    player = Player("<p>", [("<svg/>", "a < b")])
    assert "<summary>&lt;p&gt;</summary><ul><li>a &lt; b</li>" in player.still()
