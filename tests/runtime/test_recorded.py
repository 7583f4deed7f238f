"""Recorded times: plain data, found by the program, whatever its name."""

from __future__ import annotations

import importlib

import pytest

from workbench import script
from workbench.ir import PrimFunc
from workbench.runtime import Timing, recorded

TEXT = """
@T.prim_func
def {name}(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")):
    for {i} in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({n}, {i})
            B[vi] = A[vi] * T.float32(2)
"""


def program(name: str = "main", i: str = "i", n: int = 8) -> PrimFunc:
    func = script.parse(TEXT.format(name=name, i=i, n=n))
    assert isinstance(func, PrimFunc)
    return func


def run(func: PrimFunc, device: str = "NVIDIA H200") -> recorded.Run:
    timing = Timing(
        samples=(1e-6, 2e-6, 3e-6),
        device=device,
        how="CUDA events",
        clocks="SM clock 1980 of 1980 MHz, memory 3201 MHz",
        date="2026-11-21",
        kind="recorded",
    )
    return recorded.Run(recorded.program_key(func), "doubled", timing)


def test_a_program_is_found_whatever_its_function_is_called():
    assert recorded.program_key(program("main")) == recorded.program_key(program("double"))
    assert recorded.program_key(program(n=8)) != recorded.program_key(program(n=9))


def test_what_is_written_is_read_back():
    written = [run(program()), run(program(n=9))]
    text = recorded.to_json("NVIDIA H200", "2026-11-21", written)
    assert recorded.parse(text) == tuple(written)


def test_times_of_a_program(monkeypatch):
    runs = (run(program()), run(program(n=9)), run(program(), "Tesla T4"))
    monkeypatch.setattr(recorded, "all_runs", lambda: runs)
    assert [t.device for t in recorded.times(program())] == ["NVIDIA H200", "Tesla T4"]
    assert recorded.times(program(n=10)) == ()


def test_the_time_of_the_device_with_the_most_runs_comes_first(monkeypatch):
    runs = (run(program(), "NVIDIA A100"), run(program()), run(program(n=16)))
    monkeypatch.setattr(recorded, "all_runs", lambda: runs)
    assert [t.device for t in recorded.times(program())] == ["NVIDIA H200", "NVIDIA A100"]


def test_everything_that_ships_reads(monkeypatch):
    runs = recorded.all_runs()
    assert all(r.timing.kind == "recorded" and r.timing.samples for r in runs)
    keys = [(r.program, r.timing.device) for r in runs]
    assert len(keys) == len(set(keys)), "a program recorded twice for one device"


@pytest.mark.parametrize("text", ["__import__('os').system('true')", '{"device": 1}'])
def test_a_file_that_is_no_record_is_refused_and_never_run(text: str):
    with pytest.raises((ValueError, KeyError)):
        recorded.parse(text)


def test_the_folder_is_inside_the_package():
    folder = importlib.resources.files("workbench.runtime") / "recorded"
    assert folder.is_dir()
