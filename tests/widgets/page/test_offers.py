"""Forms of the lab: the call that they show is taken as it stands, and what they send is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from tests.lower.test_double_buffers import tiled
from tests.schedule import programs
from tests.widgets.programs import ADD, WINDOW, apply, key, parse, send, window_steps
from workbench import lesson, script
from workbench.diag import Fail, shortened
from workbench.history.handles import handle_of
from workbench.ir import BlockId
from workbench.schedule import Schedule, ScheduleError
from workbench.verbs.primitive import REGISTRY
from workbench.widgets import Lab
from workbench.widgets.ask.steps import take
from workbench.widgets.page.at_place import buffer_param
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.names import place_text
from workbench.widgets.page.offers import call
from workbench.widgets.page.page import page
from workbench.widgets.page.view import View


def window() -> Schedule:
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    return sch


def product() -> Schedule:
    sch = Schedule(script.parse(programs.MATMUL))
    i, j, k = sch.get_loops("C")
    i_0, i_1 = sch.split(i, factors=[None, 4])
    sch.reorder(i_0, j, k, i_1)
    sch.cache_read("C", 0, "shared")
    sch.cache_read("C", 1, "shared")
    sch.decompose_reduction("C", k)
    return sch


STARTS = {
    "window": window,
    "product": product,
    "one name twice": lambda: Schedule(script.parse(programs.SAME_NAME)),
    "two": lambda: Schedule(script.parse(programs.TWO)),
}


def offered(sch: Schedule) -> Iterator[tuple[dict[str, Any], str]]:
    """Every verb that is possible at a place, for all places, which are given as in a call."""
    desk = Desk()
    for place in desk.places(sch.func):
        made = page(sch, View(place=place, more=True), desk)
        for verb in made["offers"][place]["verbs"]:
            if verb["verdict"] == "possible":
                yield verb, place_text(sch.func, desk.keys.thing(place))


def calls(verb: dict[str, Any], place: str, refused: bool = False) -> list[str]:
    """The calls of a form of at most one field, with each of its options that is (not) refused."""
    options = [(f["name"], o) for f in verb["fields"] for o in f["options"]]
    given = [{name: o["value"]} for name, o in options if o.get("refused", False) == refused]
    return [call(REGISTRY[verb["name"]], place, args) for args in given or [{}][refused:]]


@pytest.mark.parametrize("start", STARTS)
def test_the_call_that_a_form_shows_is_taken_as_it_stands(start: str):
    sch = STARTS[start]()
    seen = set()
    for verb, place in offered(sch):
        if len(verb["fields"]) > 1 or "…" in verb["call"]:
            continue  # of several fields, not all go together; an empty one is to be filled in
        assert verb["call"] == calls(verb, place)[0]
        for text in calls(verb, place):
            exec(text, {"sch": sch.fork()})
            seen.add(verb["name"])
        for text in calls(verb, place, refused=True):
            with pytest.raises(ScheduleError):
                exec(text, {"sch": sch.fork()})
    assert len(seen) > 4
    assert seen & {"fuse", "reorder", "split", "bind"}


@pytest.mark.parametrize("start", STARTS)
def test_what_would_be_refused_stands_last_and_says_so_as_a_step_does(start: str):
    """Verbs of a menu, options of a field; what a press on a refused verb asks for is refused."""
    sch, desk, tried = STARTS[start](), Desk(), 0
    for place in desk.places(sch.func):
        verbs = page(sch, View(place=place, more=True), desk)["offers"][place]["verbs"]
        assert [verb["verdict"] for verb in verbs] == sorted(verb["verdict"] for verb in verbs)
        for verb in verbs:
            for field in verb.get("fields", ()):
                barred = [option.get("refused", False) for option in field["options"]]
                assert barred == sorted(barred)
            if verb.get("try") is not None:
                tried += 1
                message = {"verb": verb["name"], "place": verb["place"], "args": verb["try"]}
                with pytest.raises(Fail) as refused:
                    take(sch.fork(), sch.node, desk, message)
                same = shortened(refused.value.headline) in verb["why"]["headline"]
                assert same or "is the name of several" in verb["why"]["headline"]
    assert tried > 3


def test_an_axis_that_a_loop_cannot_be_bound_to_is_in_its_form():
    """The loop of a sum: its turns add to the same cell."""
    sch, desk = product(), Desk()
    (k,) = (key for key, label in desk.places(sch.func).items() if "k" in label.split())
    verbs = page(sch, View(place=k, more=True), desk)["offers"][k]["verbs"]
    (bind,) = (verb for verb in verbs if verb["name"] == "bind")
    refused = {o["label"] for o in bind["fields"][0]["options"] if o.get("refused")}
    assert "blockIdx.x" in refused and "threadIdx.x" not in refused


def test_a_list_without_its_brackets_is_shown_with_them():
    assert call(REGISTRY["split"], '"i"', {"factors": "2, 4"}) == 'sch.split("i", factors=[2, 4])'


def test_a_list_of_loops_is_shown_loop_by_loop():
    forms = [form for form in offered(product()) if form[0]["name"] in ("fuse", "reorder")]
    shown = [text for form in forms for text in calls(*form)]
    assert shown and all(", [" not in text for text in shown)
    two = Schedule(script.parse(programs.SAME_NAME))
    desk = Desk()
    places = [place_text(two.func, desk.keys.thing(k)) for k in desk.places(two.func)]
    assert len(set(places)) == len(places)
    for place in places:
        two.actions(eval(place, {"sch": two}))


def told(lab: Lab) -> str:
    error = lab.status["error"]
    return f"{error['headline']}\n{error['hint']}"


def test_what_cannot_be_read_is_told_with_what_is_possible():
    lab = wb.lab(Schedule(parse(ADD)))
    apply(lab, "split", "i", factors="[foo")
    assert told(lab) == (
        "Can't split: factors can't be read from '[foo'.\nwrite it as in Python, such as [None, 2]"
    )
    apply(lab, "split", "i", factors=lab.status["error"]["hint"].rpartition("such as ")[2])
    assert lab.status["kind"] == "ready" and lab.at == 1


def test_the_example_for_a_whole_number_is_one():
    lab = wb.lab(Schedule(script.parse(programs.MATMUL)))
    apply(lab, "rfactor", "k", factor_axis="foo")
    example = lab.status["error"]["hint"].rpartition("such as ")[2]
    apply(lab, "rfactor", "k", factor_axis=example)
    assert lab.status["kind"] == "ready" and lab.at == 1


@pytest.mark.parametrize(
    ("typed", "key_", "value", "noted"),
    [
        ("note", "note", "1", 1),
        ('"note"', "note", "[1, 2]", (1, 2)),
        ("'note'", "note", "words", "words"),
        ("12", "12", "'words'", "words"),
        ("True", "True", "False", False),
    ],
)
def test_a_text_may_be_typed_with_and_without_quotes(
    typed: str, key_: str, value: str, noted: object
):
    lab = wb.lab(Schedule(parse(ADD)))
    apply(lab, "annotate", "i", ann_key=typed, ann_val=value)
    (loop,) = [lab.cursor.trace.steps[-1]]
    assert dict(loop.kwargs).get("ann_val", loop.args[-1]) == noted
    assert loop.args[1] == key_


def test_the_value_of_a_note_is_typed():
    lab = wb.lab(Schedule(parse(ADD)))
    lab.view = {**lab.view, "more": True}
    lab.place = key(lab, "i")
    offers = lab.page_0["offers"][lab.place]["verbs"]
    (annotate,) = [verb for verb in offers if verb["name"] == "annotate"]
    assert [(f["name"], f["kind"]) for f in annotate["fields"]] == [
        ("ann_key", "text"),
        ("ann_val", "text"),
    ]
    assert annotate["call"] == 'sch.annotate("i", ann_key=…, ann_val=…)'
    json.dumps(offers)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ({"ann_key": "note", "ann_val": "4"}, 'ann_key="note", ann_val=4'),
        ({"ann_key": "4", "ann_val": "[1, 2]"}, 'ann_key="4", ann_val=[1, 2]'),
        ({"ann_key": "'note'", "ann_val": "it's"}, "ann_key='note', ann_val=\"it's\""),
        ({"ann_key": "", "ann_val": "[1,"}, 'ann_key=…, ann_val="[1,"'),
    ],
)
def test_the_call_is_written_as_it_is_read(typed: dict[str, str], text: str):
    lab = wb.lab(Schedule(parse(ADD)))
    send(lab, do="write", verb="annotate", place=lab.place, args=typed)
    shown = f'sch.annotate("i", {text})'
    assert lab.call == {"verb": "annotate", "place": lab.place, "args": typed, "text": shown}
    if "…" not in text:
        send(lab, do="apply", verb="annotate", place=lab.place, args=typed)
        by_call = Schedule(parse(ADD))
        exec(shown, {"sch": by_call})
        assert lab.cursor.trace.steps == by_call.trace.steps


def test_what_cannot_be_read_is_shown_as_it_is_typed():
    lab = wb.lab(Schedule(parse(ADD)))
    send(lab, do="write", verb="split", place=lab.place, args={"factors": "[2,"})
    assert lab.call["text"] == 'sch.split("i", factors=[2,)'
    assert "error" not in lab.status


def names(lab: Lab) -> list[str]:
    return [verb["name"] for verb in shown(lab)["verbs"] if verb["offered"]]


def shown(lab: Lab) -> dict[str, Any]:
    """What is offered at the place that is chosen."""
    return lab.session.page["offers"][lab.place]


def fields(lab: Lab, verb: str) -> dict[str, Any]:
    (form,) = [one for one in shown(lab)["verbs"] if one["name"] == verb]
    return {field["name"]: field["value"] for field in form["fields"]}


def test_a_verb_says_what_it_does_to_the_thing_by_name():
    lab = wb.lab(window(), actions=["bind", "cache_read"])
    lab.place = key(lab, "i_0")
    (bind,) = [v for v in lab.session.page["offers"][lab.place]["verbs"] if v["name"] == "bind"]
    assert bind["summary"].startswith(
        "Turn `i_0` from time into blocks or threads, all at once: each"
    )
    lab.place = key(lab, "A", "buffer")
    (read,) = lab.session.page["offers"][lab.place]["verbs"]
    assert read["summary"].startswith("Copy a buffer that `A_shared` reads into storage_scope")


def test_a_form_holds_what_the_lesson_has_said_and_no_more():
    said = {"split": {"factors": [2, 4]}, "bind": {"thread_axis": "blockIdx.x"}}
    lab = wb.lab(Schedule(parse(ADD)), arguments=said)
    assert fields(lab, "split") == {"factors": "[2, 4]"}
    assert fields(lab, "bind") == {"thread_axis": '"blockIdx.x"'}
    lab = wb.lab(Schedule(parse(ADD)), arguments={"split": {}})
    assert fields(lab, "split") == {"factors": ""} and fields(lab, "bind") == {"thread_axis": ""}
    (bind,) = [verb for verb in shown(lab)["verbs"] if verb["name"] == "bind"]
    assert bind["fields"][0]["options"][0] == {"value": "", "label": "choose …"}
    assert bind["call"] == 'sch.bind("i", thread_axis=…)'


def test_a_form_holds_what_is_said_of_its_own_place():
    said = {"bind i_0": {"thread_axis": "blockIdx.y"}, "bind": {"thread_axis": "threadIdx.x"}}
    sch = Schedule(parse(ADD))
    sch.split("i", factors=[2, 4])
    lab = wb.lab(sch, arguments=said)
    held = {}
    for place in ("i_0", "i_1"):
        lab.place = key(lab, place)
        held[place] = fields(lab, "bind")["thread_axis"]
    assert held == {"i_0": '"blockIdx.y"', "i_1": '"threadIdx.x"'}


def test_what_is_said_of_a_place_that_is_not_here_is_left_out():
    lab = wb.lab(product(), arguments={"compute_at": {"loop": "i_9"}})
    lab.place = key(lab, "A_shared", "block")
    assert fields(lab, "compute_at")["loop"] == ""


def test_the_forms_of_an_exercise_hold_nothing():
    exercise = lesson.exercise("odd_vector")
    lab = wb.lab(exercise.schedule())
    assert set(fields(lab, "split").values()) == {""}


def test_the_only_one_there_is_need_not_be_chosen():
    exercise = lesson.exercise("one_ahead")
    lab = wb.lab(exercise.schedule())
    lab.place = key(lab, "A_shared", "block")
    assert fields(lab, "cache_read") == {"read_buffer_index": '"A"', "storage_scope": ""}


def test_copies_of_buffers_say_how_they_are_written_and_have_the_room():
    sch = lesson.exercise("one_ahead").schedule()
    sch.compute_at(sch.cache_read("A_shared", "A", "local"), "k_0")
    lab = wb.lab(sch)
    lab.place = key(lab, "k_0")
    (form,) = [one for one in shown(lab)["verbs"] if one["name"] == "pipeline"]
    (copies,) = [field for field in form["fields"] if field["name"] == "copies"]
    assert (copies["kind"], copies["help"]) == ("dict", 'by name, such as {"X": 2}')


def test_what_is_not_given_yet_is_asked_for():
    lab = wb.lab(Schedule(parse(ADD)), arguments={})
    apply(lab, "bind", "i", thread_axis="")
    assert told(lab) == (
        'Can\'t bind: thread_axis is not given yet.\nchoose one, such as "blockIdx.x"'
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"splt i": {}}, "Can't open a lab with the verb 'splt': there is none of that name"),
        ({"split": {"loop": "i"}}, "argument of split 'loop': there is none"),
        ({"split": [2, 4]}, "they are given by verb and name"),
        ([], "they are given by verb and name"),
    ],
)
def test_arguments_that_there_are_not_are_refused(arguments: Any, text: str):
    with pytest.raises(Fail, match=re.escape(text)):
        wb.lab(Schedule(parse(ADD)), arguments=arguments)


def test_verbs_that_are_told_a_buffer_are_known_by_the_argument():
    assert [verb for verb in REGISTRY if buffer_param(verb)] == [
        *("cache_read", "cache_write", "reindex", "reindex_cache_read", "reindex_cache_write"),
        *("set_scope", "storage_align", "transform_layout"),
    ]


def test_at_a_buffer_stand_the_verbs_of_the_blocks_that_write_and_read_it():
    lab = wb.lab(window())
    lab.place = key(lab, "A_shared", "buffer")
    assert shown(lab)["place"] == {"key": lab.place, "label": "buffer A_shared (shared, 1027)"}
    verbs = {verb["name"]: verb for verb in shown(lab)["verbs"]}
    assert {"cache_read", "set_scope", "compute_at", "transform_layout"} <= set(verbs)
    assert verbs["set_scope"]["place"] == key(lab, "A_shared", "block")
    assert verbs["cache_read"]["place"] == key(lab, "C", "block"), "C reads it"
    options = verbs["cache_read"]["fields"][0]["options"]
    assert [option["label"] for option in options] == ["A_shared"], "and it alone"


def test_the_call_of_a_form_at_a_buffer_is_the_step_that_it_takes():
    lab = wb.lab(Schedule(script.parse(programs.TWO)))
    start = Schedule(script.parse(programs.TWO))
    lab.place = key(lab, "B", "buffer")
    (verb,) = [verb for verb in shown(lab)["verbs"] if verb["name"] == "set_scope"]
    args = {field["name"]: field["value"] for field in verb["fields"]}
    send(lab, do="apply", verb="set_scope", place=verb["place"], args=args)
    assert lab.at == 1, lab.status
    exec(verb["call"], {"sch": start})
    assert lab.cursor.trace.steps == start.trace.steps


def test_a_parameter_that_is_only_read_has_the_verbs_of_its_readers():
    lab = wb.lab(Schedule(parse(ADD)), actions=["split", "cache_read"])
    lab.place = key(lab, "A", "buffer")
    assert names(lab) == ["cache_read"]
    lab.view = {**lab.view, "more": True}
    told = {verb["name"] for verb in shown(lab)["verbs"]}
    assert "cache_write" not in told and "reindex" in told


def test_of_several_blocks_a_verb_is_told_where_it_is_possible():
    """C is filled by one block and summed up by another: no copy is possible at the first."""
    lab = wb.lab(product())
    lab.place = key(lab, "C", "buffer")
    for verb in shown(lab)["verbs"]:
        blocks = {key(lab, "C_init", "block"), key(lab, "C_update", "block")}
        assert verb["place"] in blocks
        block = lab.session.desk.keys.thing(verb["place"])
        assert isinstance(block, BlockId)
        said = {v.verb: v for v in lab.cursor.actions(handle_of(lab.history, block))}
        assert said[verb["name"]].possible or verb["verdict"] == "refused"


def test_the_places_that_matter_come_first():
    """What arguments are given for, what the last step made, what is plain, and what is bound."""
    lab = wb.lab(Schedule(script.parse(programs.MATMUL)))
    apply(lab, "split", "j", factors="[None, 4]")
    labels = [place["label"] for place in lab.session.page["places"]]
    assert labels == ["loop j_0", "loop j_1", "loop i", "loop k", "block C"]
    apply(lab, "bind", "j_0", thread_axis='"blockIdx.x"')
    labels = [place["label"] for place in lab.session.page["places"]]
    assert labels == ["loop i", "loop j_1", "loop k", "block C", "loop j_0"]
    program = Schedule(script.parse(programs.MATMUL))
    asked = wb.lab(program, arguments={"bind k": {"thread_axis": "threadIdx.x"}})
    assert asked.session.page["places"][0]["label"] == "loop k"


def pipelined_lab(sch: Schedule | None = None, **options: Any) -> tuple[Lab, dict[str, Any]]:
    """A lab at the loop of a product over tiles, and what its form for a pipeline is."""
    lab = wb.lab(sch or tiled(8), actions=["pipeline"], panes=["CUDA"], **options)
    lab.place = key(lab, "k_0")
    (verb,) = lab.session.page["offers"][lab.place]["verbs"]
    args = {f["name"]: f["value"] for f in verb["fields"]}
    send(lab, do="write", verb="pipeline", place=lab.place, args=args)
    return lab, verb


def test_a_pipeline_is_proposed_as_a_whole_with_what_it_costs():
    lab, verb = pipelined_lab()
    texts = ["stages=[0, 0, 1]", *(f"stages=[0, 0, {n}], async_stages=[0]" for n in (1, 2))]
    assert [way["text"] for way in verb["ways"]] == texts
    assert verb["call"] == f'sch.pipeline("k_0", {texts[0]})'  # the first of them, whole
    sm_80 = '; on GPUs from sm_80 on, as wb.build(sch, target="nvidia/a100")'
    assert lab.call["told"] == [
        f"{size} bytes of shared memory, 1 barrier a turn; {n} copies of A_shared and B_shared{gpu}"
        for n, size, gpu in ((2, "2,048", ""), (2, "2,048", sm_80), (3, "3,072", sm_80))
    ]
    apply(lab, "pipeline", "k_0", **verb["ways"][2]["args"])
    assert "async_stages=[0]" in str(lab.cursor.trace)


def test_a_proposal_without_a_kernel_says_why():
    lab, _ = pipelined_lab(tiled(256, size=256))  # two tiles each of 16 and 32 KiB
    told = lab.call["told"]
    assert told[0].startswith("No kernel yet: A_shared and B_shared need 65536 bytes of shared")
    assert told[1].startswith("65,536 bytes of shared memory; 2 copies")  # that GPU has more


def test_what_a_proposal_costs_is_not_told_while_a_question_is_open():
    lab, _ = pipelined_lab(question=lesson.question("ahead_in_one_copy"))
    assert lab.call["told"] == ["? Answer the question first."] * 3
