"""What is exported is data: Python written from a trace holds its calls, literals, nothing else."""

import ast
import builtins
import json
import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.schedule import programs
from tests.strategies import texts
from workbench import script
from workbench.history.step import Ref, Step
from workbench.schedule import Trace, trace_from_data, trace_to_data
from workbench.verbs.primitive import REGISTRY

LOOK_UPS = {"get_block", "get_blocks", "get_loops", "work_on"}
HOSTILE = [
    "1",
    "",
    "a b",
    '"); import os; os.system("rm -rf ~"); ("',
    "'''",
    "end\\",
    "two\nlines",
    "\u2028",
    "\0",
    "größe",
    "ﬁ",
    "ｓｃｈ",
    "²",
    "sch",
    "wb",
    "program",
    "T",
    "class",
    "print",
    "__builtins__",
    "__debug__",
    "__import__('os')",
    "</script>",
    "$x$",
]
names = st.sampled_from(HOSTILE) | texts(8)


def chain(blocks: list[str]) -> wb.Schedule:
    """A chain of additions in blocks of these names, B0 to B1 to …"""
    lines = [
        "@T.prim_func",
        'def main(B0: T.Buffer((8,), "float32"), E: T.Buffer((8,), "float32")):',
    ]
    lines += [f"    B{k} = T.alloc_buffer((8,))" for k in range(1, len(blocks))]
    for k, name in enumerate(blocks):
        to = "E" if k == len(blocks) - 1 else f"B{k + 1}"
        lines += [
            f"    for i{k} in range(8):",
            f"        with T.block({name!a}):",
            f"            vi = T.axis.spatial(8, i{k})",
            f"            {to}[vi] = B{k}[vi] + 1.0",
        ]
    return wb.Schedule(script.parse("\n".join(lines)))


def stepped(blocks: list[str], note: str) -> wb.Schedule:
    """Steps that use every block by its handle, and leave a note."""
    sch = chain(blocks)
    for block in sch.get_blocks():
        sch.annotate(block, note, note)
    sch.split(sch.get_loops(sch.get_blocks()[0])[0], factors=[None, 4])
    sch.compute_inline(sch.get_blocks()[0])
    last = sch.get_blocks()[-1]
    sch.compute_at(sch.cache_read(last, 0, "shared"), sch.get_loops(last)[0])
    return sch


def assert_only_calls(text: str) -> None:
    """Each line is one call of a primitive or a look-up, of variables and literals."""
    tree = ast.parse(text)
    given_names = {"wb", "program"}
    assert len(tree.body) == len(text.splitlines())
    for line in tree.body:
        call = line.value
        for target in line.targets if isinstance(line, ast.Assign) else ():
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                assert name.id not in given_names and not hasattr(builtins, name.id)
                assert not keyword.iskeyword(name.id) and not name.id.startswith("_")
                given_names.add(name.id)
        if isinstance(call, ast.Subscript):
            assert isinstance(ast.literal_eval(call.slice), int)
            call = call.value
        if isinstance(call, ast.Constant):  # a loop that holds no block goes by its name
            continue
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        verb, holder = call.func.attr, call.func.value
        assert isinstance(holder, ast.Name)
        known = {"Schedule"} if holder.id == "wb" else {*REGISTRY, *LOOK_UPS}
        assert holder.id in ("wb", "sch") and verb in known, verb
        for value in [*call.args, *(k.value for k in call.keywords)]:
            for item in value.elts if isinstance(value, ast.List) else [value]:
                if isinstance(item, ast.Name):
                    assert item.id in given_names
                else:
                    ast.literal_eval(item)


@pytest.mark.fuzz
@given(st.lists(names.filter(lambda n: n != "root"), min_size=2, max_size=4), names)
def test_python_of_any_names_is_calls_and_literals(blocks: list[str], note: str) -> None:
    sch = stepped(blocks, note)
    text = sch.trace.as_python()
    assert_only_calls(text)
    space = {"wb": wb, "program": chain(blocks).func}
    exec(text, space)
    again = space["sch"]
    assert repr(again.history) == repr(sch.history)
    assert script.show(again.func) == script.show(sch.func)
    assert again.trace.as_python() == text
    read = trace_from_data(json.loads(json.dumps(trace_to_data(sch.trace))))
    assert read == sch.trace and read.as_python() == text
    assert all(len(line.splitlines()) == 1 for line in repr(sch.history).split("\n"))


def test_a_block_called_1() -> None:
    sch = chain(["1", "end"])
    sch.compute_inline("1")
    assert sch.trace.as_python().splitlines()[1:] == [
        'block_1 = sch.get_block("1")',
        "sch.compute_inline(block_1)",
    ]
    assert sch.history[1].label == 'compute_inline("1")'


def test_python_of_a_module_turns_to_each_function() -> None:
    sch = wb.Schedule(script.parse(programs.MODULE))
    outer, _ = sch.split(sch.get_loops(sch.get_block("D", "second"))[0], factors=[2, 2])
    sch.work_on("first")
    sch.split(sch.get_loops("B")[0], factors=[2, 4])
    sch.unroll(outer)
    text = sch.trace.as_python()
    space = {"wb": wb, "program": script.parse(programs.MODULE)}
    exec(text, space)
    assert script.show(space["sch"].mod) == script.show(sch.mod)
    assert_only_calls(text)
    assert trace_from_data(json.loads(json.dumps(trace_to_data(sch.trace)))).as_python() == text


def data_of(sch: wb.Schedule) -> list[dict]:
    return json.loads(json.dumps(trace_to_data(sch.trace)))


def test_only_primitives_are_written_as_python() -> None:
    data = data_of(stepped(["A", "B"], "note"))
    data[0]["verb"] = "save"
    with pytest.raises(wb.ScheduleError) as refused:
        trace_from_data(data).as_python()
    assert str(refused.value) == (
        "Can't take step 1: there is no primitive 'save'.\n"
        "do:    the trace may be of a newer workbench"
    )


@pytest.mark.parametrize(
    "place, value",
    [
        (("kwargs",), {"factors=[1]); import os; (": 1}),
        (("args", 0, "step"), 7),
        (("args", 0, "index"), None),
        (("args", 0, "index"), 4),
        (("made",), []),
    ],
)
def test_a_forged_trace_is_not_written_as_python(place: tuple, value: object) -> None:
    sch = chain(["A", "B"])
    outer, _ = sch.split(sch.get_loops("A")[0], factors=[2, 4])
    sch.unroll(outer)
    data = data_of(sch)
    inner = data[0]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(wb.ScheduleError, match=r"Can't write step \d, \w+, as Python"):
        trace_from_data(data).as_python()


def test_a_trace_without_what_its_steps_made_is_replayed() -> None:
    sch = stepped(["A", "B"], "note")
    data = [{k: v for k, v in s.items() if k not in ("made", "single", "alone")}
            for s in data_of(sch)]  # fmt: skip
    again = wb.Schedule.replay(chain(["A", "B"]).func, trace_from_data(data))
    assert again.trace.as_python() == sch.trace.as_python()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_refused(value: float) -> None:
    sch = chain(["A", "B"])
    with pytest.raises(wb.ScheduleError, match="Can't annotate: ann_val takes"):
        sch.annotate("A", "note", value)
    data = data_of(stepped(["A", "B"], "note"))
    for told in ([value], {"entries": {"a": value}}):
        data[0]["kwargs"] = {"factors": told}
        with pytest.raises(wb.ScheduleError, match="where a value should be"):
            trace_from_data(json.loads(json.dumps(data)))


@pytest.mark.parametrize("entries", [3, [1], {"a": None}, {"a": {"kind": "loop"}}, {"\ud800": 1}])
def test_dictionaries_hold_plain_data(entries: object) -> None:
    data = data_of(stepped(["A", "B"], "note"))
    data[0]["kwargs"] = {"factors": {"entries": entries}}
    with pytest.raises(wb.ScheduleError, match="damaged"):
        trace_from_data(data)


def test_a_hand_made_step_is_checked_too() -> None:
    ref = Ref("loop", 0, index=0, name="x\nimport os")
    text = Trace((Step("unroll", (ref,)),)).as_python()
    assert_only_calls(text)
    with pytest.raises(wb.ScheduleError, match="no primitive"):
        Trace((Step("__init__", (1,)),)).as_python()
