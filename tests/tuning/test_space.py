"""What a space makes: histories of public verbs that keep the program's meaning, or a reason."""

from __future__ import annotations

import re
import threading
import time
import warnings
from contextlib import suppress
from random import Random

import numpy as np
import pytest

import workbench as wb
from tests.tuning.programs import VECTOR, space
from workbench import emulate, script, target, te, tuning
from workbench.diag import Fail
from workbench.te import topi
from workbench.verbs.primitive import REGISTRY

H200 = target.get("nvidia/h200")


def matmul():
    return script.parse("""
@T.prim_func
def main(
    A: T.Buffer((32, 16), "float32"),
    B: T.Buffer((16, 64), "float32"),
    C: T.Buffer((32, 64), "float32"),
):
    for i, j, k in T.grid(32, 64, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")


def dots():
    """Fewer cells than a warp has threads, each a long sum."""
    sizes = {"32": "3", "64": "5", "16": "100"}
    text = script.show(matmul())
    return script.parse(re.sub(r"\b(32|64|16)\b", lambda size: sizes[size[1]], text))


def layer():
    """A convolution with padding, bias and ReLU: what is around the sum is inlined."""
    data, kernel = te.placeholder((1, 4, 7, 7), name="data"), te.placeholder((8, 4, 3, 3), name="w")
    bias = te.placeholder((1, 8, 1, 1), name="bias")
    conv = topi.nn.conv2d_nchw(data, kernel, (1, 1), (1, 1), dilation=1, out_dtype="float32")
    return te.create_prim_func([data, kernel, bias, topi.nn.relu(conv + bias)])


def rows():
    """The sums of rows and what is made of them: no value is read twice."""
    return script.parse("""
@T.prim_func
def main(A: T.Buffer((6, 75), "float32"), D: T.Buffer((6,), "float32")):
    C = T.alloc_buffer((6,))
    for i, k in T.grid(6, 75):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * T.float32(2)
    for i in range(6):
        with T.block("D"):
            vi = T.axis.spatial(6, i)
            D[vi] = C[vi] + T.float32(1)
""")


MADE = {
    "matmul": (matmul, ((2, 1, 4, 2, 2), (1, 2, 16, 1, 2), (1, 2, 4, 2), 2, 1, 1, 1, 2)),
    "matmul in parts": (matmul, ((2, 1, 4, 2, 2), (1, 2, 16, 1, 2), (4, 2, 2, 1), 2, 1, 1, 1, 2)),
    "few cells": (dots, (4, 1)),
    "a layer": (
        layer,
        (
            (1,) * 5,
            (2, 1, 1, 2, 2),
            (1, 1, 7, 1, 1),
            (1, 1, 7, 1, 1),
            (1, 2, 2, 1),
            (1, 1, 3),
            (3, 1, 1),
            *(0, 2, 1, 0, 1),
        ),
    ),
    "elementwise": (lambda: VECTOR, (1,)),
    "rows": (rows, (4, 1)),
}


@pytest.mark.parametrize("name", MADE)
def test_a_candidate_is_steps_of_public_verbs_that_keep_the_meaning(name: str):
    make, decisions = MADE[name]
    program = make()
    made = tuning.candidate(program, tuning.ready(H200), H200, decisions, Random(0))
    assert made.reason == "" and made.decisions == decisions
    assert len(made.kernel.kernels) == (2 if name == "matmul in parts" else 1)
    assert {step.verb for step in made.schedule.trace} <= set(REGISTRY)
    rng = np.random.default_rng(0)
    arrays = [rng.random(buffer.shape, dtype="float32") for buffer in program.params]
    wanted = [array.copy() for array in arrays]
    emulate.evaluate(program, wanted)
    made.kernel.emulate(*arrays)  # which refuses races, and reads of what nothing wrote
    np.testing.assert_allclose(arrays[-1], wanted[-1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "decisions, reason",
    [
        (((8, 1, 1, 1, 4), (64, 1, 1, 1, 1)), "1 threads a block are less than a warp"),
        (
            ((1, 1, 32, 1, 1), (1, 1, 64, 1, 1)),
            "2048 threads a block, and NVIDIA H200 SXM has at most 1024",
        ),
        (((1, 8, 4, 1, 1), (2, 4, 8, 1, 1)), "32 virtual threads, more than 8"),
        (((1, 1, 1, 4, 8), (1, 1, 32, 1, 2)), ""),
    ],
)
def test_a_rule_that_is_not_kept_is_the_reason(decisions, reason: str):
    decisions += ((1, 1, 1, 16), 0, 0, 0, 0, 0)
    made = tuning.candidate(matmul(), tuning.ready(H200), H200, decisions, Random(0))
    assert made.reason == reason and (made.kernel is None) == bool(reason)
    assert made.decisions == decisions


def test_sums_of_several_values_are_shared_out_to_threads():
    """As argmax, which keeps an index beside the value."""
    given = te.placeholder((5, 41), name="A")
    program = te.create_prim_func([given, topi.argmax(given, axis=1)])
    made = tuning.candidate(program, tuning.ready(H200), H200, (3, 0, 0), Random(0))
    assert made.reason == "" and "threadIdx.x" in str(made.schedule.trace)
    A = np.random.default_rng(0).integers(0, 9, (5, 41)).astype("float32")
    found = np.zeros(5, "int32")
    emulate.evaluate(made.schedule.func, [A, found])
    np.testing.assert_array_equal(found, A.argmax(axis=1))


def test_a_reason_that_is_no_text_is_told_before_a_rule_is_broken():
    with pytest.raises(Fail, match="Can't require this: its reason, 3, is no text"):
        tuning.require(True, 3)


def test_a_candidate_is_a_line_to_read():
    made = [tuning.candidate(VECTOR, space, target.get("cuda"), ((8, 1, 32, 4), 0), Random(0))]
    made.append(tuning.candidate(VECTOR, space, target.get("cuda"), ((512, 1, 2, 1), 0), Random(0)))
    assert list(map(repr, made)) == [
        "<Candidate of main: ((8, 1, 32, 4), 0)>",
        "<Candidate of main: fewer than 4 threads>",
    ]


def test_a_verb_the_checker_and_a_limit_are_reasons_too():
    def odd(sch: wb.Schedule) -> None:
        which = sch.sample_categorical([0, 1, 2], probs=[0.4, 0.3, 0.3])
        outer, inner = sch.split("i", factors=[None, 64])
        if which == 0:
            sch.bind(outer, "threadIdx.w")
        if which == 1:
            sch.bind(inner, "threadIdx.x")

    cuda = target.get("cuda")
    reasons = [tuning.candidate(VECTOR, odd, cuda, (k,), Random(0)).reason for k in range(3)]
    assert reasons[0].startswith("Can't bind `i_0`") and reasons[1] == ""
    assert reasons[2].startswith("Can't build this: no loop of `B` is bound to")


def test_decisions_that_no_longer_fit_are_repaired_and_missing_ones_drawn():
    made = tuning.candidate(VECTOR, space, target.get("cuda"), ((3, 5, 64, 4),), Random(0))
    assert made.decisions[0] == (4, 1, 64, 4) and made.decisions[1] in (0, 1)
    assert [type(domain).__name__ for domain in made.domains] == ["TileDomain", "CategoricalDomain"]


def test_a_space_hands_back_the_schedule_it_was_given_or_nothing():
    def another(sch: wb.Schedule) -> wb.Schedule:
        made = wb.Schedule(script.parse(script.show(VECTOR).replace("float32(2)", "float32(3)")))
        made.bind("i", "threadIdx.x")
        return made

    def forked(sch: wb.Schedule) -> wb.Schedule:
        made = sch.fork()
        made.bind("i", "threadIdx.x")
        return made

    def tried(sch: wb.Schedule) -> wb.Schedule:
        made = sch.trial()
        made.bind("i", "threadIdx.x")
        return made

    spaces = (another, lambda sch: [sch], lambda sch: True, tried, forked)
    told = [tuning.candidate(VECTOR, one, target.get("cuda"), (), Random(0)) for one in spaces]
    why = "The space returns something else than the schedule that it was given"
    assert [one.reason for one in told] == [why, why, why, why, ""]


def test_candidates_that_are_built_at_once_leave_warnings_as_they_were(monkeypatch):
    """What `catch_warnings` restores is the process's: the last to leave would restore silence."""
    both, before = threading.Barrier(2), list(warnings.filters)
    decisions = (8, 1, 128, 1), 0
    drafts = [tuning.candidate(VECTOR, space, H200, decisions, Random(0), whole=False)] * 2
    entered: list[int] = []

    def build(*_: object) -> None:
        entered.append(1)
        turn = len(entered)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.05)
            time.sleep(0.02 * turn)  # who came first leaves first

    monkeypatch.setattr(tuning.space, "build", build)
    threads = [threading.Thread(target=tuning.space.built, args=(one, H200)) for one in drafts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entered) == 2 and warnings.filters == before


def test_a_cell_without_a_loop_has_no_threads():
    one = script.parse("""
@T.prim_func
def main(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
    with T.block("B"):
        B[()] = A[()] + T.float32(1)
""")
    told = tuning.candidate(one, tuning.ready(H200), H200, (), Random(0))
    assert told.reason == "B has no loop to be bound to threads"


def test_a_copy_of_one_cell_is_fetched_too():
    """Of a product with one row and one term, whose copies may have no loop of their own."""
    text = script.show(matmul()).replace("16", "1")
    func = script.parse(text.replace("32, ", "1, ").replace("float1,", "float32,"))
    for seed in range(6):
        found = tuning.candidate(func, tuning.ready(H200), H200, (), Random(seed))
        assert not found.reason or "Can't" not in found.reason


def test_a_space_takes_the_name_of_a_target():
    sch = wb.Schedule(matmul(), seed=0)
    tuning.ready("c")(sch)
    assert not any(step.verb == "bind" for step in sch.trace.steps)
