"""Names and notes of a program are text wherever a page, a picture or a refusal shows them."""

from __future__ import annotations

import ast
import json
import re
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

import workbench as wb
from tests.widgets.open_questions import every_choice
from workbench import draw, insight, script
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.history import tree
from workbench.widgets.page.page import every_view, page
from workbench.widgets.page.texts import python_of
from workbench.widgets.page.view import View
from workbench.widgets.still import static_form

NAMES = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "$x$ $\\frac{",
    "<!-- ]]>",
    "a\nb\0c\x1b[31m\u2028\u202e",
    'T"""',
]
PANES = {"program": {"first": ["tensorir", "loops", "cuda", "metal", "opencl", "code"], "rest": []},
         "machine": {"first": ["who", "memory", "tiles"], "rest": []}}  # fmt: skip
TAGS = frozenset(
    re.findall(
        r"\w+",
        """b body br caption circle code dd del details div dl dt figcaption figure g h1 head html
        ins li line main mark meta p path polygon pre rect script span strong style summary svg
        table tbody td text th thead title tr ul""",
    )
)


class Tags(HTMLParser):
    """Notes each tag; refuses what none of ours writes: other tags, attributes that run code."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert not [name for name, _ in attrs if name.startswith("on")], attrs
        self.scripts += tag == "script"

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def scripts_of(html: str) -> int:
    """How many scripts there are in a page, of which nothing else may be unknown."""
    tags = Tags()
    tags.feed(html)
    tags.close()
    return tags.scripts


def scheduled(name: str) -> wb.Schedule:
    """A program whose function, block and note are called `name`, with a step on it."""
    sch = wb.Schedule(
        script.parse(f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({{"global_symbol": {name!a}}})
    for i in range(8):
        with T.block({name!a}):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0
""")
    )
    sch.annotate(name, name, name)
    sch.mark(name)
    outer, inner = sch.split("i", factors=[2, 4])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return sch


@pytest.mark.parametrize("name", NAMES)
def test_pages_show_names_as_text(name: str):
    sch = scheduled(name)
    desk, made = Desk(), None
    for view in every_view(PANES):
        made = page(sch, view, desk, made)
    for view in every_choice(made):
        made = page(sch, view, desk, made)
    # what can be pointed at is told as text, and its names are only compared
    drawn = {name: {**one, "fields": None} for name, one in made["pictures"].items()}
    for text in json.loads(json.dumps(strings_of(drawn))):
        assert not scripts_of(text)
    for strip in [s for s in strings_of(made["pictures"]) if s.startswith("<svg")]:
        ElementTree.fromstring(f"<strip>{strip}</strip>")  # and one for a low pane behind it
    assert len(static_form.summary(sch.node, desk).splitlines()) == 8


def strings_of(value: object) -> list[str]:
    """Every text in plain data that is markup."""
    if isinstance(value, str):
        return [value] if value.startswith("<") and ">" in value else []
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in strings_of(item)]


@pytest.mark.parametrize("name", NAMES)
def test_the_path_as_python_runs(name: str):
    sch = scheduled(name)
    text = python_of(sch.node)
    assert text.isprintable() or set(re.findall(r"[^ -~]", text)) == {"\n"}
    head, _, steps = text.partition("\n\n\n@T.prim_func")
    assert head == "import workbench as wb\nfrom workbench import T"
    assert {type(line) for line in ast.parse(text).body} == {
        ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.Expr
    }  # fmt: skip
    program, _, steps = f"@T.prim_func{steps}".partition("\n\n\n")
    func = script.parse(program)
    space = {"wb": wb, func_name(program): func}
    exec(steps, space)
    assert func.name == name
    assert script.show(space["sch"].func) == script.show(sch.func)


def func_name(program: str) -> str:
    """What the program's text calls its function."""
    (name,) = re.findall(r"^def (\w+)\(", program, re.MULTILINE)
    return name


@pytest.mark.parametrize("name", ["wb", "sch", "T", "print", "main", "1"])
def test_the_path_as_python_hides_nothing_that_it_uses(name: str):
    text = python_of(scheduled(name).node)
    (called,) = re.findall(r"wb\.Schedule\((\w+)\)", text)
    assert func_name(text) == called
    assigned = {
        target.id
        for line in ast.parse(text).body
        if isinstance(line, ast.Assign)
        for names in line.targets
        for target in (names.elts if isinstance(names, ast.Tuple) else [names])
    }
    assert not assigned & {"wb", "T", called} and called not in ("wb", "sch", "T")


@pytest.mark.parametrize("name", [*NAMES, "my sum", "C"])
def test_the_call_that_a_form_shows_names_its_place(name: str):
    sch, desk = scheduled(name), Desk()
    made = page(sch, View(), desk)
    for key, label in desk.places(sch.func).items():
        made = page(sch, View(place=key, more=True), desk, made)
        calls = [verb["call"] for verb in made["offers"][key]["verbs"] if "call" in verb]
        assert calls
        for text in calls:
            call = ast.parse(text.replace("…", "None"), mode="eval").body
            assert isinstance(call, ast.Call)
            place = call.args[0]
            assert isinstance(place, ast.Constant)
            assert label.split(" ", 1)[1].startswith(place.value)


@pytest.mark.parametrize("name", NAMES)
def test_refusals_show_names_as_text(name: str):
    sch = scheduled(name)
    for ask in (
        lambda: sch.compute_inline(name),
        lambda: sch.split(name, factors=[2]),
        lambda: sch.goto(name + "!"),
        lambda: sch.annotate(name + "!", name, 1),
        lambda: sch.unannotate("i_0", name),
    ):
        with pytest.raises(wb.ScheduleError) as refused:
            ask()
        assert len(refused.value.headline.splitlines()) == 1
        shown = str(refused.value)
        assert all(c.isprintable() or c == "\n" for c in shown), shown
        assert not scripts_of(refused.value._repr_html_())


@pytest.mark.tool
def test_figures_write_names_as_they_are():
    pytest.importorskip("matplotlib")
    sch = scheduled("$x$ $\\frac{")
    for picture in (
        draw.who_picture(insight.who(sch.func, "B")),
        draw.memory_picture(insight.memory(sch.func)),
    ):
        draw.figure(picture).canvas.draw()


@pytest.mark.parametrize("name", NAMES)
def test_an_offline_page_is_written(name: str, tmp_path: Path):
    pytest.importorskip("anywidget")
    lab = wb.lab(scheduled(name))
    lab.to_html(tmp_path / "page.html")
    whole = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert scripts_of(whole) == 2
    (state,) = re.findall(r'<script type="text/plain" id="state">(.*?)</script>', whole)
    assert json.loads(zlib.decompress(b64decode(state)))[0]["setup"]["title"] == lab.setup["title"]


@pytest.mark.parametrize("name", ["\ud800", "a\udfffb"])
def test_half_a_character_is_no_name(name: str):
    program = f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block({name!a}):
            vi = T.axis.spatial(8, i)
            A[vi] = 1.0
"""
    with pytest.raises(wb.ParseError, match="This text holds half a character"):
        script.parse(program)
    sch = wb.Schedule(script.parse(program.replace(ascii(name), '"A"')))
    with pytest.raises(wb.ScheduleError, match="ann_key takes a text"):
        sch.annotate("A", name, 1)


def test_a_mark_that_turns_a_line_around_is_seen_in_the_history():
    sch = scheduled("\u202edrow")
    assert [row["mark"] for row in tree(sch.history)][1] == "\\u202edrow"
