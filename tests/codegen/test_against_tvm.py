"""Our CUDA beside TVM's, from the same steps: no more barriers or registers, as wide vectors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench as wb
from tests.support.gpu_programs import MATMUL, block_matmul, parsed
from tests.support.ptx import registers
from tests.support.shallow import shallow
from workbench import target
from workbench.codegen import source
from workbench.lower import lower

STEPS = {"local": (False, 8, 8, 4), "shared": (True, 8, 8, 8)}


@pytest.fixture(scope="module", params=STEPS)
def texts(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The tutorial's 1024 x 1024 matmul after all its steps: our text, and TVM's."""
    tvm = pytest.importorskip("tvm", reason="apache-tvm is not installed")
    func = parsed(MATMUL.replace("64", "1024"))
    ours = wb.Schedule(func)
    block_matmul(ours, ours.get_block("C"), *STEPS[request.param])
    cuda = target.get("cuda")
    theirs = tvm.s_tir.Schedule(shallow(tvm.script.from_source, func.script(dialect="tvm")))
    block_matmul(theirs, theirs.get_sblock("C"), *STEPS[request.param])
    gpu = tvm.target.Target({"kind": "cuda", "arch": "sm_90"})
    built = tvm.tirx.build(theirs.mod, target=gpu)
    return source(lower(ours.func, cuda).kernels, cuda), built.imports[0].inspect_source()


def test_no_barrier_too_many(texts: tuple[str, str]):
    ours, theirs = (text.count("__syncthreads();") for text in texts)
    assert ours <= theirs


def test_vectors_as_wide(texts: tuple[str, str]):
    """Those that the steps ask for; what ours keeps of shared memory nvcc joins in both."""
    kept = re.compile(r"\*\(float\d\*\)&\w+_kept\[[^;]*;")
    asked = (kept.sub("", text) for text in texts)
    ours, theirs = (re.findall(r"\*\((?:const )?(float\d)\*\)", text) for text in asked)
    assert ours == theirs


def test_no_register_too_many(texts: tuple[str, str], nvcc: str, tmp_path: Path):
    ours, theirs = (registers(nvcc, text, tmp_path) for text in texts)
    assert ours <= theirs
