"""Exercises: solutions pass, every wrong answer is told why it is wrong."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared
from tests.lesson.test_compare import TWO
from tests.widgets.programs import bind_both
from workbench import lesson, script
from workbench.diag import Fail
from workbench.lesson import record, solutions
from workbench.lesson.convolutions import fetch_together, share_out
from workbench.lesson.edge import loads_without_output
from workbench.lesson.exercise import NAMES, RESULT
from workbench.lesson.faults import FAULTS, fault
from workbench.lesson.goals import at_most_barriers
from workbench.lesson.tile_convolutions import tensor_cores
from workbench.runtime import recorded
from workbench.schedule import Schedule
from workbench.widgets.run.runner import STOPPED, Runner

ROOT = Path(__file__).parents[2]


def bound(sch: Schedule, factors: list) -> None:
    (i,) = sch.get_loops(sch.get_blocks()[0])
    i_0, i_1, *_ = sch.split(i, factors=factors)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")


def one_block(sch: Schedule) -> None:
    (i,) = sch.get_loops(sch.get_blocks()[0])
    sch.bind(i, "threadIdx.x")


def cached(sch: Schedule) -> None:
    bound(sch, [None, 128])
    block = sch.get_block("B")
    sch.compute_at(sch.cache_read(block, 0, "shared"), sch.get_loops(block)[-1])


def whole_cache(sch: Schedule) -> None:
    bound(sch, [None, 128])
    sch.cache_read(sch.get_block("B"), 0, "shared")


def product(sch: Schedule, rows: tuple, columns: tuple, *, keep: str = "", depth: int = 0) -> None:
    """Tiles of a product, bound; A and B kept in memory of the scope `keep` under k."""
    block = sch.get_block("C")
    write_back = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, factors=[None, *rows])
    j_0, j_1, j_2 = sch.split(j, factors=[None, *columns])
    k_0, k_1 = sch.split(k, factors=[None, depth or 1])
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2)
    sch.reverse_compute_at(write_back, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    if keep == "shared":
        sch.bind(sch.fuse(i_1, j_1), "threadIdx.x")
    else:
        sch.bind(i_1, "threadIdx.y")
        sch.bind(j_1, "threadIdx.x")
    for which in (0, 1) if keep else ():
        fetch = sch.cache_read(block, which, keep)
        sch.compute_at(fetch, k_0)
        if keep == "shared":
            fused = sch.fuse(*sch.get_loops(fetch)[-2:])
            _, thread = sch.split(fused, factors=[None, rows[0] * columns[0]])
            sch.bind(thread, "threadIdx.x")
    sch.decompose_reduction(block, k_0)


def convolve(sch: Schedule, across: int, copies: int, step: int = 8) -> None:
    """The convolution in blocks of 8 x `across` threads with 8 x 8 outputs."""
    fetched = [sch.cache_read("B", which, "shared") for which in (0, 1)]
    sch.compute_inline("Apad")
    share_out(sch, (8, 8), (8, across), (1, copies), step)
    for name in fetched:
        sch.compute_at(name, "rx")
        fetch_together(sch, name, (8, across))


def one_output_each(sch: Schedule) -> None:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.bind(i, "blockIdx.x")
    j_0, j_1 = sch.split(j, factors=[None, 32])
    sch.bind(j_0, "blockIdx.y")
    sch.bind(j_1, "threadIdx.x")
    sch.decompose_reduction(block, k)


def bound_sum(sch: Schedule) -> None:
    """As far as it goes: the sum itself cannot be bound, so nothing runs on a GPU."""
    sch.cache_write("C", 0, "local")


def bound_tiles(sch: Schedule) -> None:
    """All that lesson 9's exercise leaves unbound."""
    i_0, j_0, tx, *_ = sch.get_loops("C_update")
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    for name in ("A_shared", "B_shared"):
        sch.bind(sch.get_loops(name)[-1], "threadIdx.x")


BEHIND = [0, 3, 1, 4, 2]  # both stores


def pipelined(sch: Schedule, order: list[int], copies: int) -> None:
    bound_tiles(sch)
    for name in ("A_shared", "B_shared"):
        held = sch.cache_read(name, 0, "local")
        sch.compute_at(held, "k_0")
        cells = sch.fuse(*sch.get_loops(held)[-2:])
        sch.bind(sch.split(cells, factors=[None, 64])[1], "threadIdx.x")
    both = {"A_shared": copies, "B_shared": copies}
    sch.pipeline("k_0", [0, 0, 0, 0, 1], order, both)


def overlapped(
    sch: Schedule, warps: tuple[int, int] = (2, 1), *, swizzle: bool = True, stages: int = 2
) -> None:
    """The steps of lesson 11, with so many tiles ahead of the one that is used."""
    lesson.in_tiles(sch, "mma", (64, 64), warps, 64)
    lesson.by_calls(sch, "mma")
    for name in ("A_shared", "B_shared") if swizzle else ():
        sch.annotate(name, "permuted_layout", 1)
    sch.pipeline("k_0", [0, 0, stages], async_stages=[0])


def rows_and_columns(sch: Schedule) -> None:
    """A block for each row, in both stages."""
    for name in ("H", "B"):
        i, j = sch.get_loops(name)
        sch.bind(i, "blockIdx.x")
        sch.bind(j, "threadIdx.x")


def computed_again(sch: Schedule) -> None:
    sch.compute_inline("H")
    i, j = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")


def one_large_block(sch: Schedule) -> None:
    """As the solution, but one block does it all."""
    i, j = sch.get_loops("B")
    sch.bind(j, "threadIdx.x")
    sch.bind(sch.split(i, factors=[1, None])[0], "blockIdx.x")


HALF = "at most 57,728 global loads and stores, half of the naive kernel's"
WARPS = "32 to 256 threads in a block, a multiple of 32"
BLOCKS, MANY = "at least 4 blocks", "at least 16 blocks"
EACH = "a thread for each cell, at most 24 idle"
AHEAD = "the next tile on its way to registers while this one is used"
ONE_EACH = "at most 8 barriers for each block"
TURN = "1 wavefront for each of a warp's reads of shared memory"

WRONG: list[tuple[str, str, Callable[[Schedule], None], str]] = [
    ("odd_vector", "nothing done", lambda sch: None, RESULT),
    ("odd_vector", "too few threads", lambda sch: bound(sch, [None, 8]), WARPS),
    ("odd_vector", "no whole warps", lambda sch: bound(sch, [8, 125]), WARPS),
    ("odd_vector", "one block", one_block, MANY),
    ("odd_vector", "three blocks", lambda sch: bound(sch, [3, 352]), MANY),
    ("odd_vector", "the split of the lesson", lambda sch: bound(sch, [None, 128]), MANY),
    ("odd_vector", "idle threads", lambda sch: bound(sch, [16, 128]), EACH),
    ("odd_vector", "half of the threads idle", lambda sch: bound(sch, [8, 128, 2]), EACH),
    ("odd_vector", "two cells a thread", lambda sch: bound(sch, [4, 128, 2]), EACH),
    ("wide_window", "nothing done", lambda sch: None, RESULT),
    (
        "wide_window",
        "no cache",
        lambda sch: bound(sch, [None, 128]),
        "at most 1.25 global loads for each output",
    ),
    ("wide_window", "everybody fetches all", cached, "at most 1.25 global loads for each output"),
    ("wide_window", "cache across kernels", whole_cache, RESULT),
    ("few_loads", "only a copy for the sums", bound_sum, RESULT),
    (
        "few_loads",
        "sums in global memory",
        one_output_each,
        "at most 1 global store for each output",
    ),
    (
        "few_loads",
        "one output a thread",
        one_output_each,
        "at most 21 global loads for each output",
    ),
    (
        "few_loads",
        "nothing kept",
        lambda s: product(s, (8, 4), (4, 4)),
        "at most 21 global loads for each output",
    ),
    (
        "few_loads",
        "tiles of 2 x 2",
        lambda s: product(s, (8, 2), (4, 2), keep="local"),
        "at most 21 global loads for each output",
    ),
    ("few_loads", "16 threads", lambda s: product(s, (4, 4), (4, 4), keep="local"), WARPS),
    (
        "few_loads",
        "two blocks",
        lambda s: product(s, (8, 4), (12, 4), keep="local"),
        BLOCKS,
    ),
    (
        "small_tiles",
        "no sharing",
        lambda s: product(s, (8, 8), (8, 8), keep="local"),
        "at most 3 global loads for each output",
    ),
    (
        "small_tiles",
        "small tile",
        lambda s: product(s, (8, 4), (8, 4), keep="shared", depth=8),
        "at most 3 global loads for each output",
    ),
    (
        "small_tiles",
        "deep tile",
        lambda s: product(s, (8, 8), (8, 8), keep="shared", depth=16),
        "at most 3,072 bytes of shared memory for each block",
    ),
    (
        "small_tiles",
        "the tile of the lesson",
        lambda s: blocking_with_shared(s, 8, 8, 8, 8, 8),
        "at most 3,072 bytes of shared memory for each block",
    ),
    (
        "small_tiles",
        "flat tile",
        lambda s: product(s, (8, 8), (8, 8), keep="shared", depth=4),
        "at most 16 barriers for each block",
    ),
    (
        "small_tiles",
        "too few threads",
        lambda s: product(s, (4, 16), (4, 16), keep="shared", depth=8),
        WARPS,
    ),
    ("one_turn", "nothing done", lambda s: None, RESULT),
    ("one_turn", "tiles of neighbours", lambda s: convolve(s, across=16, copies=1), TURN),
    ("one_turn", "too few virtual threads", lambda s: convolve(s, across=16, copies=2), TURN),
    (
        "one_turn",
        "two blocks for the pictures",
        lambda s: convolve(s, across=8, copies=2),
        "at most 1.1 global loads for each output",
    ),
    (
        "one_turn",
        "few channels at a time",
        lambda s: convolve(s, across=16, copies=4, step=4),
        "at most 18 barriers for each block",
    ),
    ("one_ahead", "nothing done", lambda s: None, RESULT),
    ("one_ahead", "as lesson 4 has it", bound_tiles, AHEAD),
    ("one_ahead", "stored ahead of the work", lambda s: pipelined(s, [0, 1, 2, 3, 4], 2), AHEAD),
    ("one_ahead", "one copy", lambda s: pipelined(s, BEHIND, 1), ONE_EACH),
    (
        "one_ahead",
        "three copies",
        lambda s: pipelined(s, BEHIND, 3),
        "at most 4,096 bytes of shared memory for each block",
    ),
    ("warp_tiles", "nothing done", lambda s: None, RESULT),
    (
        "warp_tiles",
        "square tiles",
        lambda s: tensor_cores(s, (2, 2), (2, 2), 1),
        "at most 27 shared loads for each output",
    ),
    (
        "warp_tiles",
        "more tiles than the sums have room for",
        lambda s: tensor_cores(s, (1, 2), (4, 4), 1),
        "at most 64 registers of each thread for the sums of its warp",
    ),
    (
        "warp_tiles",
        "two tiles of channels at a time",
        lambda s: tensor_cores(s, (2, 2), (2, 4), 2),
        "at most 20,480 bytes of shared memory for each block",
    ),
    ("copies_ahead", "nothing done", lambda s: None, RESULT),
    (
        "copies_ahead",
        "small tiles for a warp",
        lambda s: overlapped(s, (2, 2)),
        "at most 12 shared loads for each output",
    ),
    (
        "copies_ahead",
        "rows as they come",
        lambda s: overlapped(s, swizzle=False),
        "no wavefront of shared memory for a bank that is taken",
    ),
    (
        "copies_ahead",
        "one tile ahead",
        lambda s: overlapped(s, stages=1),
        "at least 1 group of copies left under way where a thread waits",
    ),
    (
        "copies_ahead",
        "four tiles",
        lambda s: overlapped(s, stages=3),
        "at most 49,152 bytes of shared memory for each block",
    ),
    ("own_operator", "no steps", lambda sch: None, RESULT),
    ("own_operator", "stored whole", rows_and_columns, HALF),
    ("own_operator", "computed again", computed_again, HALF),
    (
        "own_operator",
        "one large block",
        lambda s: (s.compute_inline("H"), one_large_block(s)),
        BLOCKS,
    ),
]


@pytest.mark.lesson
@pytest.mark.parametrize("variant", [1, 2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_the_solution_reaches_every_goal(name: str, variant: int):
    exercise = lesson.exercise(name, variant=variant)
    mine = exercise.schedule()
    exercise.solution(mine)
    report = exercise.check(mine)
    assert report, str(report)
    assert str(report).startswith(f"Solved: {exercise.name}. All ")


@pytest.mark.parametrize("name", NAMES)
def test_variants_ask_the_same_of_other_programs(name: str):
    """The solution of one is no solution of another that has other goals or sizes."""
    variants = [lesson.exercise(name, variant=k) for k in (1, 2, 3, 4)]
    assert len({script.show(v.program) + v.task for v in variants}) == 4
    assert len({v.key for v in variants}) == 4 and variants[0].key == name
    assert {v.points for v in variants} == {variants[0].points}
    for wrong in (5, 2.0):
        with pytest.raises(Fail) as refused:
            lesson.exercise(name, variant=wrong)  # type: ignore[arg-type]
        assert str(refused.value) == (
            f"Can't find variant {wrong} of {name!r}: there are 4.\ndo:    ask for 1 to 4"
        )


@pytest.mark.parametrize("name", NAMES)
def test_hints_go_from_a_question_to_a_step_and_not_to_the_solution(name: str):
    exercise = lesson.exercise(name)
    assert len(exercise.hints) == 3 and "?" in exercise.hint(1)
    assert repr(exercise.hint(2)) == exercise.hint(2), "a notebook shows it without quotes"
    assert all(len(line) <= 88 for line in exercise.hint(3).splitlines())
    told = re.findall(r"factors=(\[None, [\d, ]+\])|(axis=.*)\)", exercise.show_solution())
    numbers = [factors or aligned for factors, aligned in told]
    assert numbers and not [n for n in numbers for hint in exercise.hints if n in hint]


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_can_be_done_in_its_lab_and_another_as_code_only(name: str):
    """The lab offers at once every verb that a solution takes; the second exercise has no lab."""
    exercise = lesson.exercise(name)
    mine = exercise.schedule()
    exercise.solution(mine)
    notebook = json.loads((ROOT / "lessons" / f"{exercise.lesson}.ipynb").read_text("utf-8"))
    cells = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    (offered,) = re.findall(r"actions=(\[[^\]]*\])", cells["exercise-lab"])
    assert {step.verb for step in mine.trace} <= set(json.loads(offered))
    assert f'lesson.exercise("{name}", variant=2)' in cells["code-task"]
    ids = [*cells]
    between = ids[ids.index("code-task") : ids.index("code-check") + 1]
    assert between == ["code-task", "code-start", "code-check"]
    assert not [cell for cell in between if "wb.lab" in cells[cell]]


@pytest.mark.parametrize("given", ["1", "true", "on"])
def test_solutions_can_be_switched_off(given: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORKBENCH_CLASS", given)
    with pytest.raises(Fail) as refused:
        lesson.exercise("odd_vector").show_solution()
    assert str(refused.value) == (
        f"Can't show the solution: solutions are switched off here (WORKBENCH_CLASS={given}).\n"
        "do:    ask for a hint: exercise.hint(1)"
    )


def test_solutions_are_not_installed_with_the_lessons(monkeypatch: pytest.MonkeyPatch):
    """A wheel has what `only-include` names; there the exercises do without."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["only-include"] == ["workbench", "lessons"]
    assert solutions.FOLDER == ROOT / "solutions"
    assert f"{project['project']['urls']['Source']}/tree/main/solutions" == solutions.HOME
    labels = [run.label for run in recorded.all_runs() if run.label.startswith("exercise")]
    assert labels and not [label for label in labels if "(" in label]
    monkeypatch.setattr(solutions, "FOLDER", ROOT / "nowhere")
    exercise = lesson.exercise("odd_vector", variant=2)
    with pytest.raises(Fail) as refused:
        exercise.show_solution()
    assert str(refused.value) == (
        "Can't show the solution: solutions are not installed with the lessons.\n"
        f"do:    ask for a hint, exercise.hint(1), or look at {solutions.HOME}"
    )
    assert exercise.check(exercise.schedule()) == 0 and exercise.hint(1)


def test_the_most_points_are_kept_where_the_lesson_keeps_its_work(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exercise = lesson.exercise("odd_vector", variant=2)
    mine = exercise.schedule()
    exercise.solution(mine)
    exercise.check(mine)
    assert not list(tmp_path.iterdir()), "a grader's folder stays as it is"
    (tmp_path / "my-work").mkdir()
    exercise.check(mine)
    exercise.check(exercise.schedule())
    kept = record.read(record.file_of("01_vector_add"))["points"]
    assert kept == {"odd_vector 2": {"points": 4, "of": 4}}


@pytest.mark.lesson
@pytest.mark.parametrize("name", NAMES)
def test_the_solution_that_is_shown_runs(name: str):
    exercise = lesson.exercise(name)
    scope = {"exercise": exercise}
    exec(exercise.show_solution(), scope)
    assert exercise.check(scope["mine"])


@pytest.mark.lesson
@pytest.mark.parametrize(("name", "what", "steps", "missed"), WRONG, ids=[w[1] for w in WRONG])
def test_a_wrong_answer_misses_its_goal(name, what, steps, missed):
    exercise = lesson.exercise(name)
    mine = exercise.schedule()
    steps(mine)
    report = exercise.check(mine)
    assert not report and report.headline.startswith("Not yet: ")
    rows = {row.goal: row for row in report.rows}
    assert not rows[missed].ok, str(report)
    assert rows[missed].found and rows[missed].say


def test_one_thread_is_counted_as_one():
    exercise = lesson.exercise("odd_vector")
    mine = exercise.schedule()
    outer, _ = mine.split("i", factors=[None, 2048])
    mine.bind(outer, "blockIdx.x")
    _, threads, blocks, idle = (row.found for row in exercise.check(mine).rows)
    assert (threads, blocks) == ("1 thread", "1 block")
    assert idle == "1 thread for 1,000 cells, 0 idle"


def test_a_lab_is_checked_where_it_stands(tmp_path: Path, monkeypatch):
    """Not where the schedule stands that it was opened on: a lab has a cursor of its own."""
    monkeypatch.chdir(tmp_path)
    exercise = lesson.exercise("odd_vector")
    mine = exercise.schedule()
    lab = wb.lab(mine)
    bind_both(lab, "[None, 64]")
    assert exercise.check(lab)
    lab.at = 1
    assert not exercise.check(lab)
    bound(mine, [None, 32])  # steps as code, and then a lab
    assert exercise.check(wb.lab(mine)).rows[1].found == "32 threads"


def said(name: str, steps: Callable[[Schedule], None], goal: str) -> tuple[str, str]:
    """What the report says of a goal: what was found, and the sentence below it."""
    exercise = lesson.exercise(name)
    mine = exercise.schedule()
    steps(mine)
    row = next(row for row in exercise.check(mine).rows if row.goal == goal)
    return row.found, row.say


FEW = "at most 21 global loads for each output"
MORE = (
    "Give each thread 4 x 4 outputs or more, and let it keep what it loads for one k: cache_read "
    "A and B to local, compute_at the loop over k outside the tile."
)


@pytest.mark.parametrize(
    ("tiles", "found", "say"),
    [
        (
            (4, 4, 4, 8, 4),
            "23.83 (69,760 in all)",
            "9,760 of the 69,760 loads are made by threads that have no output: blocks of 16 x 32 "
            "outputs cover 64 x 64 cells, and there are 61 x 48. Take tiles that reach less far "
            "over the edge.",
        ),
        (
            (6, 3, 2, 16, 4),
            "21.20 (62,080 in all)",
            "1,920 of the 62,080 loads are made by threads that have no output: blocks of 12 x 48 "
            "outputs cover 72 x 48 cells, and there are 61 x 48. Take tiles that reach less far "
            "over the edge.",
        ),
        (
            (2, 2, 8, 16, 4),
            "47.65 (139,520 in all)",
            "21,440 of the 139,520 loads are made by threads that have no output: blocks of 16 x "
            "32 outputs cover 64 x 64 cells, and there are 61 x 48. Take tiles that reach less far "
            f"over the edge. {MORE}",
        ),
        ((4, 3, 4, 8, 4), "23.83 (69,760 in all)", MORE),
    ],
)
def test_loads_at_the_edge_are_told_from_tiles_that_are_too_small(tiles, found: str, say: str):
    assert said("few_loads", lambda s: blocking(s, *tiles, keep=True), FEW) == (found, say)


def test_what_a_thread_fetches_for_others_is_not_wasted():
    mine = lesson.exercise("few_loads").schedule()
    product(mine, (8, 4), (6, 4), keep="shared", depth=8)
    assert loads_without_output(mine.func) == 0


@pytest.mark.lesson
def test_what_is_said_of_a_goal_is_true_whatever_the_program():
    """Of a smaller tile than the solution's, and of a window that shares nothing."""
    small = lambda s: blocking_with_shared(s, 4, 4, 4, 4, 16)  # noqa: E731
    plain = lambda s: bound(s, [None, 128])  # noqa: E731
    barrier = "At a barrier all threads of a block wait for the last of them."
    shared = (
        "The blocks on one multiprocessor divide its shared memory: the less each takes, the more "
        "of them can run there."
    )
    bytes_, barriers = "bytes of shared memory for each block", "for each block"
    assert said("small_tiles", small, f"at most 3,072 {bytes_}") == ("2,048 bytes", shared)
    assert said("small_tiles", small, f"at most 16 barriers {barriers}") == (
        "8 for each block",
        barrier,
    )
    assert said("wide_window", plain, f"at most 1 barrier {barriers}") == (
        "0 for each block",
        barrier,
    )
    assert said("wide_window", plain, f"at most 1,100 {bytes_}") == ("0 bytes", shared)


def test_all_goals_are_listed_from_the_start():
    exercise = lesson.exercise("few_loads")
    goals = [
        "  · 32 to 256 threads in a block, a multiple of 32",
        "  · at least 4 blocks",
        "  · at most 1 global store for each output",
        "  · at most 21 global loads for each output",
    ]
    listed = ["", "Goals, a point each:", f"  · {RESULT}", *goals]
    assert str(exercise).splitlines()[-len(listed) :] == listed
    assert str(exercise.check(exercise.schedule())).splitlines()[:-2] == [
        "Not yet: 0 of 5 goals are reached.",
        "  ✕ the same result as before: Can't build this: no loop of `C` is bound to blocks or "
        "threads, so no GPU thread runs it.",
        "      The other goals wait for this one: a fast wrong answer is worth nothing.",
        *goals,
    ]


def test_only_one_row_or_all_rows_divide_the_few_loads():
    """As the task says; with either, no tile of whole warps reaches the other goals."""
    rows, columns = lesson.exercise("few_loads").program.params[2].shape
    assert [n for n in range(1, rows + 1) if rows % n == 0] == [1, rows]
    assert 40 + 40 / columns > 21, "one row: each output loads all of its column of B"
    assert -(-columns // 32) < 4, "all rows, and 32 threads side by side: fewer than 4 blocks"


@pytest.mark.parametrize("name", ["few_loads", "small_tiles"])
def test_another_order_of_the_sum_is_right_too(name: str):
    """The inputs add exactly: what only rounds otherwise is not called wrong."""
    exercise = lesson.exercise(name)
    mine = exercise.schedule()
    block = mine.get_block("C")
    i, j, k = mine.get_loops(block)
    k_0, k_1 = mine.split(k, factors=[None, 8])
    mine.reorder(i, j, k_1, k_0)
    mine.bind(i, "blockIdx.x")
    mine.bind(j, "threadIdx.x")
    mine.decompose_reduction(block, k_1)
    assert lesson.check_result(mine.func, exercise.program) == ""


def test_a_wrong_product_is_found_by_the_inputs():
    right = lesson.exercise("few_loads").program
    text = script.show(right)
    for old, new in (
        ("A[vi, vk]", "A[60 - vi, vk]"),
        ("B[vk, vj]", "B[39 - vk, vj]"),
        ("A[vi, vk] * B", "A[vi, vk] + B"),
        ("T.float32(0)", "T.float32(1)"),
    ):
        wrong = text.replace(old, new)
        assert wrong != text
        kept = (line for line in wrong.splitlines() if not re.search(r"T\.(reads|writes)", line))
        sch = Schedule(script.parse("\n".join(kept)))
        product(sch, (8, 4), (4, 4))
        assert lesson.check_result(sch.func, right), new


def test_a_wrong_result_is_found_by_the_inputs():
    """A program that computes something else, passed off as a schedule of the right one."""
    right = lesson.exercise("odd_vector").program
    text = script.show(right)
    for wrong in (
        text.replace("A[vi] + B[vi]", "A[vi] - B[vi]"),
        text.replace("A[vi] + B[vi]", "A[vi] + A[vi]"),
        text.replace("A[vi] + B[vi]", "A[999 - vi] + B[vi]"),
        text.replace("C[vi] = A", "C[999 - vi] = A"),
    ):
        assert wrong != text
        wrong = "\n".join(line for line in wrong.splitlines() if "T.reads" not in line)
        wrong = "\n".join(line for line in wrong.splitlines() if "T.writes" not in line)
        sch = Schedule(script.parse(wrong))
        bound(sch, [None, 128])
        assert lesson.check_result(sch.func, right)


@pytest.mark.parametrize("number, told", [(4, "4"), (0, "0"), (1.5, "1.5"), ("a", '"a"')])
def test_hints_say_more_and_more_and_then_no_more(number: object, told: str):
    exercise = lesson.exercise("wide_window")
    assert exercise.hint(1) != exercise.hint(2)
    with pytest.raises(Fail) as refused:
        exercise.hint(number)  # type: ignore[arg-type]
    assert str(refused.value) == f"Can't give hint {told}: there are 3.\ndo:    ask for 1 to 3"


def test_an_exercise_that_is_not_there():
    with pytest.raises(Fail) as refused:
        lesson.exercise("odd")
    assert str(refused.value) == (
        "Can't find the exercise 'odd'.\n"
        "do:    there are: odd_vector, wide_window, few_loads, small_tiles, searched_tiles, "
        "one_turn, own_operator, one_ahead, seventh, warp_tiles, copies_ahead, layer_tiles"
    )


@pytest.mark.lesson
@pytest.mark.parametrize("name", NAMES)
def test_a_lab_ticks_the_goals_that_its_program_reaches(name: str):
    exercise = lesson.exercise(name)
    mine = exercise.schedule()
    exercise.solution(mine)
    lab = wb.lab(mine, task=exercise)
    ticked = [goal["ok"] for goal in lab.session.page["goals"]]
    assert ticked == [False] * exercise.points, "not before they are counted"
    lab.session.ask({"do": "count"})
    right, *shown = lab.session.page["goals"]
    assert (right["aim"], right["ok"]) == (RESULT, False) and "press run" in right["found"]
    assert [(goal["aim"], goal["ok"]) for goal in shown] == [(aim, True) for aim in exercise.aims]
    assert all(goal["found"] for goal in shown)
    lab.run()
    right, *others = lab.session.page["goals"]
    assert right["ok"] and "the start gives the same" in right["found"] and others == shown
    again = wb.lab(mine, task=exercise)
    assert again.session.page["goals"][0]["ok"], "as after its cell has run again"
    lab.session.choose({"at": 0})
    lab.session.ask({"do": "count"})
    right, missed, *others = lab.session.page["goals"]
    assert not right["ok"] and not missed["ok"]
    if exercise.unscheduled is None:  # else the start has a kernel
        assert not any(goal["ok"] for goal in others) and "no loop" in missed["found"]


def test_a_run_is_compared_with_the_program_without_the_steps_it_was_given_with(monkeypatch):
    compared: list[object] = []

    def run(self: Runner, func: object, start: object, *_: object) -> dict[str, object]:
        compared.append(start)
        return {"ok": None, "brief": "stopped", "text": STOPPED}

    monkeypatch.setattr(Runner, "run", run)
    exercise = lesson.exercise("seventh")
    wb.lab(exercise.schedule(), task=exercise).run()
    other = lesson.exercise("small_tiles")
    wb.lab(other.schedule(), task=exercise).run()
    assert compared == [exercise.unscheduled, other.program]


def test_a_kernel_that_is_given_reaches_no_goal_before_a_step_is_taken():
    """The lab says what the check says: of the seventh's goals the given one keeps to a bound."""
    exercise = lesson.exercise("seventh")
    mine = exercise.schedule()
    lab = wb.lab(mine, task=exercise)
    assert [goal["ok"] for goal in lab.session.page["goals"]] == [False] * 3
    assert exercise.reached(mine.func) == [(False, "take a step first")] * 2
    assert int(exercise.check(mine)) == 0
    exercise.solution(mine)
    assert [ok for ok, _ in exercise.reached(mine.func)] == [True, True]


def test_the_second_variant_of_the_seventh_is_slow_by_something_else():
    """So that the step of the first is no answer to it."""
    first, second = (lesson.exercise("seventh", variant=n) for n in (1, 2))
    lost = [fault(one.program) for one in (first, second)]
    assert lost == [FAULTS["conflicts"], FAULTS["redundant"]]
    mine = second.schedule()
    mine.storage_align("A_shared", 0, axis=0, factor=64, offset=1)
    assert [row.ok for row in second.check(mine).rows] == [True, False, False]


def test_a_wrong_result_ticks_no_goal():
    exercise = lesson.exercise("odd_vector")
    mine = exercise.schedule()
    exercise.solution(mine)
    lab = wb.lab(mine, task=exercise, reference=lambda *arrays: arrays[-1].fill(7))
    lab.run()
    right = lab.session.page["goals"][0]
    assert not right["ok"] and "are wrong" in right["found"]


def test_idle_threads_are_a_cost_that_can_be_named():
    exercise = lesson.exercise("odd_vector")
    mine = exercise.schedule()
    exercise.solution(mine)
    lab = wb.lab(mine, costs=["threads in each", "idle threads"])
    lab.session.ask({"do": "count"})
    rows = lab.session.page["costs"]["rows"]
    assert [(row["name"], row["after"]) for row in rows][1] == ("idle threads", "24")


@pytest.mark.parametrize("name", NAMES)
def test_a_report_is_html_too(name: str):
    exercise = lesson.exercise(name)
    report = exercise.check(exercise.schedule())
    html, _, script = report._repr_html_().partition("<script>")
    assert "Not yet" in html and "`" not in html
    assert script.count("</script>") == 1 and script.endswith("</script></div>")
    long = replace(report, steps="\n".join(map(str, range(42))))._repr_html_()
    assert "<details><summary>42 lines</summary><pre" in long and "<details>" not in html


def test_a_kernel_without_barriers_does_not_hide_those_of_another():
    sch = Schedule(script.parse(TWO))
    outer, turn, inner = sch.split(sch.get_loops("B")[0], factors=[None, 2, 64])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    fetch = sch.cache_read("B", 0, "shared")
    sch.compute_at(fetch, turn)
    sch.bind(sch.get_loops(fetch)[-1], "threadIdx.x")
    outer, inner = sch.split(sch.get_loops("C")[0], factors=[None, 1])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    ok, found = at_most_barriers(1).found(sch.func)
    assert not ok and found == "4 for each block"


@pytest.mark.parametrize("name", NAMES[:3])  # no time of the last is recorded
def test_without_a_gpu_the_solution_has_a_recorded_time(name: str):
    """Found by the program's text: one that is written otherwise loses its times."""
    mine = lesson.exercise(name).schedule()
    lesson.exercise(name).solution(mine)
    assert recorded.times(mine.func)
