"""The benchmark of dlight's programs: what it calls right is, and a wrong kernel is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import dlight

BEFORE = """
@T.prim_func(s_tir=True)
def main(a: T.handle, B: T.Buffer((8,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (8, n), "float32")
    for i, j in T.grid(8, n):
        with T.sblock("B"):
            v, w = T.axis.remap("SR", [i, j])
            with T.init():
                B[v] = T.float32(0)
            B[v] = B[v] + A[v, w]
"""
AFTER = """
@T.prim_func(s_tir=True)
def main(a: T.handle, B: T.Buffer((8,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (8, n), "float32")
    R = T.sblock_alloc_buffer((4, 8), scope="local")
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(4, thread="threadIdx.x"):
            with T.sblock("R_init"):
                k, v = T.axis.remap("SS", [tx, bx])
                R[k, v] = T.float32(0)
            for j in range((n + 3) // 4):
                with T.sblock("R"):
                    k, v, w = T.axis.remap("SSR", [tx, bx, j])
                    R[k, v] = R[k, v] + T.if_then_else(w * 4 + k < {last}, A[v, w * 4 + k], 0.0)
        for tx in T.thread_binding(4, thread="threadIdx.x"):
            with T.sblock("B"):
                k, v = T.axis.remap("RS", [tx, bx])
                with T.init():
                    B[v] = T.float32(0)
                B[v] = B[v] + R[k, v]
"""


@pytest.mark.parametrize(("last", "wrong"), [("n", 0), ("n - 1", 1)])
def test_each_size_is_held_against_the_program_before(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    last: str,
    wrong: int,
):
    texts = {"before": BEFORE, "expected": AFTER.format(last=last)}
    path = tmp_path / "programs.json"
    entries = [{"test": "a.py::test_sum", "name": k, "text": t} for k, t in texts.items()]
    path.write_text(json.dumps(entries))
    monkeypatch.setattr("sys.argv", ["dlight", "--programs", str(path)])
    assert dlight.main() == wrong
    told = capsys.readouterr().out
    assert "2 of 2 read, printed and read again equal; of 1 bound to the GPU" in told
    assert told.count(": whole") == (0 if wrong else 3)
