"""Pages: plain data, made only where it is seen, true to the program, quick."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from pathlib import Path

from benchmarks.matmuls import blocking_with_shared, matmul
from tests.widgets.programs import ADD, WINDOW, parse, window_steps
from workbench import lesson, lower
from workbench.insight import requests_of
from workbench.ir import Var
from workbench.lesson import who_computes
from workbench.schedule import Schedule
from workbench.target import get
from workbench.widgets import Verdict
from workbench.widgets.page.compare import comparison, differences
from workbench.widgets.page.costs import count
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.history import said, tree
from workbench.widgets.page.page import page
from workbench.widgets.page.pictures import shown_alone
from workbench.widgets.page.view import MACHINE_PANES, View

PROGRAM = ("tensorir", "loops", "cuda", "metal", "opencl", "code")


def text_of(pane: dict, desk: Desk) -> str:
    """The text of a pane as it is read: of a diff, the right side."""
    numbers = pane.get("lines") or [row[4] for row in pane["diff"] if row[4] is not None]
    return "\n".join("".join(token[1] for token in desk.lines.all[n]) for n in numbers)


def window() -> Schedule:
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    return sch


def test_a_page_is_plain_data():
    sch, desk = window(), Desk()
    made = None
    for name in PROGRAM:
        made = page(sch, View(program=name), desk, made)
    for name in MACHINE_PANES:
        made = page(sch, View(machine=name), desk, made)
    assert json.loads(json.dumps(made)) == made


def test_only_what_is_seen_is_made_and_what_was_made_is_kept():
    sch, desk = window(), Desk()
    first = page(sch, View(), desk)
    assert list(first["texts"]) == ["tensorir"] and list(first["pictures"]) == ["who:B"]
    second = page(sch, View(program="cuda", machine="memory"), desk, first)
    assert list(second["texts"]) == ["tensorir", "cuda"]
    assert second["texts"]["tensorir"] is first["texts"]["tensorir"]


def test_a_lab_does_not_take_the_keys_of_one_that_is_gone():
    sch = window()
    for k in range(30):  # where a desk is gone, the next one often lies at its address
        desk = Desk()
        for _ in range(k):
            desk.keys.of(Var("other"))
        made = page(sch, View(), desk)
        assert all(desk.keys.thing(key) is not None for key in made["names"])
        del desk


def test_the_panes_hold_the_texts(tmp_path: Path):
    sch, desk = window(), Desk()
    shown = {n: text_of(page(sch, View(program=n), desk)["texts"][n], desk) for n in PROGRAM}
    assert shown["tensorir"] == sch.func.script().rstrip()
    assert "__syncthreads" in shown["cuda"] and "threadgroup" in shown["metal"]
    assert "__local" in shown["opencl"]
    assert "for ax0_0 in range(2):" in shown["loops"]
    refused = page(sch, View(program="c"), desk)["texts"]["c"]["refusal"]["headline"]
    assert refused.endswith(" is bound to blockIdx.x, which only a GPU has.")
    file = tmp_path / "steps.py"  # a program is read from its source
    file.write_text(shown["code"])
    assert runpy.run_path(str(file))["sch"].func.script() == sch.func.script()


def test_where_there_is_no_kernel_the_refusal_stands_in_its_place():
    sch, desk = Schedule(parse(ADD)), Desk()
    pane = page(sch, View(program="cuda"), desk)["texts"]["cuda"]
    assert set(pane["refusal"]) == {"headline", "hint", "where", "detail"}
    assert len(pane["refusal"]["headline"]) <= 120 and "lines" not in pane


def test_marks_of_a_loop_are_the_same_in_every_pane():
    sch, desk = window(), Desk()
    made = None
    for name in PROGRAM:
        made = page(sch, View(program=name), desk, made)
    (i_1,) = [k for k, about in made["names"].items() if about["name"] == "i_1"]
    for name in ("tensorir", "loops", "cuda", "metal", "opencl"):
        pane = made["texts"][name]
        numbers = pane.get("lines") or [row[4] for row in pane["diff"] if row[4] is not None]
        tokens = [token for n in numbers for token in desk.lines.all[n]]
        assert any(i_1 in token[2].split() for token in tokens if len(token) == 3), name


def test_what_a_step_changed_is_signed():
    sch, desk = Schedule(parse(ADD)), Desk()
    i_0, _ = sch.split("i", factors=[2, 4])
    sch.bind(i_0, "blockIdx.x")
    rows = page(sch, View(), desk)["texts"]["tensorir"]["diff"]
    signs = {row[0] for row in rows}
    assert signs & set("+-~") and " " in signs
    changed = [row for row in rows if row[0] == "~"]
    assert all(row[5] or row[6] for row in changed), "a changed line says which words changed"


def test_who_tells_what_the_step_changed():
    sch, desk = Schedule(parse(ADD)), Desk()
    i_0, i_1 = sch.split("i", factors=[2, 4])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    picture = page(sch, View(), desk)["pictures"]["who:C"]
    assert "block 1" in picture["table"] and "C[" in picture["caption"]
    assert "It was “block 1, time step 1”." in picture["caption"]


def test_tiles_follow_the_sliders_and_stay_inside_their_range():
    sch, desk = window(), Desk()
    made = page(sch, View(machine="tiles", select={"blockIdx.x": 3}), desk)
    assert "tiles:blockIdx.x=3" in made["pictures"]
    made = page(sch, View(machine="tiles", select={"blockIdx.x": 99}), desk, made)
    assert "tiles:blockIdx.x=7" in made["pictures"]
    both = View(machine="tiles", select={"blockIdx.x": 1, "threadIdx.x": 5})
    made = page(sch, both, desk, made)
    picture = made["pictures"]["tiles:blockIdx.x=1,threadIdx.x=5"]
    assert "blockIdx.x = 1, threadIdx.x = 5:" in picture["caption"]
    made = page(sch, View(machine="tiles", select={"blockIdx.x": -1}), desk, made)
    assert "The whole program" in made["pictures"]["tiles:"]["caption"]
    axes = {axis["key"]: (axis["extent"], axis["start"], axis["main"]) for axis in made["axes"]}
    assert axes["blockIdx.x"] == (8, 0, True) and axes["threadIdx.x"] == (128, -1, True)


def test_a_vector_that_runs_cell_by_cell_is_noted():
    sch = Schedule(parse(WINDOW))
    outer, inner = sch.split("i", factors=[None, 4])
    sch.bind(outer, "threadIdx.x")
    sch.vectorize(inner)
    desk = Desk()
    made = page(sch, View(), desk)
    assert made["costs"]["waits"] == "soon" and not made["notes"], "it takes the kernels to know"
    count(sch.func)
    assert page(sch, View(), desk, made)["notes"] == [
        "`i_1` runs cell by cell: its cells of A may not start at a multiple of 4. "
        "Choose factors that lay whole vectors side by side, or leave out vectorize."
    ]


def test_the_tree_has_branches_marks_and_sentences():
    sch = Schedule(parse(ADD))
    sch.split("i", factors=[2, 4])
    sch.mark("two by four")
    sch.goto(0)
    sch.split("i", factors=[4, 2])
    assert [(n["id"], n["parent"], n["label"], n["mark"]) for n in tree(sch.history)] == [
        (0, None, "start", ""),
        (1, 0, "split(i, factors=[2, 4])", "two by four"),
        (2, 0, "split(i, factors=[4, 2])", ""),
    ]
    assert (
        said(sch.history[1])
        == "Step 1, split(i, factors=[2, 4]): i (8×) became i_0 (2×) and i_1 (4×)."
    )


def test_the_tree_is_in_reading_order_with_its_branches_set_in():
    sch = Schedule(parse(ADD))
    for start, factors in (
        (0, [2, 4]),
        (0, [4, 2]),
        (0, [8, 1]),
        (1, None),
        (1, [2, 2]),
        (2, None),
    ):
        sch.goto(start)
        if factors is None:
            sch.bind("i_0", "blockIdx.x")
        else:
            sch.split("i" if start == 0 else "i_1", factors=factors)
    rows = [(row["id"], row["indent"], row["branch"]) for row in tree(sch.history)]
    assert rows == [
        (0, 0, False),
        (1, 0, False),
        (4, 0, False),
        (5, 1, True),
        (2, 1, True),
        (6, 1, False),
        (3, 1, True),
    ]


def test_run_is_told_behind_a_verdict_only_where_there_is_a_kernel():
    asked = who_computes("C", 5, ("time step 5", "time step 4"), steps="nothing")
    judged = replace(asked, judge=lambda func: Verdict("time step 5", "so it is written"))
    desk = Desk(question=judged, answers={judged.name: "time step 5"}, costs=[])
    sch = Schedule(parse(ADD))
    lacks = "go on: no kernel can be made of this program yet, so there is nothing to run."
    assert page(sch, View(), desk)["then"] == lacks
    sch.bind("i", "threadIdx.x")
    told = "press run, which compares the result with that of the program that you started from."
    assert page(sch, View(), desk)["then"] == told


def test_a_verdict_tells_each_answer_how_it_is():
    asked = who_computes("C", 5, ("time step 5", "time step 4"), steps="nothing")
    judged = replace(asked, judge=lambda func: Verdict("time step 5", "so it is written"))
    desk = Desk(question=judged, answers={judged.name: "time step 4"})
    verdict = page(Schedule(parse(ADD)), View(), desk)["verdict"]
    assert verdict["truth"] == 0 and verdict["told"] == [
        ["✓ You were right. ", ""],
        [
            "✕ It came out differently. ",
            "You said “time step 4”; the program says “time step 5”.",
        ],
        ["The program says “time step 5”. ", ""],  # of "not sure"
    ]


def test_a_comparison_counts_what_differs():
    sch, desk = window(), Desk()
    bound, cooperative = sch.history.find("bound"), sch.history.find("cooperative")
    table = differences(bound, cooperative, Desk())
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["global loads"][:2] == (3072, 1040)
    assert rows["barriers in all"][:2] == (0, 8)
    made = comparison(bound, cooperative, View(machine="memory"), desk)
    assert [p["title"] for p in made["pictures"]] == ["3 bind (bound)", "7 bind (cooperative)"]
    assert made["text"]["diff"]
    assert json.loads(json.dumps(made)) == made


def test_programs_without_kernels_are_compared_by_their_meaning():
    sch = Schedule(parse(ADD))
    sch.split("i", factors=[2, 4])
    rows = {row[0]: row[1:] for row in differences(sch.history[0], sch.history[1], Desk()).rows}
    assert rows["global loads"] == (16, 16, "same")


def test_a_request_is_shown_where_the_view_has_one_else_the_worst():
    sch = blocking_with_shared(Schedule(matmul(64)), 2, 2, 4, 8, 8)
    desk, view = Desk(), View(machine="banks")
    made = page(sch, view, desk)
    found = made["requests"]["banks"]
    first = next(one for one in found if one["first"])
    assert made["shown"]["banks"] == first["picture"] and first["picture"] in made["pictures"]
    assert {axis["key"]: axis["start"] for axis in first["axes"]} == made["pictures"][
        first["picture"]
    ]["at"]
    name = found[-1]["name"]
    select = {"threadIdx.x": 3, "k_0": 99, "blockIdx.x": -1, "gone": 4}
    made = page(sch, View(machine="banks", access=name, select=select), desk, made)
    shown = made["shown"]["banks"]
    assert shown == f"banks:access={len(found) - 1},threadIdx.x=3,k_0=7", "a value stays in range"
    assert "wb-chosen" in made["pictures"][shown]["strips"][0]
    assert made["pictures"][shown]["at"]["k_0"] == 7
    kept = shown_alone(made["pictures"], made["shown"])
    assert [one for one in kept if one.startswith("banks:")] == [shown], (
        "a page grows by no dragging"
    )
    other = page(sch, View(machine="banks", access="read Z"), desk, made)
    assert other["shown"]["banks"] == first["picture"], "this program has no such access"


def test_the_access_that_a_step_mends_is_shown_after_it():
    """Its read of A_shared took 32 wavefronts, and takes 1; the worst is a write then."""
    sch, view, desk = lesson.exercise("seventh").schedule(), View(machine="banks"), Desk()

    def first() -> tuple[str, str]:
        found = page(sch, view, desk)
        (begun,) = (one for one in found["requests"]["banks"] if one["first"])
        assert begun["picture"] == found["shown"]["banks"]
        return begun["name"], found["pictures"][begun["picture"]]["caption"]

    name, caption = first()
    assert name == "read A_shared" and "32 wavefronts, 1 would do" in caption
    sch.storage_align("A_shared", 0, axis=0, factor=32, offset=1)
    name, caption = first()
    assert name == "read A_shared" and "1 wavefront, the least" in caption
    sch.unroll("k_0")
    assert first()[0] == "write A_shared", "that step mended nothing"


STEPS = """
@T.prim_func
def main(A: T.Buffer((512,), "float32"), C: T.Buffer((128,), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(4):
            C[k * 32 + i] = A[i * (k + 1)]
"""


def test_requests_are_told_by_what_they_take_the_worst_first():
    """32 numbers that lie 4, 8, 12 and 16 bytes apart: 4, 8, 12 and 16 sectors."""
    load, store = page(Schedule(parse(STEPS)), View(machine="sectors"), Desk())["requests"][
        "sectors"
    ]
    labels = [one["label"] for one in load["costs"]]
    assert labels == ["16 sectors: 1 of 4", "12 sectors: 1 of 4", "8 sectors: 1 of 4"]
    assert [one["select"] for one in load["costs"]] == [{"k": 3}, {"k": 2}, {"k": 1}]
    assert [one["label"] for one in store["costs"]] == ["4 sectors: 4 of 4"]
    small = lower.lower(parse(STEPS), get("cuda")).kernels
    (read, _), _ = requests_of(small, "global")
    assert [(one.cost, one.count) for one in read.costs] == [(16, 1), (12, 1), (8, 1), (4, 1)]
    assert all(read.lanes(one.at).cost == one.cost for one in read.costs)


LARGE_TILE = """
@T.prim_func
def main(A: T.Buffer((32768,), "float32"), C: T.Buffer((32768,), "float32")):
    S = T.alloc_buffer((32768,), scope="shared")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(1024):
            S[k * 32 + i] = A[k * 32 + i]
        for k in range(1024):
            C[k * 32 + i] = S[k * 32 + i]
"""


def test_requests_are_of_the_kernel_for_the_gpu_of_the_lab():
    """128 KiB of shared memory: an H200 has room for them, an L4 has not."""
    sch, view = Schedule(parse(LARGE_TILE)), View(machine="banks")
    h200 = page(sch, view, Desk())
    assert h200["requests"]["banks"] and "refusal" not in h200["pictures"][h200["shown"]["banks"]]
    l4 = page(sch, view, Desk(gpu="nvidia/l4"))
    refused = l4["pictures"][l4["shown"]["banks"]]["refusal"]
    assert l4["requests"]["banks"] == [] and "shared" in json.dumps(refused)


def test_a_timeline_comes_nearer_to_a_block_and_a_warp():
    """What is chosen of another program is put where there is something; turns take 5 clocks."""
    sch, desk = Schedule(parse(STEPS)), Desk()
    made = page(sch, View(machine="timeline"), desk)
    assert made["pictures"]["timeline"]["near"] == {"level": "whole"}
    far = {"block": 7, "warp": 3, "clock": 10}
    made = page(sch, View(machine="timeline", level="block", select=far), desk, made)
    assert made["shown"]["timeline"] == "timeline:kernel=0,block=0"
    made = page(sch, View(machine="timeline", level="warp", select=far), desk, made)
    shown = made["shown"]["timeline"]
    assert shown == "timeline:kernel=0,block=0,warp=0,clock=10"
    picture = made["pictures"][shown]
    assert picture["near"] == {
        "level": "warp", "block": 0, "warp": 0, "clock": 10, "place": [0, 0, 0],
        "threads": [32, 1, 1],
    }  # fmt: skip
    assert picture["caption"] == "This read of A: 12 sectors, 4 would do; the worst: 16."
    assert len(json.dumps([picture["track"], picture["asked"]])) < 1 << 16
    kept = shown_alone(made["pictures"], made["shown"])
    assert [name for name in kept if name.startswith("timeline")] == [shown]
