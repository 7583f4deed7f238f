"""Names of loops and blocks complete inside calls of a schedule, in IPython and in notebooks."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

import workbench as wb
from workbench import T
from workbench.schedule.completion import names_at


@T.prim_func
def twice(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, k in T.grid(8, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = B[vi, vk]


LOOPS = ["B.i", "j", "C.i", "k"]
BLOCKS = ["root", "B", "C"]


def names(text: str) -> list[str]:
    sch = wb.Schedule(twice)
    space = {"sch": sch, "other": object(), "text": "sch"}
    return list(names_at(text, space, wb.Schedule)[1])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('sch.split("', LOOPS),
        ("sch.split('", LOOPS),
        ('x = [sch.split("', LOOPS),
        ('sch.split(loop="', LOOPS),
        ('sch.split("C.', ["C.i"]),
        ('sch.split("z', []),
        ('sch.get_block("', BLOCKS),
        ('sch.get_sblock("', BLOCKS),
        ('sch.get_loops(sch.get_block("', BLOCKS),
        ('sch.get_loops("', BLOCKS),
        ('sch.get_child_blocks("', [*LOOPS, *BLOCKS]),
        ('sch.annotate("', [*LOOPS, *BLOCKS]),
        ('sch.actions("', [*LOOPS, *BLOCKS]),
        ('sch.compute_at("B", "', LOOPS),
        ('sch.compute_at(sch.get_block("B"), "', LOOPS),
        ('sch.compute_at("B", loop="', LOOPS),
        ('sch.compute_at(loop="j", block="', BLOCKS),
        ('sch.fuse("C.i", "', LOOPS),
        ('sch.reorder("k", "C.i", "', LOOPS),
        ('sch.cache_read("C", 0, "', []),
        ('sch.cache_read("C", 0, "shared", ["', BLOCKS),
        ('sch.cache_read("C", 0, "shared", consumer_blocks=["B", "', BLOCKS),
        ('sch.split("j", factors=[2, "', []),
        ('sch.bind("j", "', []),
        ('a = sch.split("j",\n    [2, 4])\nsch.fuse("j",\n    "', LOOPS),
    ],
)
def test_what_may_stand_there(text: str, wanted: list[str]):
    assert names(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sch.split(",
        'sch.split("j", ',
        'sch.split("j")',
        'print("',
        'sch.mark("',
        'sch.splitt("',
        'sch._ask("',
        'sch.history("',
        'sch.split("j", nothing="',
        'sch.split("j", [2, 4], True, "',
        'other.split("',
        'text.split("',
        'self.sch.split("',
        'unknown.split("',
    ],
)
def test_nothing_is_offered_elsewhere(text: str):
    assert names(text) == []


def test_only_where_it_is_said_which_function_is_meant():
    both = [wb.script.parse(twice.script().replace("twice", name)) for name in ("one", "two")]
    sch = wb.Schedule(wb.ir.IRModule(tuple(both)))
    assert names_at('sch.split("', {"sch": sch}, wb.Schedule) == ("", {})
    sch.work_on("two")
    assert list(names_at('sch.split("', {"sch": sch}, wb.Schedule)[1]) == LOOPS


# A process of its own: IPython's shell is one for each, and stays.
SHELL = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.completer import provisionalcompleter
import workbench as wb
from tests.verbs.test_completion import twice
shell = InteractiveShell.instance()
sch = shell.user_ns["sch"] = wb.Schedule(twice)
wb.Schedule(twice)
assert len(shell.Completer.custom_matchers) == 1
def completed(text):
    with provisionalcompleter():
        made = shell.Completer.completions(text, len(text))
        return [(text[:c.start] + c.text, c.type) for c in made]
print(completed('sch.compute_at("B", "C'))
print(completed('x = 1\\nsch.get_loops("B'))
print(completed('sch.fuse("j",\\n"k'))
print(completed('sch.get_blo'))
"""


@pytest.mark.tool
def test_ipython_completes_them():
    pytest.importorskip("IPython", reason="IPython is not installed")
    call = [sys.executable, "-c", SHELL]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == """[('sch.compute_at("B", "C.i', 'loop')]"""
    assert lines[1] == """[('x = 1\\nsch.get_loops("B', 'block')]"""
    assert lines[2] == """[('sch.fuse("j",\\n"k', 'loop')]"""
    assert "('sch.get_block', " in lines[3]


def test_an_older_ipython_gets_a_matcher_of_its_kind(monkeypatch: pytest.MonkeyPatch):
    completer = SimpleNamespace(custom_matchers=[], text_until_cursor='sch.compute_at("B", "C')
    shell = SimpleNamespace(Completer=completer, user_ns={"sch": wb.Schedule(twice)})
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.core.completer", None)
    wb.Schedule(twice)
    wb.Schedule(twice)
    (matcher,) = completer.custom_matchers
    assert matcher("C") == ["C.i"]
