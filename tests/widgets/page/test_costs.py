"""The strip of costs: the counts of lesson.compare, before and after, made when there is time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.support.saved_page import saved_state
from tests.widgets.programs import ADD, WINDOW, parse, send, window_steps
from workbench import insight, lesson, target
from workbench.diag import Fail
from workbench.insight import recorded
from workbench.ir import PrimFunc
from workbench.schedule import Schedule
from workbench.widgets import Lab
from workbench.widgets.ask import session
from workbench.widgets.page import costs


def window() -> Schedule:
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    return sch


SMALL = """
@T.prim_func
def main(A: T.Buffer(({cells} + {more},), "float32"), B: T.Buffer(({cells},), "float32")):
    S = T.alloc_buffer(({cells},), scope="shared")
    for i_0 in T.thread_binding({blocks}, thread="blockIdx.x"):
        for i_1 in T.thread_binding({threads}, thread="threadIdx.x"):
{body}
"""
GUARDED = """
            with T.block("B"):
                T.where(i_0 * {threads} + i_1 < {cells})
                v = T.axis.spatial({cells}, i_0 * {threads} + i_1)
                B[v] = {value}
"""
EXCHANGED = """
            with T.block("S"):
                v = T.axis.spatial({cells}, i_1)
                S[v] = A[v]
        for i_2 in T.thread_binding({threads}, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial({cells}, i_2)
                B[v] = S[v] + S[{cells} - 1 - v]
"""


@pytest.mark.parametrize(
    ("body", "value", "sizes", "by_hand", "roofline"),
    [
        # two blocks of 4 threads, 8 cells: a load, a product and a store each
        (GUARDED, "A[v] * T.float32(2)", (8, 0, 2, 4), (2, 4, 1, 0, 0, 0, 0), (8, 64, 64)),
        # a window of three in a block of 4: 12 loads of 6 cells, 8 sums
        (GUARDED, "A[v] + A[v + 1] + A[v + 2]", (4, 2, 1, 4), (1, 4, 3, 0, 0, 0, 0), (8, 64, 40)),
        # three blocks of 8 threads for 20 cells: four threads have none
        (GUARDED, "A[v] * T.float32(2)", (20, 0, 3, 8), (3, 8, 1, 0, 0, 0, 4), (20, 160, 160)),
        # 16 threads give each other what they load: 64 bytes, one barrier, two reads an output
        (EXCHANGED, "", (16, 0, 1, 16), (1, 16, 1, 2, 64, 1, 0), (16, 128, 128)),
        # 32 threads: a warp waits, too
        (EXCHANGED, "", (32, 0, 1, 32), (1, 32, 1, 2, 128, 1, 0), (32, 256, 256)),
    ],
)
def test_on_paper(body: str, value: str, sizes: Any, by_hand: Any, roofline: Any):
    """Blocks, threads in each, loads of each memory an output, shared bytes, barriers, idle."""
    given = dict(zip(("cells", "more", "blocks", "threads"), sizes, strict=True))
    text = SMALL.format(body=body.strip("\n").format(value=value, **given), **given)
    text = text.replace(f"{sizes[0]} + {sizes[1]}", str(sizes[0] + sizes[1]))
    if body is GUARDED:
        text = "\n".join(line for line in text.splitlines() if "alloc_buffer" not in line)
    func = parse(text)
    found = costs.count(func, [costs.IDLE])
    names = (*costs.COSTS[:6], costs.IDLE)
    assert [found[name].number for name in names] == [*by_hand]
    roofs = insight.roofline(wb.build(func).kernels, target.get("nvidia/h200"))
    assert roofs is not None and (roofs.work, roofs.bytes, roofs.least_bytes) == roofline


def strip(lab: Lab) -> dict[str, Any]:
    return lab.session.page["costs"]


def rows(shown: dict[str, Any]) -> list[tuple[str, ...]]:
    return [(r["name"], r["before"], r["sign"], r["after"]) for r in shown["rows"]]


def test_costs_stand_before_and_after_the_step():
    sch = window()
    lab = wb.lab(sch)
    send(lab, do="count")
    assert rows(strip(lab)) == [
        ("global loads an output", "130", "▼", "1.016"),
        ("shared loads an output", "3", "=", "3"),
        ("shared bytes a block", "520", "=", "520"),
        ("barriers a block", "1", "=", "1"),
    ]
    lab.at = sch.history.find("cached").id
    lab.against = sch.history.find("bound").id
    send(lab, do="count")
    beside = lab.session.comparison["costs"]
    assert rows(beside)[:2] == [
        ("global loads an output", "3", "▲", "130"),
        ("shared loads an output", "0", "▲", "3"),
    ]
    assert beside["rows"][0]["said"] == "global loads an output: 3 before, 130 now, more"
    assert beside["text"] == "Counts are exact, from the kernels." and not beside["waits"]
    assert beside["kind"] == "counted"


def test_they_are_the_counts_of_compare():
    sch = window()
    programs = {node.label: node.func for node in sch.history}
    for row in lesson.compare(programs).rows:
        if row.counts is not None:
            counted = costs.count(programs[row.name])
            cells = dict(zip(("", *costs.COSTS, "time", "of the roof"), row.cells(), strict=True))
            assert {name: cost.text for name, cost in counted.items()} == {
                name: cells[name] for name in costs.COSTS
            }


def test_without_a_kernel_it_says_why():
    lab = wb.lab(parse(ADD))
    send(lab, do="count")
    assert strip(lab) == {
        "rows": [],
        "text": "No costs yet: no loop of `C` is bound to blocks or threads, "
        "so no GPU thread runs it.",
        "waits": "",
        "kind": "",
    }


def test_the_first_kernel_has_nothing_before_it():
    sch = window()
    lab = wb.lab(sch, costs=["blocks", "threads in each"])
    lab.at = 2  # the loop over blocks is bound, that over threads not yet
    send(lab, do="count")
    lab.at = sch.history.find("bound").id
    send(lab, do="count")
    assert rows(strip(lab)) == [
        ("blocks", "8", "=", "8"),
        ("threads in each", "1", "▲", "128"),
    ]
    lab.at = 2
    assert rows(strip(lab)) == [("blocks", "none", "", "8"), ("threads in each", "none", "", "1")]


def test_a_page_is_drawn_before_its_costs_are_counted(monkeypatch):
    counted: list[PrimFunc] = []
    monkeypatch.setattr(costs.insight, "counts", lambda kernels: counted.append(kernels))
    lab = wb.lab(window())
    lab.at = 3
    assert strip(lab) == {"rows": [], "text": "", "waits": "soon", "kind": ""} and not counted


def test_where_counting_takes_long_it_waits_until_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(session, "SLOW", 0.0)
    lab = wb.lab(window())
    send(lab, do="count")
    assert strip(lab)["rows"], "what was asked for is shown"
    lab.at = 3
    text = "Costs are counted when asked."
    assert strip(lab) == {"rows": [], "text": text, "waits": "asked", "kind": ""}
    send(lab, do="count")
    assert strip(lab)["rows"]


def test_a_lab_without_costs_has_no_strip():
    lab = wb.lab(window(), costs=[])
    assert strip(lab) == {"rows": [], "text": "", "waits": "", "kind": ""}


@pytest.mark.parametrize(
    ("given", "headline", "hint"),
    [
        (
            ["loads"],
            "Can't open a lab with the cost 'loads': there is none of that name.",
            "there are: blocks, threads in each, global loads an output, shared loads an output, "
            "shared bytes a block, barriers a block, shuffles a thread",
        ),
        ("blocks", "Can't open a lab with 'blocks' as costs: that is no list of names.", ""),
        (
            [*costs.COSTS[:5]],
            "Can't open a lab with 5 costs: its strip has room for 4.",
            "leave some out: lesson.compare shows all of them",
        ),
    ],
)
def test_a_cost_that_there_is_not_is_refused(given: Any, headline: str, hint: str):
    with pytest.raises(Fail) as refused:
        wb.lab(parse(ADD), costs=given)
    assert refused.value.headline == headline
    assert hint in refused.value.hint


def test_a_saved_page_has_all_of_them(tmp_path: Path):
    wb.lab(window()).to_html(tmp_path / "lab.html")
    state = saved_state(tmp_path / "lab.html")
    shown = [made["costs"] for name, made in state.items() if name.startswith(("page_", "compare"))]
    assert len(shown) > 10 and not any(one["waits"] for one in shown)
    assert "global loads an output: 130 now" in str(shown)
    assert (
        "<li>shared bytes a block: 520 before, 520 now, the same</li>"
        in (tmp_path / "lab.html").read_text()
    )


def test_what_a_compiler_makes_of_it_is_told_where_a_lab_asks_for_it(monkeypatch):
    """17 sectors of A a block of 128 threads, for 130 numbers, and 16 of B; before, each warp had
    one of A for each of the 130."""
    monkeypatch.setattr(recorded, "_all", dict)
    lab, plain = wb.lab(window(), costs=["global sectors", "blocks"]), wb.lab(window())
    for each in (lab, plain):
        send(each, do="count")
    assert rows(strip(lab))[0] == ("global sectors", "4,288", "▼", "264")
    assert strip(lab)["text"] == (
        "Counts are exact, from the kernels. Global reads, in sectors: as written 136, and a "
        "compiler saves none. Global writes, in sectors: as written 128, and a compiler saves none."
    )
    assert strip(lab)["kind"] == "counted"
    assert "as written" not in strip(plain)["text"]


def test_turns_of_shared_memory_are_modelled():
    """8 blocks: 5 warps store what they fetched, 4 read three words side by side."""
    lab = wb.lab(window(), costs=["shared wavefronts"])
    send(lab, do="count")
    assert rows(strip(lab))[0][-1] == f"{8 * (5 + 4 * 3)}" and strip(lab)["kind"] == "modelled"


GATHER = """
@T.prim_func
def main(N: T.Buffer((32,), "int32"), A: T.Buffer((32,), "float32"),
         C: T.Buffer((32,), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = A[N[vi]]
"""


def test_a_number_of_a_part_says_so():
    """4 sectors of N and 4 of C; those of A are decided by N."""
    lab = wb.lab(parse(GATHER), costs=["global sectors"])
    send(lab, do="count")
    assert rows(strip(lab))[0][-1] == "8 or more"
    assert strip(lab)["text"].endswith("Not counted: A[N[i]].")
