"""Traces and files: steps as plain data that can be read, run again, saved and shared."""

import json
from pathlib import Path

import pytest

import workbench as wb
from tests.schedule import programs
from workbench import ir, script
from workbench.schedule import Trace, trace_from_data, trace_to_data
from workbench.widgets.page.texts import as_code


def scheduled() -> wb.Schedule:
    """The window sum with a cooperative fetch, and a branch beside it."""
    sch = wb.Schedule(script.parse(programs.WINDOW))
    block = sch.get_block("B")
    (i,) = sch.get_loops(block)
    i_0, i_1 = sch.split(i, factors=[None, 4])
    sch.bind(i_0, "blockIdx.x")
    sch.mark("blocks")
    sch.vectorize(i_1)
    sch.goto("blocks")
    sch.bind(i_1, "threadIdx.x")
    cache = sch.cache_read(block, 0, "shared")
    sch.compute_at(cache, i_1)
    ax0 = sch.get_loops(cache)[-1]
    _, inner = sch.split(ax0, factors=[None, 4])
    sch.bind(inner, "threadIdx.x")
    sch.mark("cooperative")
    return sch


def test_as_python_is_what_a_person_would_write() -> None:
    sch = scheduled()
    text = sch.trace.as_python()
    assert text.splitlines() == [
        "sch = wb.Schedule(program)",
        'block_B = sch.get_block("B")',
        "(i,) = sch.get_loops(block_B)",
        "i_0, i_1 = sch.split(i, factors=[None, 4])",
        'sch.bind(i_0, "blockIdx.x")',
        'sch.bind(i_1, "threadIdx.x")',
        'A_shared = sch.cache_read(block_B, read_buffer_index=0, storage_scope="shared")',
        "sch.compute_at(A_shared, i_1)",
        "ax0 = sch.get_loops(A_shared)[-1]",
        "ax0_0, ax0_1 = sch.split(ax0, factors=[None, 4])",
        'sch.bind(ax0_1, "threadIdx.x")',
    ]
    space = {"wb": wb, "program": script.parse(programs.WINDOW)}
    exec(text, space)
    assert script.show(space["sch"].func) == script.show(sch.func)


@pytest.mark.parametrize("program", [programs.TWO, programs.SAME_NAME])
def test_as_python_keeps_apart_what_has_one_name(program: str) -> None:
    sch = wb.Schedule(script.parse(program))
    for block in sch.get_blocks():
        loop = sch.get_loops(block)[0]
        outer, _ = sch.split(loop, factors=[None, 2])
        sch.split(outer, factors=[2, None])
    space = {"wb": wb, "program": script.parse(program)}
    exec(sch.trace.as_python(), space)
    assert script.show(space["sch"].func) == script.show(sch.func)


def test_a_trace_goes_to_another_program_of_the_same_blocks() -> None:
    longer = programs.WINDOW.replace("19", "67").replace("16", "64")
    again = wb.Schedule.replay(script.parse(longer), scheduled().trace)
    assert 'T.thread_binding(16, thread="blockIdx.x")' in script.show(again.func)


def test_a_trace_goes_to_a_function_of_another_name() -> None:
    renamed = script.parse(programs.WINDOW.replace("def main", "def window_sum"))
    again = wb.Schedule.replay(renamed, scheduled().trace)
    assert len(again.trace) == 7 and again.func.name == "window_sum"


def test_a_trace_is_plain_data() -> None:
    trace = scheduled().trace
    data = json.loads(json.dumps(trace_to_data(trace)))
    assert trace_from_data(data) == trace
    again = wb.Schedule.replay(script.parse(programs.WINDOW), trace_from_data(data))
    assert script.show(again.func) == script.show(scheduled().func)
    assert repr(trace).splitlines()[0] == "1. split(i, factors=[None, 4])"
    assert len(trace) == 7 and repr(Trace()) == "no steps"


def test_a_trace_on_another_program_says_which_step_fails() -> None:
    trace = scheduled().trace
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule.replay(script.parse(programs.MATMUL), trace)
    assert str(refused.value) == (
        "Can't take step 1, split: the program has no loop `i` where the trace has it.\n"
        "do:    replay the trace on a program with the same blocks and loops"
    )
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule.replay(script.parse(programs.MODULE), trace)
    assert str(refused.value) == (
        "Can't take step 1: the program has no function 'main'.\n"
        "do:    its functions: first, second"
    )
    steps = trace_to_data(trace)
    steps[0]["verb"] = "tessellate"
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule.replay(script.parse(programs.WINDOW), trace_from_data(steps))
    assert str(refused.value) == (
        "Can't take step 1: there is no primitive 'tessellate'.\n"
        "do:    the trace may be of a newer workbench"
    )


def test_a_file_holds_the_whole_tree(tmp_path: Path) -> None:
    sch = scheduled()
    sch.goto("blocks")
    sch.save(tmp_path / "window.json")
    again = wb.load(tmp_path / "window.json")
    assert repr(again.history) == repr(sch.history)
    assert again.node.id == sch.node.id == 2
    for before, after in zip(sch.history, again.history, strict=True):
        assert ir.structural_equal(before.func, after.func)
        assert script.show(before.func) == script.show(after.func)


def test_a_saved_module_keeps_its_functions(tmp_path: Path) -> None:
    sch = wb.Schedule(script.parse(programs.MODULE))
    sch.split(sch.get_loops(sch.get_block("D", "second"))[0], factors=[2, 2])
    sch.mark("done")
    sch.save(tmp_path / "module.json")
    again = wb.load(tmp_path / "module.json")
    assert script.show(again.mod) == script.show(sch.mod)


SAVED = "pass a file that sch.save(path) wrote"


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "it is empty"),
        ("\x80not text", "it is not JSON text"),
        ("[" * 100_000, "it is not JSON text"),
        ('{"version": ' + "1" * 10_000 + "}", "it is not JSON text"),
        ('"\0"\0', "it is not JSON text"),
        ("[]", "it is not a saved schedule"),
        ('{"format": "notebook"}', "it is not a saved schedule"),
        (
            '{"format": "workbench-schedule", "version": 9}',
            "it has version 9, this workbench reads 1",
        ),
        (
            '{"format": "workbench-schedule", "version": ' + "[" * 900 + "]" * 900 + "}",
            "it has a version that is no number, this workbench reads 1",
        ),
        (
            '{"format": "workbench-schedule", "version": 1}',
            "part of it is missing or damaged ('program')",
        ),
    ],
)
def test_a_bad_file_is_named_so(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(wb.ScheduleError) as refused:
        wb.load(path)
    assert str(refused.value) == f"Can't load this schedule: {why}.\ndo:    {SAVED}"


@pytest.mark.parametrize(
    "place, value, why",
    [
        (("nodes", 0, "parent"), "1", "'1' where a count should be"),
        (("nodes", 0, "step", "args", 0, "kind"), "file", "a reference to a 'file'"),
        (("nodes", 0, "step", "args", 0, "of", "kind"), "loop", "only a loop is told by a block"),
        (("nodes", 0, "step", "kwargs"), {"factors": {"__import__": "os"}}, "'kind'"),
        (("nodes", 0, "step", "verb"), 7, "7 where a text should be"),
        (("nodes", 0, "mark"), {"a": 1}, "{'a': 1} where a text should be"),
        (("nodes",), 3, "'int' object is not iterable"),
        (("answers",), {"q": 3}, "3 where a text should be"),
        (("program",), "import os", "The text holds 0 programs"),
        (("program",), "x = " + "-" * 200_000 + "1", ""),  # Python's own parser gives up
        (("nodes", 0, "parent"), 1, "step 1 is made from step 1"),
        (("at",), 9, "it stands at step 9 of "),
        (("mark",), "a\ud800", "'a\\ud800' holds what is no character"),
        (("nodes", 0, "step", "func"), "\ud800", "'\\ud800' holds what is no character"),
        (("others",), None, "Value after * must be an iterable"),
    ],
)
def test_a_damaged_file_says_where(
    place: tuple[str | int, ...], value: object, why: str, tmp_path: Path
) -> None:
    scheduled().save(tmp_path / "window.json")
    data = json.loads((tmp_path / "window.json").read_text(encoding="utf-8"))
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (tmp_path / "window.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(wb.ScheduleError) as refused:
        wb.load(tmp_path / "window.json")
    assert str(refused.value).startswith(
        f"Can't load this schedule: part of it is missing or damaged ({why}"
    )
    assert refused.value.hint == SAVED


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        wb.load(tmp_path / "nowhere.json")


@pytest.mark.parametrize("path", ["/dev/null", "a\0b", "\ud800", None])
def test_what_is_no_file_is_an_os_error(path: str) -> None:
    """A device may have no end, so none is read."""
    with pytest.raises(OSError, match=r"it is a device, no file|it is no path"):
        wb.load(path)


NO_NAMES = {"verb": "split", "args": [], "kwargs": None, "func": "f"}


@pytest.mark.parametrize("bad", [{}, "steps", [{"verb": "split"}], [3], [NO_NAMES]])
def test_a_bad_trace_is_named_so(bad: object) -> None:
    with pytest.raises(wb.ScheduleError, match="missing or damaged"):
        trace_from_data(bad)


def test_what_is_no_trace_is_not_taken() -> None:
    with pytest.raises(wb.ScheduleError) as refused:
        scheduled().take(5)  # type: ignore[arg-type]
    assert str(refused.value) == (
        "Can't take steps: a value of type int is no trace.\n"
        "asked: sch.take(5)\n"
        "do:    pass the trace of a schedule: sch.take(other.trace)"
    )


def test_loops_may_have_the_names_that_code_of_a_lab_uses():
    text = """
@T.prim_func
def main(A: T.Buffer((8, 8, 8), "float32"), B: T.Buffer((8, 8, 8), "float32")):
    for mine, exercise, lesson in T.grid(8, 8, 8):
        with T.block("B"):
            v0, v1, v2 = T.axis.remap("SSS", [mine, exercise, lesson])
            B[v0, v1, v2] = A[v0, v1, v2]
"""
    program = script.parse(text)
    sch = wb.Schedule(program)
    for name in ("mine", "exercise", "lesson"):
        outer, _ = sch.split(name, factors=[None, 4])
        sch.unroll(outer)
    space = {"mine": wb.Schedule(program), "exercise": None, "lesson": None}
    exec(as_code(sch.trace), space)
    assert script.show(space["mine"].func) == script.show(sch.func)
    assert space["exercise"] is None and space["lesson"] is None
