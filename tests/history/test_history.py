"""The history: one tree of programs, cursors that move in it, handles that know where they are."""

from threading import Thread

import pytest

import workbench as wb
from tests.schedule import programs
from workbench import ir, script
from workbench.ir.places import places
from workbench.schedule import HistoryNode, ScheduleError


@pytest.fixture
def sch() -> wb.Schedule:
    return wb.Schedule(script.parse(programs.MATMUL))


def test_undo_and_redo_walk_the_path(sch: wb.Schedule) -> None:
    sch.split("i", factors=[None, 4])
    middle = sch.func
    sch.fuse("j", "k")
    last = sch.func
    sch.undo()
    assert sch.func is middle
    sch.undo()
    assert sch.node is sch.history.root
    sch.redo()
    sch.redo()
    assert sch.func is last


def test_redo_follows_the_branch_that_was_left(sch: wb.Schedule) -> None:
    sch.unroll("k")
    sch.undo()
    sch.vectorize("j")
    sch.undo()
    sch.redo()
    assert sch.node.label == "vectorize(j)"
    sch.goto(1)
    sch.undo()
    sch.redo()
    assert sch.node.label == "unroll(k)"


def test_every_program_on_the_way_is_found(sch: wb.Schedule) -> None:
    for k in range(40):
        sch.annotate("i", "note", k)
        if k % 17 == 16:
            sch.goto(k // 2)
    for node in sch.history:
        assert [node.after(k) for k in range(node.depth + 1)] == node.path()


def test_an_equal_step_enters_the_same_program(sch: wb.Schedule) -> None:
    first = sch.split("i", factors=[None, 4])
    sch.undo()
    again = sch.split(sch.get_loops("C")[0], [None, 4], preserve_unit_iters=True)
    assert again == first and [h.key for h in again] == [h.key for h in first]
    assert len(sch.history) == 2
    sch.undo()
    sch.split("i", factors=[None, 2])
    assert len(sch.history) == 3


def test_a_step_told_in_another_way_enters_the_same_program(sch: wb.Schedule) -> None:
    cache = sch.cache_read("C", 0, "shared")
    node = sch.node
    sch.goto(0)
    assert sch.cache_read("C", "A", "shared") == cache and sch.node is node
    sch.goto(0)
    sch.cache_read("C", "A", "local")
    assert sch.node is not node and len(sch.history) == 3


def test_a_cell_may_run_again_after_goto(sch: wb.Schedule) -> None:
    for _ in range(3):
        sch.goto(0)
        i, j, _k = sch.get_loops("C")
        _, i_1 = sch.split(i, factors=[None, 4])
        sch.reorder(j, i_1)
        sch.mark("tiled")
    assert len(sch.history) == 3
    assert sch.history.find("tiled") is sch.node


def test_unchanged_parts_are_the_same_objects() -> None:
    sch = wb.Schedule(script.parse(programs.TWO))
    second = sch.func.root.body.stmts[1]  # type: ignore[union-attr]
    sch.split(sch.get_loops("B")[0], factors=[None, 4])
    assert sch.func.root.body.stmts[1] is second  # type: ignore[union-attr]


def test_what_does_not_use_a_loop_is_shared() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((1,), "float32")):
    for i in range(8):
        for j in range(1):
            with T.block("C"):
                vj = T.axis.spatial(1, 0 + j)
                C[vj] = A[0]
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
"""
    sch = wb.Schedule(script.parse(program))
    other = places(sch.func).loops_above(places(sch.func).order[3])[1]
    sch.split("i", factors=[2, 4])
    assert other in places(sch.func).loops.values()


def test_numbers_count_creation_and_stay(sch: wb.Schedule) -> None:
    sch.unroll("k")
    sch.undo()
    sch.vectorize("j")
    sch.goto(1)
    sch.vectorize("j")
    assert [node.id for node in sch.history] == [0, 1, 2, 3]
    assert [node.parent.id for node in sch.history if node.parent] == [0, 0, 1]


def test_two_threads_that_add_give_no_number_twice(
    sch: wb.Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sch.fork()
    click = Thread(target=lambda: other.annotate("i", "clicked", 1))
    init = HistoryNode.__init__

    def slow(self: HistoryNode, *args: object) -> None:
        if click.ident is None:
            click.start()
            click.join(0.2)  # it cannot end before this node stands
        init(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(HistoryNode, "__init__", slow)
    sch.annotate("i", "from a cell", 1)
    click.join()
    assert [node.id for node in sch.history] == [0, 1, 2]


def test_a_mark_is_text_that_a_file_can_hold(sch: wb.Schedule) -> None:
    for name in ("", None, 3, "half a \ud83d"):
        with pytest.raises(ScheduleError, match="Can't mark with"):
            sch.mark(name)  # type: ignore[arg-type]
    assert [node.mark for node in sch.history] == [""]


def test_a_mark_moves_with_its_name(sch: wb.Schedule) -> None:
    sch.mark("here")
    sch.unroll("k")
    sch.mark("here")
    assert [node.mark for node in sch.history] == ["", "here"]
    sch.goto(0)
    sch.goto("here")
    assert sch.node.id == 1


def test_a_fork_moves_on_its_own_in_the_same_tree(sch: wb.Schedule) -> None:
    other = sch.fork()
    seen: list[HistoryNode] = []
    stop = sch.history.observe(seen.append)
    j_0, _ = other.split("j", factors=[2, 4])
    assert sch.node is sch.history.root and other.node is seen[0]
    sch.goto(other.node)
    sch.bind(j_0, "blockIdx.x")  # a handle is good for every cursor of its tree
    sch.mark("bound")
    assert [node.label for node in seen] == [
        "split(j, factors=[2, 4])",
        'bind(j_0, "blockIdx.x")',
        'bind(j_0, "blockIdx.x")',
    ]
    stop()
    sch.unroll("k")
    assert len(seen) == 3


def test_handles_outlive_steps_on_other_loops(sch: wb.Schedule) -> None:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.split(j, factors=[2, 4])
    sch.reorder(k, i)
    assert sch.get_loops(block)[0] == k and sch.get_loops(block)[-1] == i
    assert (i.name, block.name, repr(i), repr(block)) == ("i", "C", "<loop i>", "<block C>")
    assert i != wb.Schedule(sch.mod).get_loops("C")[1], "another schedule's are others"


def test_questions() -> None:
    sch = wb.Schedule(script.parse(programs.TWO))
    b, c = sch.get_blocks()
    assert (b.name, c.name) == ("B", "C")
    assert sch.get_blocks("C") == [c] and sch.get_blocks("D") == []
    assert sch.get_producers(c) == [b] and sch.get_consumers("B") == [c]
    assert sch.get_producers(b) == [] and sch.get_consumers(c) == []
    assert sch.get_child_blocks("root") == [b, c]
    assert sch.get_child_blocks(sch.get_loops(c)[0]) == [c]
    assert sch.get_loops("root") == []


def test_a_module_has_several_functions() -> None:
    sch = wb.Schedule(script.parse(programs.MODULE))
    block = sch.get_block("D", func_name="second")
    (x,) = sch.get_loops(block)
    sch.split(x, factors=[2, 2])  # a handle says in which function it is
    sch.work_on("second")
    sch.bind("x_0", "blockIdx.x")
    assert [f.name for f in sch.mod.functions] == ["first", "second"]
    assert sch.node.step is not None and sch.node.step.func == "second"
    again = wb.Schedule.replay(script.parse(programs.MODULE), sch.trace)
    assert script.show(again.mod) == script.show(sch.mod)


def test_the_history_shows_as_a_tree(sch: wb.Schedule) -> None:
    sch.split("i", factors=[None, 4])
    sch.mark("tiled")
    sch.unroll("k")
    sch.goto("tiled")
    sch.annotate("k", "note", [1, "two"])
    assert repr(sch.history) == "\n".join(
        [
            "  0 start",
            '  1 split(i, factors=[None, 4])  "tiled"',
            "  2   unroll(k)",
            '  3   annotate(k, "note", ann_val=[1, "two"])',
        ]
    )
    assert repr(sch) == ('<Schedule of main at step 3: annotate(k, "note", ann_val=[1, "two"])>')


def test_diff_prints_what_a_step_changed(sch: wb.Schedule, capsys: pytest.CaptureFixture) -> None:
    sch.unroll("k")
    sch.diff()
    last = capsys.readouterr().out
    sch.diff(0, 1)
    assert capsys.readouterr().out == last
    assert "T.unroll(8)" in last


def test_diff_is_of_the_function_that_changed(capsys: pytest.CaptureFixture) -> None:
    sch = wb.Schedule(script.parse(programs.MODULE))
    sch.unroll(sch.get_loops(sch.get_block("D", "second"))[0])
    sch.diff()
    out = capsys.readouterr().out
    assert "for x in T.unroll(4)" in out and "def first" not in out


def test_a_program_is_never_changed(sch: wb.Schedule) -> None:
    before = sch.func
    text = script.show(before)
    sch.split("i", factors=[3, None])
    assert script.show(before) == text
    assert not ir.structural_equal(before, sch.func)


def test_true_and_one_are_two_notes():
    sch = wb.Schedule(script.parse(programs.MATMUL))
    block = sch.get_blocks()[0]
    texts = set()
    for value in (1, True, 1.0, 0.0, -0.0, "1", 1):
        sch.goto(0)
        sch.annotate(block, "note", value)
        texts.add(sch.func.script())
    assert len(texts) == len(sch.history) - 1 == 6


def test_what_is_done_together_is_told_once():
    sch = wb.Schedule(script.parse(programs.MATMUL))
    seen: list[object] = []
    sch.history.observe(seen.append)
    with sch.history.together():
        for value in range(3):
            sch.annotate(sch.get_blocks()[0], "note", value)
        assert seen == []
    assert seen == [sch.node]


def test_redo_goes_the_way_that_was_gone_last():
    sch = wb.Schedule(script.parse(programs.MATMUL))
    block = sch.get_blocks()[0]
    sch.annotate(block, "left", 1)
    sch.annotate(block, "leaf", 1)
    leaf = sch.node
    sch.goto(0)
    sch.annotate(block, "right", 1)
    right = sch.node
    sch.goto(leaf)
    sch.undo()
    sch.undo()
    sch.redo()
    sch.redo()
    assert sch.node is leaf
    sch.goto(right)
    sch.undo()
    sch.redo()
    assert sch.node is right


def test_which_function_is_meant_is_to_be_said() -> None:
    sch = wb.Schedule(script.parse(programs.MODULE))
    assert sch.func_working_on is None and repr(sch).startswith("<Schedule of first at")
    told = """\
found: they are first, second; none is called main
do:    say it: sch.work_on("first")"""
    for ask, headline in (
        (lambda: sch.func, "Can't work on a function: "),
        (lambda: sch.get_block("B"), "Can't find `B`: "),
        (lambda: sch.split("i", factors=[2, 4]), "Can't split `i`: "),
        (lambda: sch.actions("i"), "Can't list actions at `i`: "),
        (lambda: wb.build(sch), "Can't work on a function: "),
    ):
        with pytest.raises(wb.ScheduleError) as refused:
            ask()
        lines = str(refused.value).splitlines()
        assert lines[0] == headline + "which of 2 functions is meant is not said."
        assert "\n".join(lines[-2:]) == told
    sch.work_on("second")
    assert sch.func_working_on == "second" and sch.func.name == "second"
    assert sch.get_block("D").name == "D"


def test_what_writes_for_outside(sch: wb.Schedule) -> None:
    sch.cache_write("C", 0, "local")
    assert [block.name for block in sch.get_output_blocks("root")] == ["C_local"]
    outer = sch.blockize(sch.get_loops("C")[-1])
    assert sch.get_output_blocks(outer) == sch.get_child_blocks(outer)
    with pytest.raises(wb.ScheduleError, match="main has no block of that name"):
        sch.get_output_blocks("Q")
