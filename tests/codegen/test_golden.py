"""The text of the lessons' kernels, whole, in every language: what a change of it would change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.cpu_programs import add_on_cores, packed_matmul
from tests.support.gpu_programs import add_in_blocks, blocked_matmul, window_steps
from workbench import target
from workbench.codegen import LANGUAGES, source
from workbench.lower import lower

GOLDEN = Path(__file__).parents[1] / "golden"
PROGRAMS = {
    "vector_add_8": lambda: add_in_blocks(4, 8),
    "vector_add": add_in_blocks,
    "window_sum_bound": lambda: window_steps()["bound"],
    "window_sum_shared": lambda: window_steps()["shared"],
    "window_sum_cooperative": lambda: window_steps()["cooperative"],
    "matmul_local": lambda: blocked_matmul(shared=False),
    "matmul_shared": lambda: blocked_matmul(shared=True),
}


# Programs whose loops cores and lanes share, for a CPU.
ON_A_CPU = {"matmul_packed": packed_matmul, "vector_add_cores": add_on_cores}
TEXTS = [(name, language) for name in PROGRAMS for language in LANGUAGES if language != "c"]
TEXTS += [(name, "c") for name in ON_A_CPU]


@pytest.mark.parametrize("name, language", TEXTS)
def test_the_text_is_the_golden_one(name: str, language: str):
    gpu, program = target.get(language), (PROGRAMS | ON_A_CPU)[name]()
    text = source(lower(program, gpu).kernels, gpu)
    path = GOLDEN / f"{name}.{language}"
    if os.environ.get("WORKBENCH_WRITE_GOLDEN"):  # look at the difference before committing it
        path.write_text(text)
    assert text == path.read_text()


def test_every_golden_file_is_read():
    expected = {f"{name}.{language}" for name, language in TEXTS}
    assert {path.name for path in GOLDEN.iterdir() if path.suffix[1:] in LANGUAGES} == expected
