"""Where a lab lets loops, blocks and buffers be carried to, and what a page is told of it."""

import json
from typing import Any

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.schedule import programs
from workbench import script
from workbench.widgets import Lab


def key_of(lab: Lab, name: str, kind: str = "loop") -> str:
    names = lab.session.page["names"]
    return next(k for k, about in names.items() if (about["kind"], about["name"]) == (kind, name))


def places_for(lab: Lab, name: str, kind: str = "loop") -> dict[str, dict[str, Any]]:
    """What a page is told of the places for a loop or block, by where they are."""
    sent: list[Any] = []
    lab.send = sent.append  # type: ignore[method-assign]
    key = key_of(lab, name, kind)
    lab._on_message(None, {"do": "carry", "place": key}, None)
    assert [set(said) for said in sent] == [{"targets", "place"}] and sent[0]["place"] == key
    return {f"{t['group']} {t['label']}".strip(): t for t in sent[0]["targets"]}


def product() -> wb.Schedule:
    return wb.Schedule(script.parse(programs.MATMUL))


def test_the_tray_has_the_axes_in_their_order_and_says_why_not() -> None:
    sch = product()
    sch.bind("i", "blockIdx.x")
    found = places_for(wb.lab(sch, actions=["bind", "unroll"]), "k")
    axes = [f"{unit} {axis}" for unit in ("blockIdx", "threadIdx") for axis in "xyz"]
    assert list(found) == [*axes, "unroll"]
    assert found["blockIdx y"]["why_not"] == (
        "Can't bind `k` to blockIdx.y: blocks k=0 and k=1 would both update C[0, 0]"
    )
    assert not found["threadIdx x"]["why_not"] and not found["threadIdx x"]["loop"]


def test_virtual_threads_are_on_the_tray_of_all_verbs_and_where_a_form_is_given_one() -> None:
    virtual = [f"vthread {axis}" for axis in "xyz"] + ["vthread"]
    given = {"bind i": {"thread_axis": "vthread.y"}}
    for options in ({}, {"actions": ["bind"], "arguments": given}):
        found = places_for(wb.lab(product(), **options), "i")
        assert [place for place in found if place.startswith("vthread")] == virtual
    given = {"bind i": {"thread_axis": "blockIdx.x"}}
    found = places_for(wb.lab(product(), actions=["bind"], arguments=given), "i")
    assert list(found)[:3] == ["blockIdx x", "blockIdx y", "blockIdx z"]
    assert not any(place.startswith("vthread") for place in found)


@pytest.mark.parametrize(
    ("name", "onto", "order"),
    [("k", "i", "kij"), ("i", "k", "jki"), ("j", "i", "jik"), ("j", "k", "ikj")],
)
def test_a_loop_takes_the_place_of_another(name: str, onto: str, order: str) -> None:
    lab = wb.lab(product(), actions=["reorder"])
    target = places_for(lab, name)[f"in the place of {onto}"]
    assert target["loop"] == key_of(lab, onto) and not target["why_not"]
    lab.session.ask({"do": "apply", **target["step"]})
    assert "".join(handle.name for handle in lab.cursor.get_loops("C")) == order


def test_a_block_goes_inside_a_loop_by_the_verb_that_can() -> None:
    sch = product()
    copy = sch.cache_read("C", "A", "local")
    sch.cache_write("C", "C", "local")
    lab = wb.lab(sch, actions=["compute_at", "reverse_compute_at"])
    for name, verb in ((copy.name, "compute_at"), ("C_local", "reverse_compute_at")):
        target = places_for(lab, name, "block")["inside j"]
        assert (target["step"]["verb"], target["why_not"]) == (verb, "")
        lab.session.ask({"do": "apply", **target["step"]})
        assert lab.status["kind"] == "ready"
    assert "inside k" not in places_for(lab, "C", "block")  # its own loop


def test_asking_leaves_no_trace_and_takes_no_garbage() -> None:
    sch = wb.Schedule(matmul(64))
    blocking_with_shared(sch, 4, 4, 4, 4, 4)
    lab = wb.lab(sch)
    before = json.dumps([lab.session.state, len(sch.history)], default=str)
    assert places_for(lab, "k_0")
    assert json.dumps([lab.session.state, len(sch.history)], default=str) == before
    assert lab.session.targets({"place": "L999"}) == []
    lab._on_message(None, {"do": "carry", "place": 3}, None)
    headline = "Can't read what the page sent: place is int, not str."
    assert lab.status["error"]["headline"] == headline


def test_what_can_be_carried_is_what_is_offered() -> None:
    def carried(*verbs: str) -> object:
        return wb.lab(product(), actions=list(verbs)).setup["carried"]

    assert carried("split", "fuse") == []
    assert carried("split", "cache_read") == carried("cache_write") == ["buffer"]
    assert carried("split", "bind") == ["loop"]
    assert carried("compute_at") == ["block"]
    assert wb.lab(product()).setup["carried"] == ["loop", "block", "buffer"]
    lab = wb.lab(product(), actions=["split"])
    assert lab.session.targets({"place": key_of(lab, "i")}) == []


TWO_READERS = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] * T.float32(2)
    for j in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, j)
            C[v] = A[v] + T.float32(1)
"""


def test_a_buffer_goes_into_a_memory_by_a_copy_that_is_read_or_written() -> None:
    lab = wb.lab(product(), actions=["cache_read", "cache_write"])
    assert lab.setup["carried"] == ["buffer"]
    found = places_for(lab, "A", "buffer")
    assert list(found) == ["read through shared", "read through local"]
    assert not any(target["why_not"] or target["loop"] for target in found.values())
    lab.session.ask({"do": "apply", **found["read through shared"]["step"]})
    assert lab.cursor.node.label == 'cache_read(C, "A", "shared")'
    written = places_for(lab, "C", "buffer")
    lab.session.ask({"do": "apply", **written["write through local"]["step"]})
    assert lab.cursor.node.label.startswith("cache_write(C, ")
    only = wb.lab(product(), actions=["cache_write"])
    assert places_for(only, "A", "buffer") == {}  # which nothing writes


def test_of_several_readers_it_is_asked_which() -> None:
    lab = wb.lab(wb.Schedule(script.parse(TWO_READERS)), actions=["cache_read"])
    found = places_for(lab, "A", "buffer")
    whose = ("all read", "B reads", "C reads")
    assert list(found) == [f"{who} through {scope}" for who in whose for scope in SCOPES]
    for who, readers in zip(whose, ("BC", "B", "C"), strict=True):
        lab.session.follow({"at": 0})
        lab.session.ask({"do": "apply", **found[f"{who} through shared"]["step"]})
        assert lab.session.state["status"]["kind"] == "ready"
        blocks = [lab.cursor.get(handle) for handle in lab.cursor.get_blocks()]
        reading = [b.name for b in blocks if any(r.buffer.name == "A_shared" for r in b.reads)]
        assert "".join(reading) == readers


def test_a_memory_that_it_cannot_go_into_says_why() -> None:
    sch = product()
    sch.decompose_reduction("C", "k")
    found = places_for(wb.lab(sch, actions=["cache_read", "cache_write"]), "C", "buffer")
    writes = {place: target["why_not"] for place, target in found.items() if "write" in place}
    assert {place.partition(" ")[0] for place in writes} == {"C_init", "C_update"}
    assert all(why.startswith("Can't cache_write") for why in writes.values()), writes


SCOPES = ("shared", "local")
