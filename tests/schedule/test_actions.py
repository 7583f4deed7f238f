"""Actions: every primitive's verdict at a place agrees with what applying it does."""

import pytest

import workbench as wb
from tests.schedule import programs
from workbench import ir, script
from workbench.schedule import Option, Verdict
from workbench.verbs.primitive import REGISTRY


def by_name(verdicts: list[Verdict]) -> dict[str, Verdict]:
    return {verdict.verb: verdict for verdict in verdicts}


def test_every_primitive_has_a_say() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    at_loop, at_block = by_name(sch.actions("i")), by_name(sch.actions("C"))
    moves = {name for name, prim in REGISTRY.items() if prim.group != "choices"}
    assert set(at_loop) | set(at_block) == moves
    (verdict,) = sch.actions("i", ["sample_perfect_tile"])  # changes no program: where it is asked
    assert verdict.summary == REGISTRY["sample_perfect_tile"].summary
    for verb, verdict in (at_loop | at_block).items():
        assert verdict.summary == REGISTRY[verb].summary
        assert verdict.possible != bool(verdict.why_not)
        assert verdict.possible or verdict.why_not.startswith("Can't "), verb


def test_split_offers_divisors() -> None:
    sch = wb.Schedule(script.parse(programs.WINDOW))
    assert by_name(sch.actions("i"))["split"].choices == [
        {"factors": [None, 2]},
        {"factors": [None, 4]},
        {"factors": [None, 8]},
    ]


def test_bind_says_which_axes_and_why_not() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    sch.split("i", factors=[None, 4])
    sch.bind("i_1", "threadIdx.x")
    bind = by_name(sch.actions("j"))["bind"]
    assert [choice["thread_axis"] for choice in bind.choices] == [
        "threadIdx.y",
        "threadIdx.z",
        "blockIdx.x",
        "blockIdx.y",
        "blockIdx.z",
        "vthread.x",
        "vthread.y",
        "vthread.z",
        "vthread",
    ], "in a loop that is bound: threads first"
    refused = [option for option in bind.options if option.why_not]
    assert [option.why_not for option in refused] == [
        "Can't bind `j` to threadIdx.x: it runs 8 times, but `i_1`, bound to it in this kernel, "
        "4 times"
    ]
    over = by_name(sch.actions("k"))["bind"]
    assert [choice["thread_axis"] for choice in over.choices] == ["threadIdx.y", "threadIdx.z"]
    refused = {option.arguments["thread_axis"]: option for option in over.options if option.why_not}
    assert refused["blockIdx.x"].why_not == (
        "Can't bind `k` to blockIdx.x: blocks k=0 and k=1 would both update C[0, 0]"
    )
    assert refused["blockIdx.x"].hint == "use `i_0` or `j` for that, or keep `k` serial"


def test_why_not_bind_says_what_no_axis_would_help() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL.replace("C[vi, vj] +", "C[vi, vj] -")))
    sch.bind("i", "threadIdx.y")
    sch.bind("j", "threadIdx.x")
    assert by_name(sch.actions("k"))["bind"].why_not == (
        "Can't bind `k` to threadIdx.x: threads k=0 and k=1 would both update C[0, 0]"
    )


def test_why_not_move_a_block_says_who_is_missing() -> None:
    at_block = by_name(wb.Schedule(script.parse(programs.MATMUL)).actions("C"))
    assert at_block["compute_at"].why_not == (
        "Can't compute_at `C`: C is a result of the program, not a step on the way"
    )
    assert at_block["reverse_compute_at"].why_not == (
        "Can't reverse_compute_at `C`: no block ahead of it makes what it reads"
    )
    # neither sends to the other where there is no block that it could be moved to
    makes = "cache_read or cache_write makes one to move"
    assert all(at_block[verb].hint.endswith(makes) for verb in ("compute_at", "reverse_compute_at"))


def test_why_not_is_what_most_options_share() -> None:
    told = [("it has no axis", "one"), ("it varies", "two"), ("it varies", "three")]
    options = tuple(Option({"axis": k}, *words) for k, words in enumerate(told))
    verdict = Verdict("pad", "loops", "", options)
    assert (verdict.why_not, verdict.hint) == ("it varies", "two")
    even = Verdict("pad", "loops", "", options[:2])
    assert (even.why_not, even.hint) == ("it has no axis", "one")
    assert Verdict("pad", "loops", "", (*options, Option({}))).why_not == ""


def test_reorder_offers_the_way_out() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    assert by_name(sch.actions("k"))["reorder"].choices == [
        {"ordered_loops": ["i", "j"]},
        {"ordered_loops": ["i"]},
        {"ordered_loops": ["j"]},
    ]
    outermost = by_name(sch.actions("i"))["reorder"]
    assert outermost.why_not == "Can't reorder `i` outwards: no loop is directly around it"
    assert outermost.hint == "choose the loop that is to go outside"
    innermost = by_name(sch.actions("k"))["fuse"]
    assert innermost.why_not == "Can't fuse `k`: no loop is directly inside it"
    assert innermost.hint == "choose the outer one of two loops that are nested directly"


def test_a_name_that_two_loops_have_is_told_with_a_block() -> None:
    sch = wb.Schedule(script.parse(programs.TWO))
    into = by_name(sch.actions("B"))["compute_at"]
    assert into.choices == [{"loop": "C.i"}]
    sch.compute_at("B", "C.i")
    assert [loop.name for loop in sch.get_loops("B")] == ["i"]


PLACES = [
    ("VECTOR", "i"), ("VECTOR", "B"), ("MATMUL", "i"), ("MATMUL", "k"), ("MATMUL", "C"),
    ("TWO", "B"), ("TWO", "C"), ("TRIANGLE", "j"), ("SCAN", "i"), ("WINDOW", "B"),
]  # fmt: skip


@pytest.mark.parametrize("name, place", PLACES)
def test_a_verdict_is_what_applying_shows(name: str, place: str) -> None:
    sch = wb.Schedule(script.parse(getattr(programs, name)))
    for verdict in sch.actions(place):
        prim = REGISTRY[verdict.verb]
        for option in verdict.options:
            needs = prim.params[0].many or any(p.required for p in prim.params[1:])
            if needs and not option.arguments:
                continue  # a text of one's own, or nothing there to try
            many = [p.name for p in prim.params if p.many]
            rest = [item for key in many for item in option.arguments.get(key, [])]
            named = {k: v for k, v in option.arguments.items() if k not in many}
            if option.why_not:
                with pytest.raises(wb.ScheduleError) as refused:
                    sch.apply(verdict.verb, place, *rest, **named)
                assert refused.value.headline.rstrip(".") == option.why_not
            else:
                sch.apply(verdict.verb, place, *rest, **named)
                ir.verify(sch.func)
            sch.goto(0)


def test_what_no_name_tells_apart_is_not_offered() -> None:
    """The form of a lab and the examples in refusals call by name."""
    sch = wb.Schedule(script.parse(programs.SAME_NAME))
    first, second = sch.get_blocks("B")
    merge = by_name(sch.actions(sch.get_loops(first)[0]))["merge"]
    assert not merge.possible
    assert merge.why_not == "Can't merge here: `i` is the name of several"
    assert merge.hint == "pass handles, from get_loops() or get_blocks()"
    sch.merge(sch.get_loops(first)[0], sch.get_loops(second)[0])


def test_verbs_that_are_no_names() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    with pytest.raises(wb.ScheduleError) as refused:
        sch.actions("k", 5)  # type: ignore[arg-type]
    assert str(refused.value) == (
        "Can't list actions: verbs takes names of primitives, not a value of type int.\n"
        'asked: sch.actions("k", 5)\n'
        'do:    name some: verbs=["split", "bind"], or leave them out for all'
    )


def test_the_whole_program_is_a_place_that_steps_refuse() -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    assert {verdict.verb for verdict in sch.actions("root")} > {"compute_at", "add_unit_loop"}
    assert sch.get_producers("root") == sch.get_consumers("root") == []
