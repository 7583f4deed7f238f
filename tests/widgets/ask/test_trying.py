"""What a lab tells of steps that are only tried, and what it takes of them."""

import json
from typing import Any

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.schedule import programs
from tests.support.gpu_programs import VECTOR_ADD, parsed
from tests.widgets.programs import ADD, parse
from workbench import lesson, script
from workbench.diag import Fail
from workbench.schedule import ScheduleError
from workbench.schedule.retuning import StepsRefused
from workbench.widgets import Lab
from workbench.widgets.page.grips import MOST, grip_of


def finished() -> wb.Schedule:
    sch = wb.Schedule(matmul(64))
    blocking_with_shared(sch, 4, 4, 4, 4, 4)
    return sch


def key_of(lab: Lab, name: str) -> str:
    """The key of the loop with that name, of those that a split made."""
    names, grips = lab.session.page["names"], lab.session.page["grips"]
    return next(key for key in grips if names[key]["name"] == name)


ON_BLOCKS = {"thread_axis": '"blockIdx.x"'}


def tried(lab: Lab, **step: Any) -> dict[str, Any]:
    return lab.session.tried({"do": "try", "step": step})


def weighed(lab: Lab, **step: Any) -> dict[str, Any]:
    return lab.session.tried({"do": "weigh", "step": step})


def text_of(page: dict[str, Any]) -> str:
    """The program that a tried page shows."""
    rows = [row[4] for row in page["text"]["diff"] if row[0] != "-"]
    return "\n".join("".join(token[1] for token in page["lines"][line]) for line in rows)


def test_numbers_that_can_be_taken_hold_of() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    i_0, i_1 = sch.split("i", factors=[None, 2])
    j_0, j_1, j_2 = sch.split("j", factors=[2, 2, 2])
    sch.split(i_1, factors=[None, 2])
    loops = {handle: grip_of(sch.node, handle.key) for handle in (i_0, j_0, j_1, j_2)}
    # of i, 8 turns, one number is worked out: the other way round where it is taken hold of
    assert loops[i_0] and loops[i_0].ways == {v: (v, None) for v in (1, 2, 4, 8)}
    # of j each is told: its neighbour is worked out then, so that it stays 8 turns
    assert loops[j_0] and loops[j_0].ways == {v: (v, None, 2) for v in (1, 2, 4)}
    assert loops[j_2] and loops[j_2].ways == {v: (None, 2, v) for v in (1, 2, 4)}
    assert (loops[j_1].value, loops[j_1].step, loops[j_1].place) == (2, 2, 1) if loops[j_1] else 0
    k = sch.get_loops("C")[-1].key  # which no split made: a new one would
    grip = grip_of(sch.node, k)
    assert grip and (grip.step, grip.value) == (None, 8)
    assert grip.ways == {v: (None, v) for v in (2, 4, 8)}
    assert grip_of(sch.node, k, ["bind"]) is None
    odd = wb.Schedule(parsed(VECTOR_ADD.replace("1024", "1000")))
    grip = grip_of(odd.node, odd.get_loops("C")[0].key)  # few powers of two divide it
    assert grip and [*grip.ways][-6:] == [200, 250, 256, 500, 512, 1000]
    sch.unroll("k")
    assert grip_of(sch.node, k) is None
    assert grip_of(sch.node, sch.add_unit_loop("C").key) is None  # of one turn
    many = wb.Schedule(matmul(2**6 * 3**3 * 5 * 7 * 11))
    outer, _ = many.split("i", factors=[None, 2**3 * 3 * 5])
    grip = grip_of(many.node, outer.key)
    assert grip and len(grip.ways) == MOST and grip.value in grip.ways


def test_a_number_tried_is_the_program_with_the_steps_taken_so() -> None:
    sch, lab = finished(), wb.lab(finished())
    for value in lab.session.page["grips"][key_of(lab, "k_1")]["values"]:
        page = tried(lab, place=key_of(lab, "k_1"), value=value)
        if "refusal" in page:
            continue
        factors = [None, value] if value != 4 else [None, 4]
        sch.retune(4, factors=factors)
        assert text_of(page) == script.show(sch.func)
        assert page["told"] == f"split(k, factors=[None, {value}]) in place of step 4"


def test_a_number_that_no_split_made_tries_a_new_split_and_takes_it() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    lab = wb.lab(sch, actions=["split"])
    grip = lab.session.page["grips"][key_of(lab, "j")]
    assert grip == {"value": 8, "values": [2, 4, 8], "step": None}
    before = json.dumps([lab.session.state, len(sch.history)], default=str)
    page = tried(lab, place=key_of(lab, "j"), value=4)
    assert page["told"] == "split(j, factors=[None, 4])" and page["picture"]
    assert page["names"][page["held"]]["name"] == "j_1"  # whose number it is
    assert "for i, j_0, j_1, k in T.grid(8, 2, 4, 8):" in text_of(page)
    assert json.dumps([lab.session.state, len(sch.history)], default=str) == before
    lab.session.ask({"do": "apply", "place": key_of(lab, "j"), "value": 4})
    assert lab.cursor.node.label == "split(j, factors=[None, 4])" and lab.session.at == 1
    assert lab.session.page["back"] is None  # a step, which undo takes back
    assert lab.session.page["names"][lab.session.state["place"]]["name"] == "j_0"
    assert lab.session.page["grips"][key_of(lab, "j_1")]["step"] == 1
    bound = wb.lab(lab.cursor, actions=["bind"]).session.page["grips"].values()
    assert [grip["value"] for grip in bound] == [2, 4]  # of what a split made


def test_numbers_that_are_tied_follow_and_are_told() -> None:
    sch = finished()
    sch.goto(8)  # ahead of the fused loop of threads
    sch.bind("i_1", "threadIdx.y")
    sch.bind("j_1", "threadIdx.x")
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, "k_0")
    fused = sch.fuse(*sch.get_loops(copy)[-2:])
    _, ty, tx = sch.split(fused, factors=[None, 4, 4])
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    lab = wb.lab(sch)
    page = tried(lab, place=key_of(lab, "i_1"), value=8)
    assert page["told"] == (
        "split(i, factors=[None, 8, 4]) in place of step 2; "
        "split(ax0_ax1_fused, factors=[None, 8, 4]) in place of step 29"
    )


def test_steps_of_a_branch_have_the_numbers_that_the_history_shows() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    sch.split("i", factors=[4, 2])
    sch.split("j", factors=[4, 2])
    sch.goto(0)
    sch.split("i", factors=[8, 1])
    lab = wb.lab(sch)
    assert lab.session.at == 3
    assert lab.session.page["grips"][key_of(lab, "i_1")]["step"] == 3
    page = tried(lab, place=key_of(lab, "i_1"), value=2)
    assert page["told"] == "split(i, factors=[4, 2]) in place of step 3"


def test_a_refusal_on_a_branch_names_steps_as_the_history_does() -> None:
    sch = finished()
    sch.retune(4, factors=[None, 8])  # a branch from the third step on
    lab = wb.lab(sch)
    numbers = [node.id for node in sch.node.path()]
    assert numbers[3:6] == [3, 24, 25]
    page = tried(lab, place=key_of(lab, "ax0_ax1_fused_1"), value=2)
    assert page["refusal"]["headline"] == (
        "Can't let `ax0_ax1_fused_1` be 2: `i_1_j_1_fused`, on threadIdx.x too, runs 16 times "
        f"(step {numbers[16]}, bind)."
    )
    with pytest.raises(ScheduleError, match="Can't retune step 14: step 16, bind, is refused: "):
        sch.retune(14, factors=[None, 2, 4])  # of the trace, which counts from 1


def test_a_refusal_of_a_trace_that_is_cut_short_names_its_steps_so_too() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    sch.unroll("k")
    sch.goto(0)
    i_0, i_1 = sch.split("i", factors=[None, 4])
    sch.reorder("j", "k", i_0, i_1)
    with pytest.raises(StepsRefused) as refused:
        sch.retune(1, factors=[8])
    told = refused.value.told_of("let `i_0` be 8", "i_0", lambda n: sch.node.after(n).id)
    assert told.headline == (
        "Can't let `i_0` be 8: loop `i_1` is not there then (step 3, reorder)."
    )
    assert told.detail == "reorder(j, k, i_0, i_1)"


def named(lab: Lab, *keys: str) -> list[str]:
    return [lab.session.page["names"][key]["name"] for key in keys]


def test_a_refused_number_is_told_with_its_place_and_the_nearest_that_goes() -> None:
    lab = wb.lab(finished())
    page = tried(lab, place=key_of(lab, "k_0"), value=64)  # and k_1 has one turn left
    assert page["refusal"]["headline"] == (
        "Can't let `k_0` be 64: loop `ax1` is not there then (step 13, fuse)."
    )
    assert named(lab, *page["places"]) == [f"ax0_ax1_fused_{k}" for k in range(3)]
    assert page["instead"] is None
    assert weighed(lab, place=key_of(lab, "k_0"), value=64) == {"goes": 32}
    assert weighed(lab, place=key_of(lab, "k_0"), value=3) == {}  # which is no number of it


def test_a_refused_number_names_the_one_that_it_is_tied_to() -> None:
    sch = wb.Schedule(matmul(64))
    *_, thread, _ = sch.split("i", factors=[None, 4, 4])
    sch.reorder(thread, "j", "k")
    sch.bind(thread, "threadIdx.x")
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, thread)
    fused = sch.fuse(*sch.get_loops(copy)[-2:])
    own, _ = sch.split(fused, factors=[4, None])
    sch.bind(own, "threadIdx.x")
    lab = wb.lab(sch)
    page = tried(lab, place=key_of(lab, "ax0_ax1_fused_0"), value=8)
    assert page["refusal"]["headline"] == (
        "Can't let `ax0_ax1_fused_0` be 8: `i_1`, on threadIdx.x too, runs 4 times (step 8, bind)."
    )
    assert named(lab, *page["places"], page["instead"]) == ["ax0_ax1_fused_0", "i_1"]
    assert page["refusal"]["hint"] == ("drag the number of `i_1` to 8: what is tied to it follows")
    followed = tried(lab, place=page["instead"], value=8)
    assert "split(ax0_ax1_fused, factors=[8, None]) in place of step 7" in followed["told"]


def test_a_refused_number_names_none_that_does_not_go_either() -> None:
    """The copy's columns are `k_1`'s, no split's: no number lets them and `i_1` go together."""
    sch = wb.Schedule(script.parse(programs.MATMUL))
    i_0, i_1 = sch.split("i", factors=[None, 4])
    sch.bind(i_1, "threadIdx.x")
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, i_0)
    k_0, _ = sch.split("k", factors=[2, 4])
    sch.compute_at(copy, k_0)
    sch.bind(sch.get_loops(copy)[-1], "threadIdx.x")
    lab = wb.lab(sch)
    for held, value, other, turns in (("i_1", 8, "ax1", 4), ("k_1", 8, "i_1", 4)):
        page = tried(lab, place=key_of(lab, held), value=value)
        assert page["refusal"]["headline"] == (
            f"Can't let `{held}` be {value}: `{other}`, on threadIdx.x too, "
            f"runs {turns} times (step 7, bind)."
        )
        said = "choose a number with which there are 4 threads, as now"
        assert page["refusal"]["hint"] == said and page["instead"] is None


def test_two_labs_that_try_the_same_number_and_take_it_go_on_at_it() -> None:
    sch = finished()
    labs = [wb.lab(sch), wb.lab(sch)]
    step = {"place": key_of(labs[0], "i_2"), "value": 8}
    told = [tried(lab, **step)["told"] for lab in labs]
    for lab in labs:
        lab.session.ask({"do": "apply", **step})
    pages = [lab.session.page for lab in labs]
    places = [lab.session.state["place"] for lab in labs]
    assert told[0] == told[1] and labs[0].at == labs[1].at
    assert [page["names"][key]["name"] for page, key in zip(pages, places, strict=True)] == [
        "i_2"
    ] * 2


def test_a_number_of_the_last_step_promises_no_steps_after_it() -> None:
    for steps_after in (0, 2):
        sch = wb.Schedule(parse(ADD))
        loops = sch.split("i", factors=[2, 4])
        split = sch.node
        for loop, axis in zip(loops[:steps_after], ("blockIdx.x", "threadIdx.x"), strict=False):
            sch.bind(loop, axis)
        sch.goto(split)
        lab = wb.lab(sch)
        lab.session.ask({"do": "apply", "place": key_of(lab, "i_1"), "value": 1})
        said = "Took split(i, factors=[None, 1]) in place of step 1"
        stays = "; what came after it, step 2 on, stays in the other branch."
        said += stays if steps_after else "."
        assert lab.session.state["status"]["text"] == said
        assert len(lab.session.cursor.trace.steps) == 1


def test_what_is_tried_leaves_no_trace_and_is_taken_as_it_was_made() -> None:
    sch = finished()
    lab = wb.lab(sch)
    session = lab.session
    key = key_of(lab, "i_2")
    before = json.dumps([session.state, len(sch.history)], default=str)
    page = tried(lab, place=key, value=8)
    tried(lab, place=key, verb="split", args={"factors": "[None, 2]"})
    assert tried(lab, place=key, verb="split", args={"factors": "[3]"})["refusal"]["headline"]
    assert json.dumps([session.state, len(sch.history)], default=str) == before
    assert key in page["names"]  # what stands in the place of the loop has its key
    tried(lab, place=key, value=8)
    tried(lab, place=key, value=4)  # another: what was tried before is kept, too
    made = session.trying._made.copy()
    session.ask({"do": "apply", "place": key, "value": 8})
    assert (
        session.cursor.node in [trial.node for trial, *_ in made.values()]
        and session.at == len(sch.history) - 1
    )
    assert session.page["names"][session.state["place"]]["name"] == "i_2"


def test_a_dragged_number_is_told_and_shown_beside_what_was_dragged() -> None:
    lab = wb.lab(finished(), costs=["blocks"])
    session, at = lab.session, lab.session.at
    session.ask({"do": "apply", "place": key_of(lab, "i_2"), "value": 8})
    session.ask({"do": "count"})
    said = session.state["status"]["text"]
    assert "step 2" in said and "split(i, factors=[None, 4, 8])" in said
    assert said.startswith("Took ") and said.endswith(", and the steps after it again.")
    assert session.page["back"] == at
    (row,) = session.page["costs"]["rows"]
    assert (row["before"], row["after"], row["sign"]) == ("16", "8", "▼")
    changed = [row for row in session.page["texts"]["tensorir"]["diff"] if row[0] in "+-~"]
    assert 0 < len(changed) < 20  # the numbers, and what follows from them
    step, now = session.at, session.page
    session.follow({"at": now["back"]})
    assert session.page["back"] is None
    session.follow({"at": step})
    assert session.page["costs"] == now["costs"]


def test_what_it_would_cost_stands_beside_what_is_shown() -> None:
    lab = wb.lab(finished())
    assert weighed(lab, place=key_of(lab, "i_2"), value=3) == {}  # it would not be taken
    weighs = weighed(lab, place=key_of(lab, "i_2"), value=8)
    bar, costs = weighs["bar"], weighs["costs"]
    lab.session.ask({"do": "model"})
    assert bar["before"] is not None and bar["rows"] == []
    assert costs["rows"] and costs["kind"] == "counted"
    lab.session.ask({"do": "apply", "place": key_of(lab, "i_2"), "value": 8})
    lab.session.ask({"do": "model"})
    assert lab.session.page["bar"]["us"] == bar["us"]
    lab.session.ask({"do": "count"})
    taken = lab.session.page["costs"]["rows"]
    assert [row["after"] for row in taken] == [row["after"] for row in costs["rows"]]


def test_costs_of_what_is_tried_are_its_own_where_there_are_none_before() -> None:
    lab = wb.lab(wb.Schedule(script.parse(programs.MATMUL)), costs=["blocks", "threads in each"])
    lab.session.ask({"do": "count"})
    assert lab.session.page["costs"]["text"].startswith("No costs yet")
    key = next(k for k, one in lab.session.page["names"].items() if one["name"] == "i")
    rows = weighed(lab, place=key, verb="bind", args=ON_BLOCKS)["costs"]["rows"]
    assert [(row["name"], row["before"], row["after"]) for row in rows] == [
        ("blocks", "none", "8"),
        ("threads in each", "none", "1"),
    ]


def test_what_a_page_may_send() -> None:
    lab = wb.lab(finished())
    key = key_of(lab, "i_2")
    for step in (
        {"place": key, "value": 3},
        {"place": key, "value": True},
        {"place": "L99", "value": 4},
        {"place": key, "verb": "no verb", "args": {}},
        {"place": 3, "verb": "split", "args": {}},
        {},
    ):
        assert tried(lab, **step)["refusal"]["headline"].startswith("Can't ")
    lab.session.ask({"do": "apply", "place": key, "value": 3})
    assert lab.session.state["status"]["error"]["headline"] == (
        "Can't try that: it is no number that a split makes."
    )
    with pytest.raises(Fail):
        lab.session.tried({"do": "try"})
    sent: list[object] = []
    lab.send = sent.append  # type: ignore[method-assign]
    lab._on_message(None, {"do": "try", "step": 3}, None)
    headline = "Can't read what the page sent: step is int, not dict."
    assert lab.status["error"]["headline"] == headline and sent == []


def test_costs_of_what_is_tried_are_hidden_while_they_would_answer() -> None:
    sch = wb.Schedule(parsed(VECTOR_ADD))
    lab = wb.lab(sch, costs=["blocks"], question=lesson.question("vector_1024"))
    key = next(k for k, one in lab.session.page["names"].items() if one["name"] == "i")
    (row,) = weighed(lab, place=key, verb="bind", args=ON_BLOCKS)["costs"]["rows"]
    assert (row["before"], row["after"]) == ("", "?")
