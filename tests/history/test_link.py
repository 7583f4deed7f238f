"""Links: what is shown, in the fragment of a URL, and opened again elsewhere."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import workbench as wb
from tests.strategies import runs
from tests.support.checked_run import CheckedRun
from tests.test_project import PROJECT
from tests.widgets.programs import ADD, parse
from workbench import script
from workbench.history import link as links
from workbench.history.history import HistoryNode
from workbench.history.link import ADDRESS, MOST_BYTES, MOST_STEPS, link, read_link

# As version 1 packs two steps on `ADD`: it is read for as long as there is a version 1.
OLD = (
    "https://github.com/mlc-workbench/workbench#workbench1.eNqFU89vgjAU_leatwtmjKjbYS"
    "FZss3T7t7ELAUe0gAtaYuYGP73vYLo1E17afu-H_R7LXvIlK64hRBapYsYZZI_mSTHtCkRfNiiNkJJCG"
    "c-1FptNK-I-r4Mai2q76yRSSRTzBhPU-8jZMvgs8ky1J736k98FkFWKm6f5xHQ7vMOvriJT8JIMhoPrB"
    "U2J2ZcqqTwItBKWcIPMMVhggnJNJcb9F7HuhsXwsVJNY6tYG_E4DthAlNzK3hJJ2Fick5bBhp5aryP1V"
    "asKZibriitFhaNt_gD7Gv0pV7PHgcD6nbFdUHtjXEjJG2lStFAuNpDzTVKuqTpkUOwsVhDuHd3FFPF1K"
    "WwVOZ6M4gKIVOql0rVRzYZqIaMZFOWPvSdGMykzceqypzrQT1QbssX1_phRRa4GzeSVziS0ZDJat0dKd"
    "MjLk44rdfd2oeiHTLtIeOJVdrFm_svTu5eIIno-UHX-adGzU7NdIc01-2KXb473Zod4k5vter_qOJ7eh"
    "62N_lKd8EOfse6zEGY-yPnNEnTou453Q-kuRqI"
)


def schedule() -> wb.Schedule:
    sch = wb.Schedule(parse(ADD))
    sch.mark("begin")
    outer, _inner = sch.split("i", factors=[2, 4])
    sch.bind(outer, "blockIdx.x")
    sch.mark("blocks")
    return sch


def packed(data: Any) -> str:
    """A link to what is packed as `link` does it: data, or bytes."""
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return "#workbench1." + base64.urlsafe_b64encode(zlib.compress(raw)).decode().rstrip("=")


def inside(url: str) -> dict[str, Any]:
    code = url.partition("#workbench1.")[2]
    data: dict[str, Any] = json.loads(zlib.decompress(base64.urlsafe_b64decode(code + "==")))
    return data


def same(a: wb.Schedule, b: wb.Schedule) -> None:
    """Both lead by the same steps, marks and names to the same programs and handles."""
    assert a.trace.as_python() == b.trace.as_python()
    for one, two in zip(a.node.path(), b.node.path(), strict=True):
        assert one.marks == two.marks and one.step == two.step
        assert one.step is None or two.step is None or one.step.made == two.step.made
        wb.assert_structural_equal(one.mod, two.mod)
        assert script.show(one.mod) == script.show(two.mod)
        assert handles(one) == handles(two)


def handles(node: HistoryNode) -> list[tuple[str, int]]:
    """Where in the program that a step made its handles stand, by function."""
    return [
        (name, known.position[found])
        for key in node.keys
        for name, known in node.places.items()
        if (found := known.loops.get(key) or known.blocks.get(key)) is not None  # type: ignore
    ]


@pytest.mark.fuzz
@given(runs())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_program_and_steps_come_back_with_their_names(run: CheckedRun):
    run.random_steps(5)
    run.sch.mark("an end")
    run.sch.mark("Größe \u2028 <b>")
    same(wb.open(link(run.sch.node)), run.sch)


def test_a_link_holds_the_way_to_its_node_alone():
    sch = schedule()
    sch.history.answers["which"] = "mine"
    here = sch.node
    sch.goto("begin")
    sch.split("i", factors=[4, 2])
    sch.goto(here)
    url = link(sch.node)
    found = wb.open(url)
    same(found, sch)
    assert len(found.history) == 3 and found.history.answers == {}
    found.goto("begin")
    assert found.node is found.history.root
    assert link(found.history[2]) == url
    data = inside(url) | {"answers": {"which": "theirs"}}
    assert wb.open(packed(data)).history.answers == {}, "who opens it has answered nothing"


def test_the_project_s_page_is_where_it_leads():
    assert link(schedule().node).startswith(f"{ADDRESS}#workbench1.")
    assert PROJECT["urls"]["Homepage"] == ADDRESS
    assert link(schedule().node, "file:///play.html?x=1").startswith("file:///play.html?x=1#")


def test_a_link_of_this_version_is_read_for_ever_also_torn_into_lines():
    found = wb.open(OLD)
    same(found, schedule())
    lines = "\r\n ".join(OLD[k : k + 70] for k in range(0, len(OLD), 70))
    same(wb.open(f"\t{lines}\n"), found)
    same(wb.open(OLD.partition("#")[2]), found)


AGAIN = "\ndo:    copy it again, whole: the link button of a lab and lab.link() make one"
CHANGED = "Can't open this link: part of it is missing or changed."
OTHER = (
    "Can't open this link: its program or one of its steps is refused.\n"
    "found: {}\n"
    "do:    open it with the workbench that it was made with, or ask for a new one"
)


def test_a_link_whose_dot_was_sent_as_its_number_is_read():
    url = link(schedule().node)
    head, _, code = url.rpartition(".")
    assert read_link(f"{head}%2E{code}") == read_link(f"{head}%2e{code}") == read_link(url)


def test_what_is_no_link_is_refused_by_what_is_wrong_with_it():
    url = link(schedule().node)
    data = inside(url)
    node = data["nodes"][0]
    loop = node["step"]["args"][0]
    bad_step = {**node, "step": {**node["step"], "verb": "bind", "args": [loop, "x"], "kwargs": {}}}
    told = {
        7: "Can't open a value of type int: it is no link.\n"
        "do:    pass its text: wb.open(lab.link())",
        ADDRESS: f"Can't open this link: no steps stand behind its #.{AGAIN}",
        url + "?": f"Can't open this link: no steps stand behind its #.{AGAIN}",
        url.replace("#workbench1.", "#workbench2."): "Can't open this link: it is of version 2, "
        "this workbench reads 1.\n"
        "do:    open it with the newest workbench, and if that reads no such link, ask for a new "
        "one",
        url[:-4]: CHANGED + AGAIN,
        url + "AAAA": CHANGED + AGAIN,
        url[:-90] + "A" + url[-89:]: CHANGED + AGAIN,
        packed(b"[" * 90): f"{CHANGED}\nfound: it is not JSON text.{AGAIN}",
        packed(
            b'["[",' + b"[" * 9000
        ): f"Can't open this link: more than 100 brackets in it stand in each other.{AGAIN}",
        packed(b""): f"Can't open this link: it is empty.{AGAIN}",
        packed({**data, "at": 9}): f"{CHANGED}\nfound: part of it is missing or damaged "
        f"(it stands at step 9 of 2).{AGAIN}",
        packed(b" " * (MOST_BYTES + 1)): "Can't open this link: more than 262,144 bytes are packed "
        f"in it.{AGAIN}",
        packed({**data, "nodes": [node] * (MOST_STEPS + 1)}): "Can't open this link: it has 501 "
        "steps, and at most 500 are read.\n"
        "do:    ask for a file in its place: sch.save(path) writes it, wb.load reads it",
        packed({**data, "program": "import os"}): OTHER.format(
            "part of it is missing or damaged (The text holds 0 programs)."
        ),
        packed({**data, "nodes": [bad_step], "at": 1}): OTHER.format(
            "Can't bind `i` to x: there is no such axis."
        ),
    }
    for bad, text in told.items():
        with pytest.raises(wb.ScheduleError) as error:
            wb.open(bad)  # type: ignore[arg-type]
        assert str(error.value) == text


def test_a_bomb_is_not_blown_up(monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []
    real = zlib.decompressobj

    class Reading:
        def __init__(self) -> None:
            self.inner = real()

        def decompress(self, raw: bytes, most: int) -> bytes:
            found = self.inner.decompress(raw, most)
            asked.append(len(found))
            return found

    bomb = packed(b" " * (64 << 20))
    monkeypatch.setattr(links.zlib, "decompressobj", Reading)
    with pytest.raises(wb.ScheduleError, match="more than 262,144 bytes"):
        wb.open(bomb)
    assert asked == [MOST_BYTES + 1]


def test_more_than_a_link_holds_is_not_made_into_one(monkeypatch: pytest.MonkeyPatch):
    sch = schedule()
    monkeypatch.setattr(links, "MOST_STEPS", 1)
    with pytest.raises(wb.ScheduleError) as error:
        link(sch.node)
    assert str(error.value) == (
        "Can't make a link: 2 steps lead here, and one holds 1.\n"
        "do:    save a file instead: sch.save(path)"
    )
    monkeypatch.undo()
    sch.annotate("C", "note", "x" * MOST_BYTES)
    with pytest.raises(wb.ScheduleError) as error:
        link(sch.node)
    size = len(json.dumps(inside_of(sch), separators=(",", ":")))
    assert str(error.value) == (
        f"Can't make a link: program and steps have {size:,} bytes, and one holds 262,144.\n"
        "do:    save a file instead: sch.save(path)"
    )


def inside_of(sch: wb.Schedule) -> dict[str, Any]:
    return links.path_to_data(sch.node)
