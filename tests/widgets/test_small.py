"""The scripts of the small views: each a module by itself that asks nothing of the network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from workbench.widgets import small
from workbench.widgets.small.curve import CurveView
from workbench.widgets.small.player import Player
from workbench.widgets.small.quiz import QuizView
from workbench.widgets.small.repair import RepairView
from workbench.widgets.small.search import SearchView

FOLDER = Path(small.__file__).parent
VIEWS = {
    "curve": CurveView,
    "quiz": QuizView,
    "player": Player,
    "repair": RepairView,
    "search": SearchView,
}


def test_every_file_is_part_of_a_view():
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".js", ".css")}
    own = {f"{view}.{kind}" for view in VIEWS for kind in ("js", "css")}
    assert files == {"view.js", "lecture.css", *own}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_one_module_and_asks_nothing_of_the_network(name: str, tmp_path: Path):
    view = VIEWS[name]
    script, style = view._esm, view._css
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
    seen = {"said": "<b>", "ok": False, "detail": "<i>", "lit": [], "picture": {"full": "<u>"}}
    repair = RepairView("<h2>", ["a < b"], [1], ["wait"], lambda line, put: seen)
    still = repair.still()
    assert not any(tag in still for tag in ("<h2>", "<b>", "<i>", "<u>"))
    assert "   1 | a &lt; b" in still and "&lt;i&gt;\n&lt;u&gt;" in still
    assert repr(repair) == "<h2>\n   1 | a < b\n<b>\n<i>\n<u>"
    player = Player("<p>", {}, ["a < b"], "<svg/>")
    assert "<summary>&lt;p&gt;</summary><ul><li>a &lt; b</li>" in player.still()
