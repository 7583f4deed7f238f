"""A kernel that is broken on purpose in a lab: what is found, what is lit, and how it is mended."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.saved_page import saved_state
from tests.widgets.ask.test_session import CHOICES, Later, bind_both, session, step
from tests.widgets.programs import ADD, parse, send
from workbench.history.file import to_data
from workbench.ir import PrimFunc
from workbench.lesson import who_computes
from workbench.lesson.half_products import half_product, half_tiles
from workbench.lesson.programs import fetched, prefetched, product, stages, staging, tiled, window
from workbench.schedule import Schedule
from workbench.widgets import Lab
from workbench.widgets.ask.session import Session
from workbench.widgets.ask.setup import Options
from workbench.widgets.page.texts import python_of, source_of
from workbench.widgets.run.inputs import whole_numbers
from workbench.widgets.still.offline import last_page, write_html

TWO = {"A_shared": 2, "B_shared": 2}
ORDER = (0, 3, 1, 4, 2)


@cache
def program(name: str) -> PrimFunc:
    """The lessons' programs, as small as they can be."""
    square = product(16, 16, 16)
    if name == "asynchronous":
        sch = Schedule(tiled(square, (2, 2), (4, 4), 4, copies="together"))
        sch.pipeline("k_0", stages=[0, 0, 1], copies=TWO, async_stages=[0])
        return sch.func
    if name == "two kernels":  # the second fetches rows of H, each thread three neighbours
        sch = staging(stages(16, 16, (1, 2, 1), (1, 2, 1)), "whole")
        copy = sch.cache_read("B", 0, "shared")
        sch.compute_at(copy, sch.get_loops("B")[-1])
        lane, _ = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), factors=[16, None])
        sch.bind(lane, "threadIdx.x")
        return sch.func
    return {
        "window": lambda: fetched(window(250, 3), 64),
        "tiles": lambda: tiled(square, (2, 2), (4, 4), 4, copies="together"),
        "pipeline": lambda: prefetched(square, (2, 2), (4, 4), 4, (0, 0, 0, 0, 1), ORDER, TWO),
    }[name]()


def lab(name: str) -> Session:
    return Session(Schedule(program(name)), Later(), Options())


def ask(here: Session, **message: Any) -> dict[str, Any]:
    """What is shown of the broken kernel once what a message asks for is done."""
    here.ask(message)
    if here._jobs.waiting:
        here._jobs.do()
    return here.state["broken"]


def text(here: Session) -> list[str]:
    """The text of the broken kernel."""
    lines = (here.desk.lines.all[number] for number in here.state["broken"]["lines"])
    return ["".join(token[1] for token in line) for line in lines]


def broken(name: str, fault: str) -> Session:
    here = lab(name)
    ask(here, do="break", fault=fault)
    return here


STORED = "A_shared[v0] = A[v0]"
SUMMED = "B[vi] = A_shared[vi] + A_shared[vi + 1] + A_shared[vi + 2]"
FETCHED = "A_shared[v0, v1] = A[v0, v1]"
WORK = "C_local[vi, vj] = C_local[vi, vj] + A_shared[vi, vk] * B_shared[vk, vj]"
THROUGH = "A_shared[v0, v1] = A_local[v0, v1]"
WORK_TEXT = (
    "C_local[i_2 * 2 + j_2] = C_local[i_2 * 2 + j_2] + A_shared_kept[i_2] * B_shared_kept[j_2];"
)
LATE = "A_shared_kept[i_2] = A_shared["


@pytest.mark.parametrize(
    ("name", "fault", "said", "detail", "lit", "program_lit", "ends"),
    [
        (
            *("window", "barrier 1", "Race on A_shared[1]: two threads of a block meet there"),
            "in block 0, thread 1 writes A_shared[1] and thread 0 reads it",
            ("A_shared[ax0_0 * 64 + i_1] = ", "B[i_0 * 64 + i_1] = A_shared[i_1] + "),
            *((STORED, SUMMED), ("2", "nothing that was written")),
        ),
        (
            *("window", "guard 1", "Can't read A[252]: A has cells 0 to 251."),
            "block 3, thread 60 would read A[252]",
            *(("A_shared[ax0_0 * 64 + i_1] = ",), (STORED,), ()),
        ),
        (
            *("window", "guard 2", "Can't read A_shared[60]: nothing has written it."),
            "block 3, thread 60 reads A_shared[60], in its block's shared memory, before any write",
            *(("B[i_0 * 64 + i_1] = ",), (SUMMED,), ()),
        ),
        ("window", "bound 1", "Run on the emulator: every value is right. Here ", "", (), (), ()),
        (
            *("window", "stride 1", "Race on A_shared[63]: several threads write it, with diff"),
            "block 0, thread 63 writes -2.0 there and block 0, thread 0 writes 6.0: which of them "
            "stays is chance",
            *(("A_shared[ax0_0 * 63 + i_1] = ",), (STORED,), ()),
        ),
        (
            "window",
            "stride 2",
            "Run on the emulator: 179 of 250 values are wrong; B[62] is -1.0, not 7.0.",
            "",
            (),
            (),
            (),
        ),
        (
            *("tiles", "barrier 1", "Race on A_shared[0]: two threads of a block meet there"),
            "in block (x=0, y=0), thread 1 reads A_shared[0] and thread 0 writes it",
            (LATE, "A_shared[ax0_ax1_fused_0 * 16 + i_1_j_1_fused] ="),
            *((FETCHED, WORK), ("6", "-3")),
        ),
        (
            *("tiles", "bound 1", "Can't write C_local[4]: C_local has cells 0 to 3."),
            "block (x=0, y=0), thread 0 would write C_local[4]",
            *(("C_local[i_2_init * 2 + j_2_init] = 0.0f;",), ("C_local[vi, vj] = T.float32(0)",)),
            (),
        ),
        (
            *("pipeline", "barrier 2", "Race on A_shared[32]: two threads of a block meet there"),
            "in block (x=0, y=0), thread 0 writes A_shared[32] and thread 1 reads it",
            ("A_shared[k_0 % 2 * 32 + ax0_ax1_fused_0 * 16 + i_1_j_1_fused] = A_local[", LATE),
            *((THROUGH, WORK), ("0", "-3")),
        ),
        (
            *("pipeline", "copy A_shared", "Race on A_shared[0]: two threads of a block meet"),
            "in block (x=0, y=0), thread 1 reads A_shared[0] and thread 0 writes it",
            (LATE, "A_shared[ax0_ax1_fused_0 * 16 + i_1_j_1_fused] = A_local["),
            *((THROUGH, WORK), ("6", "-3")),
        ),
        (
            *("asynchronous", "wait 1", "Can't read A_shared[0]: a copy into it is under way, and"),
            "block (x=0, y=0), thread 0 would read A_shared[0] in turn k_0=1, k_1=0; thread 0 "
            "began the copy in its group 1, and has not waited since",
            ("cp_async_4(&A_shared[ax0_ax1_fused_0 * 16 + i_1_j_1_fused],", LATE),
            *((FETCHED, WORK), ()),
        ),
    ],
)
def test_what_is_wrong_is_found_and_lit_in_both_texts(
    name: str,
    fault: str,
    said: str,
    detail: str,
    lit: tuple[str, ...],
    program_lit: tuple[str, ...],
    ends: tuple[str, ...],
):
    here = broken(name, fault)
    found = ask(here, do="find")["found"]
    assert found["said"].startswith(said) and found["detail"] == detail
    assert found["ok"] is ("every value is right" in said)
    shown, lines = text(here), program(name).script().splitlines()
    starts = [shown[line - 1].strip() for line in found["lit"]]
    assert len(starts) == len(lit) and all(map(str.startswith, starts, lit)), starts
    assert [lines[line - 1].strip() for line in found["program"]] == [*program_lit]
    picture = found["picture"]
    assert bool(picture) == bool(ends)
    puts = {"barrier": "__syncthreads();", "wait": "cp_async_wait_group<0>();"}
    assert here.state["broken"]["put"] == puts.get(fault.split()[0], "")
    assert not picture or all(f"reads {end}." in picture["full"] for end in ends)


def test_it_is_no_step_and_stands_in_nothing_that_is_kept(tmp_path: Path):
    """Not in the history, its trace, the code, what is built, nor a page without Python."""
    here = lab("window")
    node = here.cursor.node
    kept = (to_data, lambda *_: python_of(node), lambda *_: source_of(node.func, "cuda"))
    before = [make(here.history, node) for make in kept]
    page, still = here.page, last_page(here)
    ask(here, do="break", fault="barrier 1")
    ask(here, do="find")
    assert here.state["broken"]["found"] and text(here)[0] == "#error broken on purpose"
    assert [make(here.history, node) for make in kept] == before and here.page == page
    assert last_page(here) == still and len(here.history) == 1
    write_html(here, tmp_path / "lab.html", lambda *_: None, {})
    assert saved_state(tmp_path / "lab.html")["broken"] == {}
    ask(here, do="run")
    assert here.page["run"]["ok"], "what is run as the program is the program"


def test_what_is_missing_goes_into_a_gap_and_the_right_one_mends():
    here = broken("tiles", "barrier 2")
    shown, made = text(here), here.state["broken"]
    at = {shown[line - 1].strip(): line for line in made["gaps"]}
    assert made["put"] == "__syncthreads();" and made["choice"] is None
    wrong = at["C_local[i_2_init * 2 + j_2_init] = 0.0f;"]
    kept = [k for k, line in enumerate(shown, 1) if "A_shared_kept[i_2] = " in line]
    deep = kept[0] - 2  # ahead of what is kept for the work, too
    assert deep in made["gaps"] and not {*range(deep + 1, at[WORK_TEXT] - 3)} & {*made["gaps"]}
    found = ask(here, do="find", line=wrong)["found"]
    assert found["said"].startswith(f"With __syncthreads(); ahead of line {wrong}: Race on A_sha")
    assert found["picture"] and found["lit"] and here.state["broken"]["choice"] == wrong
    found = ask(here, do="find", line=deep)["found"]
    assert found["ok"] and found["said"].endswith("But a thread waits 20 times, and 8 would do.")
    right = at["for (int k_1 = 0; k_1 < 4; ++k_1) {"]
    assert ask(here, do="find", line=right) == {}
    mended = f"Mended: with __syncthreads(); ahead of line {right} every value is right"
    assert here.state["status"]["text"].startswith(mended)


def test_a_gap_that_there_is_not_is_refused_and_the_choice_stays():
    here = broken("window", "barrier 1")
    ask(here, do="find", line=14)
    for line in (2, 99, "x", True):
        ask(here, do="find", line=line)
        assert here.state["status"]["kind"] == "refused" and here.state["broken"]["choice"] == 14
    assert ask(here, do="find", line=None)["choice"] is None


@pytest.mark.parametrize("act", ["apply", "goto", "mend"])
def test_it_is_whole_again_after_the_next_step_elsewhere_and_when_it_is_mended(act: str):
    sch = Schedule(program("window"))
    sch.annotate("ax0_0", "pragma_unroll_explicit", 0)
    here = Session(sch, Later(), Options())
    ask(here, do="break", fault="stride 1")
    assert here.state["broken"]["told"] == (
        "Broken on purpose: a stride in an index is one cell too short."
    )
    here.ask({"do": "find"})
    if act == "mend":
        here.ask({"do": "mend"})
    elif act == "goto":
        here.choose({"at": 0})
    else:
        step(here, "unroll", "ax0_0")
    assert here.state["broken"] == {}
    here._jobs.do()  # what it was running
    assert here.state["broken"] == {} and here.state["status"]["kind"] != "running"
    here.ask({"do": "find"})
    assert here.state["status"]["error"]["headline"] == (
        "Can't look for a fault: the kernel is not broken."
    )


def test_where_nothing_can_be_broken_it_says_why():
    shown = ask(session(), do="faults")
    assert shown["offers"] == []
    assert shown["none"].startswith("Can't build this: no loop of `C` is bound")


def test_one_of_several_kernels_is_broken_and_mended():
    """The race of the second is run behind the first, which makes what its threads copy."""
    here = broken("two kernels", "barrier 1 of main_kernel_1")
    assert here.state["broken"]["told"] == (
        "Broken on purpose: a barrier is missing in main_kernel_1."
    )
    found = ask(here, do="find")["found"]
    assert found["said"].startswith("Race on H_shared[1]: two threads of a block meet there")
    lit = [text(here)[line - 1].strip() for line in found["lit"]]
    assert [line.partition("[")[0] for line in lit] == ["H_shared", "B"]
    a = whole_numbers((18, 18), "float32", 0)
    h_1 = f"{a[0, 1] + 2 * a[0, 2] + a[0, 3]:g}"
    assert f"thread 1 reads {h_1}." in found["picture"]["full"]
    gaps = here.state["broken"]["gaps"]
    assert ask(here, do="find", line=gaps[0])["found"]["ok"] is False
    assert ask(here, do="find", line=gaps[-1]) == {}
    assert here.state["status"]["text"].startswith("Mended: with __syncthreads();")


def test_the_kernel_for_any_size_is_broken_at_the_size_of_inputs():
    sch = Schedule(parse(ANY_SIZE))
    outer, inner = sch.split("i", factors=[None, 64])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    made = Lab(sch, inputs={"A": np.zeros(100, "float32")})
    send(made, do="break", fault="guard 1")
    send(made, do="find")
    made.jobs.wait()
    assert "Can't read A[100]" in made.session.state["broken"]["found"]["said"]


ANY_SIZE = """
@T.prim_func
def main(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * T.float32(2)
"""


def test_a_loop_that_is_unrolled_has_its_own_line_not_that_of_its_pragma():
    source = source_of(program("tiles"), "cuda").splitlines()
    loops = [one for one in ask(lab("tiles"), do="faults")["offers"] if one["code"][:3] == "for"]
    assert any("#pragma unroll" in source[one["line"] - 2] for one in loops)
    assert all(source[one["line"] - 1].strip() == one["code"] for one in loops)


@pytest.mark.parametrize("name", ["window", "two kernels"])
def test_each_that_is_offered_has_its_line(name: str):
    shown, source = ask(lab(name), do="faults"), source_of(program(name), "cuda")
    assert "take this barrier away" in [one["does"] for one in shown["offers"]]
    for one in shown["offers"]:
        assert source.splitlines()[one["line"] - 1].strip() == one["code"]
    loops = [one for one in shown["offers"] if one["kind"] == "Loops"]
    assert loops and all(
        one["does"] == f"let {one['code'].split()[2]} take one turn more" for one in loops
    )
    here = lab("window")
    ask(here, do="break", fault="barrier 2")
    assert "there are: barrier 1, " in here.state["status"]["error"]["hint"]


def test_what_stands_in_no_line_of_the_text_is_not_offered():
    """Loops and accesses in calls of a warp."""
    sch = Schedule(half_tiles(half_product(32, 32, 32), "mma", (32, 32), (1, 2), 32))
    shown = ask(Session(sch, Later(), Options()), do="faults")
    assert all(one["line"] for one in shown["offers"])
    assert {one["kind"] for one in shown["offers"]} == {"Barriers", "Loops", "Strides"}
    assert all(one["code"].startswith("for") for one in shown["offers"] if one["kind"] == "Loops")


def test_nothing_is_broken_while_a_question_is_open():
    """What is found names threads, which would answer it."""
    here = Session(
        Schedule(parse(ADD)), Later(), Options(question=who_computes("C", 5, CHOICES, steps="both"))
    )
    bind_both(here)
    assert ask(here, do="break", fault="stride 1") == {}
    assert here.state["status"]["error"]["headline"].startswith("Can't break the kernel yet")
